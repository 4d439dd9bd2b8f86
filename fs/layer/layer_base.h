/* SPDX-License-Identifier: MIT */
/* layer_base.h - the row of layer.db that identifies the layer's base. */
#ifndef FS_LAYER_LAYER_BASE_H
#define FS_LAYER_LAYER_BASE_H

struct backing;
struct database;
struct error;
struct gguf;

/* Check that the layer belongs to this base. Returns 0, or -errno with err set: ESTALE another
 * base, EBADMSG, EIO, ENOMEM. */
int layer_base_check(struct database *database, struct backing *base, const struct gguf *gguf,
		     struct error *err);

/* Insert the row for this base. path is NULL for a layer of -o layer=. Returns 0 or -errno. */
int layer_base_make(struct database *database, struct backing *base, const struct gguf *gguf,
		    const char *path);

/* Record the present path of the base. Returns 0 or -errno. */
int layer_base_move(struct database *database, const char *path);

/* The path of the base, to free. NULL: none, as for a layer of -o layer=, or out of memory. */
char *layer_base_read_path(struct database *database);

#endif
