/* SPDX-License-Identifier: MIT */
/* metadata.h - what every metadata key of a model is now: the base's, edited, removed or added.
 *
 * 1. A key changes in one step: readers see the old value or the new one.
 * 2. A value never changes; a reference keeps it alive.
 * 3. Every change moves the generation on, and nothing else does.
 * 4. Keys are added behind those of the base and keep their numbers; one that was removed has no
 *    value. */
#ifndef FS_METADATA_METADATA_H
#define FS_METADATA_METADATA_H

#include "fs/metadata/value.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

struct backing;
struct layout_values;
struct value_bytes;
struct view;

/* The value of a key. Counted; immutable, any thread may use it. */
struct metadata_entry;

/* A value that a user wrote, whose bytes become the metadatum's, also on failure; ino: the inode
 * number of its file. NULL: out of memory. */
struct metadata_entry *metadata_entry_new(uint64_t ino, struct value_type type, uint32_t width,
					  struct value_bytes *bytes, const struct timespec *mtime);

/* The value of entry number i of a base. NULL: out of memory. */
struct metadata_entry *metadata_entry_of_base(struct backing *base, const struct gguf *gguf,
					      uint32_t i);

struct metadata_entry *metadata_entry_ref(struct metadata_entry *metadatum);
void metadata_entry_unref(struct metadata_entry *metadatum); /* NULL is fine */

const struct value *metadata_entry_value(const struct metadata_entry *metadatum);
uint64_t metadata_entry_ino(const struct metadata_entry *metadatum); /* 0: it is the base's */
struct timespec metadata_entry_mtime(const struct metadata_entry *metadatum);

/* Its bytes in memory; NULL for the base's. */
const uint8_t *metadata_entry_bytes(const struct metadata_entry *metadatum);

/* Bytes of its text (value_text.h), which is made once to know. Returns 0, -EIO, -ENOMEM. */
int metadata_entry_size(struct metadata_entry *metadatum, uint64_t *size);

/* Was that made already, or is it made from memory alone? Never waits for who makes it. */
bool metadata_entry_is_size_known(struct metadata_entry *metadatum);

/* Its text. NULL with *rc set, as metadata_entry_size(). */
struct view *metadata_entry_view(struct metadata_entry *metadatum, int *rc);

struct metadata; /* any thread may use it */

/* So many keys can be added to those of the base. */
#define METADATA_ADDED_MAX 65536u

/* Both are borrowed. NULL with err set: ENOMEM, or EBADMSG two keys give one file name. */
struct metadata *metadata_new(struct backing *base, const struct gguf *gguf, struct error *err);
void metadata_free(struct metadata *metadata);

/* How many keys there are by now, whatever they hold. */
uint32_t metadata_count(struct metadata *metadata);

/* The key whose file has that name (key_filename.h). */
bool metadata_find(struct metadata *metadata, const char *name, uint32_t *i);

/* Key number i; texts are borrowed from the metadata. */
struct metadata_key {
	const char *key;
	uint32_t length;
	const char *name; /* of its file */
	bool edited;	  /* it is other than in the base */
	bool fixed;	  /* it belongs to the container and cannot be changed */
};
struct metadata_key metadata_key(struct metadata *metadata, uint32_t i);

/* Does a key of n bytes belong to the container? */
bool metadata_is_fixed(const char *key, size_t n);

/* The value that a key has now, that it has where it is not edited, or that it has in the base,
 * to release with metadata_entry_unref(). NULL with *rc set: -ENOENT it has none, -ENOMEM. */
enum metadata_as { METADATA_NOW, METADATA_DEFAULT, METADATA_OF_BASE };
struct metadata_entry *metadata_get_as(struct metadata *metadata, enum metadata_as as, uint32_t i,
				       int *rc);
struct metadata_entry *metadata_get(struct metadata *metadata, uint32_t i, int *rc); /* now */

/* The generation of the model that the values shown are of; 0: none yet. */
uint64_t metadata_defaults_generation(struct metadata *metadata);

/* From now on these keys, by their numbers in order, have other values where they are not edited,
 * for they follow the blocks that are there (block_metadata.h), and no others have, for that
 * generation of the model, unless those shown are of a later one. Bytes are copied. A value that is
 * as before stays the same. new_ino makes the number of a file. Without memory the base's are
 * shown. */
void metadata_set_defaults(struct metadata *metadata, uint64_t generation,
			   const struct layout_values *values, uint64_t (*new_ino)(void *context),
			   void *context);

/* The type of a value written to a key: that of its value; else the one to remember; else the
 * base's. False: there is none. */
bool metadata_type(struct metadata *metadata, uint32_t i, struct value_type *type);
void metadata_set_type(struct metadata *metadata, uint32_t i, const struct value_type *type);

/* The key has that value, which becomes the metadata's; NULL: none. */
void metadata_set(struct metadata *metadata, uint32_t i, struct metadata_entry *metadatum);

/* The key is as in the base. */
void metadata_reset(struct metadata *metadata, uint32_t i);

/* One more key, which has no value yet. Returns 0, -EEXIST a key gives that file name, -ENOSPC,
 * -ENOMEM. */
int metadata_add(struct metadata *metadata, const char *key, size_t n, uint32_t *i);

uint64_t metadata_generation(struct metadata *metadata);

/* What is other than in the base, at one moment. */
struct metadata_edit {
	uint32_t i; /* number of the key; from the base's n_kv on, it was added */
	struct metadata_key key;
	struct metadata_entry *metadatum; /* NULL: removed */
};

struct metadata_edits {
	atomic_uint refs;
	uint64_t generation;
	uint32_t n;
	struct metadata_edit edits[]; /* in the order of the keys' numbers */
};

/* To release with metadata_edits_unref(). NULL: out of memory. */
struct metadata_edits *metadata_edits_get(struct metadata *metadata);
struct metadata_edits *metadata_edits_ref(
	struct metadata_edits *edits); /* NULL is fine, here too: */
void metadata_edits_unref(struct metadata_edits *edits);

/* The edit of key number i; NULL, also of no edits at all: there is none. */
const struct metadata_edit *metadata_edits_find(const struct metadata_edits *edits, uint32_t i);

/* The value that a key has with those edits, to release. NULL: it has none, or there is no
 * memory. */
struct metadata_entry *metadata_get_with_edits(struct metadata *metadata,
					       const struct metadata_edits *edits, const char *key);

#endif
