/* SPDX-License-Identifier: MIT */
/* error.h - an error: a code, the byte where it was found, and a sentence for the user. */
#ifndef GGUF_ERROR_H
#define GGUF_ERROR_H

#include <stdint.h>

/* The error has no place in a file. */
#define ERROR_NO_OFFSET UINT64_MAX

struct error {
	int code;	 /* errno value, positive; 0: no error yet */
	uint64_t offset; /* byte of the file, or ERROR_NO_OFFSET */
	char text[256];	 /* one sentence without a full stop, never empty once set */
};

/* Set the error and return -code, so that a caller can write `return error_set(...)`. err may be
 * NULL. The sentence describes the problem with the data; the caller that prints it adds the path.
 * Control characters, as from a hostile name, are replaced, so the sentence stays one line. */
int error_set(struct error *err, int code, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a system call, or malloc(), that failed with that errno. */
int error_errno(struct error *err, int code);

/* Write the sentence, after "at byte 276: " if it has an offset, to text of n bytes. Returns
 * text. */
const char *error_describe(const struct error *err, char *text, int n);

#endif
