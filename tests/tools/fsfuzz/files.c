/* SPDX-License-Identifier: MIT */
/* files.c - operations on an open file: each call and its expected result. */
#include "fsfuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <linux/fs.h>
#include <unistd.h>

#define ANY_KIND (1u << READER | 1u << STAGE | 1u << MAKER | 1u << SCRATCH)
#define WRITTEN	 (1u << STAGE | 1u << MAKER | 1u << SCRATCH)

struct handle *free_handle(struct fuzz *fuzz)
{
	for (unsigned i = 0; i < HANDLES_MAX; i++)
		if (fuzz->handle[i].kind == CLOSED)
			return &fuzz->handle[i];
	return NULL;
}

struct handle *any_handle(struct fuzz *fuzz, unsigned kinds)
{
	const unsigned first = (unsigned)below(fuzz, HANDLES_MAX);

	for (unsigned i = 0; i < HANDLES_MAX; i++) {
		struct handle *handle = &fuzz->handle[(first + i) % HANDLES_MAX];

		if (handle->kind != CLOSED && (kinds >> handle->kind & 1))
			return handle;
	}
	return NULL;
}

unsigned handles_of(const struct fuzz *fuzz, const struct slot *slot, unsigned kinds)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HANDLES_MAX; i++)
		n += fuzz->handle[i].kind != CLOSED && fuzz->handle[i].slot == slot &&
		     (kinds >> fuzz->handle[i].kind & 1);
	return n;
}

struct file *new_file(struct fuzz *fuzz, const uint8_t *bytes, size_t n)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		wrong(fuzz, "there is no memory");
	file->refs = 1;
	file->size = n;
	if (n)
		memcpy(file->bytes, bytes, n);
	return file;
}

void put_file(struct file *file)
{
	if (file && --file->refs == 0)
		free(file);
}

static bool can_read(const struct handle *handle)
{
	return (handle->flags & O_ACCMODE) != O_WRONLY;
}

static bool can_write(const struct handle *handle)
{
	return (handle->flags & O_ACCMODE) != O_RDONLY;
}

static int index_of(const struct fuzz *fuzz, const struct handle *handle)
{
	return (int)(handle - fuzz->handle);
}

static void compare(struct fuzz *fuzz, const uint8_t *bytes, const uint8_t *good, size_t n,
		    size_t at)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != good[i])
			wrong(fuzz, "byte %zu is 0x%02x, not 0x%02x", at + i, bytes[i], good[i]);
}

/* ## read */

/* pread() into fuzz->bytes, by one of several system calls; some may read only a part. */
static ssize_t read_by(struct fuzz *fuzz, const struct handle *handle, size_t n, off_t at,
		       bool *part)
{
	struct iovec parts[2] = { { fuzz->bytes, n / 3 }, { fuzz->bytes + n / 3, n - n / 3 } };
	/* The page cache (splice, maps) shows a nameless writer the readers' content. */
	const unsigned way = (unsigned)below(fuzz, 6) % (handle->nameless ? 3 : 6);
	ssize_t got = 0, sum = 0;

	*part = way == 3 || way == 4;
	switch (way) {
	case 0:
		return preadv(handle->fd, parts, 2, at);
	case 1:
		return preadv2(handle->fd, parts, 2, at, 0);
	case 2:
		if (lseek(handle->fd, at, SEEK_SET) != at)
			return -1;
		return read(handle->fd, fuzz->bytes, n);
	case 3:
		/* Splice through a pipe, at most its capacity. */
		say_more(fuzz, ", by splice");
		got = splice(handle->fd, &at, fuzz->pipe[1], NULL, n < 65536 ? n : 65536, 0);
		while (sum < got) {
			const ssize_t more =
				read(fuzz->pipe[0], fuzz->bytes + sum, (size_t)(got - sum));

			if (more <= 0)
				return -1;
			sum += more;
		}
		return got;
	case 4:
		say_more(fuzz, ", by sendfile");
		if (ftruncate(fuzz->memory, 0) < 0 || lseek(fuzz->memory, 0, SEEK_SET) < 0)
			return -1;
		got = sendfile(fuzz->memory, handle->fd, &at, n);
		return got > 0 ? pread(fuzz->memory, fuzz->bytes, (size_t)got, 0) : got;
	default:
		return pread(handle->fd, fuzz->bytes, n, at);
	}
}

