/* SPDX-License-Identifier: MIT */
/* backing.c - see backing.h: a backing's life, its properties, reads, and the check after a read
 * that the file is unchanged. backing_descriptors.c has the descriptors, backing_verify.c the
 * expected hash. */
#include "fs/storage/backing.h"
#include "fs/storage/backing_internal.h"
#include "fs/storage/remote_file.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/io.h"
#include "fs/util/log.h"
#include "fs/util/url.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define NOT_REGULAR "not a regular file"

static const char changed[] = "the file was changed since it was opened";

int backing_fail(struct backing *backing, const char *why)
{
	/* A change and a read error of the disk are two causes, each logged once. Errors that
	 * follow from a change are not logged. */
	const bool first = why == changed ? !atomic_exchange(&backing->changed, true)
					  : !atomic_exchange(&backing->failed, true) &&
						    !atomic_load(&backing->changed);

	if (first && backing->log)
		log_add(backing->log, "%s: cannot be read: %s", backing->path, why);
	return -EIO;
}

/* Are size and mtime those of the opening? */
static bool is_unchanged(const struct backing *backing, const struct stat *now)
{
	return now->st_size == backing->stat.st_size &&
	       now->st_mtim.tv_sec == backing->stat.st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == backing->stat.st_mtim.tv_nsec;
}

/* A backing without a file. NULL with err set, which may be NULL: out of memory. */
static struct backing *backing_new(const char *path, struct error *err)
{
	struct backing *backing = calloc(1, sizeof(*backing));

	if (backing) {
		atomic_init(&backing->refs, 1);
		pthread_mutex_init(&backing->lock, NULL);
		pthread_mutex_init(&backing->remote_lock, NULL);
		backing->file.fd = backing->spans.fd = -1;
		backing->path = strdup(path);
	}
	if (backing && backing->path)
		return backing;
	error_errno(err, ENOMEM);
	backing_unref(backing);
	return NULL;
}

struct backing *backing_fdopen(int fd, const char *path, struct error *err)
{
	struct backing *backing = backing_new(path, err);

	if (!backing) {
		close(fd);
		return NULL;
	}
	backing->file.fd = fd;
	if (fstat(fd, &backing->stat) < 0) {
		error_errno(err, errno);
	} else if (!S_ISREG(backing->stat.st_mode)) {
		error_set(err, EINVAL, ERROR_NO_OFFSET, NOT_REGULAR);
	} else {
		backing->size = (uint64_t)backing->stat.st_size;
		return backing;
	}
	backing_unref(backing);
	return NULL;
}

static int read_frames(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		       const atomic_bool *stop)
{
	struct backing *backing = context;
	struct error err = { 0 };
	const int rc = (flags & BACKING_UNVERIFIED
				? zstd_seekable_peek
				: zstd_seekable_read)(backing->frames, bytes, n, offset, &err);
	char text[320];

	(void)stop;
	if (rc == -EIO)
		backing_fail(backing, error_describe(&err, text, sizeof(text)));
	return rc;
}

struct backing *backing_fdopen_zstd(int fd, const char *path, struct zstd_cache *cache,
				    struct error *err)
{
	struct backing *backing = backing_fdopen(fd, path, err);

	if (!backing)
		return NULL;
	backing->frames = zstd_seekable_open(fd, cache, err);
	if (!backing->frames) {
		backing_unref(backing);
		return NULL;
	}
	backing->ops = (struct backing_ops){ .read = read_frames, .context = backing };
	backing->size = zstd_seekable_size(backing->frames);
	return backing;
}

/* Shorter pieces are fetched alone, without the cache block around them. */
#define REMOTE_PIECE ((size_t)16384)

/* Note and log the failure of a remote read. Returns rc. */
static int conclude_remote(struct backing *backing, int rc, const struct error *err)
{
	if (rc == -EIO) {
		pthread_mutex_lock(&backing->remote_lock);
		backing->remote_error = *err;
		pthread_mutex_unlock(&backing->remote_lock);
		backing_fail(backing, err->code == ESTALE ? changed : err->text);
	}
	return rc;
}

void backing_remote_error(struct backing *backing, struct error *err)
{
	pthread_mutex_lock(&backing->remote_lock);
	if (backing->remote_error.code)
		*err = backing->remote_error;
	pthread_mutex_unlock(&backing->remote_lock);
}

static int read_remote(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		       const atomic_bool *stop)
{
	struct backing *backing = context;
	const struct remote_piece piece = { offset, n, bytes };
	struct error err = { 0 };
	const int rc = flags & BACKING_SPANS && n < REMOTE_PIECE
			       ? remote_file_read_pieces(backing->remote, &piece, 1, stop, &err)
			       : remote_file_read(backing->remote, bytes, n, offset, stop, &err);

	return conclude_remote(backing, rc, &err);
}

