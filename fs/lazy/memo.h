/* SPDX-License-Identifier: MIT */
/* memo.h - values computed once per content, by a job in a pool, when a thread first asks, and kept
 * as long as the content exists.
 *
 * 1. Threads that ask while the job runs wait for that job.
 * 2. A job without waiting threads gives up, and its result is unknown again.
 * 3. After an error the next call tries again; -ENOTSUP, no value, is kept. */
#ifndef FS_LAZY_MEMO_H
#define FS_LAZY_MEMO_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct pool;

struct memo; /* any thread may use it */

/* A tensor of the base, or, if content is not NULL, the content of its slot. */
struct subject {
	uint32_t tensor;
	struct content *content;
};

/* A kind of value, kept in a structure of size bytes: a struct memo_state, then the value. */
struct memo_ops {
	size_t size;
	/* The structure in a content. how, here and below, is the number given to memo_new(): of
	 * samples, of the kind of hash, or of the type. */
	struct memo_state *(*place)(struct content *content, uint64_t how);
	/* Compute the value and store it behind *once. Returns 0; -EINTR soon after once->unwanted
	 * becomes true; -ENOTSUP: no value; or another -errno. */
	int (*compute)(struct model *model, uint64_t how, const struct subject *subject,
		       struct memo_state *once);
	/* Version of everything else on which the value depends: a value of an older version is
	 * computed again. NULL: it depends on the content alone. */
	uint32_t (*version)(const struct model *model);
};

/* Pointers are borrowed and outlive the memo. pool NULL: jobs run on threads of the memo. NULL: out
 * of memory. */
struct memo *memo_new(const struct memo_ops *ops, struct model *model, uint64_t how,
		      struct pool *pool);

/* Make all waiting and later threads get -EINTR. NULL is fine. */
void memo_stop(struct memo *memo);
void memo_free(struct memo *memo); /* call when no thread waits; NULL is fine */

/* Compute the values of n subjects, several at a time, and wait for them, or until *stop is true;
 * stop may be NULL. The contents are borrowed, and none is a whiteout. Returns 0, -EINTR, or the
 * error of a job except -ENOTSUP. */
int memo_prepare(struct memo *memo, const struct subject *subjects, size_t n,
		 const atomic_bool *stop);

/* Compute one value and copy it. Returns 0 or -errno, also -ENOTSUP. */
int memo_get(struct memo *memo, const struct subject *subject, const atomic_bool *stop,
	     void *value);

/* Take over the values of old, of the same kind, for tensors whose bytes are also in its model's
 * base. Call before any thread asks. */
void memo_inherit(struct memo *memo, struct memo *old);

/* Number of values that were computed or tried. */
uint64_t memo_count(struct memo *memo);

#endif
