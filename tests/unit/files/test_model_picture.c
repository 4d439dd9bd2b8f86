/* SPDX-License-Identifier: MIT */
/* test_model_picture.c - fs/files/model_picture.c: what theta.svg says of a model before it shows
 * its tensors. */
#include "fs/edit/graft.h"
#include "fs/files/model_picture.h"
#include "tests/unit/measures.h"

/* The subtitle of a model, and its picture to free(). */
static char *chart_of(struct model *model, char subtitle[MODEL_PICTURE_SUBTITLE_MAX])
{
	struct figures *figures = figures_now(model);
	struct picture_grid grid;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	assert_int_equal(picture_grid_make(&grid, figures, NULL), 0);
	model_picture_subtitle(figures, &grid, subtitle);
	picture_grid_free(&grid);
	assert_int_equal(model_picture_print(figures, out), 0);
	assert_int_equal(fclose(out), 0);
	figures_free(figures);
	return text;
}

static void blocks_are_those_that_are_there(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	char subtitle[MODEL_PICTURE_SUBTITLE_MAX];
	char *text = chart_of(o.model, subtitle);

	assert_string_equal(subtitle, "llama, block 0, 6 tensors");
	assert_non_null(strstr(text, ">llama, block 0, 6 tensors</text>"));
	assert_null(strstr(text, "removed</text>"));
	free(text);
	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	text = chart_of(o.model, subtitle);
	assert_string_equal(subtitle, "llama, block 0, 5 tensors");
	assert_non_null(strstr(text, ">1 removed</text>"));
	free(text);
	close_model(&o);
}

static void a_model_of_nothing_has_a_picture(void **state)
{
	struct mk_file file = mkgguf_finish(mkgguf_new(3));
	char subtitle[MODEL_PICTURE_SUBTITLE_MAX], *text;
	struct opened o;

	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	text = chart_of(o.model, subtitle);
	assert_string_equal(subtitle, "unknown, 0 tensors");
	free(text);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
