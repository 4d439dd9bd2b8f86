/* SPDX-License-Identifier: MIT */
/* test_layer_organs.c - fs/layer/layer_organs.c: what a layer can say of a slot, one thing at a
 * time, and the note of a move. */
#include "fs/storage/backing.h"
#include "tests/unit/open_layer.h"

/* What layer_each() finds, as "KIND NAME TEXT " for each, in order. */
struct found_entries {
	char items[8][96];
	size_t n;
};

static int find_one(void *context, const struct layer_entry *entry, struct error *err)
{
	static const char *const kinds[] = { [LAYER_WHITEOUT] = "nothing",
					     [LAYER_REFERENCE] = "reference",
					     [LAYER_ORGAN] = "organ" };
	struct found_entries *found = context;
	char text[32] = "";

	must(found->n < ARRAY_LENGTH(found->items) && entry->file && !err->code);
	must(backing_size(entry->file) < sizeof(text) &&
	     backing_read(entry->file, text, (size_t)backing_size(entry->file), 0) == 0);
	backing_unref(entry->file);
	snprintf(found->items[found->n++], sizeof(found->items[0]), "%s %.40s %s ",
		 kinds[entry->kind], entry->name, text);
	return 0;
}

static void assert_says(struct layer *layer, const char *expected)
{
	struct found_entries found = { .n = 0 };
	char text[8 * 96 + 1] = "";
	struct error err = { 0 };

	assert_int_equal(layer_each(layer, find_one, &found, &err), 0);
	qsort(found.items, found.n, sizeof(found.items[0]), compare_items);
	for (size_t i = 0; i < found.n; i++)
		strcat(text, found.items[i]);
	assert_string_equal(text, expected);
}

static int write_up(struct layer *layer, enum layer_kind kind, const char *text)
{
	return layer_write(layer, kind, CLASS_ORGANS, "up", NULL, text, NULL);
}

/* Now, and to the next mount. */
#define assert_lasting(layer, site, expected) \
	do {                                  \
		assert_says(layer, expected); \
		layer_close(layer);           \
		layer = open_layer(site);     \
		assert_says(layer, expected); \
	} while (0)

static void each_kind_replaces_each_other(void **state)
{
	static const struct {
		enum layer_kind kind;
		const char *text, *says;
	} kinds[] = { { LAYER_WHITEOUT, "", "nothing up  " },
		      { LAYER_REFERENCE, "a reference", "reference up a reference " },
		      { LAYER_ORGAN, "an organ", "organ up an organ " } };
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	for (size_t from = 0; from < ARRAY_LENGTH(kinds); from++)
		for (size_t to = 0; to < ARRAY_LENGTH(kinds); to++) {
			assert_int_equal(write_up(layer, kinds[from].kind, kinds[from].text), 0);
			assert_says(layer, kinds[from].says);
			assert_int_equal(write_up(layer, kinds[to].kind, kinds[to].text), 0);
			assert_lasting(layer, &site, kinds[to].says);
			assert_int_equal(count_entries(path_in(layer_path(layer), "organs").text),
					 1);
		}
	layer_close(layer);
	close_site(&site);
}

static void what_is_forgotten_is_gone_whatever_it_was(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	assert_int_equal(keep_text(layer, CLASS_ORGANS, "down", "down"), 0);
	for (enum layer_kind kind = LAYER_WHITEOUT; kind <= LAYER_ORGAN; kind++) {
		assert_int_equal(write_up(layer, kind, "x"), 0);
		assert_int_equal(layer_revert(layer, CLASS_ORGANS, "up"), 0);
		assert_lasting(layer, &site, "organ down down ");
	}
	/* It is gone already, or there never was such a class. */
	assert_int_equal(layer_revert(layer, CLASS_ORGANS, "up"), 0);
	assert_int_equal(layer_revert(layer, CLASS_OTHER, "up"), 0);
	assert_says(layer, "organ down down ");
	layer_close(layer);
	close_site(&site);
}

/* A crash between the two steps of a replacement leaves both files: the one that counts is the
 * same at every mount. */
static void of_several_files_the_first_kind_counts(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	assert_int_equal(write_up(layer, LAYER_ORGAN, "organ"), 0);
	write_text(path_in(layer_path(layer), "organs/up.bin.ref").text, "ref");
	assert_lasting(layer, &site, "reference up ref ");
	write_text(path_in(layer_path(layer), "organs/.wh.up.bin").text, "");
	assert_lasting(layer, &site, "nothing up  ");
	assert_int_equal(write_up(layer, LAYER_ORGAN, "again"), 0);
	assert_lasting(layer, &site, "organ up again ");
	layer_close(layer);
	close_site(&site);
}

static void what_is_said_has_the_time_that_is_given(void **state)
{
	const struct timespec then = { 1234567890, 500 };
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct stat stat;

	assert_int_equal(layer_write(layer, LAYER_REFERENCE, CLASS_ORGANS, "up", NULL, "x", &then),
			 0);
	assert_int_equal(lstat(path_in(layer_path(layer), "organs/up.bin.ref").text, &stat), 0);
	assert_int_equal(stat.st_mtim.tv_sec, then.tv_sec);
	assert_int_equal(stat.st_mtim.tv_nsec, then.tv_nsec);
	layer_close(layer);
	close_site(&site);
}

