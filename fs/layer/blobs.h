/* SPDX-License-Identifier: MIT */
/* blobs.h - the bytes of a layer's copied organs: small ones in rows of the table blob, large ones
 * in files blobs/NUMBER. Neither is ever overwritten. A file is durable before the transaction that
 * names it, and goes after the one that drops it; a file without a row, as a crash leaves it, is
 * removed when the layer is opened. */
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

/* Organ files of up to so many bytes are kept in a row. */
#define BLOB_INLINE_MOST ((uint64_t)64 << 10)

/* Open the directory, and unless the layer is only read, remove each file without a row. Returns 0
 * or -errno. */
int blobs_open(struct layer *layer, struct database *database);

/* Make the file of a new blob, open for reading and writing. Returns a descriptor or -errno. And
 * remove one. */
int blob_create(struct layer *layer, uint64_t number);
void blob_remove(struct layer *layer, uint64_t number);

/* Give the file of a blob another name in another layer. Returns 0 or -errno. */
int blob_link(struct layer *from, uint64_t number, struct layer *to, uint64_t new_number);

/* A number for a new blob. */
uint64_t blob_next(struct layer *layer);

/* Make the new files' names durable: 0 or -errno. */
int blobs_sync(struct layer *layer);

/* Within a transaction: a row names the file, which is durable already. Returns 0 or -ENOMEM. */
int blob_added(struct layer *layer, uint64_t number);

/* The transaction is committed, or not: the files of dropped blobs go, or, where the layer holds
 * several changes, those of added ones. */
void blobs_end_transaction(struct layer *layer, bool committed);

/* Space on the disk for changes that take things back while the disk is full: keep it, as far as
 * the disk allows, and give it. */
void blobs_keep_reserve(struct layer *layer);
void blobs_give_reserve(struct layer *layer);

/* Within a transaction: the blob goes if no slot has it any more, its file after the commit. Who
 * reads it keeps the bytes. Returns 0 or -errno. */
int blob_drop(struct layer *layer, struct database *database, uint64_t number);

/* A copied organ, as the tables have it. */
struct blob {
	uint64_t number;
	uint64_t size; /* of the organ file */
	bool is_compressed;
	bool is_inline;
	uint8_t *bytes; /* of a row, owned; NULL: the row has not size of them */
	char xxh128[XXH128_TEXT];
};

/* The columns of the table blob in a query, from the first one on, which is number. */
#define BLOB_COLUMNS "number, form, size, xxh128, bytes"

/* Read them. Returns 0 or -errno: EBADMSG no blob has such a row, ENOMEM. */
int blob_read(sqlite3_stmt *row, int first, struct blob *blob);

/* The organ file of the slot CLASS/NAME, which has that modification time and whose path it tells
 * as DIR/CLASS/NAME.bin. The blob's bytes are the file's from then on, or freed. NULL with err set:
 * as backing_fdopen_zstd(). */
struct backing *blob_backing(struct layer *layer, struct blob *blob, enum organ_class klass,
			     const char *name, const struct timespec *mtime, struct error *err);

#endif
