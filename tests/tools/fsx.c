/* SPDX-License-Identifier: MIT */
/* fsx.c - random operations on one file, each checked against a copy of it in memory.
 *
 *	fsx [-s SEED] [-n OPERATIONS] [-m MOST] [-f FROM] FILE
 *
 * FILE is made if it is missing, grows to at most MOST bytes, and is checked whole now and then.
 * With -f the file keeps its size, and the bytes before FROM stay. The seed is printed; it repeats
 * the operations. Operations that the kernel refuses on the file (shared maps, copying of ranges)
 * are left out, with a message. Exits 1 at the first difference, with the operations before it. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY 40

struct fsx {
	const char *path;
	int fd;
	uint64_t seed, random;
	size_t from, most, size; /* bytes */
	bool fixed;		 /* the file keeps its size */
	bool maps, copies;	 /* the kernel has these operations */
	unsigned char *good;	 /* expected content of the file; most bytes, zeros behind size */
	unsigned char *bytes;	 /* buffer of the same size */
	unsigned long done;
	char history[HISTORY][96];
};

/* xorshift64* */
static uint64_t next_random(struct fsx *fsx)
{
	fsx->random ^= fsx->random >> 12;
	fsx->random ^= fsx->random << 25;
	fsx->random ^= fsx->random >> 27;
	return fsx->random * 0x2545f4914f6cdd1d;
}

/* A random number from 0 to n - 1. */
static size_t below(struct fsx *fsx, size_t n)
{
	return n ? (size_t)((next_random(fsx) >> 16) % n) : 0;
}

static void __attribute__((format(printf, 2, 3))) note(struct fsx *fsx, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fsx->history[fsx->done % HISTORY], sizeof(fsx->history[0]), format, arguments);
	va_end(arguments);
}

static void __attribute__((noreturn, format(printf, 2, 3)))
wrong(struct fsx *fsx, const char *format, ...)
{
	const unsigned long first = fsx->done >= HISTORY ? fsx->done - HISTORY + 1 : 0;
	va_list arguments;

	for (unsigned long i = first; i <= fsx->done; i++)
		printf("%8lu %s\n", i, fsx->history[i % HISTORY]);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf(" (seed %llu, operation %lu, size %zu)\n", (unsigned long long)fsx->seed, fsx->done,
	       fsx->size);
	exit(1);
}

static void compare(struct fsx *fsx, const unsigned char *bytes, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != fsx->good[at + i])
			wrong(fsx, "byte %zu is 0x%02x, not 0x%02x", at + i, bytes[i],
			      fsx->good[at + i]);
}

static void check_size(struct fsx *fsx)
{
	struct stat stat;

	if (fstat(fsx->fd, &stat) < 0)
		wrong(fsx, "fstat: %s", strerror(errno));
	if ((size_t)stat.st_size != fsx->size)
		wrong(fsx, "it is %lld bytes long, not %zu", (long long)stat.st_size, fsx->size);
}

static void read_range(struct fsx *fsx, size_t at, size_t n)
{
	const size_t there = at >= fsx->size ? 0 : n < fsx->size - at ? n : fsx->size - at;
	const ssize_t got = pread(fsx->fd, fsx->bytes, n, (off_t)at);

	if (got < 0)
		wrong(fsx, "read: %s", strerror(errno));
	if ((size_t)got != there)
		wrong(fsx, "read %zd bytes at %zu, not %zu", got, at, there);
	compare(fsx, fsx->bytes, at, there);
}

static void open_file(struct fsx *fsx)
{
	fsx->fd = open(fsx->path, O_RDWR | O_CLOEXEC | (fsx->fixed ? 0 : O_CREAT), 0600);
	if (fsx->fd < 0)
		wrong(fsx, "open: %s", strerror(errno));
}

static void *map(struct fsx *fsx, size_t from, size_t n, int protection)
{
	void *mapped = mmap(NULL, n, protection, MAP_SHARED, fsx->fd, (off_t)from);

	return mapped == MAP_FAILED ? NULL : mapped;
}

