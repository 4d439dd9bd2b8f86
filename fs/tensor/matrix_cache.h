/* SPDX-License-Identifier: MIT */
/* matrices.h - small matrices that many rows are made with, decoded to floats. The last ones that
 * were used are kept, within a limit, so that reads beside each other decode them once. */
#ifndef FS_MATRICES_H
#define FS_MATRICES_H

#include "fs/storage/backing.h"

struct matrices; /* counted; any thread may use it */

/* Bytes of floats are kept up to this, and beyond it only what is in use or is the last one. */
#define MATRICES_KEPT ((size_t)32 << 20)

struct matrices *matrices_new(void); /* NULL: out of memory */
struct matrices *matrices_ref(struct matrices *matrices);
void matrices_unref(struct matrices *matrices); /* NULL is fine */

/* Of that file none is kept any more, and so the file is not. Waits for no disk. */
void matrices_forget(struct matrices *matrices, const struct backing *file);

/* Where one lies: rows of length values each, one behind the other, of a type whose values are
 * known (dequant.h). */
struct matrix_at {
	struct backing *file;
	uint64_t offset; /* bytes */
	uint32_t type;
	uint64_t rows, length;
	bool turned; /* is wanted with rows and columns exchanged: length rows of rows values */
};

struct matrix; /* immutable */

/* The matrix, to give back with matrix_put(), which may be done by any thread. NULL with *rc set:
 * as backing_read(). spans: nothing beside it is to be read ahead. */
const struct matrix *matrices_get(struct matrices *matrices, const struct matrix_at *at, bool spans,
				  int *rc);
const float *matrix_values(const struct matrix *matrix);
void matrix_put(const struct matrix *matrix);

#endif
