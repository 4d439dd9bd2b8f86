/* SPDX-License-Identifier: MIT */
/* layer_base.h - the row that says which model a layer belongs to. */
#ifndef FS_LAYER_LAYER_BASE_H
#define FS_LAYER_LAYER_BASE_H

struct backing;
struct database;
struct error;
struct gguf;

/* Does the layer belong to this base? Returns 0, or -errno with err set: ESTALE it belongs to
 * another one, EBADMSG, EIO, ENOMEM. */
int layer_base_check(struct database *database, struct backing *base, const struct gguf *gguf,
		     struct error *err);

/* Make the row for this base. path is NULL for a layer that is not private. Returns 0 or -errno. */
int layer_base_make(struct database *database, struct backing *base, const struct gguf *gguf,
		    const char *path);

/* The base lies at that path now. Returns 0 or -errno. */
int layer_base_move(struct database *database, const char *path);

/* The path of the base, to free. NULL: the layer is not private, or no memory. */
char *layer_base_read_path(struct database *database);

#endif