void read_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, ANY_KIND);
	size_t at, n, there;
	bool part;
	ssize_t got;

	if (!handle)
		return;
	at = below(fuzz, handle->file->size + 100);
	n = 1 + below(fuzz, one_in(fuzz, 3) ? MOST - 1 : 5000);
	if (one_in(fuzz, 4))
		at = 0;
	there = at >= handle->file->size ? 0 : handle->file->size - at;
	there = n < there ? n : there;
	say(fuzz, "%d: read %zu at %zu", index_of(fuzz, handle), n, at);
	got = read_by(fuzz, handle, n, (off_t)at, &part);
	if (!can_read(handle)) {
		expect(fuzz, got, EBADF, "read");
		return;
	}
	expect(fuzz, got, 0, "read");
	if ((size_t)got != there && !(part && got > 0 && (size_t)got < there))
		wrong(fuzz, "read %zd bytes, of %zu there", got, there);
	compare(fuzz, fuzz->bytes, handle->file->bytes + at, (size_t)got, at);
}

void unmap(struct handle *handle)
{
	if (handle->map)
		munmap(handle->map, handle->mapped);
	handle->map = NULL;
}

/* Map for reading. The map stays, is moved and resized, and shows the content at open. */
void map_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, 1u << READER);
	const size_t size = handle ? handle->file->size : 0;
	const int how = one_in(fuzz, 2) ? MAP_SHARED : MAP_PRIVATE;
	size_t n = 1 + below(fuzz, size);
	void *map;

	if (!handle || size == 0)
		return;
	if (handle->map && one_in(fuzz, 3)) {
		say(fuzz, "%d: munmap", index_of(fuzz, handle));
		unmap(handle);
		return;
	}
	if (handle->map) {
		say(fuzz, "%d: mremap from %zu to %zu", index_of(fuzz, handle), handle->mapped, n);
		map = mremap(handle->map, handle->mapped, n, MREMAP_MAYMOVE);
	} else {
		say(fuzz, "%d: mmap %zu, %s", index_of(fuzz, handle), n,
		    how == MAP_SHARED ? "shared" : "private");
		map = mmap(NULL, n, PROT_READ, how, handle->fd, 0);
		if (map == MAP_FAILED && errno == ENODEV && how == MAP_SHARED &&
		    !fuzz->maps_of_direct)
			return;
	}
	if (map == MAP_FAILED)
		wrong(fuzz, "map: %s", strerror(errno));
	handle->map = map;
	handle->mapped = n;
	if (one_in(fuzz, 4))
		madvise(map, n, one_in(fuzz, 2) ? MADV_DONTNEED : MADV_WILLNEED);
	compare(fuzz, map, handle->file->bytes, n, 0);
}

void look_at_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, ANY_KIND);
	const off_t size = handle ? (off_t)handle->file->size : 0;
	const off_t at = (off_t)below(fuzz, (uint64_t)size + 2);
	struct stat attr;

	if (!handle)
		return;
	say(fuzz, "%d: fstat, lseek from %lld", index_of(fuzz, handle), (long long)at);
	expect(fuzz, fstat(handle->fd, &attr), 0, "fstat");
	/* A nameless file has the attributes that readers see. */
	if (!handle->nameless && attr.st_size != size)
		wrong(fuzz, "fstat says %lld bytes, not %lld", (long long)attr.st_size,
		      (long long)size);
	if (handle->nameless)
		return;
	expect(fuzz, lseek(handle->fd, at, SEEK_DATA), at < size ? 0 : ENXIO, "SEEK_DATA");
	expect(fuzz, lseek(handle->fd, at, SEEK_HOLE), at < size ? 0 : ENXIO, "SEEK_HOLE");
	if (at < size && lseek(handle->fd, at, SEEK_HOLE) != size)
		wrong(fuzz, "there is a hole");
	if (lseek(handle->fd, 0, SEEK_END) != size)
		wrong(fuzz, "SEEK_END is not the size");
	if (handle->map)
		compare(fuzz, handle->map, handle->file->bytes, handle->mapped, 0);
}

/* ## write */

static void wrote(struct handle *handle, const uint8_t *bytes, size_t n, size_t at)
{
	struct file *file = handle->file;

	handle->busy = true;
	if (at > file->size)
		memset(file->bytes + file->size, 0, at - file->size);
	memcpy(file->bytes + at, bytes, n);
	if (at + n > file->size)
		file->size = at + n;
	file->written = true;
}