static void what_is_prepared_says_nothing_until_it_is_put(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	unsigned first, second;

	assert_int_equal(layer_stage_text(layer, CLASS_ORGANS, "", NULL, &first), 0);
	assert_int_equal(layer_stage_text(layer, CLASS_ORGANS, "text", NULL, &second), 0);
	assert_says(layer, "");
	assert_int_equal(layer_commit_text(layer, second, LAYER_REFERENCE, CLASS_ORGANS, "down",
					   NULL),
			 0);
	assert_int_equal(layer_commit_text(layer, first, LAYER_WHITEOUT, CLASS_ORGANS, "up", NULL),
			 0);
	assert_int_equal(count_entries(path_in(layer_path(layer), ".stage").text), 0);
	assert_lasting(layer, &site, "nothing up  reference down text ");
	layer_close(layer);
	close_site(&site);
}

static void what_cannot_be_put_leaves_no_stage_and_what_there_was(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct path path;

	assert_int_equal(write_up(layer, LAYER_ORGAN, "organ"), 0);
	path = path_in(layer_path(layer), "organs/.wh.down.bin");
	assert_int_equal(mkdir(path.text, 0700), 0);
	assert_true(layer_write(layer, LAYER_WHITEOUT, CLASS_ORGANS, "down", NULL, "", NULL) < 0);
	assert_int_equal(count_entries(path_in(layer_path(layer), ".stage").text), 0);
	assert_int_equal(rmdir(path.text), 0);
	assert_lasting(layer, &site, "organ up organ ");
	/* A name that no file can have. */
	{
		char name[300];

		memset(name, 'n', sizeof(name));
		name[sizeof(name) - 1] = '\0';
		assert_int_equal(layer_write(layer, LAYER_WHITEOUT, CLASS_ORGANS, name, NULL, "",
					     NULL),
				 -ENAMETOOLONG);
	}
	assert_int_equal(count_entries(path_in(layer_path(layer), ".stage").text), 0);
	layer_close(layer);
	close_site(&site);
}

static void a_note_is_found_until_it_is_done(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char text[64];

	assert_int_equal(layer_journal_read(layer, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(write_up(layer, LAYER_WHITEOUT, ""), 0);
	assert_int_equal(layer_journal_write(layer, "first"), 0);
	assert_int_equal(layer_journal_write(layer, "organs/a\norgans/b\n"), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(layer_journal_read(layer, text, sizeof(text)), 18);
		assert_string_equal(text, "organs/a\norgans/b\n");
		assert_says(layer, "nothing up  ");
		layer_close(layer);
		layer = open_layer(&site);
	}
	assert_int_equal(layer_journal_read(layer, text, 5), 4);
	assert_string_equal(text, "orga");
	assert_int_equal(layer_journal_clear(layer), 0);
	assert_int_equal(layer_journal_clear(layer), 0);
	assert_int_equal(layer_journal_read(layer, text, sizeof(text)), 0);
	assert_lasting(layer, &site, "nothing up  ");
	layer_close(layer);
	close_site(&site);
}

static void a_note_that_stays_is_told_of(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct path path;

	assert_int_equal(write_up(layer, LAYER_WHITEOUT, ""), 0);
	path = path_in(layer_path(layer), "MOVING");
	assert_int_equal(mkdir(path.text, 0700), 0);
	assert_true(layer_journal_write(layer, "text") < 0);
	assert_true(layer_journal_clear(layer) < 0);
	assert_int_equal(count_entries(path_in(layer_path(layer), ".stage").text), 0);
	assert_int_equal(rmdir(path.text), 0);
	layer_close(layer);
	close_site(&site);
}

static void names_that_say_nothing_of_a_slot_are_passed_over(void **state)
{
	static const char *const names[] = { ".wh.",  ".wh.bin",  ".wh..bin",	".ref",
					     "x.ref", ".bin.ref", "x.bin.re",	"x.bin~",
					     "bin",   "x.BIN",	  "x.bin.ref.x" };
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	assert_int_equal(write_up(layer, LAYER_ORGAN, "x"), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "organs/%s", names[i]);
		write_text(path_in(layer_path(layer), path).text, "x");
	}
	assert_lasting(layer, &site, "organ up x ");
	layer_close(layer);
	close_site(&site);
}

/* A layer may come from another user. */
static void nothing_is_moved_through_a_link_out_of_the_layer(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	const struct path outside = in_temp(state, "outside");

	assert_int_equal(write_up(layer, LAYER_ORGAN, "x"), 0);
	must(mkdir(outside.text, 0700) == 0);
	must(rmdir(path_in(layer_path(layer), ".stage").text) == 0);
	must(symlink(outside.text, path_in(layer_path(layer), ".stage").text) == 0);
	for (unsigned number = 0; number < 8; number++) {
		char name[16];

		snprintf(name, sizeof(name), "%u.0", number);
		write_text(path_in(outside.text, name).text, "mine");
	}
	assert_int_equal(layer_revert(layer, CLASS_ORGANS, "up"), -ENOTDIR);
	assert_says(layer, "organ up x ");
	assert_int_equal(count_entries(outside.text), 8);
	must(unlink(path_in(layer_path(layer), ".stage").text) == 0);
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
