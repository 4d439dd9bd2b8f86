/* SPDX-License-Identifier: MIT */
/* remote_http.h - requests for parts of a file on an HTTP server.
 *
 * 1. The first answer gives the size of the file and its identity (ETag, else Last-Modified). Every
 *    later answer has to give the same, or its bytes are invalid. Some servers give no identity.
 * 2. A request is repeated a few times, with pauses, if the answer does not come, breaks off or is
 *    a 408, 429 or 5xx; a broken answer is continued. Then the server counts as gone, and until it
 *    answers again, each request is made once.
 * 3. Redirects lead to http and https, and from https to https alone. The target is kept until it
 *    does not answer any more. */
#ifndef FS_STORAGE_REMOTE_HTTP_H
#define FS_STORAGE_REMOTE_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct remote_answer;

/* Most requests of one call, and most calls for many ranges, that are in progress at a time. */
#define REMOTE_PARALLEL 8
#define REMOTE_BATCHES	4

struct remote_http; /* any thread may use it */

/* A range of at least one byte, and the buffer for it. */
struct remote_range {
	uint64_t offset;
	size_t length;
	uint8_t *bytes;
};

/* Call once before other threads are started, and after the last has ended. */
void remote_http_global_init(void);
void remote_http_global_cleanup(void);

/* Open the file at an http or https URL. head receives up to *n first bytes, and *n becomes their
 * number. interrupted, which may be NULL, is borrowed: while it is true, all calls soon return
 * -EINTR. NULL with err set: EIO; EINVAL if the server lacks a feature that organfs needs; EINTR;
 * ENOMEM; EACCES if syscall_filter_ends_network(). */
struct remote_http *remote_http_open(const char *url, const atomic_bool *interrupted, uint8_t *head,
				     size_t *n, struct error *err);
void remote_http_close(struct remote_http *http); /* NULL is fine */

/* The first answer, which identifies the file. */
const struct remote_answer *remote_http_identity(const struct remote_http *http);

/* Fetch all bytes of n ranges, which lie within the file. Returns 0; -EINTR soon after *stop (stop
 * may be NULL) or *interrupted became true; or -EIO or -ENOMEM with err set. err->code is ESTALE if
 * the server has another file now. */
int remote_http_get(struct remote_http *http, const struct remote_range *ranges, size_t n,
		    const atomic_bool *stop, struct error *err);

/* Should a call end? stop may be NULL. */
bool remote_http_is_stopped(const struct remote_http *http, const atomic_bool *stop);

#endif
