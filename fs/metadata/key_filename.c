/* SPDX-License-Identifier: MIT */
/* key_filename.c - see key_filename.h. */
#include "fs/metadata/key_filename.h"
#include "fs/util/hash_text.h"
#include "fs/util/temporary_name.h"
#include "fs/util/text_escape.h"

#include <ctype.h>
#include <string.h>

#define HASH_SIZE (1 + 32)

void key_filename(const char *key, size_t n, char out[KEY_FILENAME_MAX + 1])
{
	const XXH128_hash_t hash = XXH3_128bits(key, n);
	char byte[3];
	size_t used = 0, cut = 0, control = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t size =
			text_escape_byte(key + i, n - i, i ? "/%~" : "/%~.", &control, byte);

		if (used <= KEY_FILENAME_MAX - HASH_SIZE)
			cut = used;
		if (used + size > KEY_FILENAME_MAX) {
			out[cut] = '~';
			xxh128_text(hash, out + cut + 1);
			return;
		}
		memcpy(out + used, byte, size);
		used += size;
	}
	out[used] = '\0';
}

size_t key_filename_decode(const char *name, char key[KEY_FILENAME_MAX + 1])
{
	const size_t length = strlen(name);
	char again[KEY_FILENAME_MAX + 1];
	size_t n = 0;

	if (length > KEY_FILENAME_MAX || temporary_name(name))
		return 0;
	for (size_t i = 0; i < length; i++) {
		const int byte = text_unescape_byte(name + i);

		if (byte >= 0) {
			key[n++] = (char)byte;
			i += 2;
		} else if (isalnum((unsigned char)name[i]) || strchr("_-+.", name[i])) {
			key[n++] = name[i];
		} else {
			return 0;
		}
	}
	key[n] = '\0';
	if (n == 0)
		return 0;
	/* Two names must not decode to one key. */
	key_filename(key, n, again);
	return strcmp(again, name) == 0 ? n : 0;
}
