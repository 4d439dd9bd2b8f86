/* SPDX-License-Identifier: MIT */
/* test_split_write.c - fs/assemble/split_write.c: texts that ask for shards, and shards that join
 * to the model. */
#include "fs/assemble/atomic_write.h"
#include "fs/assemble/split_write.h"
#include "fs/base/base.h"
#include "fs/storage/view.h"
#include "fs/util/progress.h"
#include "gguf/reader.h"
#include "tests/unit/small_gguf.h"

static void texts_that_ask_for_shards(void **state)
{
	static const struct {
		const char *text;
		uint64_t most;
	} good[] = {
		{ "out-%05d-of-%05d.gguf split=1", 1 },
		{ "out-%05d-of-%05d.gguf split=4K", 4000 },
		{ "out-%05d-of-%05d.gguf split=25M", 25000000 },
		{ "out-%05d-of-%05d.gguf split=3G", 3000000000 },
		{ "out-%05d-of-%05d.gguf split=2T", 2000000000000 },
		{ "a split=b-%05d-of-%05d.gguf split=10", 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
		struct error err = { 0 };
		uint64_t most = 0;
		size_t n;

		assert_int_equal(split_write_parse(good[i].text, &n, &most, &err), 1);
		assert_int_equal(most, good[i].most);
		assert_string_equal(strrchr(good[i].text, ' '), good[i].text + n);
	}
}

static void other_texts_name_a_file_or_are_refused(void **state)
{
	static const char *const plain[] = { "out.gguf", "out split=4G", "", "-%05d-of-5.gguf" };
	static const char *const bad[] = {
		"out-%05d-of-%05d.gguf",
		"out-%05d-of-%05d.gguf split=",
		"out-%05d-of-%05d.gguf split=0",
		"out-%05d-of-%05d.gguf split=-1",
		"out-%05d-of-%05d.gguf split=4X",
		"out-%05d-of-%05d.gguf split=4GB",
		"out-%05d-of-%05d.gguf split=99999999999999999999",
		"out-%05d-of-%05d.gguf split=99999999999T",
		"out-%05d-of-%05d.bin split=4G",
		"out%05d-of-%05d.gguf split=4G",
		"-%05d-of-%05d-%05d-of-%05d.gguf split=4G",
	};
	struct error err = { 0 };
	uint64_t most;
	size_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(plain); i++)
		assert_int_equal(split_write_parse(plain[i], &n, &most, &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		err = (struct error){ 0 };
		assert_refused(split_write_parse(bad[i], &n, &most, &err), &err, EINVAL,
			       ERROR_NO_OFFSET);
	}
}

/* The small model as a view. */
static struct view *small_view(void)
{
	struct mk_file file = mk_small();
	struct segment all = { .kind = SEGMENT_MEMORY,
			       .length = file.size,
			       .memory = mk_copy(file.bytes, file.size) };
	struct view *view = view_new(&all, 1, (void *)(uintptr_t)all.memory);

	must(view);
	mk_file_free(&file);
	return view;
}

/* Write out-K-of-N.gguf to the directory out, each with at most that many bytes of tensors. */
static int split(void **state, uint64_t most, struct error *err)
{
	const struct path path = in_temp(state, "out/out" SPLIT_WRITE_NUMBERS);
	struct stat base = { .st_ino = 0 };
	const struct write_target target = { .directory = AT_FDCWD,
					     .path = path.text,
					     .base = &base };
	struct view *view = small_view();
	struct progress progress = { .cancel = NULL };
	const int rc = split_write(view, &target, most, &progress, err);

	view_unref(view);
	return rc;
}

static void shards_are_made_from_the_header_alone(void **state)
{
	struct view *whole = small_view(), *header, **views;
	const struct source source = view_source(whole);
	struct error err = { 0 };
	struct gguf *gguf = gguf_read(&source, &err);
	struct segment segment;
	uint32_t n;

	(void)state;
	must(gguf && view_segments(whole, 0, gguf->data_offset, NULL) == 1);
	view_segments(whole, 0, gguf->data_offset, &segment);
	header = view_new(&segment, 1, NULL);
	assert_int_equal(split_views(whole, header, 0, &views, &n, &err), 0);
	assert_int_equal(n, 1 + gguf->n_tensors);
	view_unref(header);
	view_unref(whole);
	for (uint32_t k = 0; k < n; k++) {
		const struct source shard = view_source(views[k]);
		struct gguf *part = gguf_read(&shard, &err);

		assert_non_null(part);
		assert_int_equal(part->n_tensors, k > 0);
		if (k > 0)
			assert_string_equal(part->tensors[0].name, gguf->tensors[k - 1].name);
		gguf_free(part);
	}
	split_views_free(views, n);
	gguf_free(gguf);
}

static void each_failing_allocation_is_reported(void **state)
{
	struct view *whole;

	(void)state;
	needs_failing_allocations();
	whole = small_view();
	for (uint64_t k = 1;; k++) {
		struct view **views = NULL;
		struct error err = { 0 };
		uint32_t n = 0;
		int rc;

		allocation_fails(k);
		rc = split_views(whole, whole, 0, &views, &n, &err);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			split_views_free(views, n);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
		assert_null(views);
	}
	view_unref(whole);
}

static void shards_are_the_model_together(void **state)
{
	struct error err = { 0 };
	struct base base;
	int n;

	must(mkdir(in_temp(state, "out").text, 0700) == 0);
	n = split(state, 256, &err);
	assert_between(n, 2, SMALL_TENSORS);
	assert_int_equal(count_entries(in_temp(state, "out").text), n);
	for (int k = 1; k <= n; k++) {
		char name[64];

		snprintf(name, sizeof(name), "out/out-%05d-of-%05d.gguf", k, n);
		assert_true(exists(in_temp(state, name).text));
		if (k > 1)
			continue;
		assert_int_equal(base_open(&base, in_temp(state, name).text, &err), 0);
	}
	assert_int_equal(base.gguf->n_tensors, SMALL_TENSORS);
	base_close(&base);
}

static void no_shard_is_replaced_and_none_is_left(void **state)
{
	struct error err = { 0 };
	char name[64];
	int n;

	must(mkdir(in_temp(state, "out").text, 0700) == 0);
	n = split(state, 256, &err);
	assert_between(n, 2, SMALL_TENSORS);
	for (int k = 1; k < n; k++) {
		snprintf(name, sizeof(name), "out/out-%05d-of-%05d.gguf", k, n);
		must(unlink(in_temp(state, name).text) == 0);
	}
	assert_int_equal(split(state, 256, &err), -EEXIST);
	assert_int_equal(err.code, EEXIST);
	assert_int_equal(count_entries(in_temp(state, "out").text), 1);
}

UNIT_MAIN(temp_setup, temp_teardown)
