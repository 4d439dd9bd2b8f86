/* SPDX-License-Identifier: MIT */
/* check.h - .check: has this chimera a chance? One line a check, of three fields separated by tabs:
 *
 *	verdict | check | reason
 *
 * The first line is the worst of all. Then come those of the model as it is, then those of each
 * donor. What needs the donor's file or weights is found out when the text is read; such
 * lines are padded with blanks, so that the size is known before. */
#ifndef FS_CHECK_CHECK_H
#define FS_CHECK_CHECK_H

#include <stdatomic.h>

struct model;
struct snapshot;
struct view;

/* *ending, which outlives the view, ends a read that works on it as an interrupt does. NULL: out of
 * memory. */
struct view *check_view(struct model *model, const struct snapshot *snapshot,
			const atomic_bool *ending);

#endif
