/* SPDX-License-Identifier: MIT */
/* backing.c - see backing.h: a backing's life, what is known of it without reading, reading, and
 * that the bytes are what they were. */
#include "fs/storage/backing.h"
#include "fs/storage/fd_cache.h"
#include "fs/storage/page_cache.h"
#include "fs/storage/remote_file.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/io.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

/* Bytes that are hashed at once. */
#define HASH_CHUNK ((size_t)1 << 16)

#define NOT_REGULAR "this is not a regular file"

enum trust { TRUSTED, UNVERIFIED, CORRUPT };

struct backing {
	atomic_uint refs;
	char *path;
	struct stat stat;
	uint64_t size;
	struct fd_cache *set;	      /* NULL: file is open as long as the backing */
	struct fd_cache_entry file;   /* fd -1 without a set: there is none */
	struct fd_cache_entry spans;  /* the same file, of which nothing is read ahead */
	struct zstd_seekable *frames; /* NULL: it is no file of frames */
	struct remote_file *remote;   /* NULL: it is on this machine */
	struct error remote_error;    /* of the last read of it that failed */
	pthread_mutex_t remote_lock;  /* protects that */
	struct backing_ops ops;	      /* read NULL: the file's bytes are what is read */
	bool composed;		      /* it has no file of its own: ops read from other backings */
	struct page_cache pages;      /* what reading leaves in memory */
	atomic_uint announced;	      /* uses, without a set */
	enum file_use use;	      /* with a set: announced each time file is opened */
	struct log *log;	      /* NULL: no log is told */
	atomic_bool failed, changed;  /* it answered -EIO: for whatever cause, for a change */
	atomic_bool ended;

	char expected[XXH128_TEXT]; /* of all bytes, as long as they are not TRUSTED */
	_Atomic(enum trust) trust;
	/* Held while they are verified, or spans is opened without a set. */
	pthread_mutex_t lock;
};

static const char changed[] = "the file was changed since it was opened";

/* The first time, the log is told. Returns -EIO. */
static int fail(struct backing *backing, const char *why)
{
	/* A disk that cannot read and a file that was changed are two causes. Of what was changed
	 * nothing else is told: it follows from that. */
	const bool first = why == changed ? !atomic_exchange(&backing->changed, true)
					  : !atomic_exchange(&backing->failed, true) &&
						    !atomic_load(&backing->changed);

	if (first && backing->log)
		log_add(backing->log, "%s: cannot be read: %s", backing->path, why);
	return -EIO;
}

/* Is it the file that it was when it was opened? */
static bool is_unchanged(const struct backing *backing, const struct stat *now)
{
	return now->st_size == backing->stat.st_size &&
	       now->st_mtim.tv_sec == backing->stat.st_mtim.tv_sec &&
	       now->st_mtim.tv_nsec == backing->stat.st_mtim.tv_nsec;
}

/* Nothing is open yet. NULL with err set, which may be NULL: out of memory. */
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
	error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
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
		error_set(err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
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
		fail(backing, error_describe(&err, text, sizeof(text)));
	return rc;
}

static void release_frames(void *context)
{
	zstd_seekable_close(((struct backing *)context)->frames);
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
	backing->ops = (struct backing_ops){ .read = read_frames,
					     .release = release_frames,
					     .context = backing };
	backing->size = zstd_seekable_size(backing->frames);
	return backing;
}

/* Fewer bytes are fetched alone where they are one of many pieces. */
#define REMOTE_PIECE ((size_t)16384)

