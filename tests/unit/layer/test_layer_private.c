/* SPDX-License-Identifier: MIT */
/* test_layer_private.c - fs/layer/layer_private.c: earlier layers that a mount takes up, and their
 * base files. */
#include "fs/storage/backing.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_layer.h"

/* Leave a layer behind in which organs/up holds that text. Returns the layer's directory. */
static struct path leave_layer(const struct site *site, const char *text)
{
	struct layer *layer = open_layer(site);
	struct path path;

	assert_int_equal(keep_text(layer, CLASS_ORGANS, "up", text), 0);
	snprintf(path.text, sizeof(path.text), "%s", layer_path(layer));
	layer_close(layer);
	return path;
}

static void set_time(const struct path *layer, time_t seconds)
{
	char sql[100];

	snprintf(sql, sizeof(sql), "UPDATE directory SET mtime = %lld",
		 (long long)seconds * 1000000000);
	alter_rows(layer->text, sql);
}

static struct site copy_of_small(void **state, const char *name)
{
	struct mk_file file = mk_small();
	struct site site = open_site(state, name, &file);

	mk_file_free(&file);
	return site;
}

/* Rename the site's file, and open the site again under the new name. */
static void move_site(void **state, struct site *site, const char *from, const char *to)
{
	close_site(site);
	must(rename(in_temp(state, from).text, in_temp(state, to).text) == 0);
	*site = copy_of_small(state, to);
}

static void first_mount_finds_no_layer(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	assert_int_equal(layer_history(layer)->changed.tv_sec, 0);
	assert_int_equal(layer_history(layer)->older, 0);
	assert_null(layer_history(layer)->copy);
	layer_close(layer);
	close_site(&site);
}

static void the_time_is_that_of_the_last_graft(void **state)
{
	struct site site = small_site(state);
	const struct path path = leave_layer(&site, "text");
	struct layer *layer;

	set_time(&path, 1234567);
	layer = open_layer(&site);
	assert_int_equal(layer_history(layer)->changed.tv_sec, 1234567);
	assert_layer(layer, "organs/up=text ");
	layer_close(layer);
	close_site(&site);
}

static void a_fresh_mount_takes_nothing_up_and_has_a_layer_of_its_own(void **state)
{
	struct site site = small_site(state);
	const struct path old = leave_layer(&site, "old");
	struct path fresh;
	struct layer *layer;

	site.manner.fresh = true;
	layer = open_layer(&site);
	assert_layer(layer, "");
	assert_int_equal(layer_history(layer)->changed.tv_sec, 0);
	layer_close(layer);
	fresh = leave_layer(&site, "fresh");
	assert_string_not_equal(old.text, fresh.text);
	assert_int_equal(count_entries(site.state), 2);
	close_site(&site);
}

static void the_newest_of_several_is_taken_up(void **state)
{
	struct site site = small_site(state);
	struct path paths[3];
	struct layer *layer;

	site.manner.fresh = true;
	for (size_t i = 0; i < 3; i++)
		paths[i] = leave_layer(&site, i == 1 ? "newest" : "older");
	site.manner.fresh = false;
	set_time(&paths[0], 2000);
	set_time(&paths[1], 3000);
	set_time(&paths[2], 1000);
	layer = open_layer(&site);
	assert_layer(layer, "organs/up=newest ");
	assert_int_equal(layer_history(layer)->older, 2);
	layer_close(layer);
	/* An empty layer counts for nothing. */
	layer = open_layer(&site);
	assert_int_equal(revert(layer, CLASS_ORGANS, "up"), 0);
	layer_close(layer);
	layer = open_layer(&site);
	assert_string_equal(layer_path(layer), paths[0].text);
	assert_int_equal(layer_history(layer)->older, 1);
	layer_close(layer);
	close_site(&site);
}

static void a_copy_has_no_grafts_as_long_as_the_file_is_there(void **state)
{
	struct site first = small_site(state), copy = copy_of_small(state, "copy.gguf");
	const struct path path = leave_layer(&first, "text");
	struct layer *layer = open_layer(&copy);

	assert_layer(layer, "");
	assert_non_null(strstr(layer_history(layer)->copy, in_temp(state, "base.gguf").text));
	assert_non_null(strstr(layer_history(layer)->copy, path.text));
	layer_close(layer);
	leave_layer(&copy, "copy");
	layer = open_layer(&first);
	assert_layer(layer, "organs/up=text ");
	assert_int_equal(layer_history(layer)->older, 0);
	layer_close(layer);
	close_site(&first);
	close_site(&copy);
}