/* ## operations */

static void fill_bytes(struct fsx *fsx, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fsx->bytes[i] = (unsigned char)(i % 8 ? fsx->bytes[i - 1] * 5u + 3u
						      : next_random(fsx) >> 24);
}

/* Offset of a range of up to n bytes, which may end behind the file only if the file may grow. */
static size_t choose(struct fsx *fsx, size_t *n)
{
	const size_t end = fsx->fixed ? fsx->size : fsx->most;
	const size_t at = fsx->from + below(fsx, end - fsx->from);

	*n = 1 + below(fsx, below(fsx, 4) ? 5000 : 70000);
	if (*n > end - at)
		*n = end - at;
	return at;
}

static void do_read(struct fsx *fsx)
{
	const size_t at = below(fsx, fsx->size + 100);
	size_t n = 1 + below(fsx, below(fsx, 4) ? 5000 : 140000);

	if (n > fsx->most)
		n = fsx->most;
	note(fsx, "read %zu at %zu", n, at);
	read_range(fsx, at, n);
}

static void do_write(struct fsx *fsx)
{
	size_t n;
	const size_t at = choose(fsx, &n);
	ssize_t wrote;

	note(fsx, "write %zu at %zu", n, at);
	fill_bytes(fsx, n);
	wrote = pwrite(fsx->fd, fsx->bytes, n, (off_t)at);
	if (wrote < 0)
		wrong(fsx, "write: %s", strerror(errno));
	if ((size_t)wrote != n)
		wrong(fsx, "wrote %zd bytes, not %zu", wrote, n);
	memcpy(fsx->good + at, fsx->bytes, n);
	if (at + n > fsx->size)
		fsx->size = at + n;
}

static void do_truncate(struct fsx *fsx)
{
	const size_t size = below(fsx, 20) ? below(fsx, fsx->most) : 0;

	note(fsx, "truncate to %zu", size);
	if (ftruncate(fsx->fd, (off_t)size) < 0)
		wrong(fsx, "ftruncate: %s", strerror(errno));
	if (size < fsx->size)
		memset(fsx->good + size, 0, fsx->size - size);
	fsx->size = size;
}

static void do_map(struct fsx *fsx, bool writing)
{
	const size_t page = 4096, first = writing ? fsx->from : 0;
	const size_t at = first + below(fsx, fsx->size - first), start = at / page * page;
	size_t n = 1 + below(fsx, 20000);
	unsigned char *mapped;

	if (n > fsx->size - at)
		n = fsx->size - at;
	note(fsx, "%s %zu at %zu in a map", writing ? "write" : "read", n, at);
	mapped = map(fsx, start, at - start + n, PROT_READ | (writing ? PROT_WRITE : 0));
	if (!mapped)
		wrong(fsx, "mmap: %s", strerror(errno));
	if (writing) {
		fill_bytes(fsx, n);
		memcpy(mapped + (at - start), fsx->bytes, n);
		memcpy(fsx->good + at, fsx->bytes, n);
		if (below(fsx, 4) == 0 && msync(mapped, at - start + n, MS_SYNC) < 0)
			wrong(fsx, "msync: %s", strerror(errno));
	}
	compare(fsx, mapped, start, at - start + n);
	munmap(mapped, at - start + n);
}

static void do_copy(struct fsx *fsx)
{
	size_t n;
	const size_t to = choose(fsx, &n), from = below(fsx, fsx->size);
	off_t from_at = (off_t)from, to_at = (off_t)to;
	ssize_t copied;

	if (n > fsx->size - from)
		n = fsx->size - from;
	/* copy_file_range() refuses overlapping ranges. */
	if (from + n > to && to + n > from)
		return;
	note(fsx, "copy %zu from %zu to %zu", n, from, to);
	copied = copy_file_range(fsx->fd, &from_at, fsx->fd, &to_at, n, 0);
	if (copied <= 0)
		wrong(fsx, "copy_file_range: %s", copied ? strerror(errno) : "nothing");
	memmove(fsx->good + to, fsx->good + from, (size_t)copied);
	if (to + (size_t)copied > fsx->size)
		fsx->size = to + (size_t)copied;
}

