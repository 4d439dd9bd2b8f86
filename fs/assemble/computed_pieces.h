/* SPDX-License-Identifier: MIT */
/* computed_pieces.h - bytes of a view that lie in no file as they are, put into a file: pieces of
 * them are made by as many threads as there are processors, and written in their order. */
#ifndef FS_ASSEMBLE_COMPUTED_PIECES_H
#define FS_ASSEMBLE_COMPUTED_PIECES_H

#include <stdint.h>

struct copy_range;
struct view;

/* One thread uses it. Zeros but for the first two, which are borrowed. */
struct computed_pieces {
	struct view *view;
	struct copy_range *share; /* the file, which the view's bytes fill */
	struct pool *pool;	  /* NULL: one thread has been enough */
	char *bytes;		  /* of pieces that wait to be written; NULL: none were made */
	uint64_t from, to;	  /* of the view, in bytes */
};

/* Write the bytes of the view from one offset to another at the same place of the file. Returns 0
 * or -errno: EINTR cancelled by the progress of the file, ENOMEM, ENODATA the view cannot be read,
 * else why the file cannot be written. */
int computed_pieces_write(struct computed_pieces *pieces, uint64_t from, uint64_t to);

/* End the threads. */
void computed_pieces_release(struct computed_pieces *pieces);

#endif
