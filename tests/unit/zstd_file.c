/* SPDX-License-Identifier: MIT */
/* zstd_file.c - see zstd_file.h. */
#include "tests/unit/zstd_file.h"

uint8_t *mk_random(size_t n, uint64_t seed, uint8_t bits)
{
	uint8_t *bytes = malloc(n + 1);

	must(bytes);
	seed = (seed + 1) * 0x9e3779b97f4a7c15;
	for (size_t i = 0; i < n; i++) {
		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		bytes[i] = (uint8_t)(seed >> 32) & bits;
	}
	return bytes;
}

uint8_t *mk_shrinking(size_t n, uint64_t seed)
{
	return mk_random(n, seed, 15);
}

void save_frames(void **state, const char *name, const uint8_t *bytes, size_t n, int level)
{
	const int fd =
		open(in_temp(state, name).text, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	struct zstd_writer *writer = zstd_writer_new(level);
	struct stat stat;
	int64_t size;

	must(fd >= 0 && writer && zstd_writer_begin(writer, fd) == 0);
	for (size_t at = 0; at < n; at += ZSTD_FRAME_BYTES)
		must(zstd_writer_add(writer, bytes + at,
				     n - at < ZSTD_FRAME_BYTES ? n - at : ZSTD_FRAME_BYTES) == 0);
	size = zstd_writer_finish(writer);
	assert_int_equal(size, fstat(fd, &stat) == 0 ? stat.st_size : -1);
	zstd_writer_free(writer);
	close(fd);
}
