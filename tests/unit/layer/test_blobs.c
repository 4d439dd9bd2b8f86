/* SPDX-License-Identifier: MIT */
/* test_blobs.c - fs/layer/blobs.c: bytes in rows and in files, their lifetime, and blobs of no
 * slot. */
#include "fs/layer/blobs.h"
#include "fs/layer/layer_internal.h"
#include "fs/storage/backing.h"
#include "fs/util/log.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/zstd_file.h"

#define LARGE ((size_t)BLOB_INLINE_MOST + 1)

struct scene {
	struct site site;
	struct layer *layer;
	uint8_t *bytes; /* LARGE of them */
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .site = small_site(state), .bytes = mk_random(LARGE, 1, 255) };

	scene.layer = open_layer(&scene.site);
	return scene;
}

static void close_scene(struct scene *scene)
{
	layer_close(scene->layer);
	close_site(&scene->site);
	free(scene->bytes);
}

static void reopen(struct scene *scene)
{
	layer_close(scene->layer);
	scene->layer = open_layer(&scene->site);
}

/* Keep the first n bytes as the slot organs/up. */
static struct backing *keep(const struct scene *scene, size_t n)
{
	struct backing *file;

	must(keep_bytes(scene->layer, CLASS_ORGANS, "up", NULL, scene->bytes, n, &file) == 0);
	return file;
}

static void assert_bytes(const struct scene *scene, struct backing *file, size_t n)
{
	uint8_t *got = malloc(n + 1);

	must(got);
	assert_non_null(file);
	assert_int_equal(backing_size(file), n);
	assert_int_equal(backing_read(file, got, n, 0), 0);
	assert_memory_equal(got, scene->bytes, n);
	free(got);
}

/* File of the layer's only slot; NULL with err set. */
static int take_file(void *context, const struct layer_entry *entry, struct error *err)
{
	struct backing **file = context;

	*file = entry->file;
	if (!entry->file)
		print_message("%s\n", err->text);
	return 0;
}

static struct backing *find(struct layer *layer)
{
	struct backing *file = NULL;
	struct error err = { 0 };

	must(layer_each(layer, take_file, &file, &err) == 0);
	return file;
}

static int blob_files(const struct scene *scene)
{
	return count_entries(path_in(layer_path(scene->layer), "blobs").text);
}

static void organ_of_64_kib_is_in_a_row_and_a_larger_one_in_a_file(void **state)
{
	static const size_t sizes[] = { 0, 1, LARGE - 1, LARGE };
	struct scene scene = open_scene(state);

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		const bool is_file = sizes[i] == LARGE;
		struct backing *file = keep(&scene, sizes[i]);

		assert_bytes(&scene, file, sizes[i]);
		backing_unref(file);
		assert_int_equal(blob_files(&scene), is_file);
		assert_int_equal(ask_layer(scene.layer, "SELECT count(*) FROM blob"), 1);
		assert_int_equal(ask_layer(scene.layer, "SELECT bytes IS NULL FROM blob"), is_file);
		reopen(&scene);
		file = find(scene.layer);
		assert_bytes(&scene, file, sizes[i]);
		assert_int_equal(backing_read(file, scene.bytes, 2, sizes[i]), -EIO);
		backing_unref(file);
	}
	close_scene(&scene);
}

static void files_without_a_row_go_at_opening(void **state)
{
	struct scene scene = open_scene(state);
	struct backing *file;
	struct path path;
	uint64_t number;

	backing_unref(keep(&scene, LARGE));
	path = path_in(layer_path(scene.layer), "blobs");
	layer_close(scene.layer);
	write_text(path_in(path.text, "77").text, "of a crash");
	write_text(path_in(path.text, "junk").text, "by hand");
	write_text(path_in(path.text, "99999999999999999999").text, "too large a number");
	scene.layer = open_layer(&scene.site);
	/* Files with other names belong to others. */
	assert_int_equal(count_entries(path.text), 3);
	must(unlink(path_in(path.text, "junk").text) == 0);
	must(unlink(path_in(path.text, "99999999999999999999").text) == 0);
	assert_int_equal(ask_layer(scene.layer, "SELECT count(*) FROM blob"), 1);
	file = find(scene.layer);
	assert_bytes(&scene, file, LARGE);
	backing_unref(file);
	/* No number is used twice. */
	number = blob_next(scene.layer);
	assert_between(number, 78, 1000);
	assert_int_equal(blob_next(scene.layer), number + 1);
	close_scene(&scene);
}

static void dropped_blob_is_read_to_the_end_by_who_holds_it(void **state)
{
	static const size_t sizes[] = { 5000, LARGE };
	struct scene scene = open_scene(state);

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct backing *held = keep(&scene, sizes[i]), *again = find(scene.layer);

		assert_int_equal(keep_text(scene.layer, CLASS_ORGANS, "up", "other"), 0);
		assert_bytes(&scene, held, sizes[i]);
		assert_bytes(&scene, again, sizes[i]);
		backing_unref(again);
		assert_int_equal(blob_files(&scene), 0);
		assert_int_equal(ask_layer(scene.layer, "SELECT count(*) FROM blob"), 1);
		assert_layer(scene.layer, "organs/up=other ");
		assert_int_equal(revert(scene.layer, CLASS_ORGANS, "up"), 0);
		assert_bytes(&scene, held, sizes[i]);
		backing_unref(held);
		assert_int_equal(ask_layer(scene.layer, "SELECT count(*) FROM blob"), 0);
	}
	close_scene(&scene);
}

