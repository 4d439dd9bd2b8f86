/* SPDX-License-Identifier: MIT */
/* tensor_hashes.h - the hashes of every organ, made when a thread asks for them and kept as long as
 * the content is there, as memo.h says. An organ is read through the view of its file, in
 * chunks. */
#ifndef FS_LAZY_TENSOR_HASHES_H
#define FS_LAZY_TENSOR_HASHES_H

#include "fs/model/slots.h"
#include "fs/util/hash_text.h"

struct halt;
struct model;
struct pool;
struct subject;

/* A memo for each kind of hash; an organ that cannot be read gives -EIO. */
struct tensor_hashes {
	struct memo *kinds[HASH_KINDS];
};

/* For a model, pool as memo_new(). NULL: out of memory. */
struct tensor_hashes *tensor_hashes_new(struct model *model, struct pool *pool);

/* As memo_stop() and memo_free(); NULL is fine. */
void tensor_hashes_stop(struct tensor_hashes *hashes);
void tensor_hashes_free(struct tensor_hashes *hashes);

/* As memo_get(), in hexadecimal digits, as XXH128_TEXT says; of 64 bits 16 of them and a NUL. */
int tensor_hashes_get(struct tensor_hashes *hashes, enum hash_kind kind,
		      const struct subject *subject, const atomic_bool *stop,
		      char text[XXH128_TEXT]);

/* How many digits. */
static inline size_t tensor_hash_width(enum hash_kind kind)
{
	return kind == HASH_FILE ? 32 : 16;
}

/* How many hashes were made, or tried to, since the mount. */
uint64_t tensor_hashes_count(struct tensor_hashes *hashes);

/* Hash the data of one organ, or go on with it, in state. Returns 0; -EINTR: halted(); -EIO: it
 * cannot be read; -ENOMEM. */
int tensor_hash_data(struct model *model, const struct subject *subject, XXH64_state_t *state,
		     const struct halt *halt);

#endif
