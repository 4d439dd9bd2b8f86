/* SPDX-License-Identifier: MIT */
/* test_mount_files.c - fs/commands/mount_files.c: a model as described by the files of its mount.
 * Any directory may hold such files, so some tests give malformed ones. */
#include "fs/commands/mount_files.h"
#include "tests/unit/table_text.h"

#include <sys/stat.h>

static void put(void **state, const char *name, const char *text)
{
	FILE *out = fopen(path_in(((struct temp *)*state)->dir, name).text, "w");

	must(out);
	must(fputs(text, out) >= 0);
	must(fclose(out) == 0);
}

/* Make a directory like a mount's, with a model of two tensors and these grafts. */
static void put_model(void **state, const char *grafts)
{
	static const struct mk_row rows[] = { { "blk.0.ffn_up", 30, 1, NULL },
					      { "blk.1.ffn_up", 40, 1, NULL } };
	const char *dir = ((struct temp *)*state)->dir;
	size_t size;
	char *text = mk_table_text("scribe", "2", "", rows, ARRAY_LENGTH(rows), &size);

	put(state, ".table", text);
	put(state, ".grafts", grafts);
	put(state, ".check", "ok\toverall\tfine\n");
	must(mkdir(path_in(dir, ".base").text, 0700) == 0);
	must(mkdir(path_in(dir, ".base/metadata").text, 0700) == 0);
	free(text);
}

static void grafts_mark_the_tensors_that_they_name(void **state)
{
	const char *dir = ((struct temp *)*state)->dir;
	struct mount_files witness;

	assert_false(mount_files_exist(dir));
	put_model(state,
		  "organs/blk.0.ffn_up.bin\tcopy merged\tF32\t8\t32\tx\t-\t/m/cl%20erk.gguf\tx\n"
		  "organs/blk.1.ffn_up.bin\tlink\tF32\t8\t32\tx\t-\t/m/parts/y.bin\t-\n"
		  "metadata/general.name\tedited\tstring\t-\t3\t-\t-\t-\t-\n");
	assert_true(mount_files_exist(dir));
	assert_int_equal(mount_files_read(&witness, dir), 0);
	assert_int_equal(witness.figures->n, 2);
	/* .base has neither changes nor grafts. */
	assert_int_equal(witness.figures->figures[0].changes,
			 1u << FIGURE_GRAFTED | 1u << FIGURE_MERGED | 1u << FIGURE_ADDED);
	assert_string_equal(witness.figures->figures[0].donor, "/m/cl erk.gguf");
	assert_string_equal(witness.figures->figures[1].donor, "/m/parts/");
	assert_true(witness.figures->figures[1].z->theta == 40);
	assert_string_equal(witness.check, "ok\toverall\tfine\n");
	mount_files_limit(&witness, CLASS_ORGANS);
	assert_int_equal(witness.figures->n, 2);
	mount_files_limit(&witness, CLASS_NORM);
	assert_int_equal(witness.figures->n, 0);
	mount_files_release(&witness);
}

static void unknown_lines_are_skipped(void **state)
{
	struct mount_files witness;

	put_model(state, "\n\torgans\norgans/blk.0.ffn_up.bin\norgans/gone.bin\tremoved\n"
			 "organs/blk.1.ffn_up.bin\tcopy\t\t\t\t\t\t%zz\t-");
	assert_int_equal(mount_files_read(&witness, ((struct temp *)*state)->dir), 0);
	assert_int_equal(witness.figures->n, 2);
	assert_int_equal(witness.figures->n_removed, 0);
	assert_null(witness.figures->figures[0].donor);
	assert_null(witness.figures->figures[1].donor);
	mount_files_release(&witness);
}

static void malformed_or_missing_table_is_refused(void **state)
{
	struct mount_files witness;

	put_model(state, "");
	put(state, ".table", "table\t2\n");
	assert_int_equal(mount_files_read(&witness, ((struct temp *)*state)->dir), -1);
	mount_files_release(&witness);
	must(unlink(path_in(((struct temp *)*state)->dir, ".table").text) == 0);
	assert_int_equal(mount_files_read(&witness, ((struct temp *)*state)->dir), -1);
	mount_files_release(&witness);
}

UNIT_MAIN(temp_setup, temp_teardown)
