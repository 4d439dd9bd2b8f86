/* SPDX-License-Identifier: MIT */
/* fuzz_key_filename.c - any bytes as a metadata key and as the name of a new file: a key has a
 * valid file name, no other short key has the same one, and a name that makes a key is that key's
 * name. */
#include "fs/metadata/key_filename.h"
#include "fs/util/text_escape.h"
#include "fuzz_help.h"

#include <string.h>

/* Check that a key's name, if it was not cut, gives the key back. */
static void check_key(const char *key, size_t n)
{
	char name[KEY_FILENAME_MAX + 1], again[KEY_FILENAME_MAX + 1];
	size_t length;

	memset(name, 'x', sizeof(name));
	key_filename(key, n, name);
	length = strnlen(name, sizeof(name));
	require(length > 0 && length <= KEY_FILENAME_MAX);
	require(!strchr(name, '/') && name[0] != '.');
	for (size_t i = 0; i < length; i++)
		require((unsigned char)name[i] >= ' ' && name[i] != '\x7f');
	if (strchr(name, '~')) {
		require(n > KEY_FILENAME_MAX / 3);
		return;
	}
	memcpy(again, name, length + 1);
	require(text_unescape(again) == n && memcmp(again, key, n) == 0);
}

static void check_name(const char *bytes, size_t size)
{
	char *name = strndup(bytes, size);
	char key[KEY_FILENAME_MAX + 1], again[KEY_FILENAME_MAX + 1];
	size_t n;

	require(name != NULL);
	n = key_filename_decode(name, key);
	require(n <= KEY_FILENAME_MAX);
	if (n) {
		key_filename(key, n, again);
		require(strcmp(again, name) == 0);
	}
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		check_key((const char *)data, size);
	check_name((const char *)data, size);
	return 0;
}
