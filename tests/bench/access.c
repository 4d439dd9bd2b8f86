/* SPDX-License-Identifier: MIT */
/* access.c - the accesses that `make bench` times, without an interpreter in between:
 *
 *	access read FILE...      read the files one after another, 1 MiB at a time
 *	access four FILE         the same by four threads, each a quarter
 *	access random FILE       4,096 reads of 16 KiB, in an order of no pattern
 *	access map FILE          read a byte of every page of a map
 *	access heads FILE...     read the first 64 KiB of each
 *	access drop FILE...      tell the page cache to drop the files, and read nothing
 *	access keep DIR FILE...  copy each to DIR durably: write, fsync, rename, fsync of DIR
 *	access remove FILE...    unlink each durably
 *
 * Prints microseconds, bytes and context switches of this process. */
#include <err.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 20, SMALL = 16 << 10, HEAD = 64 << 10, READS = 4096, READERS = 4 };

static int open_file(const char *path, off_t *size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", path);
	*size = st.st_size;
	return fd;
}

/* Read the bytes between two offsets, all of which must exist. Returns their number. */
static uint64_t read_between(int fd, off_t from, off_t to)
{
	char *bytes = malloc(PIECE);

	if (!bytes)
		err(1, NULL);
	for (off_t at = from; at < to;) {
		const size_t most = to - at < PIECE ? (size_t)(to - at) : PIECE;
		const ssize_t n = pread(fd, bytes, most, at);

		if (n <= 0)
			err(1, "read at %lld", (long long)at);
		at += n;
	}
	free(bytes);
	return (uint64_t)(to - from);
}

static uint64_t read_file(const char *path, off_t most)
{
	off_t size;
	const int fd = open_file(path, &size);
	const uint64_t bytes = read_between(fd, 0, size < most ? size : most);

	close(fd);
	return bytes;
}

struct reader {
	pthread_t thread;
	int fd;
	off_t from, to;
};

static void *run_reader(void *context)
{
	const struct reader *reader = context;

	read_between(reader->fd, reader->from, reader->to);
	return NULL;
}

static uint64_t read_by_four(const char *path)
{
	struct reader readers[READERS];
	off_t size;
	const int fd = open_file(path, &size);

	for (int i = 0; i < READERS; i++) {
		readers[i] =
			(struct reader){ .fd = fd,
					 .from = size / READERS * i,
					 .to = i + 1 < READERS ? size / READERS * (i + 1) : size };
		if (pthread_create(&readers[i].thread, NULL, run_reader, &readers[i]))
			errx(1, "no thread");
	}
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	close(fd);
	return (uint64_t)size;
}

static uint64_t read_randomly(const char *path)
{
	static char bytes[SMALL];
	uint64_t state = 1;
	off_t size;
	const int fd = open_file(path, &size);

	if (size < SMALL)
		errx(1, "%s is too small", path);
	for (int i = 0; i < READS; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		const off_t at = (off_t)((state >> 33) % (uint64_t)(size / SMALL)) * SMALL;

		if (pread(fd, bytes, SMALL, at) != SMALL)
			err(1, "%s", path);
	}
	close(fd);
	return (uint64_t)READS * SMALL;
}

static uint64_t read_map(const char *path)
{
	const long page = sysconf(_SC_PAGESIZE);
	off_t size;
	const int fd = open_file(path, &size);
	const char *map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		err(1, "%s", path);
	for (off_t at = 0; at < size; at += page)
		(void)*(const volatile char *)(map + at);
	munmap((void *)map, (size_t)size);
	close(fd);
	return (uint64_t)size;
}

static uint64_t drop(const char *path)
{
	off_t size;
	const int fd = open_file(path, &size);

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return 0;
}

static void sync_directory(const char *path)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		err(1, "%s", path);
	close(fd);
}

static uint64_t keep(const char *dir, char *path)
{
	char temporary[4096], final[4096];
	off_t size;
	const int fd = open_file(path, &size);
	char *bytes = malloc((size_t)size + 1);
	int out;

	snprintf(temporary, sizeof(temporary), "%s/.%s", dir, basename(path));
	snprintf(final, sizeof(final), "%s/%s", dir, basename(path));
	out = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (!bytes || out < 0 || read(fd, bytes, (size_t)size) != size ||
	    write(out, bytes, (size_t)size) != size || fsync(out) < 0 || close(out) < 0 ||
	    rename(temporary, final) < 0)
		err(1, "%s", final);
	sync_directory(dir);
	free(bytes);
	close(fd);
	return (uint64_t)size;
}

static uint64_t remove_file(char *path)
{
	if (unlink(path) < 0)
		err(1, "%s", path);
	sync_directory(dirname(path));
	return 0;
}

static uint64_t act(const char *what, const char *dir, char *path)
{
	if (strcmp(what, "read") == 0)
		return read_file(path, INT64_MAX);
	if (strcmp(what, "heads") == 0)
		return read_file(path, HEAD);
	if (strcmp(what, "four") == 0)
		return read_by_four(path);
	if (strcmp(what, "random") == 0)
		return read_randomly(path);
	if (strcmp(what, "map") == 0)
		return read_map(path);
	if (strcmp(what, "drop") == 0)
		return drop(path);
	if (strcmp(what, "keep") == 0)
		return keep(dir, path);
	if (strcmp(what, "remove") == 0)
		return remove_file(path);
	errx(2, "no access is called %s", what);
}

int main(int argc, char **argv)
{
	const int first = argc > 1 && strcmp(argv[1], "keep") == 0 ? 3 : 2;
	struct timespec begin, end;
	struct rusage usage;
	uint64_t bytes = 0;

	if (argc <= first)
		errx(2, "access KIND FILE...");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = first; i < argc; i++)
		bytes += act(argv[1], argv[2], argv[i]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &usage);
	printf("%lld %llu %ld\n",
	       (end.tv_sec - begin.tv_sec) * 1000000LL + (end.tv_nsec - begin.tv_nsec) / 1000,
	       (unsigned long long)bytes, usage.ru_nvcsw + usage.ru_nivcsw);
	return 0;
}
