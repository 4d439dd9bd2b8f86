/* SPDX-License-Identifier: MIT */
/* reading.h - the place where the Z-measure of one content is kept, from the first time that
 * somebody asks for it. Everything in it belongs to readings.h. */
#ifndef FS_READING_H
#define FS_READING_H

#include "measure/zmeasure.h"

#include <stdatomic.h>
#include <stdint.h>

enum reading_state {
	READING_NONE,
	READING_BEGUN, /* a job for it is queued or runs */
	READING_DONE,
};

/* Zeros are a reading that nobody has asked for. */
struct reading {
	enum reading_state state;
	uint64_t begun;		/* whose asking began the job: the how-manieth */
	int error;		/* READING_DONE: 0 or -errno */
	atomic_uint waiting;	/* requests that want it; without any its job gives up */
	struct zmeasure result; /* READING_DONE without error */
};

#endif
