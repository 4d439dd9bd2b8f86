/* SPDX-License-Identifier: MIT */
/* backing.h - a file on disk whose bytes are served: a base, or an organ in a layer.
 *
 * Reads return the bytes the file had when it was opened. If its size or mtime has changed since,
 * reads fail with -EIO, because old and new bytes can no longer be told apart: never a short read,
 * never zeros. The ctime is not compared: extended attributes, backups that restore the atime,
 * links and renames change it too. The file is read, not mapped, so that no change is a signal. A
 * file that is renamed, or has another renamed over it, stays readable.
 *
 * A file may hold its bytes compressed (zstd_seekable.h): sizes and offsets are those of what it
 * holds. It may lie on an HTTP server (remote_file.h). And the bytes may come from several files
 * (shards), or be made of those of another (computed_rows.h). */
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

struct backing; /* counted; immutable, any thread may use it */

/* Open a regular file for reading. NULL with err set: what open(2) says, EINVAL no regular file. */
struct backing *backing_open(const char *path, struct error *err);

/* The same where stat() just said *seen of the file, or, NULL, the listing of its directory that it
 * is a regular one: it is not asked again. resolved, which it is without seen: there is no link
 * among the directories of path, which is absolute. */
struct backing *backing_open_seen(const char *path, const struct stat *seen, bool resolved,
				  struct error *err);

/* The same for a descriptor, which is the backing's from then on, also on failure. The path is
 * absolute and only told. */
struct backing *backing_fdopen(int fd, const char *path, struct error *err);

/* The same for a file of frames. NULL also as zstd_seekable_open(). */
struct backing *backing_fdopen_zstd(int fd, const char *path, struct zstd_cache *cache,
				    struct error *err);

/* It is a base: what is read with BACKING_PASSING leaves no pages in memory. Of others they stay,
 * for the kernel to drop. It is a file just opened that no other thread knows yet; what is on a
 * server has no pages. */
void backing_set_passing(struct backing *backing);

/* Announce the use of a plain file to other daemons, as long as it is open; one of a set is
 * announced by backing_join_cache(). */
void backing_announce(struct backing *backing, enum file_use use);

/* Make it one of many files of which not all can be open at a time: its descriptor becomes the
 * set's, and its use is announced as long as it is open. Once closed, a file that was renamed or
 * removed cannot be read any more. It is a plain file that no other thread knows yet. */
void backing_join_cache(struct backing *backing, struct fd_cache *set, enum file_use use);

/* The file at a URL with http or https. Its path is the URL as it may be shown, its status is
 * remote_file_stat(). cache may be NULL for one of its own. NULL with err set: as
 * remote_http_open(). */
struct backing *backing_open_remote(const char *url, struct remote_cache *cache, struct error *err);

/* Close its file for good, so that the disk can have the space: from now on every read is -EIO. */
void backing_revoke(struct backing *backing);
bool backing_is_revoked(const struct backing *backing);

/* How backing_read_with() and the reads below it read. */
enum backing_flags {
	BACKING_SPANS = 1,     /* one of many small pieces: nothing beside it is read ahead */
	BACKING_UNCHECKED = 2, /* what was read counts once backing_check() has said 0 afterwards */
	BACKING_UNVERIFIED = 4, /* for headers: neither checksums nor the XXH128 are looked at */
	/* Of a base: it leaves no pages in memory, where page_cache.h says so. Without
	 * BACKING_SPANS they are dropped by the reader, who has asked backing_absent(). */
	BACKING_PASSING = 8,
	/* With both of them: that reader has asked too, and drops the pages. */
	BACKING_NOTED = 16,
	/* With BACKING_PASSING: only what is in memory, of bases on disks of this machine. -EAGAIN,
	 * which is no failure of the file, where more has to be read. */
	BACKING_AT_ONCE = 32,
};

/* How bytes are read that do not lie in one file as they are: shards, frames, computed rows. A
 * plain file needs none of it. context becomes the backing's. */
struct backing_ops {
	/* All n bytes at offset, or -EIO. Reads of other backings have no flag but
	 * BACKING_SPANS, and of parts BACKING_PASSING. When *stop becomes true, which may be NULL,
	 * it may return -EINTR. */
	int (*read)(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		    const atomic_bool *stop);
	/* As backing_file_at(), of bytes that come from several files. */
	struct backing *(*part)(void *context, uint64_t *offset, uint64_t *length);
	void (*release)(void *context);
	void *context;
	bool computed; /* its bytes are in no file: reading takes the processor's time */
	bool remote;   /* some of the files are on a server */
};

/* A backing of such bytes, with what backing_stat() and backing_path() are to say; its size is that
 * of stat. NULL: out of memory. */
struct backing *backing_from_ops(const struct backing_ops *ops, const char *path,
				 const struct stat *stat);

/* The backing whose file has the byte at offset: itself, where it is not made of parts. *offset
 * becomes that in the file, and *length is cut to what follows there. NULL: no file has them.
 * Borrowed. */
