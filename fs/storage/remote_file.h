/* SPDX-License-Identifier: MIT */
/* remote_file.h - a file that an HTTP server has, read in any ranges: by blocks that are cached,
 * with more of them at once the longer it is read in sequence, or by pieces that are no more than
 * was asked for.
 *
 * Where the server's answers do not name the file that they are of (no ETag, no Last-Modified),
 * bytes count once a look after them has shown two places of the file as they were at first. */
#ifndef FS_STORAGE_REMOTE_FILE_H
#define FS_STORAGE_REMOTE_FILE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;
struct remote_cache;

struct remote_file; /* any thread may use it */

/* Bytes that are wanted, and where they go. */
struct remote_piece {
	uint64_t offset;
	size_t length;
	void *bytes;
};

/* The file at a URL. cache, of which it takes a reference, may be NULL for one of its own. NULL
 * with err set: as remote_http_open(). */
struct remote_file *remote_file_open(const char *url, struct remote_cache *cache,
				     struct error *err);
void remote_file_close(struct remote_file *file); /* NULL is fine */

/* A status for it: its size, the time that the server names or else the first second of 1980, and
 * for device and number what differs for another server and another file, as far as can be told:
 * no disk has such a device. */
const struct stat *remote_file_stat(const struct remote_file *file);

/* All n bytes at offset, which may be any. Returns 0; -EINTR soon after *stop, which may be NULL,
 * became true; or -EIO or -ENOMEM with err set, ESTALE in err->code: the file on the server is
 * another one. */
int remote_file_read(struct remote_file *file, void *bytes, size_t n, uint64_t offset,
		     const atomic_bool *stop, struct error *err);

/* The same of n pieces in the order of their offsets, which are asked for at once, and little
 * beside them is fetched. What is fetched is not cached. */
int remote_file_read_pieces(struct remote_file *file, const struct remote_piece *pieces, size_t n,
			    const atomic_bool *stop, struct error *err);

/* The first n bytes, as far as they are cached, stay so. */
void remote_file_keep(struct remote_file *file, uint64_t n);

#endif
