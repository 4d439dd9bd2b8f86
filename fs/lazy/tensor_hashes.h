/* SPDX-License-Identifier: MIT */
/* tensor_hashes.h - hashes of every organ, computed on request and kept with the content (memo.h).
 * The organ's file is read through its view, in chunks. */
#ifndef FS_LAZY_TENSOR_HASHES_H
#define FS_LAZY_TENSOR_HASHES_H

#include "fs/model/slots.h"
#include "fs/util/hash_text.h"

struct halt;
struct model;
struct pool;
struct subject;

/* A memo for each kind of hash; its error for an unreadable organ is -EIO. */
struct tensor_hashes {
	struct memo *kinds[HASH_KINDS];
};

/* The hashes of a model; pool as memo_new(). NULL: out of memory. */
struct tensor_hashes *tensor_hashes_new(struct model *model, struct pool *pool);

/* As memo_stop() and memo_free(); NULL is fine. */
void tensor_hashes_stop(struct tensor_hashes *hashes);
void tensor_hashes_free(struct tensor_hashes *hashes);

/* Get a hash as memo_get() does, in hexadecimal digits and a NUL (tensor_hash_width()). */
int tensor_hashes_get(struct tensor_hashes *hashes, enum hash_kind kind,
		      const struct subject *subject, const atomic_bool *stop,
		      char text[XXH128_TEXT]);

/* Number of digits. */
static inline size_t tensor_hash_width(enum hash_kind kind)
{
	return kind == HASH_FILE ? 32 : 16;
}

/* Number of hashes computed, or tried, since the mount. */
uint64_t tensor_hashes_count(struct tensor_hashes *hashes);

/* Hash the data of one organ into state. Returns 0; -EINTR: halted(); -EIO: unreadable; -ENOMEM. */
int tensor_hash_data(struct model *model, const struct subject *subject, XXH64_state_t *state,
		     const struct halt *halt);

#endif
