/* SPDX-License-Identifier: MIT */
/* memo_state.h - the place where what is found out once of a content is kept, from the first time
 * that somebody asks for it: the first member of a structure that holds the result. Everything in
 * it belongs to memo.h. */
#ifndef FS_MODEL_MEMO_STATE_H
#define FS_MODEL_MEMO_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum memo_phase {
	MEMO_NONE,
	MEMO_PENDING, /* a job for it is queued or runs */
	MEMO_DONE,
};

/* Zeros: nobody has asked. */
struct memo_state {
	enum memo_phase state;
	uint64_t begun;	      /* whose asking began the job: the how-manieth */
	int error;	      /* MEMO_DONE: 0 or -errno */
	unsigned waiting;     /* requests that want it */
	atomic_bool unwanted; /* there were such and there is none now: its job gives up */
};

#endif