/* What a read of a remote file has come to: its log is told of a failure. */
static int conclude_remote(struct backing *backing, int rc, const struct error *err)
{
	if (rc == -EIO) {
		pthread_mutex_lock(&backing->remote_lock);
		backing->remote_error = *err;
		pthread_mutex_unlock(&backing->remote_lock);
		fail(backing, err->code == ESTALE ? changed : err->text);
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

static void release_remote(void *context)
{
	remote_file_close(((struct backing *)context)->remote);
}

struct backing *backing_open_remote(const char *url, struct remote_cache *cache, struct error *err)
{
	char *shown = url_shown(url);
	struct backing *backing = shown ? backing_new(shown, err) : NULL;

	if (!shown)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	free(shown);
	if (!backing)
		return NULL;
	backing->remote = remote_file_open(url, cache, err);
	if (!backing->remote) {
		backing_unref(backing);
		return NULL;
	}
	backing->ops = (struct backing_ops){ .read = read_remote,
					     .release = release_remote,
					     .context = backing };
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

/* Without O_NONBLOCK a FIFO of that name would wait for a writer. */
static int open_file(const char *path, int flags)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);

	return fd < 0 ? -errno : fd;
}

/* The file that is open as fd once more, of which nothing is read ahead. -errno. */
static int open_again(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open_file(path, 0);
	if (again >= 0)
		posix_fadvise(again, 0, 0, POSIX_FADV_RANDOM);
	return again;
}

struct backing *backing_open_seen(const char *path, const struct stat *seen, bool resolved,
				  struct error *err)
{
	struct backing *backing;
	char *real = NULL;
	int fd = -ELOOP;

	/* A device may do something when it is opened, and a layer that another user made may name
	 * one. */
	if (seen && !S_ISREG(seen->st_mode)) {
		error_set(err, EINVAL, ERROR_NO_OFFSET, NOT_REGULAR);
		return NULL;
	}
	/* realpath() asks for every directory on the way. */
	if (resolved)
		fd = open_file(path, O_NOFOLLOW);
	/* Without seen it is not known where a link leads. */
	if (fd == -ELOOP && seen) {
		fd = open_file(path, 0);
		real = fd < 0 ? NULL : realpath(path, NULL);
	}
	if (fd < 0) {
		error_set(err, -fd, ERROR_NO_OFFSET, "%s", strerror(-fd));
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
	error_set(err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
	return NULL;
}

/* For a descriptor of a set: the file that it was, or -ESTALE. */
static int reopen(const struct backing *backing)
{
	const int fd = open_file(backing->path, 0);
	struct stat now;

	if (fd < 0)
		return fd;
	if (fstat(fd, &now) == 0 && paths_same_file(&now, &backing->stat))
		return fd;
	close(fd);
	return -ESTALE;
}

static int reopen_file(struct fd_cache_entry *descriptor)
{
	const struct backing *backing =
		(const struct backing *)((const char *)descriptor - offsetof(struct backing, file));
	const int fd = reopen(backing);

	if (fd >= 0)
		file_use_announce(fd, backing->use);
	return fd;
}

/* By the open file, where that is open: its name may be another's. The set is locked. */
static int reopen_spans(struct fd_cache_entry *descriptor)
{
	const struct backing *backing = (const struct backing *)((const char *)descriptor -
								 offsetof(struct backing, spans));
	int fd = backing->file.fd >= 0 ? open_again(backing->file.fd) : -1;

	if (fd >= 0)
		return fd;
	fd = reopen(backing);
	if (fd >= 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	return fd;
}

void backing_set_passing(struct backing *backing)
{
	const int fd = backing->file.fd;

	if (fd < 0)
		return;
	page_cache_init(&backing->pages, fd);
}

void backing_announce(struct backing *backing, enum file_use use)
{
	/* Each content of a donor asks for it. */
	if (!backing->set && backing->file.fd >= 0 &&
	    !(atomic_fetch_or(&backing->announced, use) & use))
		file_use_announce(backing->file.fd, use);
}

void backing_join_cache(struct backing *backing, struct fd_cache *set, enum file_use use)
{
	backing_announce(backing, use);
	backing->use = use;
	backing->file.open = reopen_file;
	backing->spans.open = reopen_spans;
	backing->set = fd_cache_ref(set);
	fd_cache_add(set, &backing->file);
}

void backing_revoke(struct backing *backing)
{
	if (!backing->set)
		return;
	atomic_store(&backing->ended, true);
	fd_cache_remove(backing->set, &backing->file);
	fd_cache_remove(backing->set, &backing->spans);
}

bool backing_is_revoked(const struct backing *backing)
{
	return atomic_load(&backing->ended);
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

static void close_files(struct backing *backing)
{
	if (backing->set) {
		backing_revoke(backing);
		fd_cache_unref(backing->set);
		return;
	}
	if (backing->spans.fd >= 0 && backing->spans.fd != backing->file.fd)
		close(backing->spans.fd);
	if (backing->file.fd >= 0)
		close(backing->file.fd);
}

void backing_unref(struct backing *backing)
{
	if (!backing || atomic_fetch_sub(&backing->refs, 1) != 1)
		return;
	if (backing->ops.read)
		backing->ops.release(backing->ops.context);
	close_files(backing);
	pthread_mutex_destroy(&backing->lock);
	pthread_mutex_destroy(&backing->remote_lock);
	free(backing->path);
	free(backing);
}

const char *backing_path(const struct backing *backing)
{
	return backing->path;
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

/* The backing whose file has the byte at *at, which moves on to what comes after it there. */
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

		/* What is shared with an older set of shards was told before. */
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

/* The same open file would read ahead for one what it must not for the other. Where the file cannot
 * be opened once more, it does. */
static int open_spans(struct backing *backing)
{
	pthread_mutex_lock(&backing->lock);
	if (backing->spans.fd < 0)
		backing->spans.fd = open_again(backing->file.fd);
	if (backing->spans.fd < 0)
		backing->spans.fd = backing->file.fd;
	pthread_mutex_unlock(&backing->lock);
	return backing->spans.fd;
}

/* A descriptor to read from as the flags say, until put_fd(). -errno, and the cause in *why, where
 * there is none. */
static int get_fd(struct backing *backing, unsigned flags, const char **why)
{
	const bool spans = flags & BACKING_SPANS;
	struct fd_cache_entry *entry;
	int fd;

	*why = "there is no file";
	if (!backing->set && backing->file.fd < 0)
		return -EIO;
	if (!backing->set)
		return spans ? open_spans(backing) : backing->file.fd;
	entry = spans ? &backing->spans : &backing->file;
	fd = flags & BACKING_AT_ONCE ? fd_cache_get_open(backing->set, entry)
				     : fd_cache_get(backing->set, entry);
	if (fd == -ESTALE)
		*why = "another file has its name now, or it was written to";
	else if (fd < 0)
		*why = backing_is_revoked(backing) ? "nothing leads to it any more" : strerror(-fd);
	return fd;
}

static void put_fd(struct backing *backing, unsigned flags)
{
	if (backing->set)
		fd_cache_put(backing->set,
			     flags & BACKING_SPANS ? &backing->spans : &backing->file);
}

int backing_fd_get(struct backing *backing)
{
	const char *why;
	const int fd = backing->composed ? -1 : get_fd(backing, 0, &why);

	return fd < 0 ? -1 : fd;
}

void backing_fd_put(struct backing *backing)
{
	put_fd(backing, 0);
}

/* Asked after the bytes were read: what was read before a change is good. */
int backing_check(struct backing *backing)
{
	struct stat now;
	const char *why;
	bool same;
	int fd;

	/* Each read of the backings that it is made of has asked, and each answer of a server has
	 * said. */
	if (backing->composed || backing->remote)
		return 0;
	fd = get_fd(backing, 0, &why);
	if (fd < 0)
		return fail(backing, why);
	same = fstat(fd, &now) == 0 && is_unchanged(backing, &now);
	put_fd(backing, 0);
	return same ? 0 : fail(backing, changed);
}

/* Is the page that holds the byte in memory? The map is not read from. Where this process may not
 * know, the kernel says yes. */
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

/* Filesystems in memory, and some on a network, do not know reads that must not wait. */
bool backing_is_uncached(struct backing *backing, uint64_t offset)
{
	const char *why;
	char byte;
	const struct iovec one = { &byte, 1 };
	bool far;
	int fd;

	if (backing->ops.read || offset > INT64_MAX)
		return false;
	fd = get_fd(backing, BACKING_SPANS, &why);
	if (fd < 0)
		return false;
	far = preadv2(fd, &one, 1, (off_t)offset, RWF_NOWAIT) < 0 &&
	      (errno == EAGAIN || (errno == EOPNOTSUPP && !is_in_memory(fd, offset)));
	put_fd(backing, BACKING_SPANS);
	return far;
}

void backing_readahead(struct backing *backing, size_t n, uint64_t offset)
{
	const char *why;
	int fd;

	if (backing->ops.read || offset > INT64_MAX || n > INT64_MAX)
		return;
	fd = get_fd(backing, BACKING_SPANS, &why);
	if (fd < 0)
		return;
	posix_fadvise(fd, (off_t)offset, (off_t)n, POSIX_FADV_WILLNEED);
	put_fd(backing, BACKING_SPANS);
}

/* Are pages that come with a read to go with it? The byte that other daemons lock is looked at by
 * the descriptor that has this one's lock. */
static bool passes(struct backing *backing)
{
	const char *why;

	if (page_cache_is_due(&backing->pages)) {
		const int fd = get_fd(backing, 0, &why);

		if (fd >= 0) {
			page_cache_look(&backing->pages, fd);
			put_fd(backing, 0);
		}
	}
	return page_cache_passes(&backing->pages);
}

size_t backing_absent(struct backing *backing, uint64_t offset, uint64_t n,
		      struct page_range *ranges, size_t most)
{
	const char *why;
	size_t absent = 0;
	int fd;

	if (!backing_is_plain(backing) || !passes(backing))
		return 0;
	fd = get_fd(backing, 0, &why);
	if (fd >= 0) {
		absent = page_cache_absent(&backing->pages, fd, offset, n, ranges, most);
		put_fd(backing, 0);
	}
	return absent;
}

bool backing_drop(struct backing *backing, const struct page_range *range)
{
	const char *why;
	bool gone = true;
	int fd;

	if (!passes(backing))
		return true;
	fd = get_fd(backing, 0, &why);
	if (fd >= 0) {
		gone = page_cache_drop(fd, range);
		put_fd(backing, 0);
	}
	return gone;
}

static int read_file(struct backing *backing, unsigned flags, void *bytes, size_t n,
		     uint64_t offset)
{
	const bool passing = flags & BACKING_PASSING && passes(backing);
	const bool at_once = flags & BACKING_AT_ONCE;
	const char *why;
	bool alone;
	ssize_t got;
	int fd;

	if (offset > INT64_MAX - n)
		return -EIO;
	if (at_once && !page_cache_is_local(&backing->pages))
		return -EAGAIN;
	/* Where pages are kept the kernel reads ahead as it likes. */
	if (flags & BACKING_PASSING && !passing)
		flags &= ~(unsigned)BACKING_SPANS;
	fd = get_fd(backing, flags, &why);
	if (fd == -EAGAIN && at_once)
		return -EAGAIN;
	if (fd < 0)
		return fail(backing, why);
	alone = passing && flags & BACKING_SPANS && !(flags & BACKING_NOTED);
	if (at_once)
		got = page_cache_read_present(&backing->pages, fd, bytes, n, offset, alone);
	else
		got = passing ? page_cache_read(&backing->pages, fd, bytes, n, offset, alone)
			      : io_read(fd, bytes, n, offset);
	put_fd(backing, flags);
	if (got >= 0 && (size_t)got == n)
		return 0;
	if (at_once && got == -EAGAIN)
		return -EAGAIN;
	/* It was as long as that when it was opened. */
	return fail(backing, got < 0 ? strerror((int)-got) : changed);
}

/* All n bytes at offset, neither verified nor checked. A plain file is read without a call through
 * the table: most reads are of one, and of few bytes. */
static int read_raw(struct backing *backing, unsigned flags, void *bytes, size_t n, uint64_t offset,
		    const atomic_bool *stop)
{
	if (!backing->ops.read)
		return read_file(backing, flags, bytes, n, offset);
	if (flags & BACKING_AT_ONCE && !backing->ops.part)
		return -EAGAIN;
	/* What is computed asks for a page more than once, and a server keeps no pages here. */
	if (flags & BACKING_PASSING && !backing->ops.part)
		flags &= ~(unsigned)(BACKING_PASSING | BACKING_SPANS | BACKING_NOTED);
	/* Other backings are checked read by read. */
	if (backing->composed)
		flags &= BACKING_PASSING | BACKING_SPANS | BACKING_NOTED | BACKING_AT_ONCE;
	return backing->ops.read(backing->ops.context, flags, bytes, n, offset, stop);
}

static int read_checked(struct backing *backing, unsigned flags, void *bytes, size_t n,
			uint64_t offset, const atomic_bool *stop)
{
	int rc = 0;

	if (!(flags & BACKING_UNVERIFIED) && atomic_load(&backing->trust) != TRUSTED)
		rc = backing_verify(backing, stop);
	if (rc == 0)
		rc = read_raw(backing, flags, bytes, n, offset, stop);
	return rc < 0 || flags & BACKING_UNCHECKED ? rc : backing_check(backing);
}

int backing_read_with(struct backing *backing, unsigned flags, void *bytes, size_t n,
		      uint64_t offset)
{
	return read_checked(backing, flags, bytes, n, offset, NULL);
}

int backing_read_cancellable(struct backing *backing, unsigned flags, void *bytes, size_t n,
			     uint64_t offset, const atomic_bool *stop)
{
	return read_checked(backing, flags, bytes, n, offset, stop);
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

void backing_expect_hash(struct backing *backing, const char xxh128[XXH128_TEXT])
{
	memcpy(backing->expected, xxh128, XXH128_TEXT);
	atomic_store(&backing->trust, UNVERIFIED);
}

bool backing_is_unverified(const struct backing *backing)
{
	return atomic_load(&backing->trust) == UNVERIFIED;
}

/* All bytes of it through the hash. */
static int hash_all(struct backing *backing, XXH3_state_t *hash, const atomic_bool *stop)
{
	uint8_t *bytes = malloc(HASH_CHUNK);
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t at = 0; rc == 0 && at < backing->size;) {
		const uint64_t left = backing->size - at;
		const size_t n = left < HASH_CHUNK ? (size_t)left : HASH_CHUNK;

		rc = stop && atomic_load(stop) ? -EINTR : read_raw(backing, 0, bytes, n, at, stop);
		if (rc == 0)
			XXH3_128bits_update(hash, bytes, n);
		at += n;
	}
	free(bytes);
	return rc < 0 ? rc : backing_check(backing);
}

/* Settles whether it is to be trusted, unless that cannot be found out now. */
static int verify(struct backing *backing, const atomic_bool *stop)
{
	XXH3_state_t *hash = XXH3_createState();
	char has[XXH128_TEXT], why[160];
	int rc = -ENOMEM;

	if (hash) {
		XXH3_128bits_reset(hash);
		rc = hash_all(backing, hash, stop);
	}
	if (rc == 0) {
		xxh128_text(XXH3_128bits_digest(hash), has);
		if (strcmp(has, backing->expected) == 0) {
			atomic_store(&backing->trust, TRUSTED);
		} else {
			atomic_store(&backing->trust, CORRUPT);
			snprintf(why, sizeof(why),
				 "it is corrupt: its XXH128 is %s, and %s was recorded when it was "
				 "put in force",
				 has, backing->expected);
			rc = fail(backing, why);
		}
	}
	XXH3_freeState(hash);
	return rc;
}

int backing_verify(struct backing *backing, const atomic_bool *stop)
{
	int rc = 0;

	if (atomic_load(&backing->trust) == UNVERIFIED) {
		pthread_mutex_lock(&backing->lock);
		if (atomic_load(&backing->trust) == UNVERIFIED)
			rc = verify(backing, stop);
		pthread_mutex_unlock(&backing->lock);
	}
	return rc == 0 && atomic_load(&backing->trust) == CORRUPT ? -EIO : rc;
}
