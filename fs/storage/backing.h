/* SPDX-License-Identifier: MIT */
/* backing.h - a reference-counted source of immutable bytes: mostly a file on disk, such as a base
 * or an organ in a layer.
 *
 * Reads return the bytes the file had when it was opened. If its size or mtime has changed since,
 * reads fail with -EIO, because old and new bytes can no longer be told apart; there are no short
 * reads and no zeros in place of data. The ctime is not compared, because extended attributes,
 * backups that restore the atime, links and renames change it. Files are read, not mapped, so that
 * a truncation causes no SIGBUS. A file that is renamed or replaced by a rename stays readable.
 *
 * A file may be compressed (zstd_seekable.h); sizes and offsets then count decompressed bytes. The
 * file may lie on an HTTP server (remote_file.h). The bytes may also come from several files
 * (shards), or be computed from another file (computed_rows.h). */
#ifndef FS_STORAGE_BACKING_H
#define FS_STORAGE_BACKING_H

#include "fs/storage/file_use.h"
#include "fs/util/hash_text.h"
#include "gguf/cursor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

struct error;
struct fd_cache;
struct log;
struct page_range;
struct remote_cache;
struct remote_piece;
struct zstd_cache;

struct backing; /* reference-counted, immutable; any thread may use it */

/* Open a regular file for reading. NULL with err set: open(2)'s error, or EINVAL if the file is not
 * a regular one. */
struct backing *backing_open(const char *path, struct error *err);

/* backing_open() for a file that is known already, which saves system calls: *seen is the result of
 * stat(), or seen is NULL and a directory listing has shown a regular file. resolved, which seen ==
 * NULL implies: the path is absolute and its directories contain no links. */
struct backing *backing_open_seen(const char *path, const struct stat *seen, bool resolved,
				  struct error *err);

/* backing_open() for a descriptor, which the backing owns from now on, also on failure. The path is
 * absolute and used for messages only. */
struct backing *backing_fdopen(int fd, const char *path, struct error *err);

/* backing_fdopen() for a compressed file. NULL also for the errors of zstd_seekable_open(). */
struct backing *backing_fdopen_zstd(int fd, const char *path, struct zstd_cache *cache,
				    struct error *err);

/* Mark the file as a base: reads with BACKING_PASSING leave no pages in the page cache. Pages of
 * other files stay until the kernel drops them. Call before other threads know the backing; for a
 * remote file the call has no effect. */
void backing_set_passing(struct backing *backing);

/* Announce the use of a plain file to other daemons (file_use.h) for as long as the file is open.
 * Not for files of an fd_cache: backing_join_cache() announces these. */
void backing_announce(struct backing *backing, enum file_use use);

/* Let the set, an LRU cache of descriptors, close and reopen the file, so that more files than
 * descriptors can be in use. The use is announced while the file is open. After the set has closed
 * a file, reads fail if the file was renamed or removed. Call for a plain file that no other thread
 * knows yet. */
void backing_join_cache(struct backing *backing, struct fd_cache *set, enum file_use use);

/* Open the file at an http or https URL. backing_path() is the URL without credentials,
 * backing_stat() is remote_file_stat(). If cache is NULL, the file gets a cache of its own. NULL
 * with err set: errors of remote_http_open(). */
struct backing *backing_open_remote(const char *url, struct remote_cache *cache, struct error *err);

/* Close the file for good, so that the disk can free its space. All later reads fail with -EIO. */
void backing_revoke(struct backing *backing);
bool backing_is_revoked(const struct backing *backing);

/* Flags of backing_read_with() and the reads below. */
enum backing_flags {
	BACKING_SPANS = 1,	/* one of many small reads: without read-ahead */
	BACKING_UNCHECKED = 2,	/* valid only if backing_check() returns 0 afterwards */
	BACKING_UNVERIFIED = 4, /* for headers: verify neither checksums nor the XXH128 */
	/* For bases: leave no pages in the page cache, as page_cache.h describes. Without
	 * BACKING_SPANS the caller has called backing_absent() and drops the pages itself. */
	BACKING_PASSING = 8,
	/* With both: the caller has called backing_absent() and drops the pages itself. */
	BACKING_NOTED = 16,
	/* With BACKING_PASSING: read only from the page cache, and only bases on local disks.
	 * -EAGAIN if that is not possible; the file does not count as failed then. */
	BACKING_AT_ONCE = 32,
};

/* Operations of a backing whose bytes are not simply those of one file: shards, compressed frames,
 * computed rows. The backing owns context. */
struct backing_ops {
	/* Read all n bytes at offset. Returns 0, -EIO or, after *stop became true, -EINTR; stop may
	 * be NULL. Flags are limited to BACKING_SPANS and, for backings with `part`, those of the
	 * page cache. */
	int (*read)(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		    const atomic_bool *stop);
	/* backing_file_at() for bytes that come from several files; otherwise NULL. */
	struct backing *(*part)(void *context, uint64_t *offset, uint64_t *length);
	void (*release)(void *context);
	void *context;
	bool computed; /* no file contains the bytes: reads take CPU time */
	bool remote;   /* some of the files are on a server */
};

/* A backing with these operations. path and stat are the results of backing_path() and
 * backing_stat(); the size is st_size. NULL: out of memory. */
