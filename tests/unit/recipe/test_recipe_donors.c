/* SPDX-License-Identifier: MIT */
/* test_recipe_donors.c - fs/recipe/recipe_donors.c: donors found by fingerprint and contents. */
#include "fs/recipe/recipe.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/recipe/recipe_donors.h"
#include "fs/storage/backing.h"
#include "fs/util/hash_text.h"
#include "tests/unit/open_model.h"

static void set(struct recipe_text *text, const char *words)
{
	assert_int_equal(recipe_text_set(text, words, strlen(words)), 0);
}

/* Save a small model with another name in its metadata. Returns a recipe's source entry for it. */
static struct recipe_source donor(void **state, const char *name, const char *title)
{
	struct mkgguf *m = mkgguf_new(3);
	struct recipe_source source = { .size = 0 };
	struct error err = { 0 };
	struct mk_file file;
	struct base base;

	mkgguf_kv_string(m, "general.name", title);
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 2, small_ne);
	file = mkgguf_finish(m);
	save(state, name, &file);
	mk_file_free(&file);
	must(base_open(&base, in_temp(state, name).text, &err) == 0);
	set(&source.name, "donor.gguf");
	source.size = backing_size(base.file);
	must(fingerprint(base.file, base.gguf, source.fingerprint) == 0);
	base_close(&base);
	return source;
}

static void release(struct recipe_source *source)
{
	free(source->name.bytes);
	free(source->path.bytes);
}

/* Path of the donor found, or NULL; caller frees. */
static char *find(const struct recipe_source *source, const struct recipe_places *places)
{
	struct recipe recipe = { .donors = (struct recipe_source *)source, .n_donors = 1 };
	struct recipe_search *search = recipe_search_new(&recipe, places);
	struct recipe_found found = { 0 };
	char *path = NULL;

	must(search);
	assert_int_equal(recipe_find_donor(search, source, &found), 0);
	if (found.file) {
		assert_non_null(found.gguf);
		path = strdup(backing_path(found.file));
	}
	recipe_found_release(&found);
	recipe_search_free(search);
	return path;
}

static void donor_is_found_by_fingerprint_under_any_name(void **state)
{
	struct recipe_source source = donor(state, "one", "wanted"), other;
	const struct path dir = in_temp(state, ".");
	struct recipe_places places = { .donors = dir.text };
	const struct path one = in_temp(state, "one");
	char *path;

	/* Another file has the same name and size. */
	other = donor(state, "donor.gguf", "others");
	assert_int_equal(other.size, source.size);
	path = find(&source, &places);
	assert_non_null(path);
	assert_string_equal(strrchr(path, '/'), strrchr(one.text, '/'));
	free(path);
	must(unlink(one.text) == 0);
	assert_null(find(&source, &places));
	release(&source);
	release(&other);
}

static void donor_is_searched_at_old_path_beside_recipe_and_in_directories(void **state)
{
	struct recipe_source source = donor(state, "here.gguf", "wanted");
	const struct path here = in_temp(state, "here.gguf"), recipe = in_temp(state, "x.yml");
	struct recipe_places places = { .beside = NULL };
	char list[2 * PATH_MAX], *path;

	assert_null(find(&source, &places));
	places.beside = recipe.text;
	free(path = find(&source, &places));
	assert_non_null(path);
	places.beside = NULL;
	snprintf(list, sizeof(list), ":/no/such:%s:", in_temp(state, "").text);
	places.donors = list;
	free(path = find(&source, &places));
	assert_non_null(path);
	places.donors = NULL;
	set(&source.path, here.text);
	free(path = find(&source, &places));
	assert_non_null(path);
	/* A relative path does not start at the daemon's directory. */
	set(&source.path, "here.gguf");
	assert_null(find(&source, &places));
	release(&source);
}

