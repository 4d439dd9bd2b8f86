/* SPDX-License-Identifier: MIT */
/* layer_records.h - contents of a layer other than slots: edited metadata, chosen types, files in
 * adapters/ that are not organs, and the merge beneath the grafts. Each change is durable when the
 * call returns 0; -errno means that nothing has changed. */
#ifndef FS_LAYER_LAYER_RECORDS_H
#define FS_LAYER_LAYER_RECORDS_H

#include "gguf/anatomy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct error;
struct layer;
struct layer_undone;
struct view;

/* A key, with the name of its file in a mount (key_filename.h). */
struct layer_key {
	const char *name;
	bool removed;
	const char *type;    /* NULL: the key's type in the base */
	const uint8_t *text; /* of the value, size bytes; NULL: removed */
	size_t size;
	struct timespec mtime;
};

/* Set the text of the key. moved_from: NULL, or the item from which it was moved, undone in the
 * same transaction. layer_undo() removes keys. */
int layer_write_key(struct layer *layer, const struct layer_key *key, struct view *text,
		    const struct layer_undone *moved_from);

/* Call `found` for each key in the layer. A result of found other than 0, -errno with err set, ends
 * the loop and is returned. Otherwise returns 0, or -errno with err set if a row cannot be read. */
typedef int layer_key_fn(void *context, const struct layer_key *key, struct error *err);
int layer_each_key(struct layer *layer, layer_key_fn *found, void *context, struct error *err);

/* The name of the type in which a slot shows its content; NULL: the content's own. */
struct layer_type {
	enum organ_class klass;
	const char *name; /* of the slot, without ".bin" */
	const char *type;
	struct timespec mtime;
};

/* Set the types of these n slots. If all types are removed, the reserve may be used. */
int layer_write_types(struct layer *layer, const struct layer_type *types, size_t n);

/* As layer_each_key(). */
typedef int layer_type_fn(void *context, const struct layer_type *type, struct error *err);
int layer_each_type(struct layer *layer, layer_type_fn *found, void *context, struct error *err);

/* A file in adapters/ that is not an organ: a symbolic link or a text. */
struct layer_adapter {
	const char *file;
	const char *target, *text; /* one of both; both are NULL for a damaged row */
	uid_t uid;		   /* owner of the link */
	gid_t gid;
	struct timespec mtime;
};
int layer_write_adapter(struct layer *layer, const struct layer_adapter *adapter);

/* As layer_each_key(). */
typedef int layer_adapter_fn(void *context, const struct layer_adapter *adapter, struct error *err);
int layer_each_adapter(struct layer *layer, layer_adapter_fn *found, void *context,
		       struct error *err);

/* longest text of a merge, in bytes */
#define LAYER_MERGE_MAX ((uint64_t)64 << 20)

struct layer_merge {
	char *text; /* merge_note.h */
	uid_t uid;  /* user with whose rights its models are opened */
	gid_t gid;
	struct timespec mtime;
};

/* Set the merge. -EFBIG: the text is too long. */
int layer_write_merge(struct layer *layer, const struct layer_merge *merge);

/* Get the merge, with a text to free. Returns 1; 0: none; or -errno: EBADMSG not a text. */
int layer_read_merge(struct layer *layer, struct layer_merge *merge);

#endif
