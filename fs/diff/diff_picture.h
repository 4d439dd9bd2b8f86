/* SPDX-License-Identifier: MIT */
/* diff_picture.h - .diff/OTHER.svg: two models beside each other as a picture. Blocks across, parts
 * down, and in each cell the relative difference as a colour. */
#ifndef FS_DIFF_DIFF_PICTURE_H
#define FS_DIFF_DIFF_PICTURE_H

struct diff;
struct view;

/* The picture as a view, which takes a reference of its own. It has its length in bytes before
 * anything is measured. Blocks from DIFF_PICTURE_BLOCKS on are not drawn. NULL: out of memory. */
struct view *diff_picture_view(struct diff *diff);
#define DIFF_PICTURE_BLOCKS 1024

#endif
