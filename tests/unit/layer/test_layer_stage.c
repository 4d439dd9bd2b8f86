/* SPDX-License-Identifier: MIT */
/* test_layer_stage.c - fs/layer/layer_stage.c: the form of a stage in the layer, and stages with
 * unreadable or unwritable bytes. */
#include "fs/layer/blobs.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/hash_text.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/zstd_file.h"

#include <errno.h>

/* Two frames and a part. */
#define SIZE ((size_t)2500000)
#define ROW  ((size_t)BLOB_INLINE_MOST)

/* -Wl,--wrap=pread64: the k-th read from now on fails, once or for ever. */
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

/* A stage with n bytes. */
struct staged {
	struct layer *layer;
	const uint8_t *bytes;
	size_t n;
	bool in_memory;
	int fd;
	uint64_t number;
};

static struct staged stage(struct layer *layer, const uint8_t *bytes, size_t n, bool in_memory)
{
	struct staged staged = { layer, bytes, n, in_memory, -1, 0 };

	staged.fd = in_memory ? layer_stage_in_memory(layer, &staged.number)
			      : layer_stage(layer, &staged.number);
	must(staged.fd >= 0 && write(staged.fd, bytes, n) == (ssize_t)n);
	return staged;
}

static void unstage(const struct staged *staged, bool keeps_file)
{
	if (staged->in_memory)
		layer_close_in_memory(staged->layer, staged->fd);
	else
		close(staged->fd);
	if (!keeps_file)
		layer_unstage(staged->layer, staged->number);
}

static int seal(const struct staged *staged, struct layer_seal *to)
{
	return layer_seal_stage(staged->layer, staged->number, staged->fd, staged->in_memory, to);
}

/* Check that a sealed stage has the hash of its bytes, and put it in force. */
static void assert_kept(const struct staged *staged, struct layer_seal *to)
{
	char xxh128[XXH128_TEXT];
	uint8_t *kept = malloc(staged->n + 1);
	struct backing *file;

	must(kept);
	assert_int_equal(to->size, staged->n);
	xxh128_text(XXH3_128bits(staged->bytes, staged->n), xxh128);
	assert_string_equal(to->xxh128, xxh128);
	assert_int_equal(commit_seal(staged->layer, to, CLASS_ORGANS, "up", NULL,
				     &(struct timespec){ 1000, 0 }, &file),
			 0);
	assert_true(to->is_kept);
	assert_int_equal(backing_size(file), staged->n);
	assert_int_equal(backing_read(file, kept, staged->n, 0), 0);
	assert_memory_equal(kept, staged->bytes, staged->n);
	backing_unref(file);
	free(kept);
}

static int blob_files(struct layer *layer)
{
	return count_entries(path_in(layer_path(layer), "blobs").text);
}

static void form_of_a_stage_depends_on_its_size_and_on_whether_it_shrinks(void **state)
{
	static const struct {
		size_t n;
		int level;
		bool shrinks, in_memory;
		bool is_inline, is_compressed;
	} cases[] = {
		{ 0, 1, true, false, true, false },	  { 0, 0, true, true, true, false },
		{ ROW, 1, true, false, true, false },	  { ROW, 1, true, true, true, false },
		{ ROW + 1, 1, true, false, false, true }, { ROW + 1, 1, true, true, false, true },
		{ ROW + 1, 0, true, true, false, false }, { ROW + 1, 1, false, true, false, false },
		{ SIZE, 1, true, false, false, true },	  { SIZE, 19, true, false, false, true },
		{ SIZE, 0, true, false, false, false },	  { SIZE, 1, false, false, false, false },
	};
	struct site site = small_site(state);
	uint8_t *shrinks = mk_shrinking(SIZE, 1), *does_not = mk_random(SIZE, 2, 255);

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct layer_seal to;
		struct staged staged;
		struct layer *layer;

		site.manner.level = cases[i].level;
		layer = open_layer(&site);
		staged = stage(layer, cases[i].shrinks ? shrinks : does_not, cases[i].n,
			       cases[i].in_memory);
		assert_int_equal(seal(&staged, &to), 0);
		if (!to.bytes != !cases[i].is_inline || to.compressed != cases[i].is_compressed)
			fail_msg("case %zu", i);
		assert_kept(&staged, &to);
		unstage(&staged, to.number == staged.number && !to.bytes);
		layer_seal_release(layer, &to);
		assert_int_equal(blob_files(layer), !cases[i].is_inline);
		assert_int_equal(ask_layer(layer, "SELECT form = 'zstd' FROM blob"),
				 cases[i].is_compressed);
		layer_close(layer);
	}
	free(shrinks);
	free(does_not);
	close_site(&site);
}

/* The first frame decides, and the seal reverses a wrong decision. */
static void stage_that_shrinks_in_its_first_frame_alone_is_kept_as_it_is(void **state)
{
	struct site site = small_site(state);
	uint8_t *bytes = mk_random(SIZE, 3, 255);
	struct layer_seal to;
	struct staged staged;
	struct layer *layer;

	site.manner.level = 1;
	layer = open_layer(&site);
	memset(bytes, 0, ZSTD_FRAME_BYTES / 10);
	staged = stage(layer, bytes, SIZE, false);
	assert_int_equal(seal(&staged, &to), 0);
	assert_true(to.compressed);
	/* A compressed copy that is not put in force is removed. */
	assert_int_equal(blob_files(layer), 2);
	layer_seal_release(layer, &to);
	unstage(&staged, false);
	assert_int_equal(blob_files(layer), 0);
	layer_close(layer);
	free(bytes);
	close_site(&site);
}

