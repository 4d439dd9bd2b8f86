/* SPDX-License-Identifier: MIT */
/* remote_http.h - parts of a file that an HTTP server has.
 *
 * 1. The first answer says how long the file is and which it is (ETag, else Last-Modified). Every
 *    later one has to say the same, or none of its bytes count. Some servers name neither.
 * 2. An answer that does not come, breaks off or is a 408, 429 or 5xx is asked for again, from
 *    where it broke off, a few times and with pauses. After that the server counts as gone: until
 *    it answers again, each request is made once.
 * 3. Redirects lead to http and https, and from https to https alone. Where they led is kept, until
 *    that does not answer any more. */
#ifndef FS_STORAGE_REMOTE_HTTP_H
#define FS_STORAGE_REMOTE_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct remote_answer;

/* So many requests of one call are under way at a time, and so many such calls. */
#define REMOTE_PARALLEL 8
#define REMOTE_BATCHES	4

struct remote_http; /* any thread may use it */

/* Bytes that are wanted, at least one, and where they go. */
struct remote_range {
	uint64_t offset;
	size_t length;
	uint8_t *bytes;
};

/* Once, before there is another thread, and after the last. */
void remote_http_global_init(void);
void remote_http_global_cleanup(void);

/* The file at a URL with http or https. What is there of its first *n bytes comes into head, and
 * *n becomes how many these are. interrupted, which may be NULL, is borrowed: while it is true,
 * every call soon returns -EINTR. NULL with err set: EIO, EINVAL what organfs needs the server does
 * not do, EINTR, ENOMEM, EACCES syscall_filter_ends_network(). */
struct remote_http *remote_http_open(const char *url, const atomic_bool *interrupted, uint8_t *head,
				     size_t *n, struct error *err);
void remote_http_close(struct remote_http *http); /* NULL is fine */

/* The first answer. */
const struct remote_answer *remote_http_identity(const struct remote_http *http);

/* All bytes of n ranges, which lie in the file. Returns 0; -EINTR soon after *stop, which may be
 * NULL, became true; or -EIO or -ENOMEM with err set, ESTALE in err->code for a file that is not
 * the one of the first answer any more. */
int remote_http_get(struct remote_http *http, const struct remote_range *ranges, size_t n,
		    const atomic_bool *stop, struct error *err);

/* Is a call to end, whose stop may be NULL? */
bool remote_http_is_stopped(const struct remote_http *http, const atomic_bool *stop);

#endif
