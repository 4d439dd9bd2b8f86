/* SPDX-License-Identifier: MIT */
/* remote_answer.h - what the header of an HTTP answer says about the part of a file that follows.
 * Sources: RFC 9110, sections 8.4 (Content-Encoding), 8.8 (validators), 10.2.3 (Retry-After) and
 * 14.4 (Content-Range). */
#ifndef FS_STORAGE_REMOTE_ANSWER_H
#define FS_STORAGE_REMOTE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_ETAG_MAX	    256 /* with the NUL; a longer one counts as none */
#define REMOTE_MODIFIED_MAX 64

struct remote_answer {
	unsigned status; /* 0: no line of it has come */
	bool has_range;	 /* Content-Range names bytes and how many the whole file has */
	uint64_t first, last, total;
	bool encoded;			    /* the bytes are not those of the file */
	char etag[REMOTE_ETAG_MAX];	    /* with its quotes; empty: none */
	char modified[REMOTE_MODIFIED_MAX]; /* Last-Modified; empty: none */
	unsigned retry_after;		    /* seconds; 0: none are named */
	size_t bytes;			    /* of all lines, those of redirects too */
};

/* One more line of a header, of n bytes; its status line forgets the lines of an answer before it,
 * which was a redirect. What is malformed counts as not there. */
void remote_answer_line(struct remote_answer *answer, const char *line, size_t n);

/* Is an answer about the same file as the first one: of as many bytes, with its ETag, or, where it
 * had none, with its Last-Modified? */
bool remote_answer_is_of(const struct remote_answer *answer, const struct remote_answer *first);

#endif
