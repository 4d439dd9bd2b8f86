/* SPDX-License-Identifier: MIT */
/* metadata.h - the present metadata of a model: keys as in the base, edited, removed or added.
 *
 * 1. A key changes atomically: readers see the old or the new value.
 * 2. A value is immutable and reference-counted.
 * 3. Every change increments the generation.
 * 4. Added keys follow those of the base and keep their numbers; a removed key has no value. */
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

/* The value of a key; reference-counted, immutable. Any thread may use it. */
struct metadata_entry;

/* A value written by a user. It owns its bytes, also on failure. ino: inode number of its file.
 * NULL: out of memory. */
struct metadata_entry *metadata_entry_new(uint64_t ino, struct value_type type, uint32_t width,
					  struct value_bytes *bytes, const struct timespec *mtime);

/* The value of entry number i of a base. NULL: out of memory. */
struct metadata_entry *metadata_entry_of_base(struct backing *base, const struct gguf *gguf,
					      uint32_t i);

struct metadata_entry *metadata_entry_ref(struct metadata_entry *metadatum);
void metadata_entry_unref(struct metadata_entry *metadatum); /* NULL is fine */

const struct value *metadata_entry_value(const struct metadata_entry *metadatum);
uint64_t metadata_entry_ino(const struct metadata_entry *metadatum); /* 0: a value of the base */
struct timespec metadata_entry_mtime(const struct metadata_entry *metadatum);

/* The value's bytes in memory; NULL for a value of the base. */
const uint8_t *metadata_entry_bytes(const struct metadata_entry *metadatum);

/* Size of the text (value_text.h), which the first call generates. Returns 0, -EIO, -ENOMEM. */
int metadata_entry_size(struct metadata_entry *metadatum, uint64_t *size);

/* Is metadata_entry_size() quick: size known, or value in memory? Never waits. */
bool metadata_entry_is_size_known(struct metadata_entry *metadatum);

/* The text. NULL with *rc set, as by metadata_entry_size(). */
struct view *metadata_entry_view(struct metadata_entry *metadatum, int *rc);

struct metadata; /* any thread may use it */

/* most keys that can be added */
#define METADATA_ADDED_MAX 65536u

/* base and gguf are borrowed. NULL with err set: ENOMEM, or EBADMSG two equal file names. */
struct metadata *metadata_new(struct backing *base, const struct gguf *gguf, struct error *err);
void metadata_free(struct metadata *metadata);

/* Number of keys so far, including removed ones. */
uint32_t metadata_count(struct metadata *metadata);

/* Find the key whose file has that name (key_filename.h). */
bool metadata_find(struct metadata *metadata, const char *name, uint32_t *i);

/* Key number i; texts are borrowed. */
struct metadata_key {
	const char *key;
	uint32_t length;
	const char *name; /* name of its file */
	bool edited;	  /* differs from the base */
	bool fixed;	  /* describes the container (alignment, split.*), not editable */
};
struct metadata_key metadata_key(struct metadata *metadata, uint32_t i);

/* Does a key of n bytes describe the container? Such keys cannot be changed. */
bool metadata_is_fixed(const char *key, size_t n);

/* Get a value of a key: the present one, the one without edits, or the base's; to release with
 * metadata_entry_unref(). NULL with *rc set: -ENOENT no value, -ENOMEM. */
enum metadata_as { METADATA_NOW, METADATA_DEFAULT, METADATA_OF_BASE };
struct metadata_entry *metadata_get_as(struct metadata *metadata, enum metadata_as as, uint32_t i,
				       int *rc);
struct metadata_entry *metadata_get(struct metadata *metadata, uint32_t i, int *rc); /* now */

/* Generation of the model for which metadata_set_defaults() was last called; 0: none yet. */
uint64_t metadata_defaults_generation(struct metadata *metadata);

/* Set the values that these keys have while they are not edited. Such values depend on the model's
 * blocks (block_metadata.h), of the given generation; the call is ignored if defaults of a later
 * one are set. values are in the order of key numbers; all other keys get the base's values again.
 * Bytes are copied, and equal values are kept. new_ino assigns an inode number. Out of memory, the
 * base's values are used. */
void metadata_set_defaults(struct metadata *metadata, uint64_t generation,
			   const struct layout_values *values, uint64_t (*new_ino)(void *context),
			   void *context);

/* Type for a value that is written to a key: that of its present value; else the type set by
 * metadata_set_type(); else the base's. False: none. */
bool metadata_type(struct metadata *metadata, uint32_t i, struct value_type *type);
void metadata_set_type(struct metadata *metadata, uint32_t i, const struct value_type *type);

/* Set the key's value, which the metadata owns; NULL: remove the key. */
void metadata_set(struct metadata *metadata, uint32_t i, struct metadata_entry *metadatum);

/* Discard the edit of a key. */
void metadata_reset(struct metadata *metadata, uint32_t i);

/* Add a key without a value. Returns 0, -EEXIST the file name is taken, -ENOSPC, -ENOMEM. */
int metadata_add(struct metadata *metadata, const char *key, size_t n, uint32_t *i);

uint64_t metadata_generation(struct metadata *metadata);

/* A snapshot of the differences from the base. */
struct metadata_edit {
	uint32_t i; /* number of the key; from the base's n_kv on, an added one */
	struct metadata_key key;
	struct metadata_entry *metadatum; /* NULL: removed */
};

struct metadata_edits {
	atomic_uint refs;
	uint64_t generation;
	uint32_t n;
	struct metadata_edit edits[]; /* ordered by key number */
};

/* The present edits, to release with metadata_edits_unref(). NULL: out of memory. */
struct metadata_edits *metadata_edits_get(struct metadata *metadata);
struct metadata_edits *metadata_edits_ref(
	struct metadata_edits *edits); /* NULL is fine, here too: */
void metadata_edits_unref(struct metadata_edits *edits);

/* The edit of key number i; NULL: none, or edits is NULL. */
const struct metadata_edit *metadata_edits_find(const struct metadata_edits *edits, uint32_t i);

/* The value that a key has with those edits, to release. NULL: none, or out of memory. */
struct metadata_entry *metadata_get_with_edits(struct metadata *metadata,
					       const struct metadata_edits *edits, const char *key);

#endif