/* Write fuzz->bytes by one of several system calls. */
static ssize_t write_by(struct fuzz *fuzz, const struct handle *handle, size_t n, off_t at)
{
	struct iovec parts[2] = { { fuzz->bytes, n / 3 }, { fuzz->bytes + n / 3, n - n / 3 } };
	const unsigned way = (unsigned)below(fuzz, handle->flags & O_APPEND ? 2 : 6);

	switch (way) {
	case 0:
		return pwritev(handle->fd, parts, 2, at);
	case 2:
		if (lseek(handle->fd, at, SEEK_SET) != at)
			return -1;
		return write(handle->fd, fuzz->bytes, n);
	case 3:
		if (n > 4096)
			return pwrite(handle->fd, fuzz->bytes, n, at);
		say_more(fuzz, ", by splice");
		if (write(fuzz->pipe[1], fuzz->bytes, n) != (ssize_t)n)
			return -1;
		return splice(fuzz->pipe[0], NULL, handle->fd, &at, n, 0);
	case 4:
		say_more(fuzz, ", by sendfile");
		if (ftruncate(fuzz->memory, 0) < 0 ||
		    pwrite(fuzz->memory, fuzz->bytes, n, 0) != (ssize_t)n ||
		    lseek(handle->fd, at, SEEK_SET) != at)
			return -1;
		return sendfile(handle->fd, fuzz->memory, &(off_t){ 0 }, n);
	case 5:
		return pwritev2(handle->fd, parts, 2, at, one_in(fuzz, 2) ? RWF_DSYNC : 0);
	default:
		return pwrite(handle->fd, fuzz->bytes, n, at);
	}
}

/* Number of bytes, at most n, that can be written at a place. */
static size_t room(const struct handle *handle, size_t n, size_t at)
{
	return at >= handle->most ? 0 : n < handle->most - at ? n : handle->most - at;
}

static void write_at(struct fuzz *fuzz, struct handle *handle, size_t n, size_t at)
{
	ssize_t rc;

	if (handle->flags & O_APPEND)
		at = handle->file->size;
	n = room(handle, n, at);
	if (n == 0)
		return;
	say(fuzz, "%d: write %zu at %zu", index_of(fuzz, handle), n, at);
	if (handle->file->over) {
		expect(fuzz, pwrite(handle->fd, fuzz->bytes, n, (off_t)at), ESTALE, "write");
		return;
	}
	rc = write_by(fuzz, handle, n, (off_t)at);
	expect(fuzz, rc, 0, "write");
	if ((size_t)rc > n || ((size_t)rc < n && rc < 4096))
		wrong(fuzz, "wrote %zd bytes, not %zu", rc, n);
	wrote(handle, fuzz->bytes, (size_t)rc, at);
}

/* Write any bytes anywhere, seldom in an organ's header. */
void write_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, WRITTEN);
	size_t at, n = 1 + below(fuzz, one_in(fuzz, 4) ? 40000 : 3000);

	if (!handle)
		return;
	if (!can_write(handle)) {
		say(fuzz, "%d: write to a reader", index_of(fuzz, handle));
		expect(fuzz, pwrite(handle->fd, fuzz->bytes, 1, 0), EBADF, "write");
		return;
	}
	at = below(fuzz, handle->file->size + (one_in(fuzz, 8) ? 5000 : 1));
	if (handle->slot && handle->slot->key) {
		n = 1 + n % 40;
		at = below(fuzz, handle->file->size + 1);
	}
	if (handle->slot && !handle->slot->key && !one_in(fuzz, 5)) {
		at = handle->slot->header + below(fuzz, handle->slot->size - handle->slot->header);
		if (n > handle->slot->size - at)
			n = handle->slot->size - at;
	}
	for (size_t i = 0; i < n; i++)
		fuzz->bytes[i] = (uint8_t)('a' + (handle->slot ? next_random(fuzz) >> 30 : i) % 26);
	write_at(fuzz, handle, n, at);
}

/* Write a whole organ, from the first byte to the last, or in two pieces in any order. */
void write_organ(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, 1u << STAGE | 1u << MAKER);
	static uint8_t organ[MOST];
	const struct slot *slot, *like;
	size_t middle, first, n;

	if (!handle || handle->slot->key || !can_write(handle) || handle->flags & O_APPEND)
		return;
	slot = handle->slot;
	like = &fuzz->shared->slot[slot->like];
	memcpy(organ, like->base.bytes, slot->header);
	make_body(organ + slot->header, slot->size - slot->header, next_random(fuzz) | 1);
	middle = one_in(fuzz, 2) ? slot->size : below(fuzz, slot->size);
	for (int turn = 0; turn < 2; turn++) {
		const bool tail = turn == (slot->size % 2 == 0);

		first = tail ? middle : 0;
		n = tail ? slot->size - middle : middle;
		while (n) {
			size_t end = handle->file->size;

			memcpy(fuzz->bytes, organ + first, n);
			write_at(fuzz, handle, n, first);
			if (handle->file->size == end && room(handle, n, first) < n)
				return;
			/* A splice takes a page or more. */
			for (end = 0; end < n && first + end < handle->file->size &&
				      handle->file->bytes[first + end] == organ[first + end];)
				end++;
			first += end;
			n -= end;
			if (end == 0)
				return;
		}
	}
	if (handle->file->size > slot->size)
		say_more(fuzz, ", which is longer");
}

