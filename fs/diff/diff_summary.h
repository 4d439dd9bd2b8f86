/* SPDX-License-Identifier: MIT */
/* diff_summary.h - .diff/OTHER, and the output of organfs --diff: a summary of two models for
 * readers. It has the number of equal tensors, the differences of the others by class and by kind,
 * the tensors most apart, the metadata keys that differ, and whether the tokenizers agree. Remarks
 * begin with '#'. */
#ifndef FS_DIFF_DIFF_SUMMARY_H
#define FS_DIFF_DIFF_SUMMARY_H

struct diff;
struct view;

/* The text as a view with a reference of its own. Its length in bytes is known before any
 * measurement, but the metadata are compared now. NULL with *rc set: -EIO the metadata cannot be
 * read, or -ENOMEM. */
struct view *diff_summary_view(struct diff *diff, int *rc);

#endif
