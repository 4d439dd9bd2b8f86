/* SPDX-License-Identifier: MIT */
/* test_layer_records.c - fs/layer/layer_records.c: keys, files of adapters/ and the merge, written
 * and read. */
#include "fs/layer/layer_records.h"
#include "fs/layer/layer_internal.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_layer.h"

#define MTIME                                \
	{                                    \
		.tv_sec = 1000, .tv_nsec = 7 \
	}

struct scene {
	struct site site;
	struct layer *layer;
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .site = small_site(state) };

	scene.layer = open_layer(&scene.site);
	return scene;
}

static void close_scene(struct scene *scene)
{
	layer_close(scene->layer);
	close_site(&scene->site);
}

/* All keys as "NAME=TYPE,TEXT;", or "NAME-;" for a removed one. */
struct said {
	char text[1000];
};

static void say(struct said *said, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct said *said, const char *format, ...)
{
	const size_t n = strlen(said->text);
	va_list args;

	va_start(args, format);
	vsnprintf(said->text + n, sizeof(said->text) - n, format, args);
	va_end(args);
}

static int say_key(void *context, const struct layer_key *key, struct error *err)
{
	(void)err;
	if (key->removed)
		say(context, "%s-;", key->name);
	else
		say(context, "%s=%s,%.*s;", key->name, key->type ? key->type : "", (int)key->size,
		    (const char *)key->text);
	return 0;
}

static int say_adapter(void *context, const struct layer_adapter *adapter, struct error *err)
{
	(void)err;
	assert_int_equal(adapter->mtime.tv_sec, 1000);
	assert_int_equal(adapter->mtime.tv_nsec, 7);
	say(context, "%s %s %s;", adapter->file, adapter->target ? adapter->target : "-",
	    adapter->text ? adapter->text : "-");
	return 0;
}

static void assert_says(struct layer *layer, const char *keys, const char *adapters)
{
	struct said said = { "" };
	struct error err = { 0 };

	assert_int_equal(layer_each_key(layer, say_key, &said, &err), 0);
	assert_string_equal(said.text, keys);
	said.text[0] = '\0';
	assert_int_equal(layer_each_adapter(layer, say_adapter, &said, &err), 0);
	assert_string_equal(said.text, adapters);
}

static int write_key(struct layer *layer, const char *name, const char *type, const char *text,
		     const struct layer_undone *left)
{
	const struct layer_key key = { .name = name, .type = type, .mtime = MTIME };
	struct view *view = view_of_text(strdup(text), strlen(text));
	const int rc = layer_write_key(layer, &key, view, left);

	view_unref(view);
	return rc;
}

static int undo_key(struct layer *layer, const char *name, bool removed,
		    const struct layer_undone *left)
{
	struct layer_undone undone[2] = { { LAYER_KEY, .name = name, .removed = removed } };

	if (left)
		undone[1] = *left;
	return layer_undo(layer, undone, left ? 2 : 1);
}

static void last_record_of_a_key_counts(void **state)
{
	struct scene scene = open_scene(state);

	assert_says(scene.layer, "", "");
	assert_int_equal(undo_key(scene.layer, "k", false, NULL), 0);
	assert_false(exists(scene.site.state));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(write_key(scene.layer, "k", NULL, "5\n", NULL), 0);
		assert_says(scene.layer, "k=,5\n;", "");
		assert_int_equal(write_key(scene.layer, "k", "bool", "", NULL), 0);
		assert_says(scene.layer, "k=bool,;", "");
		assert_int_equal(undo_key(scene.layer, "k", true, NULL), 0);
		assert_says(scene.layer, "k-;", "");
	}
	assert_int_equal(write_key(scene.layer, "\xce\xb8 %", NULL, "6", NULL), 0);
	layer_close(scene.layer);
	scene.layer = open_layer(&scene.site);
	assert_says(scene.layer, "k-;\xce\xb8 %=,6;", "");
	assert_int_equal(ask_layer(scene.layer, "SELECT sum(mtime) FROM key WHERE name != 'k'"),
			 1000000000007);
	assert_int_equal(undo_key(scene.layer, "k", false, NULL), 0);
	assert_says(scene.layer, "\xce\xb8 %=,6;", "");
	close_scene(&scene);
}

static void key_is_left_in_the_transaction_that_writes_another(void **state)
{
	static const struct layer_undone reverts = { LAYER_KEY, .name = "a" },
					 removes = { LAYER_KEY, .name = "a", .removed = true };
	struct scene scene = open_scene(state);

	must(write_key(scene.layer, "a", NULL, "1", NULL) == 0);
	assert_int_equal(write_key(scene.layer, "b", NULL, "1", &reverts), 0);
	assert_says(scene.layer, "b=,1;", "");
	assert_int_equal(write_key(scene.layer, "b", NULL, "2", &removes), 0);
	assert_says(scene.layer, "a-;b=,2;", "");
	assert_int_equal(undo_key(scene.layer, "b", false, &reverts), 0);
	assert_says(scene.layer, "", "");
	assert_int_equal(undo_key(scene.layer, "b", false, &removes), 0);
	assert_says(scene.layer, "a-;", "");
	close_scene(&scene);
}

