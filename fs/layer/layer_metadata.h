/* SPDX-License-Identifier: MIT */
/* layer_metadata.h - edited metadata in a layer.
 *
 *	metadata/NAME         the text of a value of the type that the key has in the base
 *	metadata/.typed.NAME  the type on a line of its own, then the text: of keys that the base
 *	                      has not, or with another type
 *	metadata/.wh.NAME     empty: the key is removed
 *
 * NAME is the name that the key's file has in a mount (key_filename.h). */
#ifndef FS_LAYER_LAYER_METADATA_H
#define FS_LAYER_LAYER_METADATA_H

#include <time.h>

struct backing;
struct error;
struct layer;
struct view;

/* What a file says of a key. Where a crash left several, the first of these counts. */
enum layer_key { LAYER_KEY_REMOVED, LAYER_KEY_TYPED, LAYER_KEY_TEXT, LAYER_KEY_NOTHING };

/* From now on this is what the layer says of the key; durable. The file holds head and then text,
 * which may be NULL, and has that modification time. Returns 0 or -errno. */
int layer_write_key(struct layer *layer, enum layer_key kind, const char *name, const char *head,
		    struct view *text, const struct timespec *mtime);

/* From now on the layer says nothing of the key; durable. Returns 0 or -errno. */
int layer_revert_key(struct layer *layer, const char *name);

/* Call found for each key that the layer says something of. file is found's from then on; NULL,
 * with the reason in err: it cannot be opened. It returns 0, or -errno with err set, which ends it.
 * Returns that, or -errno with err set where not all can be listed. */
typedef int layer_key_fn(void *context, enum layer_key kind, const char *name, struct backing *file,
			 struct error *err);
int layer_each_key(struct layer *layer, layer_key_fn *found, void *context, struct error *err);

#endif
