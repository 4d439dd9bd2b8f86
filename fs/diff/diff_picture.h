/* SPDX-License-Identifier: MIT */
/* diff_picture.h - .diff/OTHER.svg: two models compared as a picture. Columns are blocks, rows are
 * roles, and a cell's colour is the relative difference. */
#ifndef FS_DIFF_DIFF_PICTURE_H
#define FS_DIFF_DIFF_PICTURE_H

struct diff;
struct view;

/* The picture as a view with a reference of its own. Its length in bytes is known before any
 * measurement. Blocks from DIFF_PICTURE_BLOCKS on are not drawn. NULL: out of memory. */
struct view *diff_picture_view(struct diff *diff);
#define DIFF_PICTURE_BLOCKS 1024

#endif
