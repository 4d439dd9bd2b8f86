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
	const char *names[2]; /* names after the body, NULL without any */
	bool other_user;      /* another user than the mount's */
};

struct fuzz_answer {
	int error; /* 0, or -errno */
	size_t size;
	uint8_t *bytes; /* caller frees */
};

struct fuzz_kernel;

/* A writable mount, with a layer in a directory of its own that ends with the mount. */
struct fuzz_kernel *fuzz_kernel_new(void);

/* Wait for all answers, and end the mount. */
void fuzz_kernel_free(struct fuzz_kernel *kernel);

/* Send a request, and wait for the answer if answer is not NULL. One thread calls this. */
void fuzz_kernel_ask(struct fuzz_kernel *kernel, const struct fuzz_request *request,
		     struct fuzz_answer *answer);

/* Wait for every missing answer. */
void fuzz_kernel_wait(struct fuzz_kernel *kernel);

/* Number of requests until now. */
unsigned fuzz_kernel_asked(const struct fuzz_kernel *kernel);

#endif
