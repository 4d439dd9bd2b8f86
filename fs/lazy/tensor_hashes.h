/* SPDX-License-Identifier: MIT */
/* digests.h - the hashes of every organ, made when somebody asks for them and kept as long as the
 * content is there, as once.h says. An organ is read through the view of its file, in chunks. */
#ifndef FS_DIGESTS_H
#define FS_DIGESTS_H

#include "fs/lazy/memo.h"
#include "fs/model/hash_result.h"
#include "fs/model/model.h"

struct digests; /* any thread may use it */

/* For a model, hashed by the threads of pool, both of which outlive it, or where pool is NULL by
 * threads of its own. NULL: out of memory. */
struct digests *digests_new(struct model *model, struct pool *pool);

/* Whoever waits gets -EINTR, now and later. */
void digests_stop(struct digests *digests);
void digests_free(struct digests *digests); /* nobody may wait any more; NULL is fine */

/* Wait until all n subjects are hashed, several at a time, or *stop, which may be NULL, is true.
 * The contents are borrowed and no nothings. Returns 0, or -EINTR, or the error of one of them:
 * -EIO it cannot be read, -ENOMEM. */
int digests_prepare(struct digests *digests, enum digest_kind kind, const struct subject *subjects,
		    size_t n, const atomic_bool *stop);

/* In hexadecimal digits, as XXH128_TEXT says; of 64 bits 16 of them and a NUL. */
int digests_get(struct digests *digests, enum digest_kind kind, const struct subject *subject,
		const atomic_bool *stop, char text[XXH128_TEXT]);

/* How many digits. */
static inline size_t digest_width(enum digest_kind kind)
{
	return kind == DIGEST_FILE ? 32 : 16;
}

/* How many hashes were made, or tried to, since the mount. */
uint64_t digests_count(struct digests *digests);

/* What is known of tensors that have the same bytes in the base that was there before is known from
 * now on. Before anybody else knows digests. */
void digests_inherit(struct digests *digests, struct digests *old);

/* Hash the data of one organ, or go on with it, in state. Returns 0; -EINTR: *stop or *ending, both
 * of which may be NULL, is true; or as digests_prepare(). */
int digest_data(struct model *model, const struct subject *subject, XXH64_state_t *state,
		const atomic_bool *stop, const atomic_bool *ending);

#endif
