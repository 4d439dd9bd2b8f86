/* SPDX-License-Identifier: MIT */
/* test_layer_metadata.c - fs/layer/layer_metadata.c: what a layer says of keys, there and back, and
 * what counts where a crash left two files. */
#include "fs/layer/layer_metadata.h"
#include "fs/storage/backing.h"
#include "tests/unit/open_layer.h"

#include <limits.h>

/* Names with what is said of each, in their order: "a=text;b-;c:typed;". */
struct said {
	char text[500];
	unsigned n;
};

static int note(void *context, enum layer_key kind, const char *name, struct backing *file,
		struct error *err)
{
	static const char marks[] = "-:=";
	struct said *said = context;
	char bytes[100] = "";

	if (file) {
		must(backing_size(file) < sizeof(bytes));
		must(backing_read(file, bytes, backing_size(file), 0) == 0);
	}
	backing_unref(file);
	said->n++;
	snprintf(said->text + strlen(said->text), sizeof(said->text) - strlen(said->text),
		 "%s%c%s;", name, marks[kind], file ? bytes : err->text);
	return 0;
}

static void assert_says(struct layer *layer, const char *expected)
{
	struct said said = { .n = 0 };
	struct error err = { 0 };

	assert_int_equal(layer_each_key(layer, note, &said, &err), 0);
	assert_string_equal(said.text, expected);
}

static int say(struct layer *layer, enum layer_key kind, const char *name, const char *head,
	       const char *text)
{
	const struct timespec mtime = { .tv_sec = 1000 };
	struct view *view = text ? view_of_text(strdup(text), strlen(text)) : NULL;
	const int rc = layer_write_key(layer, kind, name, head, view, &mtime);

	view_unref(view);
	return rc;
}

static void the_last_word_counts(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	assert_says(layer, "");
	assert_int_equal(layer_revert_key(layer, "k"), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(say(layer, LAYER_KEY_TEXT, "k", "", "5\n"), 0);
		assert_says(layer, "k=5\n;");
		assert_int_equal(say(layer, LAYER_KEY_TYPED, "k", "bool\n", "true\n"), 0);
		assert_says(layer, "k:bool\ntrue\n;");
		assert_int_equal(say(layer, LAYER_KEY_REMOVED, "k", "", NULL), 0);
		assert_says(layer, "k-;");
	}
	assert_int_equal(say(layer, LAYER_KEY_TEXT, "k", "", "6\n"), 0);
	layer_close(layer);
	layer = open_layer(&site);
	assert_says(layer, "k=6\n;");
	assert_int_equal(layer_revert_key(layer, "k"), 0);
	assert_says(layer, "");
	layer_close(layer);
	close_site(&site);
}

static void put_file(struct layer *layer, const char *name)
{
	const int fd = open(path_in(layer_path(layer), name).text, O_WRONLY | O_CREAT, 0600);

	must(fd >= 0 && close(fd) == 0);
}

static void of_two_files_the_first_kind_counts(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	assert_int_equal(say(layer, LAYER_KEY_TEXT, "k", "", "5\n"), 0);
	put_file(layer, "metadata/.typed.k");
	assert_says(layer, "k:;");
	put_file(layer, "metadata/.wh.k");
	assert_says(layer, "k-;");
	/* And what is written next is all there is. */
	assert_int_equal(say(layer, LAYER_KEY_TEXT, "k", "", "6\n"), 0);
	assert_says(layer, "k=6\n;");
	layer_close(layer);
	close_site(&site);
}

static void strangers_are_passed_over(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	assert_int_equal(say(layer, LAYER_KEY_TEXT, "k", "", ""), 0);
	put_file(layer, "metadata/.hidden");
	put_file(layer, "metadata/.wh.");
	must(symlink("/dev/null", path_in(layer_path(layer), "metadata/link").text) == 0);
	assert_int_equal(layer_revert_key(layer, "k"), 0);
	assert_says(layer, "link=Too many levels of symbolic links;");
	layer_close(layer);
	close_site(&site);
}

static void times_are_kept(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct stat stat_now;

	assert_int_equal(say(layer, LAYER_KEY_TEXT, "k", "", "5\n"), 0);
	must(stat(path_in(layer_path(layer), "metadata/k").text, &stat_now) == 0);
	assert_int_equal(stat_now.st_mtim.tv_sec, 1000);
	layer_close(layer);
	close_site(&site);
}

static void a_name_too_long_for_the_disk_is_refused(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char name[NAME_MAX + 1];

	memset(name, 'x', NAME_MAX);
	name[NAME_MAX] = '\0';
	assert_int_equal(say(layer, LAYER_KEY_TYPED, name, "", ""), -ENAMETOOLONG);
	assert_says(layer, "");
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
