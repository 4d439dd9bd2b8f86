/* SPDX-License-Identifier: MIT */
/* tensor_hashes.h - the hashes of every organ, made when somebody asks for them and kept as long as
 * the content is there, as memo.h says. An organ is read through the view of its file, in
 * chunks. */
#ifndef FS_LAZY_TENSOR_HASHES_H
#define FS_LAZY_TENSOR_HASHES_H

#include "fs/lazy/memo.h"
#include "fs/model/hash_result.h"
#include "fs/model/model.h"
#include "fs/util/halt.h"

struct tensor_hashes; /* any thread may use it */

/* For a model, hashed by the threads of pool, both of which outlive it, or where pool is NULL by
 * threads of its own. NULL: out of memory. */
struct tensor_hashes *tensor_hashes_new(struct model *model, struct pool *pool);

/* Whoever waits gets -EINTR, now and later. */
void tensor_hashes_stop(struct tensor_hashes *hashes);
void tensor_hashes_free(struct tensor_hashes *hashes); /* nobody may wait any more; NULL is fine */

/* Wait until all n subjects are hashed, several at a time, or *stop, which may be NULL, is true.
 * The contents are borrowed and no nothings. Returns 0, or -EINTR, or the error of one of them:
 * -EIO it cannot be read, -ENOMEM. */
int tensor_hashes_prepare(struct tensor_hashes *hashes, enum hash_kind kind,
			  const struct subject *subjects, size_t n, const atomic_bool *stop);

/* In hexadecimal digits, as XXH128_TEXT says; of 64 bits 16 of them and a NUL. */
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

/* What is known of tensors that have the same bytes in the base that was there before is known from
 * now on. Before anybody else knows hashes. */
void tensor_hashes_inherit(struct tensor_hashes *hashes, struct tensor_hashes *old);

/* Hash the data of one organ, or go on with it, in state. Returns 0; -EINTR: halted(); or as
 * tensor_hashes_prepare(). */
int tensor_hash_data(struct model *model, const struct subject *subject, XXH64_state_t *state,
		     const struct halt *halt);

#endif