/* Chimeras of one base have one fingerprint, at any path and under any name. */
static void donor_of_equal_fingerprint_is_found_by_contents(void **state)
{
	static const uint64_t ne[1] = { 400000 };
	struct recipe_source source = { .size = 0 };
	const struct path dir = in_temp(state, "");
	struct recipe_ancestry ancestry;
	struct recipe_places places = { .donors = dir.text, .ancestry = &ancestry };
	struct error err = { 0 };
	char *path;

	recipe_ancestry_init(&ancestry);
	for (int k = 0; k < 3; k++) {
		static const char *const names[] = { "donor.gguf", "wanted", "z" };
		struct mkgguf *m = mkgguf_new(3);
		struct mk_file file;
		struct base base;

		mkgguf_tensor(m, "token_embd.weight", GGML_I8, 1, ne);
		mkgguf_tensor(m, "output.weight", GGML_I8, 1, ne);
		file = mkgguf_finish(m);
		file.bytes[file.data_at + 399990] = (uint8_t)k;
		save(state, names[k], &file);
		mk_file_free(&file);
		must(base_open(&base, in_temp(state, names[k]).text, &err) == 0);
		if (k == 1) {
			must(fingerprint(base.file, base.gguf, source.fingerprint) == 0 &&
			     fingerprint_contents(base.file, base.gguf, source.contents) == 0);
			source.size = backing_size(base.file);
		}
		base_close(&base);
	}
	set(&source.name, "donor.gguf");
	set(&source.path, in_temp(state, "z").text);
	path = find(&source, &places);
	assert_non_null(path);
	assert_string_equal(strrchr(path, '/'), "/wanted");
	free(path);
	/* If only the fingerprint is known, the file at the old path comes first, then one of the
	 * same name. */
	source.contents[0] = '\0';
	source.size = 1;
	path = find(&source, &places);
	assert_string_equal(strrchr(path, '/'), "/z");
	free(path);
	set(&source.path, "/nowhere");
	path = find(&source, &places);
	assert_string_equal(strrchr(path, '/'), "/donor.gguf");
	free(path);
	recipe_ancestry_release(&ancestry);
	release(&source);
}

static void pipes_are_not_opened(void **state)
{
	struct recipe_source source = donor(state, "one.gguf", "wanted");
	const struct path dir = in_temp(state, "");
	const struct recipe_places places = { .donors = dir.text };
	const int fd = watched_fifo(in_temp(state, "donor.gguf").text);

	free(find(&source, &places));
	assert_unopened(fd);
	release(&source);
}

static void an_organ_file_is_found_by_its_hash(void **state)
{
	struct organ_file organ = mk_organ("a", GGML_F32, 2, small_ne, 5);
	const struct path dir = in_temp(state, "");
	const struct recipe_places places = { .donors = dir.text };
	const struct recipe recipe = { 0 };
	struct recipe_search *search;
	struct backing *file;
	char hash[XXH128_TEXT];

	xxh128_text(XXH3_128bits(organ.bytes, organ.size), hash);
	write_file(in_temp(state, "right").text, organ.bytes, organ.size);
	organ.bytes[organ.size - 1] ^= 1;
	write_file(in_temp(state, "left").text, organ.bytes, organ.size);
	search = recipe_search_new(&recipe, &places);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(recipe_find_organ(search, organ.size, hash, &file), 0);
		assert_non_null(file);
		assert_string_equal(strrchr(backing_path(file), '/'), "/right");
		backing_unref(file);
	}
	hash[0] = hash[0] == 'a' ? 'b' : 'a';
	assert_int_equal(recipe_find_organ(search, organ.size, hash, &file), 0);
	assert_null(file);
	recipe_search_free(search);
	free(organ.bytes);
}

static void without_memory_there_is_no_search(void **state)
{
	struct recipe_source source = donor(state, "one.gguf", "wanted");
	struct recipe recipe = { .donors = &source, .n_donors = 1 };
	const struct path dir = in_temp(state, "");
	const struct recipe_places places = { .donors = dir.text };
	bool failed = true;

	needs_failing_allocations();
	for (uint64_t k = 1; failed; k++) {
		struct recipe_search *search;
		struct recipe_found found = { 0 };

		allocation_fails(k);
		search = recipe_search_new(&recipe, &places);
		if (search)
			recipe_find_donor(search, &source, &found);
		failed = allocation_failed();
		assert_true(failed || found.file);
		recipe_found_release(&found);
		recipe_search_free(search);
	}
	release(&source);
}

UNIT_MAIN(temp_setup, temp_teardown)
