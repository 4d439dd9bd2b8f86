/* SPDX-License-Identifier: MIT */
/* test_layer_trust.c - fs/layer/layer_trust.c: the owners of a layer's files. */
#include "fs/layer/layer_trust.h"
#include "tests/unit/temp_dir.h"

#define STRANGER 54321

/* Make a layer with a blob, in a directory that only the user can write to. */
static void make_layer(void **state)
{
	must(mkdir(in_temp(state, "layer").text, 0700) == 0);
	must(mkdir(in_temp(state, "layer/blobs").text, 0700) == 0);
	write_text(in_temp(state, "layer/layer.db").text, "rows");
	write_text(in_temp(state, "layer/blobs/1").text, "organ");
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

static void own_layer_is_trusted(void **state)
{
	make_layer(state);
	assert_null(doubt(state));
	/* A umask of 002 gives these modes, with a group of the user alone. */
	must(chown(in_temp(state, "layer/blobs").text, geteuid(), getegid()) == 0);
	must(chmod(in_temp(state, "layer/blobs").text, 0775) == 0);
	assert_null(doubt(state));
}

static void layer_writable_by_others_is_not_trusted(void **state)
{
	make_layer(state);
	must(chmod(in_temp(state, "layer").text, 0707) == 0);
	assert_non_null(doubt(state));
	must(chmod(in_temp(state, "layer").text, 0700) == 0);
	must(chmod(in_temp(state, "layer/blobs").text, 0702) == 0);
	assert_non_null(doubt(state));
	must(chmod(in_temp(state, "layer/blobs").text, 0700) == 0);
	must(chmod(in_temp(state, "layer/layer.db").text, 0666) == 0);
	assert_non_null(doubt(state));
	must(chmod(in_temp(state, "layer/layer.db").text, 0600) == 0);
	must(chmod(in_temp(state, "").text, 0777) == 0);
	assert_non_null(doubt(state));
	/* In a sticky directory no other user can replace the layer. */
	must(chmod(in_temp(state, "").text, 01777) == 0);
	assert_null(doubt(state));
	must(chmod(in_temp(state, "").text, 0700) == 0);
}

static void files_of_another_user_are_not_trusted(void **state)
{
	static const char *const files[] = { "layer", "layer/layer.db", "layer/blobs",
					     "layer/blobs/1" };

	if (geteuid() != 0)
		skip();
	make_layer(state);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		must(chown(in_temp(state, files[i]).text, STRANGER, 0) == 0);
		assert_non_null(doubt(state));
		must(chown(in_temp(state, files[i]).text, 0, 0) == 0);
		assert_null(doubt(state));
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
