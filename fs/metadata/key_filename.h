/* SPDX-License-Identifier: MIT */
/* key_filename.h - the file names of metadata keys.
 *
 * A key is its own file name, but for '/', '%', '~' and control bytes, and a '.' at the start,
 * which stand percent-encoded. A key too long to be shown is cut and closed with '~' and its
 * hash. */
#ifndef FS_METADATA_KEY_FILENAME_H
#define FS_METADATA_KEY_FILENAME_H

#include <stdbool.h>
#include <stddef.h>

/* The longest name: with any prefix of a layer a valid file name. */
#define KEY_FILENAME_MAX 200

/* The name of a key of n bytes, at least one. Different keys have different names, except long ones
 * made to collide in XXH128. */
void key_filename(const char *key, size_t n, char out[KEY_FILENAME_MAX + 1]);

/* The key that a new file of that name makes, into key; its length. 0: it makes none, but a scratch
 * file. New keys are what keys look like: letters, digits, '_', '-', '+', '.' and encoded bytes.
 * The temporary names of editors and other tools (temporary_name.h) are none. */
size_t key_filename_decode(const char *name, char key[KEY_FILENAME_MAX + 1]);

#endif
