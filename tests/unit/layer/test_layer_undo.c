/* SPDX-License-Identifier: MIT */
/* test_layer_undo.c - fs/layer/layer_undo.c: several things that a layer says, taken back
 * together. */
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_metadata.h"
#include "fs/layer/layer_undo.h"
#include "tests/unit/open_layer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char note[] = "organs/up.bin\norgans/link.bin\nnorm/n%20%25.bin\nmetadata/k.x\n"
			   "adapters/a.scale\n";

static struct path file_of(struct layer *layer, const char *name)
{
	return path_in(layer_path(layer), name);
}

static bool is_there(struct layer *layer, const char *name)
{
	return access(file_of(layer, name).text, F_OK) == 0;
}

/* A layer with what the note names, and with one organ more. */
static struct layer *open_full(const struct site *site)
{
	const struct timespec now = { .tv_sec = 1000 };
	struct layer *layer = open_layer(site);

	must(keep_text(layer, CLASS_ORGANS, "up", "u") == 0);
	must(keep_text(layer, CLASS_ORGANS, "down", "d") == 0);
	must(layer_symlink(layer, CLASS_ORGANS, "link", NULL, "/a", "seen", getuid(), getgid(),
			   &now) == 0);
	must(layer_write(layer, LAYER_WHITEOUT, CLASS_NORM, "n %", NULL, "", NULL) == 0);
	must(layer_write_key(layer, LAYER_KEY_REMOVED, "k.x", "", NULL, &now) == 0);
	must(keep_text(layer, CLASS_ADAPTERS, "pair", "p") == 0);
	write_text(file_of(layer, "adapters/a.scale").text, "1");
	return layer;
}

static void assert_undone(struct layer *layer, bool undone)
{
	assert_int_equal(is_there(layer, "organs/up.bin"), !undone);
	assert_int_equal(is_there(layer, "organs/up.bin.xxh128"), !undone);
	assert_int_equal(is_there(layer, "organs/link.bin.seen"), !undone);
	assert_int_equal(is_there(layer, "norm/.wh.n %.bin"), !undone);
	assert_int_equal(is_there(layer, "metadata/.wh.k.x"), !undone);
	assert_int_equal(is_there(layer, "adapters/a.scale"), !undone);
	assert_true(is_there(layer, "organs/down.bin"));
	assert_true(is_there(layer, "adapters/pair.bin"));
}

static void all_of_it_goes(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_full(&site);
	char *noted;
	int rc;

	assert_null(layer_undo_read(layer, &rc));
	assert_int_equal(rc, 0);
	assert_int_equal(layer_undo_finish(layer), 0);
	assert_int_equal(layer_undo(layer, note), 0);
	assert_undone(layer, false);
	noted = layer_undo_read(layer, &rc);
	assert_string_equal(noted, note);
	free(noted);
	/* The next mount finishes it. */
	layer_close(layer);
	layer = open_layer(&site);
	assert_int_equal(layer_undo_finish(layer), 0);
	assert_undone(layer, true);
	assert_false(is_there(layer, "UNDOING"));
	layer_close(layer);
	close_site(&site);
}

static void a_failing_disk_undoes_it_later_or_not_at_all(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_full(&site);
	uint64_t k = 0;
	bool refused;
	int rc;

	needs_failing_allocations();
	do {
		fsync_fails(++k);
		rc = layer_undo(layer, note);
		refused = fsync_failed();
		assert_int_equal(rc < 0, refused);
		assert_undone(layer, false);
		assert_int_equal(is_there(layer, "UNDOING"), !refused);
	} while (refused);
	assert_true(k > 2);
	k = 0;
	do {
		fsync_fails(++k);
		rc = layer_undo_finish(layer);
		refused = fsync_failed();
		assert_int_equal(rc < 0, refused);
	} while (refused);
	assert_undone(layer, true);
	assert_false(is_there(layer, "UNDOING"));
	layer_close(layer);
	close_site(&site);
}

/* What is left to later next stays until it is waited for. */
static void hold_back(struct layer_group *group)
{
	pthread_mutex_lock(&group->lock);
	clock_gettime(CLOCK_MONOTONIC, &group->due);
	group->due.tv_sec += 600;
	group->is_due = true;
	pthread_mutex_unlock(&group->lock);
}

static void the_note_goes_after_the_last_removal_is_durable(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_full(&site);

	needs_failing_allocations();
	assert_int_equal(layer_undo(layer, note), 0);
	hold_back(&layer->group);
	assert_int_equal(layer_group_sync_later(&layer->group, layer->dir, false), 0);
	fsync_fails(1);
	assert_int_equal(layer_undo_cancel(layer), -EIO);
	assert_true(fsync_failed());
	assert_true(is_there(layer, "UNDOING"));
	assert_int_equal(layer_undo_cancel(layer), 0);
	assert_false(is_there(layer, "UNDOING"));
	layer_close(layer);
	close_site(&site);
}

static void what_is_no_note_removes_nothing(void **state)
{
	static const char *const bad[] = { "organs/up.bin\norgans\n",
					   "organs/up.bin\norgans/\n",
					   "organs/up.bin\nother place/x.bin\n",
					   "organs/up.bin\norgans/../LAYER\n",
					   "organs/up.bin\norgans/..%2FLAYER\n",
					   "organs/up.bin\norgans/..\n",
					   "organs/up.bin\nmetadata/a%00b\n",
					   "organs/up.bin\nadapters/.x\n",
					   "organs/up.bin\n\n",
					   "organs/up.bin" };
	struct site site = small_site(state);
	struct layer *layer = open_full(&site);
	int rc;

	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		write_text(file_of(layer, "UNDOING").text, bad[i]);
		if (layer_undo_finish(layer) != -EBADMSG)
			fail_msg("obeyed: %s", bad[i]);
		assert_undone(layer, false);
		assert_true(is_there(layer, "LAYER"));
	}
	must(unlink(file_of(layer, "UNDOING").text) == 0);
	must(mkdir(file_of(layer, "UNDOING").text, 0700) == 0);
	assert_null(layer_undo_read(layer, &rc));
	assert_true(rc < 0);
	must(rmdir(file_of(layer, "UNDOING").text) == 0);
	must(symlink("LAYER", file_of(layer, "UNDOING").text) == 0);
	assert_true(layer_undo_finish(layer) < 0);
	must(unlink(file_of(layer, "UNDOING").text) == 0);
	layer_close(layer);
	close_site(&site);
}

static void who_may_only_read_removes_nothing(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_full(&site);
	struct path at = path_in(layer_path(layer), ".");

	assert_int_equal(layer_undo(layer, note), 0);
	layer_close(layer);
	site.manner.read_only = true;
	layer = layer_open_at(at.text, &site.manner, site.base, site.gguf, NULL);
	assert_non_null(layer);
	assert_int_equal(layer_undo_finish(layer), -EROFS);
	assert_undone(layer, false);
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