static int write_adapter(struct layer *layer, const char *file, const char *target,
			 const char *text)
{
	const struct layer_adapter adapter = {
		.file = file, .target = target, .text = text, .uid = 5, .gid = 6, .mtime = MTIME
	};

	return layer_write_adapter(layer, &adapter);
}

static void adapters_are_read_back_and_removed(void **state)
{
	static const struct layer_undone files[] = { { LAYER_ADAPTER, .name = "a.gguf" },
						     { LAYER_ADAPTER, .name = "a.scale" },
						     { LAYER_ADAPTER, .name = "none" } };
	struct scene scene = open_scene(state);

	assert_int_equal(layer_undo(scene.layer, files, 3), 0);
	assert_false(exists(scene.site.state));
	assert_int_equal(write_adapter(scene.layer, "a.gguf", "../a b", NULL), 0);
	assert_int_equal(write_adapter(scene.layer, "a.scale", NULL, "0.5"), 0);
	assert_int_equal(write_adapter(scene.layer, "b.scale", NULL, "1"), 0);
	assert_int_equal(write_adapter(scene.layer, "b.scale", NULL, "2"), 0);
	layer_close(scene.layer);
	scene.layer = open_layer(&scene.site);
	assert_says(scene.layer, "", "a.gguf ../a b -;a.scale - 0.5;b.scale - 2;");
	assert_int_equal(layer_undo(scene.layer, files, 3), 0);
	assert_says(scene.layer, "", "b.scale - 2;");
	/* A row has either a target or a text. */
	assert_int_equal(write_adapter(scene.layer, "c", NULL, NULL), -EINVAL);
	assert_int_equal(write_adapter(scene.layer, "c", "x", "x"), -EINVAL);
	assert_says(scene.layer, "", "b.scale - 2;");
	close_scene(&scene);
}

static void merge_is_read_back_and_dropped(void **state)
{
	static const struct layer_undone no_merge = { .item = LAYER_MERGE };
	struct scene scene = open_scene(state);
	struct layer_merge merge = {
		.text = (char *)"models:\n", .uid = 5, .gid = 6, .mtime = MTIME
	};
	struct layer_merge read;

	assert_int_equal(layer_read_merge(scene.layer, &read), 0);
	assert_int_equal(layer_undo(scene.layer, &no_merge, 1), 0);
	assert_false(exists(scene.site.state));
	for (int i = 0; i < 2; i++)
		assert_int_equal(layer_write_merge(scene.layer, &merge), 0);
	layer_close(scene.layer);
	scene.layer = open_layer(&scene.site);
	assert_int_equal(layer_read_merge(scene.layer, &read), 1);
	assert_string_equal(read.text, "models:\n");
	assert_int_equal(read.mtime.tv_sec, 1000);
	assert_int_equal(read.uid, geteuid() == 0 ? 5 : geteuid());
	free(read.text);
	assert_int_equal(layer_undo(scene.layer, &no_merge, 1), 0);
	assert_int_equal(layer_read_merge(scene.layer, &read), 0);
	assert_null(read.text);
	merge.text = malloc(LAYER_MERGE_MAX + 2);
	must(merge.text);
	memset(merge.text, 'x', LAYER_MERGE_MAX + 1);
	merge.text[LAYER_MERGE_MAX + 1] = '\0';
	assert_int_equal(layer_write_merge(scene.layer, &merge), -EFBIG);
	free(merge.text);
	close_scene(&scene);
}

static int refuse_key(void *context, const struct layer_key *key, struct error *err)
{
	(void)key;
	++*(unsigned *)context;
	return error_set(err, ENAMETOOLONG, ERROR_NO_OFFSET, "no");
}

static void reading_ends_with_the_first_refusal(void **state)
{
	struct scene scene = open_scene(state);
	struct error err = { 0 };
	unsigned n = 0;

	must(write_key(scene.layer, "a", NULL, "1", NULL) == 0);
	must(write_key(scene.layer, "b", NULL, "1", NULL) == 0);
	assert_int_equal(layer_each_key(scene.layer, refuse_key, &n, &err), -ENAMETOOLONG);
	assert_int_equal(n, 1);
	assert_int_equal(err.code, ENAMETOOLONG);
	close_scene(&scene);
}

