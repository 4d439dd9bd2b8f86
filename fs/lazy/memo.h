/* SPDX-License-Identifier: MIT */
/* memo.h - a value that is found out of each organ of a model, by a job in a pool, when a thread
 * asks for it, and kept as long as the content is there.
 *
 * 1. It is found out once of a content; the threads that ask meanwhile wait for the same job.
 * 2. A job that no thread waits for any more gives up, and leaves no trace.
 * 3. What failed is tried again when it is asked for again; that there is nothing to be found out
 *    stays. */
#ifndef FS_LAZY_MEMO_H
#define FS_LAZY_MEMO_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct model;
struct pool;

struct memo; /* any thread may use it */

/* Of what: the base's tensor, or where content is not NULL the graft in its slot. */
struct subject {
	uint32_t tensor;
	struct content *content;
};

/* A kind of value. It is kept in a structure of that size, of which all is the value's that follows
 * the struct memo_state at its start. */
struct memo_ops {
	size_t size;
	/* The structure in a content, which begins with this. */
	struct memo_state *(*place)(struct content *content, uint64_t how);
	/* Find the value out, as the memo's how says, and put it behind *once. When once->unwanted
	 * becomes true it soon returns -EINTR. -ENOTSUP: there is nothing to be found out. Other
	 * errors are -errno. */
	int (*find)(struct model *model, uint64_t how, const struct subject *subject,
		    struct memo_state *once);
	/* The version of all that the value depends on besides the content: a value of another
	 * version is found out anew. NULL: there is nothing else. */
	uint32_t (*version)(const struct model *model);
};

/* All that it points to is borrowed and outlives it. Jobs run on the threads of pool, or where pool
 * is NULL on threads of its own. NULL: out of memory. */
struct memo *memo_new(const struct memo_ops *ops, struct model *model, uint64_t how,
		      struct pool *pool);

/* Threads that wait get -EINTR, now and later. NULL is fine. */
void memo_stop(struct memo *memo);
void memo_free(struct memo *memo); /* no thread may wait any more; NULL is fine */

/* Wait until it is found out of all n subjects, several at a time, or *stop, which may be NULL, is
 * true. The contents are borrowed and no whiteouts. Returns 0, or -EINTR, or the error of one of
 * them, but not -ENOTSUP. */
int memo_prepare(struct memo *memo, const struct subject *subjects, size_t n,
		 const atomic_bool *stop);

/* The same for one, whose value is copied. Returns 0 or -errno, -ENOTSUP too. */
int memo_get(struct memo *memo, const struct subject *subject, const atomic_bool *stop,
	     void *value);

/* What old, of the same kind, knows of tensors that have the same bytes in its model's base is
 * known from now on. Before any thread asks. */
void memo_inherit(struct memo *memo, struct memo *old);

/* Of how many organs it was found out, or that was tried. */
uint64_t memo_count(struct memo *memo);

#endif
