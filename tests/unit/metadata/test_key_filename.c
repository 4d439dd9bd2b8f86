/* SPDX-License-Identifier: MIT */
/* test_key_filename.c - fs/metadata/key_filename.c: keys as file names, and file names that are
 * keys. */
#include "fs/metadata/key_filename.h"
#include "tests/unit/unit.h"

static const char *name_of(const char *key, size_t n)
{
	static char name[KEY_FILENAME_MAX + 1];

	key_filename(key, n, name);
	return name;
}

static void keys_are_their_own_names(void **state)
{
	(void)state;
	assert_string_equal(name_of("tokenizer.ggml.tokens", 21), "tokenizer.ggml.tokens");
	assert_string_equal(name_of("a/b", 3), "a%2Fb");
	assert_string_equal(name_of(".hidden", 7), "%2Ehidden");
	assert_string_equal(name_of("..", 2), "%2E.");
	assert_string_equal(name_of("a\0b\n\x7f", 5), "a%00b%0A%7F");
	assert_string_equal(name_of("50%~", 4), "50%25%7E");
	assert_string_equal(name_of("\xc3\xa9 x", 4), "\xc3\xa9 x");
}

static void long_keys_are_cut_and_told_apart(void **state)
{
	char key[65535], one[KEY_FILENAME_MAX + 1];

	(void)state;
	memset(key, 'k', sizeof(key));
	assert_int_equal(strlen(name_of(key, KEY_FILENAME_MAX)), KEY_FILENAME_MAX);
	assert_null(strchr(name_of(key, KEY_FILENAME_MAX), '~'));
	for (size_t n = KEY_FILENAME_MAX + 1; n <= sizeof(key); n += 997) {
		strcpy(one, name_of(key, n));
		assert_int_equal(strlen(one), KEY_FILENAME_MAX);
		assert_string_not_equal(one, name_of(key, n - 1));
	}
	memset(key, '/', sizeof(key));
	assert_true(strlen(name_of(key, 100)) <= KEY_FILENAME_MAX);
}

static void new_name_of_a_keys_form_is_a_key(void **state)
{
	static const char *const keys[] = { "general.name",
					    "x",
					    "gemma-embedding.block_count",
					    "general.base_model.0.name",
					    "a%2Fb",
					    "_",
					    "3d.x",
					    "%2Ehidden",
					    "sedimentary",
					    "A+B",
					    "%C3%A9" };
	char key[KEY_FILENAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		const size_t n = key_filename_decode(keys[i], key);

		if (strncmp(keys[i], "%C3", 3) == 0) {
			/* An unnecessary escape would be a second name of the key. */
			assert_int_equal(n, 0);
			continue;
		}
		assert_int_not_equal(n, 0);
		assert_string_equal(name_of(key, n), keys[i]);
	}
	assert_int_equal(key_filename_decode("a%2Fb", key), 3);
	assert_string_equal(key, "a/b");
}

static void scratch_names_of_tools_are_no_keys(void **state)
{
	static const char *const names[] = { ".general.name.swp",
					     ".x.A1b2C3",
					     "general.name~",
					     "4913",
					     "sedAb12Cd",
					     "#general.name#",
					     "x.bak",
					     "x.orig",
					     "x.tmp",
					     "x.swp",
					     "a b",
					     "",
					     "%zz",
					     "%2",
					     "%",
					     "general%2Ename",
					     "a%2fb",
					     ".nfs0001",
					     "\xc3\xa9" };
	char key[KEY_FILENAME_MAX + 1], longer[KEY_FILENAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (key_filename_decode(names[i], key))
			fail_msg("%s makes a key", names[i]);
	memset(longer, 'x', sizeof(longer));
	longer[KEY_FILENAME_MAX + 1] = '\0';
	assert_int_equal(key_filename_decode(longer, key), 0);
	longer[KEY_FILENAME_MAX] = '\0';
	assert_int_equal(key_filename_decode(longer, key), KEY_FILENAME_MAX);
}

UNIT_MAIN(NULL, NULL)
