/* SPDX-License-Identifier: MIT */
/* preadv_error.h - an error of preadv2() in programs that are linked with
 * -Wl,--wrap=preadv64v2. */
#ifndef TESTS_UNIT_PREADV_ERROR_H
#define TESTS_UNIT_PREADV_ERROR_H

#include <sys/types.h>

/* Each call fails with that errno value; 0: none does by this. */
extern int preadv_error;

/* A call that must not wait finds no bytes in memory from there on; 0: those that are there. The
 * kernel begins to read absent pages for such a call, so that the next one may find them. */
extern off_t preadv_absent;

#endif