static void blob_of_a_layer_that_is_closed_or_removed_is_read_by_who_holds_it(void **state)
{
	static const size_t sizes[] = { 5000, LARGE };
	struct scene scene = open_scene(state);

	for (size_t i = 0; i < ARRAY_LENGTH(sizes) * 2; i++) {
		struct backing *held, *unread;

		backing_unref(keep(&scene, sizes[i / 2]));
		held = find(scene.layer);
		unread = find(scene.layer);
		assert_bytes(&scene, held, sizes[i / 2]);
		if (i % 2)
			assert_int_equal(layer_delete(scene.layer), 0);
		reopen(&scene);
		assert_bytes(&scene, held, sizes[i / 2]);
		assert_bytes(&scene, unread, sizes[i / 2]);
		backing_unref(held);
		backing_unref(unread);
	}
	close_scene(&scene);
}

static void drop_that_is_not_committed_keeps_row_and_file(void **state)
{
	static const size_t sizes[] = { 5000, LARGE };
	struct scene scene = open_scene(state);

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct backing *held = keep(&scene, sizes[i]), *found;

		assert_int_equal(layer_hold(scene.layer), 0);
		assert_int_equal(keep_text(scene.layer, CLASS_ORGANS, "up", "other"), 0);
		assert_bytes(&scene, held, sizes[i]);
		assert_int_equal(layer_hold_end(scene.layer, false), 0);
		assert_bytes(&scene, held, sizes[i]);
		backing_unref(held);
		found = find(scene.layer);
		assert_bytes(&scene, found, sizes[i]);
		backing_unref(found);
	}
	close_scene(&scene);
}

/* Each change damages LARGE in organs/up: the layer does not open, or a read fails with EIO. */
static void blob_that_is_not_as_its_row_says_is_not_read(void **state)
{
	static const struct {
		const char *sql;
		off_t cut; /* new size of the file */
		size_t size;
		bool opens;
	} cases[] = {
		{ NULL, 100, LARGE, false },
		{ NULL, LARGE + 1, LARGE, false },
		{ "UPDATE blob SET size = 7", 0, LARGE, false },
		{ "UPDATE blob SET size = -1", 0, LARGE, false },
		{ "UPDATE blob SET size = 9223372036854775807", 0, LARGE, false },
		{ "UPDATE blob SET form = 'zstd'", 0, LARGE, false },
		{ "UPDATE blob SET number = 7; UPDATE slot SET blob = 7", 0, LARGE, false },
		{ "UPDATE blob SET xxh128 = '0123456789abcdef0123456789abcdef'", 0, LARGE, true },
		{ "UPDATE blob SET size = 7", 0, 100, false },
		{ "UPDATE blob SET size = -1", 0, 100, false },
		{ "UPDATE blob SET size = 9223372036854775807", 0, 100, false },
		{ "UPDATE blob SET bytes = zeroblob(100)", 0, 100, true },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct scene scene = open_scene(state);
		struct path path;
		struct backing *file;
		char byte;

		backing_unref(keep(&scene, cases[i].size));
		path = path_in(layer_path(scene.layer), ".");
		layer_rest(scene.layer);
		alter_rows(path.text, LOOSE_SLOTS);
		if (cases[i].sql)
			alter_rows(path.text, cases[i].sql);
		else
			must(truncate(path_in(path.text, "blobs/1").text, cases[i].cut) == 0);
		file = find(scene.layer);
		if (!file != !cases[i].opens)
			fail_msg("case %zu: %s", i, cases[i].sql ? cases[i].sql : "cut");
		if (file && backing_read(file, &byte, 1, 0) != -EIO)
			fail_msg("case %zu: read", i);
		backing_unref(file);
		/* The slot can be reverted all the same. */
		assert_int_equal(revert(scene.layer, CLASS_ORGANS, "up"), 0);
		assert_layer(scene.layer, "");
		close_scene(&scene);
	}
}

static void directory_of_blobs_that_leads_elsewhere_is_refused(void **state)
{
	struct site site = small_site(state);
	const struct path path = in_temp(state, "layer");
	struct error err = { 0 };
	struct layer *layer = layer_open_at(path.text, &site.manner, site.base, site.gguf, &err);

	must(layer && keep_text(layer, CLASS_ORGANS, "up", "x") == 0);
	layer_close(layer);
	must(rmdir(path_in(path.text, "blobs").text) == 0);
	must(mkdir(in_temp(state, "elsewhere").text, 0700) == 0);
	must(symlink("../elsewhere", path_in(path.text, "blobs").text) == 0);
	write_text(in_temp(state, "elsewhere/77").text, "another's");
	assert_null(layer_open_at(path.text, &site.manner, site.base, site.gguf, &err));
	assert_int_equal(err.code, ENOTDIR);
	assert_true(exists(in_temp(state, "elsewhere/77").text));
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
