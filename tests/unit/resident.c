/* SPDX-License-Identifier: MIT */
/* resident.c - see resident.h. */
#include "tests/unit/resident.h"
#include "tests/unit/tasks.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#define PAGE 4096

static bool is_on_disk(const char *path)
{
	static const long types[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
				      F2FS_SUPER_MAGIC };
	struct statfs stat;

	must(statfs(path, &stat) == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
		if ((long)stat.f_type == types[i])
			return true;
	return false;
}

void write_pages(const char *path, size_t n)
{
	static uint8_t *bytes; /* of the longest file; others begin with the same */
	static size_t filled;
	int fd;

	if (n > filled)
		bytes = realloc(bytes, n);
	must(bytes);
	for (; filled < n; filled++)
		bytes[filled] = PAGES_BYTE(filled);
	write_file(path, bytes, n);
	fd = open(path, O_RDONLY);
	must(fd >= 0 && fsync(fd) == 0);
	close(fd);
	forget_pages(path);
	if (sysconf(_SC_PAGESIZE) != PAGE || !is_on_disk(path) || resident_in(path)) {
		print_message("no disk here of which pages can be dropped\n");
		skip();
	}
}

void forget_pages(const char *path)
{
	const int fd = open(path, O_RDONLY);

	must(fd >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
	close(fd);
}

void touch_pages(const char *path, uint64_t first, uint64_t n)
{
	const int fd = open(path, O_RDONLY);
	char byte;

	must(fd >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == 0);
	for (uint64_t i = first; i < first + n; i++)
		must(pread(fd, &byte, 1, (off_t)(i * PAGE)) == 1);
	close(fd);
}

size_t resident_pages(const char *path, uint64_t first, uint64_t n)
{
	unsigned char *resident = malloc(n);
	const int fd = open(path, O_RDONLY);
	size_t count = 0;
	void *map;

	must(fd >= 0 && resident);
	map = mmap(NULL, n * PAGE, PROT_READ, MAP_SHARED, fd, (off_t)(first * PAGE));
	must(map != MAP_FAILED && mincore(map, n * PAGE, resident) == 0);
	for (uint64_t i = 0; i < n; i++)
		count += resident[i] & 1;
	munmap(map, n * PAGE);
	close(fd);
	free(resident);
	return count;
}

size_t resident_in(const char *path)
{
	struct stat file;

	must(stat(path, &file) == 0);
	return resident_pages(path, 0, ((uint64_t)file.st_size + PAGE - 1) / PAGE);
}

void await_pages(const char *path, size_t n)
{
	while (resident_in(path) < n)
		tick();
	assert_int_equal(resident_in(path), n);
}