struct backing *backing_open_remote(const char *url, struct remote_cache *cache, struct error *err)
{
	char *shown = url_shown(url);
	struct backing *backing = shown ? backing_new(shown, err) : NULL;

	if (!shown)
		error_errno(err, ENOMEM);
	free(shown);
	if (!backing)
		return NULL;
	backing->remote = remote_file_open(url, cache, err);
	if (!backing->remote) {
		backing_unref(backing);
		return NULL;
	}
	backing->ops = (struct backing_ops){ .read = read_remote, .context = backing };
	backing->stat = *remote_file_stat(backing->remote);
	backing->size = (uint64_t)backing->stat.st_size;
	return backing;
}

bool backing_is_remote(const struct backing *backing)
{
	return backing->remote || backing->ops.remote;
}

void backing_keep(struct backing *backing, uint64_t n)
{
	if (backing->remote)
		remote_file_keep(backing->remote, n);
}

struct backing *backing_open_seen(const char *path, const struct stat *seen, bool resolved,
				  struct error *err)
{
	struct backing *backing;
	char *real = NULL;
	int fd = -ELOOP;

	/* Opening a device may have side effects, and a layer made by another user may name one. */
	if (seen && !S_ISREG(seen->st_mode)) {
		error_set(err, EINVAL, ERROR_NO_OFFSET, NOT_REGULAR);
		return NULL;
	}
	/* The caller has resolved the path, which saves realpath(), a call per directory. */
	if (resolved)
		fd = backing_open_file(path, O_NOFOLLOW);
	/* The path is a link, which is followed only if the caller has called stat(). */
	if (fd == -ELOOP && seen) {
		fd = backing_open_file(path, 0);
		real = fd < 0 ? NULL : realpath(path, NULL);
	}
	if (fd < 0) {
		error_errno(err, -fd);
		return NULL;
	}
	backing = backing_fdopen(fd, real ? real : path, err);
	free(real);
	return backing;
}

struct backing *backing_open(const char *path, struct error *err)
{
	struct stat seen;

	if (stat(path, &seen) == 0)
		return backing_open_seen(path, &seen, false, err);
	error_errno(err, errno);
	return NULL;
}

void backing_set_passing(struct backing *backing)
{
	if (backing->file.fd >= 0)
		page_cache_init(&backing->pages, backing->file.fd);
}

void backing_announce(struct backing *backing, enum file_use use)
{
	/* Called for each content of the same donor, so announce once. */
	if (!backing->set && backing->file.fd >= 0 &&
	    !(atomic_fetch_or(&backing->announced, use) & use))
		file_use_announce(backing->file.fd, use);
}

struct backing *backing_from_ops(const struct backing_ops *parts, const char *path,
				 const struct stat *stat)
{
	struct backing *backing = backing_new(path, NULL);

	if (!backing) {
		parts->release(parts->context);
		return NULL;
	}
	backing->ops = *parts;
	backing->composed = true;
	backing->stat = *stat;
	backing->size = (uint64_t)stat->st_size;
	return backing;
}

struct backing *backing_file_at(struct backing *backing, uint64_t *offset, uint64_t *length)
{
	if (backing->ops.part)
		return backing->ops.part(backing->ops.context, offset, length);
	return backing->composed ? NULL : backing;
}

struct backing *backing_new_missing(const char *path, uint64_t size)
{
	struct backing *backing = backing_new(path, NULL);

	if (backing)
		backing->size = size;
	return backing;
}

struct backing *backing_ref(struct backing *backing)
{
	atomic_fetch_add(&backing->refs, 1);
	return backing;
}

void backing_unref(struct backing *backing)
{
	if (!backing || atomic_fetch_sub(&backing->refs, 1) != 1)
		return;
	if (backing->composed)
		backing->ops.release(backing->ops.context);
	zstd_seekable_close(backing->frames);
	remote_file_close(backing->remote);
	backing_close_files(backing);
	pthread_mutex_destroy(&backing->lock);
	pthread_mutex_destroy(&backing->remote_lock);
	free(backing->path);
	free(backing->place);
	free(backing);
}

const char *backing_path(const struct backing *backing)
{
	return backing->path;
}

bool backing_set_place(struct backing *backing, const char *place)
{
	backing->place = strdup(place);
	return backing->place != NULL;
}

const char *backing_place(const struct backing *backing)
{
	return backing->place ? backing->place : backing->path;
}

const struct stat *backing_stat(const struct backing *backing)
{
	return &backing->stat;
}

uint64_t backing_size(const struct backing *backing)
{
	return backing->size;
}

