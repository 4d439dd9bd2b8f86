/* SPDX-License-Identifier: MIT */
/* diff_summary.h - .diff/OTHER, and what organfs --diff prints: two models beside each other for
 * people. How many tensors are the same, how far the others are apart by class and by kind, those
 * most apart, the metadata that differ, and whether the tokenizers agree. Lines of remarks begin
 * with '#'. */
#ifndef FS_DIFF_DIFF_SUMMARY_H
#define FS_DIFF_DIFF_SUMMARY_H

struct diff;
struct view;

/* The text as a view, which takes a reference of its own. It has its length in bytes before
 * anything is measured; but the metadata are compared now. NULL with *rc set: -EIO they cannot be
 * read, or -ENOMEM. */
struct view *diff_summary_view(struct diff *diff, int *rc);

#endif
