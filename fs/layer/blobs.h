/* SPDX-License-Identifier: MIT */
/* blobs.h - the bytes of a layer's copied organs: small ones in rows of the table blob, large ones
 * in files blobs/NUMBER. Both are immutable. A file is durable before the transaction that names
 * it, and is removed after the transaction that drops it. Opening the layer removes files without a
 * row, which a crash may leave. */
#ifndef FS_LAYER_BLOBS_H
#define FS_LAYER_BLOBS_H

#include "fs/util/hash_text.h"
#include "gguf/anatomy.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct backing;
struct database;
struct error;
struct layer;

/* organ files up to this size are stored in a row */
#define BLOB_INLINE_MOST ((uint64_t)64 << 10)

/* Open the directory and, unless read only, remove files without a row. Returns 0 or -errno. */
int blobs_open(struct layer *layer, struct database *database);

/* Make the file of a new blob, open for reading and writing. Returns a descriptor or -errno.
 * blob_remove() removes such a file. */
int blob_create(struct layer *layer, uint64_t number);
void blob_remove(struct layer *layer, uint64_t number);

/* Link the file of a blob into another layer. Returns 0 or -errno. */
int blob_link(struct layer *from, uint64_t number, struct layer *to, uint64_t new_number);

/* A number for a new blob. */
uint64_t blob_next(struct layer *layer);

/* Make the names of new files durable. Returns 0 or -errno. */
int blobs_sync(struct layer *layer);

/* Note, within a transaction, that a row names the file, which is durable. Returns 0 or -ENOMEM. */
int blob_added(struct layer *layer, uint64_t number);

/* Call after a commit or rollback: removes the files of dropped blobs, or if the transaction was
 * rolled back, those of added blobs. */
void blobs_end_transaction(struct layer *layer, bool committed);

/* Keep space on the disk, as far as possible; free it for undos when the disk is full. */
void blobs_keep_reserve(struct layer *layer);
void blobs_give_reserve(struct layer *layer);

/* Within a transaction: delete the blob if no slot refers to it, its file after the commit. Readers
 * keep the bytes. Returns 0 or -errno. */
int blob_drop(struct layer *layer, struct database *database, uint64_t number);

/* A copied organ as in the tables. */
struct blob {
	uint64_t number;
	uint64_t size; /* of the organ file, uncompressed */
	bool is_compressed;
	bool is_inline;
	uint8_t *bytes; /* of a row, owned; NULL: the row does not have size bytes */
	char xxh128[XXH128_TEXT];
};

/* The blob's columns for a query; the first is number. */
#define BLOB_COLUMNS "number, form, size, xxh128, bytes"

/* Read these columns, from column `first` on. Returns 0 or -errno: EBADMSG not valid, ENOMEM. */
int blob_read(sqlite3_stmt *row, int first, struct blob *blob);

/* The organ file of the slot CLASS/NAME, with that mtime; messages show its path as
 * DIR/CLASS/NAME.bin. The bytes of a row move from the blob to the file, or are freed. NULL with
 * err set: errors of backing_fdopen_zstd(). */
struct backing *blob_backing(struct layer *layer, struct blob *blob, enum organ_class klass,
			     const char *name, const struct timespec *mtime, struct error *err);

#endif