/* Write through a temporary shared map, within the file's size. */
void write_map(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, 1u << STAGE | 1u << SCRATCH);
	size_t at, n;
	uint8_t *map;

	if (!handle || (handle->flags & O_ACCMODE) != O_RDWR || handle->nameless ||
	    handle->file->size == 0 || (handle->slot && handle->slot->key))
		return;
	at = below(fuzz, handle->file->size);
	if (handle->slot && handle->file->size > handle->slot->header)
		at = handle->slot->header + at % (handle->file->size - handle->slot->header);
	n = 1 + below(fuzz, handle->file->size - at);
	say(fuzz, "%d: write %zu at %zu in a map", index_of(fuzz, handle), n, at);
	map = mmap(NULL, at + n, PROT_READ | PROT_WRITE, MAP_SHARED, handle->fd, 0);
	if (map == MAP_FAILED)
		wrong(fuzz, "mmap: %s", strerror(errno));
	compare(fuzz, map, handle->file->bytes, at + n, 0);
	memset(map + at, (int)('A' + below(fuzz, 26)), n);
	wrote(handle, map + at, n, at);
	expect(fuzz, msync(map, at + n, MS_SYNC), 0, "msync");
	compare(fuzz, map, handle->file->bytes, at + n, 0);
	munmap(map, at + n);
}

void truncate_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, WRITTEN);
	struct file *file = handle ? handle->file : NULL;
	size_t size = one_in(fuzz, 2) ? 0 : below(fuzz, MOST);

	if (!handle)
		return;
	if (handle->slot && !handle->slot->key && one_in(fuzz, 3))
		size = handle->slot->size;
	if (handle->nameless)
		size = one_in(fuzz, 3) ? handle->most : 0;
	else if (handle->slot && handle->slot->key)
		size = 0;
	say(fuzz, "%d: ftruncate to %zu", index_of(fuzz, handle), size);
	if (!can_write(handle)) {
		expect(fuzz, ftruncate(handle->fd, (off_t)size), EINVAL, "ftruncate");
		return;
	}
	expect(fuzz, ftruncate(handle->fd, (off_t)size), file->over ? ESTALE : 0, "ftruncate");
	if (file->over)
		return;
	handle->busy = true;
	if (size > file->size)
		memset(file->bytes + file->size, 0, size - file->size);
	if (size && size != file->size)
		file->written = true;
	file->size = size;
}

void sync_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, ANY_KIND);

	if (!handle)
		return;
	say(fuzz, "%d: fsync", index_of(fuzz, handle));
	switch (below(fuzz, 4)) {
	case 0:
		expect(fuzz, fsync(handle->fd), 0, "fsync");
		break;
	case 1:
		expect(fuzz, fdatasync(handle->fd), 0, "fdatasync");
		break;
	case 2:
		if (sync_file_range(handle->fd, 0, 0, SYNC_FILE_RANGE_WRITE) < 0 && errno != EINVAL)
			wrong(fuzz, "sync_file_range: %s", strerror(errno));
		break;
	default:
		expect(fuzz, posix_fadvise(handle->fd, 0, 0, POSIX_FADV_DONTNEED) ? -1 : 0, 0,
		       "posix_fadvise");
	}
}

/* Lock and unlock. Descriptors of one process do not conflict, so any valid answer will do. */
void lock_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, ANY_KIND);
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int rc;

	if (!handle)
		return;
	say(fuzz, "%d: locks", index_of(fuzz, handle));
	rc = flock(handle->fd, (one_in(fuzz, 2) ? LOCK_EX : LOCK_SH) | LOCK_NB);
	if (rc < 0 && errno != EWOULDBLOCK)
		wrong(fuzz, "flock: %s", strerror(errno));
	expect(fuzz, flock(handle->fd, LOCK_UN), 0, "unlock");
	lock.l_type = can_read(handle) ? F_RDLCK : F_WRLCK;
	lock.l_start = (off_t)below(fuzz, 1000);
	lock.l_len = 10;
	rc = fcntl(handle->fd, one_in(fuzz, 2) ? F_OFD_SETLK : F_SETLK, &lock);
	if (rc < 0 && errno != EAGAIN && errno != EACCES)
		wrong(fuzz, "fcntl: %s", strerror(errno));
}

