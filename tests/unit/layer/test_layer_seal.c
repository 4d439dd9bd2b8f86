/* SPDX-License-Identifier: MIT */
/* test_layer_seal.c - fs/layer/layer_seal.c: a stage whose bytes cannot be read is refused, or kept
 * as it is. */
#include "fs/storage/backing.h"
#include "fs/util/hash_text.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/zstd_file.h"

#include <errno.h>

/* Two frames and a part where the stage has a file, and a part of one where it has none. */
#define SIZE	   ((size_t)2500000)
#define SMALL_SIZE ((size_t)100000)

/* The program is linked with -Wl,--wrap=pread64: the k-th read from now on fails, once or for
 * ever. */
static unsigned failing_read;
static bool is_for_ever, has_failed;

ssize_t __real_pread64(int fd, void *bytes, size_t n, off64_t at);
ssize_t __wrap_pread64(int fd, void *bytes, size_t n, off64_t at);

ssize_t __wrap_pread64(int fd, void *bytes, size_t n, off64_t at)
{
	if (failing_read > 1) {
		failing_read--;
	} else if (failing_read) {
		failing_read = is_for_ever ? 1 : 0;
		has_failed = true;
		errno = EIO;
		return -1;
	}
	return __real_pread64(fd, bytes, n, at);
}

/* Seal those bytes with the k-th read failing. What is kept is what they are. False: there are
 * fewer reads. */
static bool seal_one(const struct site *site, const uint8_t *bytes, bool in_memory, unsigned k)
{
	const size_t n = in_memory ? SMALL_SIZE : SIZE;
	struct layer *layer = open_layer(site);
	struct backing *file = NULL;
	struct layer_seal seal;
	unsigned number;
	const int fd =
		in_memory ? layer_stage_in_memory(layer, &number) : layer_stage(layer, &number);
	int rc;

	must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	failing_read = k;
	has_failed = false;
	rc = layer_seal_stage(layer, number, fd, in_memory, &seal);
	failing_read = 0;
	assert_true(has_failed || rc == 0);
	if (is_for_ever && has_failed)
		assert_int_equal(rc, -EIO);
	if (rc == 0) {
		char xxh128[XXH128_TEXT];
		uint8_t *kept = malloc(n);

		must(kept);
		xxh128_text(XXH3_128bits(bytes, n), xxh128);
		assert_string_equal(seal.xxh128, xxh128);
		assert_int_equal(layer_commit(layer, number, &seal, CLASS_ORGANS, "up", NULL,
					      &file),
				 0);
		assert_int_equal(backing_size(file), n);
		assert_int_equal(backing_read(file, kept, n, 0), 0);
		assert_memory_equal(kept, bytes, n);
		backing_unref(file);
		free(kept);
	} else {
		layer_unstage(layer, number);
	}
	if (in_memory)
		layer_close_in_memory(layer, fd);
	else
		close(fd);
	layer_close(layer);
	return has_failed;
}

static void assert_sealed(void **state, uint8_t bits)
{
	struct site site = small_site(state);
	uint8_t *bytes = mk_random(SIZE, 1, bits);

	site.manner.level = 1;
	for (unsigned ways = 0; ways < 4; ways++) {
		is_for_ever = ways & 1;
		for (unsigned k = 1; seal_one(&site, bytes, ways & 2, k);)
			k++;
	}
	free(bytes);
	close_site(&site);
}

static void what_shrinks_is_kept_as_it_is_or_refused(void **state)
{
	assert_sealed(state, 15);
}

static void what_does_not_shrink_is_too(void **state)
{
	assert_sealed(state, 255);
}

UNIT_MAIN(temp_setup, temp_teardown)
