/* SPDX-License-Identifier: MIT */
/* once_state.h - the place where what is found out once of a content is kept, from the first time
 * that somebody asks for it: the first member of a structure that holds the result. Everything in
 * it belongs to once.h. */
#ifndef FS_ONCE_STATE_H
#define FS_ONCE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum once_state {
	ONCE_NONE,
	ONCE_BEGUN, /* a job for it is queued or runs */
	ONCE_DONE,
};

/* Zeros: nobody has asked. */
struct once {
	enum once_state state;
	uint64_t begun;	      /* whose asking began the job: the how-manieth */
	int error;	      /* ONCE_DONE: 0 or -errno */
	unsigned waiting;     /* requests that want it */
	atomic_bool unwanted; /* there were such and there is none now: its job gives up */
};

#endif
