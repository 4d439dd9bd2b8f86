/* SPDX-License-Identifier: MIT */
/* remote_answer.h - parses the header of an HTTP answer for a part of a file. Sources: RFC 9110,
 * sections 8.4 (Content-Encoding), 8.8 (validators), 10.2.3 (Retry-After) and 14.4
 * (Content-Range). */
#ifndef FS_STORAGE_REMOTE_ANSWER_H
#define FS_STORAGE_REMOTE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_ETAG_MAX	    256 /* with the NUL; a longer ETag is ignored */
#define REMOTE_MODIFIED_MAX 64

struct remote_answer {
	unsigned status; /* 0: no status line yet */
	bool has_range;	 /* Content-Range gives the bytes and the size of the file */
	uint64_t first, last, total;
	bool encoded;			    /* Content-Encoding: not the file's bytes */
	char etag[REMOTE_ETAG_MAX];	    /* with its quotes; empty: none */
	char modified[REMOTE_MODIFIED_MAX]; /* Last-Modified; empty: none */
	unsigned retry_after;		    /* seconds; 0: not given */
	size_t bytes;			    /* length of all lines, also of redirects */
};

/* Parse one line, of n bytes. A status line resets all fields, since the answer before it was a
 * redirect. Malformed fields are ignored. */
void remote_answer_line(struct remote_answer *answer, const char *line, size_t n);

/* Does the answer belong to the same file as the first one: equal size and ETag, or without an
 * ETag, equal Last-Modified? */
bool remote_answer_is_of(const struct remote_answer *answer, const struct remote_answer *first);

#endif