bool backing_is_plain(const struct backing *backing)
{
	return !backing->ops.read && (backing->set || backing->file.fd >= 0);
}

bool backing_is_computed(const struct backing *backing)
{
	return backing->ops.computed;
}

/* The backing of the file with the byte at *at. *at moves to the end of that file's part. */
static struct backing *next_part(struct backing *backing, uint64_t *at)
{
	uint64_t offset = *at, length = backing->size - *at;
	struct backing *part = backing_file_at(backing, &offset, &length);

	*at += length;
	return part;
}

void backing_set_log(struct backing *backing, struct log *log)
{
	for (uint64_t at = 0; backing->ops.part && at < backing->size;) {
		struct backing *part = next_part(backing, &at);

		/* A file shared with an older set of shards has a log already. */
		if (part && !part->log)
			part->log = log;
	}
	backing->log = log;
}

bool backing_has_failed(const struct backing *backing)
{
	return atomic_load(&backing->failed) || atomic_load(&backing->changed);
}

bool backing_was_changed(const struct backing *backing)
{
	return atomic_load(&backing->changed);
}

struct backing *backing_first_readable(struct backing *backing)
{
	struct backing *part = NULL;

	for (uint64_t at = 0; !part && at < backing->size;) {
		part = next_part(backing, &at);
		if (part && backing_is_revoked(part))
			part = NULL;
	}
	return part;
}

/* Called after a read: bytes that were read before the change are valid. */
int backing_check(struct backing *backing)
{
	struct stat now;
	bool same;
	int fd;

	/* Reads of the parts have checked themselves, and each answer of a server was checked. */
	if (backing->composed || backing->remote)
		return 0;
	fd = backing_get_fd(backing, 0);
	if (fd < 0)
		return backing_fail(backing, backing_fd_error(backing, fd));
	same = fstat(fd, &now) == 0 && is_unchanged(backing, &now);
	backing_put_fd(backing, 0);
	return same ? 0 : backing_fail(backing, changed);
}

/* Is the page of the byte in memory? The map is not accessed. The kernel answers yes if this
 * process may not know. */
static bool is_in_memory(int fd, uint64_t offset)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned char resident = 1;
	void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, (off_t)(offset - offset % page));

	if (map == MAP_FAILED)
		return true;
	if (mincore(map, 1, &resident) < 0)
		resident = 1;
	munmap(map, 1);
	return resident & 1;
}

/* tmpfs and some network filesystems do not support RWF_NOWAIT. */
bool backing_is_uncached(struct backing *backing, uint64_t offset)
{
	char byte;
	const struct iovec one = { &byte, 1 };
	bool far;
	int fd;

	if (backing->ops.read || offset > INT64_MAX)
		return false;
	fd = backing_get_fd(backing, BACKING_SPANS);
	if (fd < 0)
		return false;
	far = preadv2(fd, &one, 1, (off_t)offset, RWF_NOWAIT) < 0 &&
	      (errno == EAGAIN || (errno == EOPNOTSUPP && !is_in_memory(fd, offset)));
	backing_put_fd(backing, BACKING_SPANS);
	return far;
}

void backing_readahead(struct backing *backing, size_t n, uint64_t offset)
{
	int fd;

	if (backing->ops.read || offset > INT64_MAX || n > INT64_MAX)
		return;
	fd = backing_get_fd(backing, BACKING_SPANS);
	if (fd < 0)
		return;
	posix_fadvise(fd, (off_t)offset, (off_t)n, POSIX_FADV_WILLNEED);
	backing_put_fd(backing, BACKING_SPANS);
}

/* Should pages that come with a read be dropped? page_cache_look() needs the descriptor on which
 * this daemon holds its own lock. */
static bool passes(struct backing *backing)
{

	if (page_cache_is_due(&backing->pages)) {
		const int fd = backing_get_fd(backing, 0);

		if (fd >= 0) {
			page_cache_look(&backing->pages, fd);
			backing_put_fd(backing, 0);
		}
	}
	return page_cache_passes(&backing->pages);
}

size_t backing_absent(struct backing *backing, uint64_t offset, uint64_t n,
		      struct page_range *ranges, size_t most)
{
	size_t absent = 0;
	int fd;

	if (!backing_is_plain(backing) || !passes(backing))
		return 0;
	fd = backing_get_fd(backing, 0);
	if (fd >= 0) {
		absent = page_cache_absent(&backing->pages, fd, offset, n, ranges, most);
		backing_put_fd(backing, 0);
	}
	return absent;
}

bool backing_drop(struct backing *backing, const struct page_range *range)
{
	bool gone = true;
	int fd;

	if (!passes(backing))
		return true;
	fd = backing_get_fd(backing, 0);
	if (fd >= 0) {
		gone = page_cache_drop(fd, range);
		backing_put_fd(backing, 0);
	}
	return gone;
}