/* Copy a range within the mount. A whole organ copied into an emptied file fills it. */
void copy_range(struct fuzz *fuzz)
{
	struct handle *from = any_handle(fuzz, ANY_KIND), *to = any_handle(fuzz, WRITTEN);
	off_t at = 0, there = 0;
	size_t n;
	ssize_t rc;

	if (!from || !to || from->file == to->file || !can_read(from) || from->nameless ||
	    !can_write(to) || to->flags & O_APPEND || (from->slot && from->slot->key) ||
	    (to->nameless && from->slot == to->slot))
		return;
	n = from->file->size;
	if (one_in(fuzz, 3)) {
		at = (off_t)below(fuzz, from->file->size);
		there = (off_t)below(fuzz, to->file->size + 1);
		n = 1 + below(fuzz, 10000);
	}
	if ((size_t)at >= from->file->size)
		return;
	if (n > from->file->size - (size_t)at)
		n = from->file->size - (size_t)at;
	n = room(to, n, (size_t)there);
	if (n == 0 || (to->slot && to->slot->key))
		return;
	say(fuzz, "%d: copy_file_range of %zu at %lld to %d at %lld", index_of(fuzz, from), n,
	    (long long)at, index_of(fuzz, to), (long long)there);
	rc = copy_file_range(from->fd, &(off_t){ at }, to->fd, &(off_t){ there }, n, 0);
	expect(fuzz, rc, to->file->over ? ESTALE : 0, "copy_file_range");
	if (to->file->over)
		return;
	if (rc == 0 || (size_t)rc > n)
		wrong(fuzz, "copied %zd bytes of %zu", rc, n);
	wrote(to, from->file->bytes + at, (size_t)rc, (size_t)there);
}

/* Try operations that an open file refuses. */
void refuse_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, ANY_KIND);
	const int modes[] = { 0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      FALLOC_FL_ZERO_RANGE };
	int value = 0;

	if (!handle)
		return;
	say(fuzz, "%d: fallocate, FICLONE, ioctl", index_of(fuzz, handle));
	expect(fuzz, fallocate(handle->fd, modes[below(fuzz, 4)], 0, 4096),
	       can_write(handle) ? EOPNOTSUPP : EBADF, "fallocate");
	if (can_write(handle) && !(handle->flags & O_APPEND))
		expect(fuzz, ioctl(handle->fd, FICLONE, fuzz->memory), EXDEV, "FICLONE");
	/* Since Linux 5.13 the kernel opens the file again for this call. */
	if (!handle->file->over || handle->kind == STAGE)
		expect(fuzz, ioctl(handle->fd, FS_IOC_GETFLAGS, &value), ENOTTY, "GETFLAGS");
	if (!can_write(handle))
		expect(fuzz, ftruncate(handle->fd, 0), EINVAL, "ftruncate of a reader");
	expect(fuzz, openat(handle->fd, "x", O_RDONLY), ENOTDIR, "openat");
}

/* ## files whose names change */

void displace(struct fuzz *fuzz, const struct slot *slot)
{
	for (unsigned i = 0; i < HANDLES_MAX; i++) {
		struct handle *handle = &fuzz->handle[i];

		if (handle->kind == MAKER && handle->slot == slot) {
			handle->kind = SCRATCH;
			handle->slot = NULL;
		}
	}
}

void place(struct fuzz *fuzz, struct file *file, struct slot *slot)
{
	displace(fuzz, slot);
	file->written = false;
	file->over = true;
	for (unsigned i = 0; i < HANDLES_MAX; i++) {
		struct handle *handle = &fuzz->handle[i];

		if (handle->kind == SCRATCH && handle->file == file) {
			handle->kind = MAKER;
			handle->slot = slot;
		}
	}
}

/* Have a child close an inherited descriptor: it changes nothing unless the child wrote last. */
void fork_handle(struct fuzz *fuzz)
{
	struct handle *handle = any_handle(fuzz, ANY_KIND);
	int status;
	pid_t pid;

	if (one_in(fuzz, 2)) {
		write_in_child(fuzz);
		return;
	}
	if (!handle)
		return;
	say(fuzz, "%d: fork, and close in the child", index_of(fuzz, handle));
	pid = fork();
	if (pid == 0) {
		close(handle->fd);
		_exit(0);
	}
	expect(fuzz, pid, 0, "fork");
	expect(fuzz, waitpid(pid, &status, 0), 0, "waitpid");
}
