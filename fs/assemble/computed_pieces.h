/* SPDX-License-Identifier: MIT */
/* computed_pieces.h - computed bytes of a view written into a file: as many threads as there are
 * processors compute pieces, which are written in order. */
#ifndef FS_ASSEMBLE_COMPUTED_PIECES_H
#define FS_ASSEMBLE_COMPUTED_PIECES_H

#include <stdint.h>

struct copy_range;
struct view;

/* For use by one thread. The first two fields are borrowed, the others zeros at first. */
struct computed_pieces {
	struct view *view;
	struct copy_range *share; /* the file that gets the view's bytes */
	struct pool *pool;	  /* NULL: one thread was enough */
	char *bytes;		  /* computed pieces to be written; NULL: none yet */
	uint64_t from, to;	  /* range of the view, in bytes */
};

/* Write a range of the view to the same place of the file. Returns 0 or -errno: EINTR cancelled by
 * the file's progress, ENOMEM, ENODATA the view cannot be read, or an error of the file. */
int computed_pieces_write(struct computed_pieces *pieces, uint64_t from, uint64_t to);

/* End the threads. */
void computed_pieces_release(struct computed_pieces *pieces);

#endif