static void full_disk_refuses_writes_but_no_undo(void **state)
{
	struct scene scene = open_scene(state);
	struct path reserve;

	must(write_key(scene.layer, "a", NULL, "1", NULL) == 0);
	reserve = path_in(layer_path(scene.layer), "reserve");
	must(exists(reserve.text));
	database_writes_fail(ENOSPC, reserve.text);
	assert_int_equal(write_key(scene.layer, "a", NULL, "2", NULL), -ENOSPC);
	assert_int_equal(write_adapter(scene.layer, "a.scale", NULL, "1"), -ENOSPC);
	assert_int_equal(undo_key(scene.layer, "a", false, NULL), 0);
	assert_true(database_write_failed());
	assert_says(scene.layer, "", "");
	close_scene(&scene);
}

static void full_disk_refuses_types_unless_all_are_taken_back(void **state)
{
	const struct layer_type types[] = { { .klass = CLASS_ORGANS, .name = "a", .type = "Q8_0" },
					    { .klass = CLASS_ORGANS, .name = "b" },
					    { .klass = CLASS_ORGANS, .name = "c" } };
	struct scene scene = open_scene(state);

	must(layer_write_types(scene.layer, types, 1) == 0);
	database_writes_fail(ENOSPC, path_in(layer_path(scene.layer), "reserve").text);
	assert_int_equal(layer_write_types(scene.layer, types, 3), -ENOSPC);
	assert_int_equal(layer_write_types(scene.layer, types + 1, 2), 0);
	assert_true(database_write_failed());
	close_scene(&scene);
}

/* The same tables without constraints. */
static const char without_constraints[] =
	"CREATE TABLE k AS SELECT * FROM key; DROP TABLE key; ALTER TABLE k RENAME TO key;"
	"CREATE TABLE a AS SELECT * FROM adapter; DROP TABLE adapter; ALTER TABLE a RENAME TO "
	"adapter; CREATE TABLE m AS SELECT * FROM merge; DROP TABLE merge; ALTER TABLE m RENAME "
	"TO merge;";

static int say_loosely(void *context, const struct layer_adapter *adapter, struct error *err)
{
	(void)err;
	say(context, "%s %d%d", adapter->file, !!adapter->target, !!adapter->text);
	return 0;
}

static void impossible_row_is_refused_or_loses_its_impossible_part(void **state)
{
	static const struct {
		const char *sql;
		int keys, adapters, merge;
	} cases[] = {
		{ "UPDATE key SET name = CAST(x'610062' AS TEXT)", -EBADMSG, 0, 1 },
		{ "UPDATE key SET name = ''", -EBADMSG, 0, 1 },
		{ "UPDATE key SET name = NULL", -EBADMSG, 0, 1 },
		{ "UPDATE key SET name = hex(zeroblob(200))", -EBADMSG, 0, 1 },
		{ "UPDATE key SET removed = 'x', type = x'00', text = NULL, mtime = 1e300", 0, 0,
		  1 },
		{ "UPDATE key SET text = 5, mtime = NULL", 0, 0, 1 },
		{ "DROP TABLE key", -EBADMSG, 0, 1 },
		{ "UPDATE adapter SET file = NULL", 0, -EBADMSG, 1 },
		{ "UPDATE adapter SET file = x'6100'", 0, -EBADMSG, 1 },
		{ "UPDATE adapter SET file = hex(zeroblob(200))", 0, -EBADMSG, 1 },
		{ "UPDATE adapter SET target = x'6100', text = x'6100'", 0, 0, 1 },
		{ "UPDATE adapter SET target = 'a', uid = 'x', mtime = -9e18", 0, 0, 1 },
		{ "UPDATE merge SET text = NULL", 0, 0, -EBADMSG },
		{ "UPDATE merge SET text = CAST(x'610062' AS TEXT)", 0, 0, -EBADMSG },
		{ "UPDATE merge SET uid = 'x', gid = NULL, mtime = x'01'", 0, 0, 1 },
		{ "DROP TABLE merge", 0, 0, -EBADMSG },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct scene scene = open_scene(state);
		const struct layer_merge merge = { .text = (char *)"text" };
		struct layer_merge read;
		struct error err = { 0 };
		struct said said = { "" };

		must(write_key(scene.layer, "k", "bool", "true", NULL) == 0);
		must(write_adapter(scene.layer, "a.scale", NULL, "1") == 0);
		must(layer_write_merge(scene.layer, &merge) == 0);
		layer_rest(scene.layer);
		alter_rows(layer_path(scene.layer), without_constraints);
		alter_rows(layer_path(scene.layer), cases[i].sql);
		if (layer_each_key(scene.layer, say_key, &said, &err) != cases[i].keys ||
		    layer_each_adapter(scene.layer, say_loosely, &said, &err) !=
			    cases[i].adapters ||
		    layer_read_merge(scene.layer, &read) != cases[i].merge)
			fail_msg("%s: %s", cases[i].sql, said.text);
		free(read.text);
		close_scene(&scene);
		remove_tree(in_temp(state, "state").text);
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
