/* SPDX-License-Identifier: MIT */
/* memo.h - something that is found out of organs, each time by a job in a pool, when somebody asks
 * for it, and kept as long as the content is there.
 *
 * 1. It is found out once of a content; whoever asks meanwhile waits for the same job.
 * 2. A job that nobody waits for any more gives up, and leaves no trace.
 * 3. What failed is tried again when it is asked for again; that there is nothing to be found out
 *    stays. */
#ifndef FS_LAZY_MEMO_H
#define FS_LAZY_MEMO_H

#include "fs/model/slots.h"
#include "fs/util/pool.h"

struct memo; /* any thread may use it */

/* Of what: the base's tensor, or where content is not NULL the graft in its slot. */
struct subject {
	uint32_t tensor;
	struct content *content;
};

struct memo_ops {
	/* Where it is kept, alive as long as the content. */
	struct memo_state *(*place)(void *context, const struct subject *subject);
	/* Find it out, and keep the result beside *once. When once->unwanted becomes true it soon
	 * returns -EINTR. -ENOTSUP: there is nothing to be found out. Other errors are -errno. */
	int (*find)(void *context, const struct subject *subject, struct memo_state *once);
	void *context;
};

/* The kind is copied, what it points to borrowed. Jobs run on the threads of pool, which outlives
 * it, or where pool is NULL on threads of its own. NULL: out of memory. */
struct memo *memo_new(const struct memo_ops *kind, struct pool *pool);

/* So many threads are as fast as can be where the work is the processors'. */
unsigned memo_threads(void);

/* Whoever waits gets -EINTR, now and later. */
void memo_stop(struct memo *memo);
void memo_free(struct memo *memo); /* nobody may wait any more; NULL is fine */

/* Wait until it is found out of all n subjects, several at a time, or *stop, which may be NULL, is
 * true. The contents are borrowed. Returns 0, or -EINTR, or the error of one of them, but not
 * -ENOTSUP. */
int memo_prepare(struct memo *memo, const struct subject *subjects, size_t n,
		 const atomic_bool *stop);

/* The same for one. Returns 0, then the result stands beside its struct memo_state and stays, or
 * -errno, -ENOTSUP too. */
int memo_get(struct memo *memo, const struct subject *subject, const atomic_bool *stop);

/* Where it is found out by others already, it is here too from now on: returns true, and the result
 * is to be copied. Before anybody asks. */
bool memo_inherit(struct memo *memo, struct memo_state *place, struct memo *others,
		  const struct memo_state *known);

/* Of how many organs it was found out, or that was tried. */
uint64_t memo_count(struct memo *memo);

#endif
