/* SPDX-License-Identifier: MIT */
/* kernel.h - a mount of a small model without a kernel: requests are given to libfuse, and
 * every answer is checked against the protocol. */
#ifndef TESTS_FUZZ_KERNEL_H
#define TESTS_FUZZ_KERNEL_H

#include "fuzz_help.h"

/* A name with its NUL, and requests of one mount. */
#define FUZZ_NAME     128u
#define FUZZ_REQUESTS 2048u

struct fuzz_request {
	uint32_t opcode;
	uint64_t node;
	const void *body;
	size_t n;
	const char *names[2]; /* that follow the body; NULL: none */
	bool other_user;      /* than the one whose mount it is */
};

struct fuzz_answer {
	int error; /* 0, or -errno */
	size_t size;
	uint8_t *bytes; /* to free */
};

struct fuzz_kernel;

/* The mount, writable, with its layer in a directory of its own, which goes with it. */
struct fuzz_kernel *fuzz_kernel_new(void);

/* Wait for all answers, and end the mount. */
void fuzz_kernel_free(struct fuzz_kernel *kernel);

/* Ask, and where answer is not NULL wait for it; to be asked by one thread. */
void fuzz_kernel_ask(struct fuzz_kernel *kernel, const struct fuzz_request *request,
		     struct fuzz_answer *answer);

/* Wait for every answer that is missing. */
void fuzz_kernel_wait(struct fuzz_kernel *kernel);

/* How many requests there have been. */
unsigned fuzz_kernel_asked(const struct fuzz_kernel *kernel);

#endif
