/* SPDX-License-Identifier: MIT */
/* test_layer_transaction.c - fs/layer/layer_transaction.c: renames that all come to be, or none. */
#include "fs/layer/layer_open.h"
#include "fs/layer/layer_transaction.h"
#include "fs/util/log.h"
#include "tests/unit/open_layer.h"

/* A layer with the file organs/old, the staged file .stage/new, and a change to begin. */
struct scene {
	struct site site;
	struct layer *layer;
	struct layer_transaction change;
};

static void write_at(int dir, const char *name, const char *text)
{
	const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* The file has that text; NULL: it is not there. */
static void assert_text(int dir, const char *name, const char *text)
{
	char has[16] = "";
	const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	assert_int_equal(fd >= 0, text != NULL);
	if (!text)
		return;
	must(read(fd, has, sizeof(has) - 1) >= 0);
	close(fd);
	assert_string_equal(has, text);
}

static struct scene open_scene(void **state)
{
	struct scene scene = { .site = small_site(state) };
	unsigned number;
	int fd;

	scene.layer = open_layer(&scene.site);
	fd = layer_stage(scene.layer, &number);
	must(fd >= 0);
	close(fd);
	scene.change.layer = scene.layer;
	scene.change.number = number;
	scene.change.dir = layer_open_directory(scene.layer->dir, "organs", true);
	must(scene.change.dir >= 0);
	write_at(scene.change.dir, "old", "old");
	write_at(scene.layer->dir, ".stage/new", "new");
	return scene;
}

static void close_scene(struct scene *scene)
{
	close(scene->change.dir);
	layer_close(scene->layer);
	close_site(&scene->site);
}

static void what_is_committed_stays(void **state)
{
	struct scene s = open_scene(state);
	const int dir = s.change.dir, layer = s.layer->dir;

	write_at(layer, ".stage/more", "more");
	write_at(dir, "gone", "gone");
	assert_int_equal(layer_transaction_put(&s.change, ".stage/new", "old"), 0);
	assert_int_equal(layer_transaction_put(&s.change, ".stage/more", "more"), 0);
	assert_int_equal(layer_transaction_remove(&s.change, "gone"), 0);
	assert_int_equal(layer_transaction_sync(&s.change), 0);
	assert_int_equal(layer_transaction_end(&s.change, 0), 0);
	assert_text(dir, "old", "new");
	assert_text(dir, "more", "more");
	assert_text(dir, "gone", NULL);
	assert_text(layer, ".stage/new", NULL);
	assert_text(layer, ".stage/more", NULL);
	close_scene(&s);
}

static void what_is_aborted_is_undone_in_reverse(void **state)
{
	struct scene s = open_scene(state);
	const int dir = s.change.dir, layer = s.layer->dir;

	write_at(layer, ".stage/more", "more");
	assert_int_equal(layer_transaction_put(&s.change, ".stage/new", "old"), 0);
	assert_int_equal(layer_transaction_remove(&s.change, "old"), 0);
	assert_int_equal(layer_transaction_put(&s.change, ".stage/more", "old"), 0);
	assert_text(dir, "old", "more");
	assert_int_equal(layer_transaction_end(&s.change, -EIO), -EIO);
	assert_text(dir, "old", "old");
	assert_text(layer, ".stage/new", "new");
	assert_text(layer, ".stage/more", "more");
	assert_int_equal(s.change.n, 0);
	close_scene(&s);
}

static void a_file_that_is_not_there_is_removed(void **state)
{
	struct scene s = open_scene(state);

	assert_int_equal(layer_transaction_remove(&s.change, "none"), 0);
	assert_int_equal(s.change.n, 0);
	assert_int_equal(layer_transaction_end(&s.change, -EIO), -EIO);
	assert_text(s.change.dir, "old", "old");
	close_scene(&s);
}

static void what_fails_leaves_the_steps_before_it_to_be_undone(void **state)
{
	struct scene s = open_scene(state);
	char name[LAYER_FILE_MAX + 1] = "";

	memset(name, 'x', sizeof(name) - 1);
	must(mkdirat(s.change.dir, "directory", 0700) == 0);
	assert_int_equal(layer_transaction_put(&s.change, ".stage/new", "old"), 0);
	assert_int_equal(layer_transaction_put(&s.change, ".stage/none", "other"), -ENOENT);
	assert_int_equal(layer_transaction_put(&s.change, ".stage/none", "directory"), -EISDIR);
	assert_int_equal(layer_transaction_put(&s.change, ".stage/none", name), -ENAMETOOLONG);
	assert_int_equal(layer_transaction_remove(&s.change, name), -ENAMETOOLONG);
	assert_int_equal(s.change.n, 1);
	assert_int_equal(layer_transaction_end(&s.change, -EIO), -EIO);
	assert_text(s.change.dir, "old", "old");
	assert_text(s.change.dir, "other", NULL);
	assert_true(faccessat(s.change.dir, "directory", F_OK, 0) == 0);
	close_scene(&s);
}

static void what_is_created_is_a_regular_file(void **state)
{
	struct scene s = open_scene(state);

	must(mkdirat(s.change.dir, "directory", 0700) == 0);
	must(symlinkat("nowhere", s.change.dir, "link") == 0);
	assert_int_equal(layer_transaction_create(&s.change, "old"), 0);
	assert_text(s.change.dir, "old", "old");
	assert_int_equal(s.change.n, 0);
	assert_int_equal(layer_transaction_create(&s.change, "directory"), -EISDIR);
	assert_int_equal(layer_transaction_create(&s.change, "new"), 0);
	assert_int_equal(layer_transaction_create(&s.change, "link"), 0);
	assert_text(s.change.dir, "new", "");
	assert_text(s.change.dir, "link", "");
	assert_int_equal(layer_transaction_end(&s.change, -EIO), -EIO);
	assert_text(s.change.dir, "new", NULL);
	assert_text(s.change.dir, "link", NULL);
	assert_true(faccessat(s.change.dir, "link", F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	close_scene(&s);
}

static void there_is_an_end_to_steps(void **state)
{
	struct scene s = open_scene(state);
	char name[16];

	for (unsigned i = 0; i <= LAYER_TRANSACTION_STEPS; i++) {
		snprintf(name, sizeof(name), "file-%u", i);
		write_at(s.change.dir, name, name);
		assert_int_equal(layer_transaction_remove(&s.change, name),
				 i < LAYER_TRANSACTION_STEPS ? 0 : -ENAMETOOLONG);
	}
	assert_int_equal(layer_transaction_end(&s.change, -EIO), -EIO);
	for (unsigned i = 0; i <= LAYER_TRANSACTION_STEPS; i++) {
		snprintf(name, sizeof(name), "file-%u", i);
		assert_text(s.change.dir, name, name);
	}
	close_scene(&s);
}

static void a_change_that_is_not_durable_is_no_success(void **state)
{
	struct scene s = open_scene(state);

	needs_failing_allocations();
	assert_int_equal(layer_transaction_put(&s.change, ".stage/new", "old"), 0);
	fsync_fails(1);
	assert_int_equal(layer_transaction_sync(&s.change), -EIO);
	assert_true(fsync_failed());
	/* The abort's own fsync() fails: what came of it is said. */
	fsync_fails(1);
	assert_int_equal(layer_transaction_end(&s.change, -EIO), -EIO);
	assert_true(fsync_failed());
	assert_text(s.change.dir, "old", "old");
	assert_int_equal(log_count(s.site.manner.log), 1);
	close_scene(&s);
}

UNIT_MAIN(temp_setup, temp_teardown)
