/* SPDX-License-Identifier: MIT */
/* reflink.h - a filesystem that shares blocks as it is told, in a program that is linked with
 * --wrap for the calls of reflink.c: sharing is copying here, under the rules of
 * ioctl_ficlonerange(2). The calls are the kernel's own until filesystem_begin(). */
#ifndef TESTS_UNIT_REFLINK_H
#define TESTS_UNIT_REFLINK_H

#include "tests/unit/temp_dir.h"

#define BLOCK 4096

/* Behaviour of the calls from now on, and their counts. */
extern struct filesystem {
	int share_error; /* 0: sharing works */
	int copy_error;	 /* of copy_file_range(); 0: it works */
	size_t copy_most;
	unsigned copy_good; /* calls, before the error */
	int reserve_error, write_back_error;
	uint64_t shared;
	unsigned copies;
	void (*before_copy)(void);
	bool is_near; /* it is on a disk of this machine */
} filesystem;

/* Every file is in that filesystem from now on, and no call has been told to fail. */
void filesystem_begin(void);

#endif