/* Seal these bytes; the k-th read fails. A successful seal keeps the bytes uncompressed. Returns
 * false if there are fewer reads. */
static bool seal_one(const struct site *site, const uint8_t *bytes, bool in_memory, unsigned k)
{
	struct layer *layer = open_layer(site);
	const struct staged staged = stage(layer, bytes, in_memory ? 100000 : SIZE, in_memory);
	struct layer_seal to;
	int rc;

	failing_read = k;
	has_failed = false;
	rc = seal(&staged, &to);
	failing_read = 0;
	assert_true(has_failed || rc == 0);
	if (is_for_ever && has_failed)
		assert_int_equal(rc, -EIO);
	if (rc == 0)
		assert_kept(&staged, &to);
	unstage(&staged, rc == 0 && to.number == staged.number);
	layer_seal_release(layer, &to);
	assert_int_equal(blob_files(layer), rc == 0);
	assert_int_equal(layer_delete(layer), 0);
	layer_close(layer);
	return has_failed;
}

static void stage_that_cannot_be_read_is_refused_or_kept_as_it_is(void **state)
{
	struct site site = small_site(state);

	site.manner.level = 1;
	for (unsigned ways = 0; ways < 8; ways++) {
		uint8_t *bytes = mk_random(SIZE, 1, ways & 4 ? 255 : 15);

		is_for_ever = ways & 1;
		for (unsigned k = 1; seal_one(&site, bytes, ways & 2, k);)
			k++;
		free(bytes);
	}
	close_site(&site);
}

static void stage_that_cannot_be_made_durable_is_refused_and_stays(void **state)
{
	static const bool in_memory[] = { false, true };
	struct site site = small_site(state);
	uint8_t *bytes = mk_random(SIZE, 1, 255);
	struct layer *layer = open_layer(&site);

	needs_failing_allocations();
	for (size_t i = 0; i < ARRAY_LENGTH(in_memory); i++) {
		const struct staged staged = stage(layer, bytes, 100000, in_memory[i]);
		struct layer_seal to;

		fsync_fails(1);
		assert_int_equal(seal(&staged, &to), -EIO);
		assert_true(fsync_failed());
		layer_seal_release(layer, &to);
		assert_int_equal(blob_files(layer), in_memory[i] && i ? 1 : !in_memory[i]);
		assert_int_equal(seal(&staged, &to), 0);
		assert_kept(&staged, &to);
		layer_seal_release(layer, &to);
		unstage(&staged, true);
	}
	assert_int_equal(blob_files(layer), 1);
	layer_close(layer);
	free(bytes);
	close_site(&site);
}

static void without_memory_a_stage_is_refused_or_kept(void **state)
{
	struct site site = small_site(state);
	uint8_t *bytes = mk_shrinking(SIZE, 1);
	bool failed = true;

	needs_failing_allocations();
	site.manner.level = 1;
	for (uint64_t k = 1; failed; k++) {
		struct layer *layer = open_layer(&site);
		const struct staged staged = stage(layer, bytes, 100000, k & 1);
		struct layer_seal to;
		int rc;

		allocation_fails(k);
		rc = seal(&staged, &to);
		failed = allocation_failed();
		assert_int_equal(rc, rc < 0 ? -ENOMEM : 0);
		assert_true(failed || rc == 0);
		if (rc == 0)
			assert_kept(&staged, &to);
		unstage(&staged, rc == 0 && to.number == staged.number);
		layer_seal_release(layer, &to);
		layer_close(layer);
	}
	free(bytes);
	close_site(&site);
}

static void only_so_many_stages_are_in_memory_at_a_time(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	uint64_t number;
	int fds[100], n = 0;

	while (n < 100 && (fds[n] = layer_stage_in_memory(layer, &number)) >= 0)
		n++;
	assert_between(n, 8, 99);
	assert_int_equal(fds[n], -ENOMEM);
	layer_close_in_memory(layer, fds[--n]);
	fds[n] = layer_stage_in_memory(layer, &number);
	assert_true(fds[n++] >= 0);
	while (n)
		layer_close_in_memory(layer, fds[--n]);
	layer_close(layer);
	close_site(&site);
}

static void view_is_copied_to_its_place_in_a_stage(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct view *view = view_of_text(strdup("0123456789"), 10);
	const struct staged staged = stage(layer, (const uint8_t *)"ab", 2, false);
	char got[8];

	assert_int_equal(layer_copy_view(staged.fd, 2, view, 5), 0);
	assert_int_equal(pread(staged.fd, got, sizeof(got), 0), 7);
	assert_memory_equal(got, "ab01234", 7);
	/* The view ends before byte 11. */
	assert_int_equal(layer_copy_view(staged.fd, 0, view, 11), -EIO);
	view_unref(view);
	unstage(&staged, false);
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
