/* SPDX-License-Identifier: MIT */
/* key_filename.h - file names of metadata keys.
 *
 * The file name is the key, with '/', '%', '~', control bytes and a leading '.' percent-encoded.
 * The name of a key that is too long is cut and ends with '~' and a hash. */
#ifndef FS_METADATA_KEY_FILENAME_H
#define FS_METADATA_KEY_FILENAME_H

#include <stdbool.h>
#include <stddef.h>

/* Longest name: valid as a file name with any prefix of a layer. */
#define KEY_FILENAME_MAX 200

/* The file name of a key of n bytes, at least one. Different keys have different names, unless long
 * ones are made to collide in XXH128. */
void key_filename(const char *key, size_t n, char out[KEY_FILENAME_MAX + 1]);

/* Decode the name of a new file to a key. Returns the key's length; 0: the name is not that of a
 * key, so the file is a private file. Valid are letters, digits, '_', '-', '+', '.' and encoded
 * bytes, except temporary names of editors and other tools (temporary_name.h). */
size_t key_filename_decode(const char *name, char key[KEY_FILENAME_MAX + 1]);

#endif
