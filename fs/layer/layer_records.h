/* SPDX-License-Identifier: MIT */
/* layer_records.h - what a layer has beside slots: edited metadata, the files of adapters/ that are
 * no organs, and the merge of models beneath the grafts. Each change is durable when the call
 * returns: 0, or -errno, and nothing has changed. */
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

/* A key, by the name of its file in a mount (key_filename.h). */
struct layer_key {
	const char *name;
	bool removed;
	const char *type;    /* NULL: the one that the key has in the base */
	const uint8_t *text; /* of the value, size bytes; NULL of a removed one */
	size_t size;
	struct timespec mtime;
};

/* The key has that text. left: NULL, or an item that is taken back in the same transaction, for it
 * was moved. layer_undo() removes keys. */
int layer_write_key(struct layer *layer, const struct layer_key *key, struct view *text,
		    const struct layer_undone *left);

/* Call found for each key of which the layer says something. It returns 0, or -errno with err set,
 * which ends it. Returns that, or -errno with err set where not all can be read. */
typedef int layer_key_fn(void *context, const struct layer_key *key, struct error *err);
int layer_each_key(struct layer *layer, layer_key_fn *found, void *context, struct error *err);

/* The type in which a slot shows its content, by the type's name; NULL: its own. */
struct layer_type {
	enum organ_class klass;
	const char *name; /* of the slot, without ".bin" */
	const char *type;
	struct timespec mtime;
};

/* From now on these n slots have those types. If all lose their types, a full disk has space for
 * that in reserve. */
int layer_write_types(struct layer *layer, const struct layer_type *types, size_t n);

/* As layer_each_key(). */
typedef int layer_type_fn(void *context, const struct layer_type *type, struct error *err);
int layer_each_type(struct layer *layer, layer_type_fn *found, void *context, struct error *err);

/* A file of adapters/ that is no organ's: a symbolic link, or a text. */
struct layer_adapter {
	const char *file;
	const char *target, *text; /* one of them; both NULL of a damaged row */
	uid_t uid;		   /* whose the link is */
	gid_t gid;
	struct timespec mtime;
};
int layer_write_adapter(struct layer *layer, const struct layer_adapter *adapter);

/* As layer_each_key(). */
typedef int layer_adapter_fn(void *context, const struct layer_adapter *adapter, struct error *err);
int layer_each_adapter(struct layer *layer, layer_adapter_fn *found, void *context,
		       struct error *err);

/* The longest text of a merge, in bytes. */
#define LAYER_MERGE_MAX ((uint64_t)64 << 20)

struct layer_merge {
	char *text; /* merge_note.h */
	uid_t uid;  /* with whose rights its models are opened */
	gid_t gid;
	struct timespec mtime;
};

/* The layer has that merge: -EFBIG its text is longer. */
int layer_write_merge(struct layer *layer, const struct layer_merge *merge);

/* The merge, whose text is to be freed. Returns 1; 0: there is none; or -errno: EBADMSG it is no
 * text. */
int layer_read_merge(struct layer *layer, struct layer_merge *merge);

#endif
