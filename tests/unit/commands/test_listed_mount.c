/* SPDX-License-Identifier: MIT */
/* test_listed_mount.c - fs/commands/listed_mount.c: parse and print a daemon's answer.
 * unmount/list.sh asks real daemons. */
#include "fs/commands/listed_mount.h"
#include "fs/util/mountinfo.h"
#include "tests/unit/unit.h"

#define COUNTS "models=2 grafts=11 adapters=1 merges=0 "

static void valid_answer_is_parsed(void **state)
{
	struct listed_change change;

	(void)state;
	assert_true(listed_change_parse(COUNTS "files=2 bytes=3629376 path=/a b\n=c", &change));
	assert_int_equal(change.models, 2);
	assert_int_equal(change.grafts, 11);
	assert_int_equal(change.adapters, 1);
	assert_int_equal(change.merges, 0);
	assert_int_equal(change.files, 2);
	assert_int_equal(change.bytes, 3629376);
	assert_string_equal(change.path, "/a b\n=c");
	assert_true(listed_change_parse(COUNTS "files=0 bytes=0", &change));
	assert_string_equal(change.path, "");
}

static void malformed_answer_is_refused(void **state)
{
	static const char *const answers[] = {
		"",
		"models=1",
		COUNTS "files=1 bytes=",
		COUNTS "files=1 bytes=5",
		COUNTS "files=1 bytes=5 path=",
		COUNTS "files=1 bytes=5 path=relative",
		COUNTS "files=0 bytes=0 path=/x",
		COUNTS "files=0 bytes=0 ",
		COUNTS "files=1 bytes=0x5 path=/x",
		COUNTS "files=-1 bytes=5 path=/x",
		"models=12345678901 grafts=1 adapters=1 merges=0 files=0 bytes=0",
		COUNTS "files=0 bytes=1234567890123456789012",
	};
	char longest[PATH_MAX + 128] = COUNTS "files=1 bytes=5 path=/";
	struct listed_change change;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(answers); i++)
		assert_false(listed_change_parse(answers[i], &change));
	memset(longest + strlen(longest), 'x', PATH_MAX - 2);
	assert_true(listed_change_parse(longest, &change));
	longest[strlen(longest)] = 'x';
	assert_false(listed_change_parse(longest, &change));
}

static void assert_json(const struct listed_mount *listed, const char *expected)
{
	cJSON *object = listed_mount_json(listed);
	char *text = cJSON_PrintUnformatted(object);

	assert_string_equal(text, expected);
	cJSON_free(text);
	cJSON_Delete(object);
}

static void unknown_values_are_null(void **state)
{
	const struct mountinfo mount = { .point = "/m\xff", .source = "/x.gguf" };
	struct listed_mount listed = { .mount = &mount, .state = LISTED_DEAD };

	(void)state;
	assert_json(&listed, "{\"mountpoint\":\"/m\xef\xbf\xbd\",\"state\":\"dead\",\"pid\":null,"
			     "\"base\":\"/x.gguf\",\"models\":null,\"grafts\":null,"
			     "\"adapters\":null,\"merges\":null,\"unmount\":null}");
	listed = (struct listed_mount){ .mount = &mount, .pid = 7, .has_change = true };
	assert_true(listed_change_parse("models=1 grafts=2 adapters=0 merges=1 files=1 bytes=0 "
					"path=/y.gguf",
					&listed.change));
	assert_json(&listed, "{\"mountpoint\":\"/m\xef\xbf\xbd\",\"state\":\"ok\",\"pid\":7,"
			     "\"base\":\"/x.gguf\",\"models\":1,\"grafts\":2,\"adapters\":0,"
			     "\"merges\":1,\"unmount\":{\"file\":\"/y.gguf\",\"files\":1,"
			     "\"bytes\":null}}");
}

static void assert_cell(const struct listed_mount *listed, size_t column, const char *expected)
{
	char *cell = listed_mount_cell(listed, column);

	assert_string_equal(cell, expected);
	free(cell);
}

static void several_models_are_one_line(void **state)
{
	const struct mountinfo mount = { .point = "/m", .source = "/x" };
	struct listed_mount listed = { .mount = &mount, .has_change = true };

	(void)state;
	assert_true(listed_change_parse(COUNTS "files=2 bytes=10 path=/y.gguf", &listed.change));
	assert_cell(&listed, 0, "/m");
	assert_cell(&listed, 2, "-");
	assert_cell(&listed, 3, "11");
	assert_cell(&listed, 6, "/x (2 models)");
	assert_cell(&listed, 7, "/y.gguf and 1 more (10 bytes)");
	listed.change.files = 0;
	assert_cell(&listed, 7, "-");
}

UNIT_MAIN(NULL, NULL)