static void do_sync(struct fsx *fsx)
{
	note(fsx, "fsync");
	if (fsync(fsx->fd) < 0)
		wrong(fsx, "fsync: %s", strerror(errno));
}

static void do_reopen(struct fsx *fsx)
{
	note(fsx, "close and open");
	if (close(fsx->fd) < 0)
		wrong(fsx, "close: %s", strerror(errno));
	open_file(fsx);
	check_size(fsx);
	read_range(fsx, 0, fsx->most);
}

static void do_one(struct fsx *fsx)
{
	const size_t kind = below(fsx, 1000);

	if (kind < 3)
		do_reopen(fsx);
	else if (kind < 8)
		do_sync(fsx);
	else if (kind < 80 && !fsx->fixed)
		do_truncate(fsx);
	else if (kind < 200 && fsx->copies && fsx->size)
		do_copy(fsx);
	else if (kind < 450 && fsx->maps && fsx->size > fsx->from)
		do_map(fsx, kind < 320);
	else if (kind < 720)
		do_write(fsx);
	else
		do_read(fsx);
	check_size(fsx);
}

/* ## the whole run */

static void begin(struct fsx *fsx)
{
	struct stat stat;
	void *mapped;

	fsx->random = fsx->seed * 2 + 1;
	for (int i = 0; i < 8; i++)
		next_random(fsx);
	open_file(fsx);
	if (fstat(fsx->fd, &stat) < 0)
		wrong(fsx, "fstat: %s", strerror(errno));
	fsx->size = (size_t)stat.st_size;
	if (fsx->fixed || fsx->size > fsx->most)
		fsx->most = fsx->size;
	fsx->good = calloc(1, fsx->most + 1);
	fsx->bytes = malloc(fsx->most + 1);
	if (!fsx->good || !fsx->bytes || fsx->from > fsx->size)
		wrong(fsx, "there is no room, or nothing behind byte %zu", fsx->from);
	if (pread(fsx->fd, fsx->good, fsx->size, 0) != (ssize_t)fsx->size)
		wrong(fsx, "it cannot be read");
	fsx->done++;
	if (!fsx->fixed)
		do_write(fsx);
	mapped = map(fsx, 0, 1, PROT_READ | PROT_WRITE);
	fsx->maps = mapped != NULL;
	if (mapped)
		munmap(mapped, 1);
	else
		printf("no shared maps here: %s\n", strerror(errno));
	fsx->copies = copy_file_range(fsx->fd, &(off_t){ 0 }, fsx->fd, &(off_t){ (off_t)fsx->size },
				      0, 0) == 0;
	if (!fsx->copies)
		printf("no copying of ranges here: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
	struct fsx fsx = { .seed = 1, .most = 1 << 18 };
	unsigned long operations = 1000;
	int option;

	while ((option = getopt(argc, argv, "s:n:m:f:")) != -1) {
		if (option == 's')
			fsx.seed = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			operations = strtoul(optarg, NULL, 0);
		else if (option == 'm')
			fsx.most = strtoul(optarg, NULL, 0);
		else if (option == 'f')
			fsx.from = strtoul(optarg, NULL, 0), fsx.fixed = true;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	fsx.path = argv[optind];
	printf("%s: seed %llu\n", fsx.path, (unsigned long long)fsx.seed);
	begin(&fsx);
	for (; fsx.done < operations; fsx.done++) {
		do_one(&fsx);
		if (fsx.done % 500 == 0)
			read_range(&fsx, 0, fsx.most);
	}
	do_reopen(&fsx);
	if (close(fsx.fd) < 0)
		wrong(&fsx, "close: %s", strerror(errno));
	printf("%lu operations\n", fsx.done);
	free(fsx.good);
	free(fsx.bytes);
	return 0;
}
