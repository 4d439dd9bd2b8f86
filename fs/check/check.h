/* SPDX-License-Identifier: MIT */
/* check.h - .check: has this chimera a chance? One line per check, with three fields between tabs:
 *
 *	verdict | check | reason
 *
 * The first line has the worst verdict. The checks of the model follow, then those of each donor.
 * Checks that need a donor's file or weights are made when the text is read; their lines are padded
 * with blanks, so that the size is known before. */
#ifndef FS_CHECK_CHECK_H
#define FS_CHECK_CHECK_H

#include <stdatomic.h>

struct model;
struct snapshot;
struct view;

/* The text as a view. *ending, which outlives the view, ends a read with -EINTR. NULL: no
 * memory. */
struct view *check_view(struct model *model, const struct snapshot *snapshot,
			const atomic_bool *ending);

#endif
