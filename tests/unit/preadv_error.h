/* SPDX-License-Identifier: MIT */
/* preadv_error.h - an error of preadv2() in programs that are linked with
 * -Wl,--wrap=preadv64v2. */
#ifndef TESTS_UNIT_PREADV_ERROR_H
#define TESTS_UNIT_PREADV_ERROR_H

/* Each call fails with that errno value; 0: none does by this. */
extern int preadv_error;

#endif
