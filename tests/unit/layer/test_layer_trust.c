/* SPDX-License-Identifier: MIT */
/* test_layer_trust.c - fs/layer/layer_trust.c: whose is what lies in a layer. */
#include "fs/layer/layer_trust.h"
#include "fs/layer/layer_open.h"
#include "tests/unit/temp_dir.h"

#define STRANGER 54321

/* A layer with an organ and a link in it, in a directory of the user's own. */
static void make_layer(void **state)
{
	must(mkdir(in_temp(state, "layer").text, 0700) == 0);
	must(mkdir(in_temp(state, "layer/organs").text, 0700) == 0);
	write_text(in_temp(state, "layer/LAYER").text, "label");
	write_text(in_temp(state, "layer/organs/a.bin").text, "organ");
	must(symlink("nowhere", in_temp(state, "layer/organs/b.bin").text) == 0);
}

static const char *doubt(void **state)
{
	const int dir = open(in_temp(state, "layer").text, O_RDONLY | O_DIRECTORY);
	const char *why;

	must(dir >= 0);
	why = layer_trust_doubt(dir);
	close(dir);
	return why;
}

static void a_layer_of_ones_own_is_trusted(void **state)
{
	make_layer(state);
	assert_null(doubt(state));
	/* As a umask of 002 makes them, with a group of the user's own. */
	must(chown(in_temp(state, "layer/organs").text, geteuid(), getegid()) == 0);
	must(chmod(in_temp(state, "layer/organs").text, 0775) == 0);
	assert_null(doubt(state));
}

static void one_that_others_may_write_to_is_not(void **state)
{
	make_layer(state);
	must(chmod(in_temp(state, "layer").text, 0707) == 0);
	assert_non_null(doubt(state));
	must(chmod(in_temp(state, "layer").text, 0700) == 0);
	must(chmod(in_temp(state, "layer/organs").text, 0702) == 0);
	assert_non_null(doubt(state));
	must(chmod(in_temp(state, "layer/organs").text, 0700) == 0);
	must(chmod(in_temp(state, "").text, 0777) == 0);
	assert_non_null(doubt(state));
	/* There no other user can put another one in its place. */
	must(chmod(in_temp(state, "").text, 01777) == 0);
	assert_null(doubt(state));
	must(chmod(in_temp(state, "").text, 0700) == 0);
}

static void another_users_files_are_not(void **state)
{
	static const char *const files[] = { "layer", "layer/LAYER", "layer/organs",
					     "layer/organs/a.bin" };

	if (geteuid() != 0)
		skip();
	make_layer(state);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		must(chown(in_temp(state, files[i]).text, STRANGER, 0) == 0);
		assert_non_null(doubt(state));
		must(chown(in_temp(state, files[i]).text, 0, 0) == 0);
		assert_null(doubt(state));
	}
	/* A link of another user's is followed with that user's rights. */
	must(lchown(in_temp(state, "layer/organs/b.bin").text, STRANGER, STRANGER) == 0);
	assert_null(doubt(state));
	/* And so are the models of a merge opened. */
	write_text(in_temp(state, "layer/MERGE").text, "merge");
	must(chown(in_temp(state, "layer/MERGE").text, STRANGER, STRANGER) == 0);
	assert_null(doubt(state));
}

static void another_users_text_is_not_read(void **state)
{
	const struct path directory = in_temp(state, "layer");
	char *text;
	int dir, rc;

	if (geteuid() != 0)
		skip();
	make_layer(state);
	dir = open(directory.text, O_RDONLY | O_DIRECTORY);
	must(dir >= 0);
	text = layer_read_own_text(dir, "LAYER", 100, &rc);
	assert_string_equal(text, "label");
	free(text);
	must(chown(in_temp(state, "layer/LAYER").text, STRANGER, STRANGER) == 0);
	assert_null(layer_read_own_text(dir, "LAYER", 100, &rc));
	assert_null(layer_read_own_text(dir, "none", 100, &rc));
	close(dir);
}

UNIT_MAIN(temp_setup, temp_teardown)
