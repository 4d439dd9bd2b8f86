/* SPDX-License-Identifier: MIT */
/* error.h - one failure: a code, the byte it was found at, one sentence for the user. */
#ifndef GGUF_ERROR_H
#define GGUF_ERROR_H

#include <stdint.h>

/* Where a failure has no place in a file. */
#define ERROR_NO_OFFSET UINT64_MAX

struct error {
	int code;	 /* errno value, positive; 0 while nothing has failed */
	uint64_t offset; /* byte of the file in question, or ERROR_NO_OFFSET */
	char text[256];	 /* one sentence without a final stop, never empty once set */
};

/* Record a failure and return -code, so that a caller can write `return error_set(...)`. err may be
 * NULL. The sentence says what is wrong with the data; the caller that prints it adds the path.
 * Control bytes that a hostile name brought in are replaced, so the sentence is always one line. */
int error_set(struct error *err, int code, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a system call, or malloc(), that failed with that errno. */
int error_errno(struct error *err, int code);

/* The sentence with its offset, "at byte 276: ..." where there is one, into text of n bytes.
 * Returns text. */
const char *error_describe(const struct error *err, char *text, int n);

#endif
