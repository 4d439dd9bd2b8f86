/* SPDX-License-Identifier: MIT */
/* preadv_error.h - an error of preadv2(), by -Wl,--wrap=preadv64v2. */
#ifndef TESTS_UNIT_PREADV_ERROR_H
#define TESTS_UNIT_PREADV_ERROR_H

#include <sys/types.h>

/* errno value of each call; 0: the real call is made. */
extern int preadv_error;

/* From this offset on, a call that must not wait finds no bytes in memory; 0: it finds the real
 * ones. For such a call the kernel begins to read absent pages, so a later call may find them. */
extern off_t preadv_absent;

#endif
