/* SPDX-License-Identifier: MIT */
/* reflink.h - a filesystem that shares blocks as the test says, by --wrap for the calls of
 * reflink.c. Sharing is copying here, under the rules of ioctl_ficlonerange(2). Until
 * filesystem_begin() the calls are the kernel's. */
#ifndef TESTS_UNIT_REFLINK_H
#define TESTS_UNIT_REFLINK_H

#include "tests/unit/temp_dir.h"

#define BLOCK 4096

/* Behaviour of the calls, and their counts. */
extern struct filesystem {
	int share_error; /* 0: sharing works */
	int copy_error;	 /* of copy_file_range(); 0: it works */
	size_t copy_most;
	unsigned copy_good; /* calls before the error */
	int reserve_error, write_back_error;
	uint64_t shared;
	unsigned copies;
	void (*before_copy)(void);
	bool is_near; /* the filesystem is on a disk of this machine */
} filesystem;

/* From now on every file is in that filesystem, and no call fails. */
void filesystem_begin(void);

#endif