struct backing *backing_file_at(struct backing *backing, uint64_t *offset, uint64_t *length);

/* A file of size bytes that cannot be read, to stand in for one that should be there. NULL: out of
 * memory. */
struct backing *backing_new_missing(const char *path, uint64_t size);

struct backing *backing_ref(struct backing *backing);
void backing_unref(struct backing *backing); /* NULL is fine */

/* All n bytes at offset, or -EIO, or -ENOMEM where that takes memory. */
int backing_read(struct backing *backing, void *bytes, size_t n, uint64_t offset);

/* The same in the way that the flags, any of enum backing_flags, say. */
int backing_read_with(struct backing *backing, unsigned flags, void *bytes, size_t n,
		      uint64_t offset);

/* The same. When *stop becomes true, which may be NULL, what waits for a server, or computes long,
 * soon returns -EINTR. */
int backing_read_cancellable(struct backing *backing, unsigned flags, void *bytes, size_t n,
			     uint64_t offset, const atomic_bool *stop);

/* n pieces, in the order of their offsets, with BACKING_SPANS and BACKING_UNCHECKED: what is far
 * away is asked for all of them at once. stop as of backing_read_cancellable(). */
int backing_read_pieces(struct backing *backing, const struct remote_piece *pieces, size_t n,
			const atomic_bool *stop);

/* Why a remote file could not be read lately, into err, which stays as it is where nothing is
 * known. */
void backing_remote_error(struct backing *backing, struct error *err);

/* Is it on a server, so that each read costs a request? */
bool backing_is_remote(const struct backing *backing);

/* What was read of its first n bytes is kept in memory, where it is remote. */
void backing_keep(struct backing *backing, uint64_t n);

/* Is the file yet what it was when it was opened? Returns 0 or -EIO. */
int backing_check(struct backing *backing);

/* Would a read with BACKING_SPANS have to wait for the disk for the byte at offset? And n bytes
 * that will be asked for soon: the disk may get them meanwhile. Both only as far as can be told.
 * */
bool backing_is_uncached(struct backing *backing, uint64_t offset);
void backing_readahead(struct backing *backing, size_t n, uint64_t offset);

/* Of n bytes at offset that are about to be read, the pages that are not in memory yet and must not
 * stay there: up to most ranges, for backing_drop() after that. 0 also where pages are kept, or the
 * kernel does not tell. */
size_t backing_absent(struct backing *backing, uint64_t offset, uint64_t n,
		      struct page_range *ranges, size_t most);

/* Are they gone? Not those that are still being read, or that another process maps. */
bool backing_drop(struct backing *backing, const struct page_range *range);

/* As it was when opened. The path is absolute; both are borrowed. The size is of what it holds, the
 * status is the file's. */
const char *backing_path(const struct backing *backing);

/* Where its file lies, if that is not at the path that messages tell; before another thread knows
 * it. Returns false: no memory. */
bool backing_set_place(struct backing *backing, const char *place);
const char *backing_place(const struct backing *backing);

const struct stat *backing_stat(const struct backing *backing);
uint64_t backing_size(const struct backing *backing);

/* Are its bytes in one file as they are read? */
bool backing_is_plain(const struct backing *backing);

/* Are they made when they are read, which may take long? */
bool backing_is_computed(const struct backing *backing);

/* The first of the backings that it is made of which can still be read, or itself. NULL: there is
 * none. Borrowed. */
struct backing *backing_first_readable(struct backing *backing);

/* A descriptor of its file, until it is let go. -1: there is none that can be had, or it is made of
 * several. */
int backing_fd_get(struct backing *backing);
void backing_fd_put(struct backing *backing);

/* For the parsers of gguf/, and headers only: it reads with BACKING_UNVERIFIED. Valid as long as
 * the backing. */
struct source backing_source(struct backing *backing);

/* To be called before another thread knows the backing, or those of its parts that are not yet
 * reported of. The log, which outlives it, is told once of each file when it cannot be read any
 * more, and once when it was changed. */
void backing_set_log(struct backing *backing, struct log *log);

/* As the one before. Its bytes have to have this XXH128: the first read looks at all of them, and
 * if they have not, every read is -EIO. */
void backing_expect_hash(struct backing *backing, const char xxh128[XXH128_TEXT]);

/* Would the first read have to do so yet, and take long? */
bool backing_is_unverified(const struct backing *backing);

/* Do what the first read would. When *stop becomes true, which may be NULL, it soon returns -EINTR.
 * Returns 0 at once where there is nothing to be done, or what a read does. */
int backing_verify(struct backing *backing, const atomic_bool *stop);

/* Was there a read that it answered with -EIO? */
bool backing_has_failed(const struct backing *backing);

/* Because its file was changed since it was opened? Not known of one that is made of others. */
bool backing_was_changed(const struct backing *backing);

#endif