struct backing *backing_from_ops(const struct backing_ops *ops, const char *path,
				 const struct stat *stat);

/* The backing whose file contains the byte at offset: a part, or backing itself if it has no parts.
 * *offset becomes the offset in that file, and *length is reduced to the bytes that follow in it.
 * Borrowed. NULL: no file contains them. */
struct backing *backing_file_at(struct backing *backing, uint64_t *offset, uint64_t *length);

/* A placeholder of size bytes for a missing file; all reads fail. NULL: out of memory. */
struct backing *backing_new_missing(const char *path, uint64_t size);

struct backing *backing_ref(struct backing *backing);
void backing_unref(struct backing *backing); /* NULL is fine */

/* Read all n bytes at offset. Returns 0, -EIO or -ENOMEM. */
int backing_read(struct backing *backing, void *bytes, size_t n, uint64_t offset);

/* backing_read() with flags of enum backing_flags. */
int backing_read_with(struct backing *backing, unsigned flags, void *bytes, size_t n,
		      uint64_t offset);

/* backing_read_with() that returns -EINTR soon after *stop became true if it waits for a server or
 * for long computations. stop may be NULL. */
int backing_read_cancellable(struct backing *backing, unsigned flags, void *bytes, size_t n,
			     uint64_t offset, const atomic_bool *stop);

/* Read n pieces, in ascending order of offset, with BACKING_SPANS and BACKING_UNCHECKED. The pieces
 * of a remote file are requested together. stop as for backing_read_cancellable(). */
int backing_read_pieces(struct backing *backing, const struct remote_piece *pieces, size_t n,
			const atomic_bool *stop);

/* Put the last error of reads from the server into err. Without one, err is unchanged. */
void backing_remote_error(struct backing *backing, struct error *err);

/* Does each read cost a request to a server? */
bool backing_is_remote(const struct backing *backing);

/* Keep those of the first n bytes of a remote file in memory that were read already. */
void backing_keep(struct backing *backing, uint64_t n);

/* Check that the file is unchanged since its opening. Returns 0 or -EIO. */
int backing_check(struct backing *backing);

/* Would a read with BACKING_SPANS of the byte at offset have to wait for the disk?
 * backing_readahead() starts to read n bytes that will soon be requested. Both are hints only. */
bool backing_is_uncached(struct backing *backing, uint64_t offset);
void backing_readahead(struct backing *backing, size_t n, uint64_t offset);

/* Pages of the n bytes at offset that are not in memory and that the caller should pass to
 * backing_drop() after its read: up to most ranges. Returns their number; 0 also if the file's
 * pages may stay or the kernel does not tell. */
size_t backing_absent(struct backing *backing, uint64_t offset, uint64_t n,
		      struct page_range *ranges, size_t most);

/* Drop pages from the page cache. Returns false if some stay, because they are still being read or
 * another process maps them. */
bool backing_drop(struct backing *backing, const struct page_range *range);

/* The path when the file was opened: absolute, borrowed. */
const char *backing_path(const struct backing *backing);

/* Set the path at which the file lies, if it differs from backing_path(), which messages show. Call
 * before other threads know the backing. False: out of memory. */
bool backing_set_place(struct backing *backing, const char *place);
const char *backing_place(const struct backing *backing);

const struct stat *backing_stat(const struct backing *backing);
uint64_t backing_size(const struct backing *backing);

/* Does one file contain the bytes uncompressed? */
bool backing_is_plain(const struct backing *backing);

/* Are the bytes computed by each read, which may take long? */
bool backing_is_computed(const struct backing *backing);

/* The first readable part, or backing itself if it has no parts. Borrowed. NULL: none. */
struct backing *backing_first_readable(struct backing *backing);

/* The descriptor of the file, valid until backing_fd_put(). -1: none, or several files. */
int backing_fd_get(struct backing *backing);
void backing_fd_put(struct backing *backing);

/* A source for the parsers of gguf/, for headers only: it reads with BACKING_UNVERIFIED. Valid as
 * long as the backing. */
struct source backing_source(struct backing *backing);

/* Context of a source like backing_source(), but with zeros from end on, where tensor data is
 * missing or costly: gguf_read() reads ahead. */
struct backing_head {
	struct backing *file;
	uint64_t end;
};
int backing_head_read(void *context, void *bytes, size_t n, uint64_t offset);

/* Set the log, which outlives the backing, for all parts that have none. A file's first read error
 * is logged, and its first change. Call before other threads know these parts. */
void backing_set_log(struct backing *backing, struct log *log);

/* Require this XXH128 of all bytes. The first read verifies it; after a mismatch every read fails
 * with -EIO. Call before other threads know the backing. */
void backing_expect_hash(struct backing *backing, const char xxh128[XXH128_TEXT]);

/* Has the hash still to be verified, which may take long? */
bool backing_is_unverified(const struct backing *backing);

/* Verify the hash now, if that is due. Returns 0, or an error of backing_read_cancellable(), with
 * stop as there. */
int backing_verify(struct backing *backing, const atomic_bool *stop);

/* Has a read failed with -EIO? */
bool backing_has_failed(const struct backing *backing);

/* Has a read failed because the file was changed? Always false for a backing with parts. */
bool backing_was_changed(const struct backing *backing);

#endif
