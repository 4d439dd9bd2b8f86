/* SPDX-License-Identifier: MIT */
/* remote_file.h - random access to a file on an HTTP server: by cached blocks, with a read-ahead
 * that grows for sequential reads, or by pieces of just the requested size.
 *
 * If the answers do not identify their file (no ETag, no Last-Modified), two places of the file are
 * compared with their first content after each read; the bytes are valid only if both are equal. */
#ifndef FS_STORAGE_REMOTE_FILE_H
#define FS_STORAGE_REMOTE_FILE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;
struct remote_cache;

struct remote_file; /* any thread may use it */

/* A range of bytes, and the buffer for it. */
struct remote_piece {
	uint64_t offset;
	size_t length;
	void *bytes;
};

/* Open the file at a URL. The file takes a reference of cache; if cache is NULL, it gets one of its
 * own. NULL with err set: errors of remote_http_open(). */
struct remote_file *remote_file_open(const char *url, struct remote_cache *cache,
				     struct error *err);
void remote_file_close(struct remote_file *file); /* NULL is fine */

/* A synthetic status: size; mtime, or 1 January 1980 if the server names none; device and inode are
 * hashes of the server and of the URL with its ETag. No disk has such a device number. */
const struct stat *remote_file_stat(const struct remote_file *file);

/* Read all n bytes at any offset. Returns 0; -EINTR soon after *stop became true (stop may be NULL)
 * or after remote_cache_interrupt(); or -EIO or -ENOMEM with err set. err->code is ESTALE if the
 * file on the server has changed. */
int remote_file_read(struct remote_file *file, void *bytes, size_t n, uint64_t offset,
		     const atomic_bool *stop, struct error *err);

/* remote_file_read() of n pieces in ascending order of offset, requested together and fetched with
 * little data between them. The bytes are not cached. */
int remote_file_read_pieces(struct remote_file *file, const struct remote_piece *pieces, size_t n,
			    const atomic_bool *stop, struct error *err);

/* Pin the blocks of the first n bytes that are cached. */
void remote_file_keep(struct remote_file *file, uint64_t n);

#endif