static int read_file(struct backing *backing, unsigned flags, void *bytes, size_t n,
		     uint64_t offset)
{
	const bool passing = flags & BACKING_PASSING && passes(backing);
	const bool at_once = flags & BACKING_AT_ONCE;
	bool alone;
	ssize_t got;
	int fd;

	if (offset > INT64_MAX - n)
		return -EIO;
	if (at_once && !page_cache_is_local(&backing->pages))
		return -EAGAIN;
	/* If pages stay, reads may use the kernel's read-ahead. */
	if (flags & BACKING_PASSING && !passing)
		flags &= ~(unsigned)BACKING_SPANS;
	fd = backing_get_fd(backing, flags);
	if (fd == -EAGAIN && at_once)
		return -EAGAIN;
	if (fd < 0)
		return backing_fail(backing, backing_fd_error(backing, fd));
	alone = passing && flags & BACKING_SPANS && !(flags & BACKING_NOTED);
	if (at_once)
		got = page_cache_read_present(&backing->pages, fd, bytes, n, offset, alone);
	else
		got = passing ? page_cache_read(&backing->pages, fd, bytes, n, offset, alone)
			      : io_read(fd, bytes, n, offset);
	backing_put_fd(backing, flags);
	if (got >= 0 && (size_t)got == n)
		return 0;
	if (at_once && got == -EAGAIN)
		return -EAGAIN;
	/* A short read means that the file has been truncated. */
	return backing_fail(backing, got < 0 ? strerror((int)-got) : changed);
}

/* Plain files bypass the table of operations, because most reads are short reads of plain files. */
int backing_read_raw(struct backing *backing, unsigned flags, void *bytes, size_t n,
		     uint64_t offset, const atomic_bool *stop)
{
	if (!backing->ops.read)
		return read_file(backing, flags, bytes, n, offset);
	if (flags & BACKING_AT_ONCE && !backing->ops.part)
		return -EAGAIN;
	/* Computed rows read a page several times, and a server's file has no pages here. */
	if (flags & BACKING_PASSING && !backing->ops.part)
		flags &= ~(unsigned)(BACKING_PASSING | BACKING_SPANS | BACKING_NOTED);
	/* Parts verify their own hashes. */
	if (backing->composed)
		flags &= BACKING_PASSING | BACKING_SPANS | BACKING_NOTED | BACKING_AT_ONCE;
	return backing->ops.read(backing->ops.context, flags, bytes, n, offset, stop);
}

int backing_read_cancellable(struct backing *backing, unsigned flags, void *bytes, size_t n,
			     uint64_t offset, const atomic_bool *stop)
{
	int rc = 0;

	if (!(flags & BACKING_UNVERIFIED) && atomic_load(&backing->trust) != TRUSTED)
		rc = backing_verify(backing, stop);
	if (rc == 0)
		rc = backing_read_raw(backing, flags, bytes, n, offset, stop);
	return rc < 0 || flags & BACKING_UNCHECKED ? rc : backing_check(backing);
}

int backing_read_with(struct backing *backing, unsigned flags, void *bytes, size_t n,
		      uint64_t offset)
{
	return backing_read_cancellable(backing, flags, bytes, n, offset, NULL);
}

int backing_read_pieces(struct backing *backing, const struct remote_piece *pieces, size_t n,
			const atomic_bool *stop)
{
	const unsigned flags = BACKING_SPANS | BACKING_UNCHECKED;
	struct error err = { 0 };
	int rc = 0;

	if (backing->remote && atomic_load(&backing->trust) == TRUSTED) {
		rc = remote_file_read_pieces(backing->remote, pieces, n, stop, &err);
		return conclude_remote(backing, rc, &err);
	}
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = backing_read_cancellable(backing, flags, pieces[i].bytes, pieces[i].length,
					      pieces[i].offset, stop);
	return rc;
}

int backing_read(struct backing *backing, void *bytes, size_t n, uint64_t offset)
{
	return backing_read_with(backing, 0, bytes, n, offset);
}

static int source_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	return backing_read_with(context, BACKING_UNVERIFIED, bytes, n, offset);
}

struct source backing_source(struct backing *backing)
{
	return (struct source){ source_read_at, backing, backing_size(backing) };
}

int backing_head_read(void *context, void *bytes, size_t n, uint64_t offset)
{
	const struct backing_head *head = context;
	const uint64_t left = offset < head->end ? head->end - offset : 0;
	const size_t part = n < left ? n : (size_t)left;

	memset((uint8_t *)bytes + part, 0, n - part);
	return part ? source_read_at(head->file, bytes, part, offset) : 0;
}
