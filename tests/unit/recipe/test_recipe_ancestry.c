/* SPDX-License-Identifier: MIT */
/* test_recipe_ancestry.c - fs/recipe/recipe_ancestry.c: recipes embedded in models. */
#include "fs/model/model.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"
#include "tests/unit/a_recipe.h"
#include "tests/unit/small_gguf.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE                                                              \
	"organfs: recipe 1\nbase:\n  name: b\n  size: 1\n  fingerprint: " \
	"'00000000000000000000000000000000'\n"

/* A recipe nested that many levels deep; caller frees. */
static char *nested(unsigned levels, size_t *size)
{
	struct recipe recipe;
	struct error err = { 0 };
	char *text = strdup(BASE);

	must(text);
	*size = strlen(text);
	for (unsigned i = 1; i < levels; i++) {
		assert_int_equal(recipe_read(BASE, strlen(BASE), &recipe, &err), 0);
		assert_int_equal(recipe_text_set(&recipe.base.recipe, text, *size), 0);
		free(text);
		text = a_recipe_text(&recipe, true, size);
		recipe_release(&recipe);
	}
	return text;
}

/* A GGUF with that recipe embedded. */
static struct backing *carrier(void **state, const char *text, struct gguf **gguf)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct error err = { 0 };
	struct backing *backing;
	struct source source;

	if (text)
		mkgguf_kv_string(m, LINEAGE_KEY, text);
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 2, small_ne);
	file = mkgguf_finish(m);
	save(state, "carrier.gguf", &file);
	mk_file_free(&file);
	backing = backing_open(in_temp(state, "carrier.gguf").text, &err);
	must(backing);
	source = backing_source(backing);
	*gguf = gguf_read(&source, &err);
	must(*gguf);
	return backing;
}

static void recipes_within_recipes_are_counted(void **state)
{
	(void)state;
	for (unsigned levels = 1; levels < ANCESTRY_DEPTH_MAX + 4; levels++) {
		const unsigned most = ANCESTRY_DEPTH_MAX + 1;
		size_t size;
		char *text = nested(levels, &size);

		assert_int_equal(recipe_depth(text, size), levels < most ? levels : most);
		free(text);
	}
	assert_int_equal(recipe_depth("no recipe", 9), 0);
}

/* A recipe's source entry for that file. */
static struct recipe_source filled(void **state, const char *text)
{
	struct recipe_ancestry ancestry;
	struct recipe_source source = { .size = 1 };
	struct gguf *gguf;
	struct backing *file = carrier(state, text, &gguf);

	recipe_ancestry_init(&ancestry);
	strcpy(source.fingerprint, "0123456789abcdef0123456789abcdef");
	assert_int_equal(recipe_ancestry_fill(&ancestry, &source, file, gguf, NULL), 0);
	free(source.recipe.bytes);
	source.recipe = (struct recipe_text){ 0 };
	/* A second fill, without the file, gives the same. */
	assert_int_equal(recipe_ancestry_fill(&ancestry, &source, NULL, NULL, NULL), 0);
	recipe_ancestry_release(&ancestry);
	gguf_free(gguf);
	backing_unref(file);
	return source;
}

static void embedded_recipe_is_kept_unless_too_deep_or_invalid(void **state)
{
	struct recipe_source source;
	size_t size;
	char *text = nested(ANCESTRY_DEPTH_MAX - 1, &size);

	source = filled(state, text);
	assert_string_equal(source.recipe.bytes, text);
	assert_false(source.cut);
	free(source.recipe.bytes);
	free(text);
	text = nested(ANCESTRY_DEPTH_MAX, &size);
	source = filled(state, text);
	assert_null(source.recipe.bytes);
	assert_true(source.cut);
	free(text);
	source = filled(state, "words");
	assert_null(source.recipe.bytes);
	assert_false(source.cut);
	source = filled(state, NULL);
	assert_null(source.recipe.bytes);
	assert_false(source.cut);
}

static void too_long_embedded_recipe_is_cut(void **state)
{
	char *text = malloc(ANCESTRY_SIZE_MAX + 2);
	struct recipe_source source;

	must(text);
	memset(text, '#', ANCESTRY_SIZE_MAX + 1);
	text[ANCESTRY_SIZE_MAX + 1] = '\0';
	source = filled(state, text);
	assert_null(source.recipe.bytes);
	assert_true(source.cut);
	free(text);
}

static void without_memory_nothing_is_known(void **state)
{
	struct gguf *gguf;
	struct backing *file = carrier(state, BASE, &gguf);
	struct recipe_ancestry ancestry;
	struct recipe_source source;
	bool failed = true;

	needs_failing_allocations();
	for (uint64_t k = 1; failed; k++) {
		int rc;

		source = (struct recipe_source){ .size = 1 };
		strcpy(source.fingerprint, "0123456789abcdef0123456789abcdef");
		recipe_ancestry_init(&ancestry);
		allocation_fails(k);
		rc = recipe_ancestry_fill(&ancestry, &source, file, gguf, NULL);
		failed = allocation_failed();
		assert_true(rc == 0 || (failed && rc == -ENOMEM));
		free(source.recipe.bytes);
		recipe_ancestry_release(&ancestry);
	}
	gguf_free(gguf);
	backing_unref(file);
}

static void contents_that_could_not_be_read_are_read_another_time(void **state)
{
	char text[FINGERPRINT_TEXT] = "?", again[FINGERPRINT_TEXT];
	struct recipe_ancestry ancestry;
	struct gguf *gguf;
	struct backing *file = carrier(state, NULL, &gguf);
	const char *path = backing_path(file);
	const struct stat was = *backing_stat(file);
	const struct timespec times[2] = { was.st_mtim, was.st_mtim };

	recipe_ancestry_init(&ancestry);
	assert_int_equal(truncate(path, was.st_size - 1), 0);
	assert_int_equal(recipe_ancestry_contents(&ancestry, file, gguf, text), 0);
	assert_string_equal(text, "");
	assert_int_equal(truncate(path, was.st_size), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(recipe_ancestry_contents(&ancestry, file, gguf, text), 0);
	assert_int_equal(strlen(text), FINGERPRINT_TEXT - 1);
	/* The files are known now, and not read again. */
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(recipe_ancestry_contents(&ancestry, file, NULL, again), 0);
	assert_string_equal(again, text);
	recipe_ancestry_release(&ancestry);
	gguf_free(gguf);
	backing_unref(file);
}

static void without_memory_contents_are_an_error_and_not_unknown(void **state)
{
	struct gguf *gguf;
	struct backing *file = carrier(state, NULL, &gguf);
	bool failed = true;

	needs_failing_allocations();
	for (uint64_t k = 1; failed; k++) {
		char text[FINGERPRINT_TEXT];
		struct recipe_ancestry ancestry;
		int rc;

		recipe_ancestry_init(&ancestry);
		allocation_fails(k);
		rc = recipe_ancestry_contents(&ancestry, file, NULL, text);
		failed = allocation_failed();
		assert_int_equal(rc, failed ? -ENOMEM : 0);
		recipe_ancestry_release(&ancestry);
	}
	gguf_free(gguf);
	backing_unref(file);
}

UNIT_MAIN(temp_setup, temp_teardown)