/* From then on the grafts belong to the moved file. */
static void a_file_that_was_moved_has_its_grafts(void **state)
{
	struct site site = small_site(state), back;
	struct layer *layer;

	leave_layer(&site, "text");
	move_site(state, &site, "base.gguf", "moved.gguf");
	write_text(in_temp(state, "base.gguf").text, "no model");
	layer = open_layer(&site);
	assert_layer(layer, "organs/up=text ");
	layer_close(layer);
	back = small_site(state);
	layer = open_layer(&back);
	assert_layer(layer, "");
	assert_non_null(strstr(layer_history(layer)->copy, in_temp(state, "moved.gguf").text));
	layer_close(layer);
	close_site(&back);
	close_site(&site);
}

static void a_link_is_the_file_itself(void **state)
{
	struct site site = small_site(state), other;
	struct layer *layer;

	leave_layer(&site, "text");
	must(link(in_temp(state, "base.gguf").text, in_temp(state, "hard.gguf").text) == 0);
	must(symlink("base.gguf", in_temp(state, "soft.gguf").text) == 0);
	other = site;
	for (const char *const *name = (const char *const[]){ "hard.gguf", "soft.gguf", NULL };
	     *name; name++) {
		other.base = backing_open(in_temp(state, *name).text, NULL);
		must(other.base);
		layer = open_layer(&other);
		assert_layer(layer, "organs/up=text ");
		layer_close(layer);
		backing_unref(other.base);
	}
	close_site(&site);
}

static void layer_without_a_path_of_its_base_is_of_any_copy(void **state)
{
	static const char *const paths[] = { "NULL", "''", "'relative.gguf'",
					     "CAST(x'2f610062' AS TEXT)", "'/no/such/file'" };
	struct site first = small_site(state), copy = copy_of_small(state, "copy.gguf");
	const struct path path = leave_layer(&first, "text");

	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
		char sql[100];
		struct layer *layer;

		snprintf(sql, sizeof(sql), "UPDATE base SET path = %s", paths[i]);
		alter_rows(path.text, sql);
		layer = open_layer(i % 2 ? &first : &copy);
		assert_layer(layer, "organs/up=text ");
		layer_close(layer);
	}
	close_site(&first);
	close_site(&copy);
}

static void path_that_cannot_be_renewed_stays(void **state)
{
	struct site site = small_site(state);
	struct layer *layer;
	struct path path;

	path = leave_layer(&site, "text");
	move_site(state, &site, "base.gguf", "moved.gguf");
	database_writes_fail(ENOSPC, NULL);
	layer = open_layer(&site);
	assert_layer(layer, "organs/up=text ");
	layer_close(layer);
	assert_true(database_write_failed());
	assert_int_equal(ask_rows(path.text, "SELECT path LIKE '%/base.gguf' FROM base"), 1);
	layer = open_layer(&site);
	assert_layer(layer, "organs/up=text ");
	layer_close(layer);
	assert_int_equal(ask_rows(path.text, "SELECT path LIKE '%/moved.gguf' FROM base"), 1);
	close_site(&site);
}

/* Each case is logged, and the mount gets a new layer. */
static void unusable_layer_is_left_alone(void **state)
{
	struct site site = small_site(state);
	const struct path path = leave_layer(&site, "text");
	struct layer *layer;

	must(chmod(path.text, 0777) == 0);
	layer = open_layer(&site);
	assert_non_null(strstr(layer_history(layer)->doubt, path.text));
	assert_layer(layer, "");
	layer_close(layer);
	must(chmod(path.text, 0700) == 0);
	/* The layer is of organfs 0.2. */
	write_text(path_in(path.text, "LAYER").text, "organfs layer 1\n");
	layer = open_layer(&site);
	assert_non_null(strstr(layer_history(layer)->unread, path.text));
	assert_layer(layer, "");
	layer_close(layer);
	must(unlink(path_in(path.text, "LAYER").text) == 0);
	/* The layer is of a later version, or damaged. */
	alter_rows(path.text, "PRAGMA user_version = 3");
	layer = open_layer(&site);
	assert_layer(layer, "");
	layer_close(layer);
	assert_int_equal(ask_rows(path.text, "SELECT count(*) FROM slot"), 1);
	must(truncate(path_in(path.text, "layer.db").text, 50) == 0);
	layer = open_layer(&site);
	assert_layer(layer, "");
	assert_int_equal(keep_text(layer, CLASS_ORGANS, "up", "new"), 0);
	assert_string_not_equal(layer_path(layer), path.text);
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
