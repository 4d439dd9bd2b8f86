/* SPDX-License-Identifier: MIT */
/* json_value.h - what cJSON cannot say by itself: exact integers, floats that read back the same,
 * and text of any bytes. Values are added to an object under key; failure is out of memory and
 * leaves the value out. */
#ifndef FS_METADATA_JSON_VALUE_H
#define FS_METADATA_JSON_VALUE_H

#include "gguf/reader.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct value;

void json_add_unsigned(cJSON *object, const char *key, uint64_t value);

/* The value of a metadata scalar: its little-endian bytes in scalar. */
cJSON *json_scalar(enum kv_type type, uint64_t scalar);

/* Text of n bytes, of which those that are no UTF-8, and NUL, stand as U+FFFD. */
cJSON *json_text(const char *bytes, size_t n);

/* The value of a metadata entry, read where it lies: scalars and strings as they are; arrays, and
 * strings of over 1 MiB, as an object with type, length and how they begin. NULL: it cannot be
 * read. */
cJSON *json_value(const struct value *value);

/* The JSON string of n bytes, as json_text(), with its quotes and escaped as by json_print(); to
 * free. NULL: out of memory. */
char *json_string(const char *bytes, size_t n);

/* Print what cJSON has printed, which escapes of the controls in it those below U+0020 only. */
void json_print(const char *json, FILE *out);

/* A key of n bytes, in which '%', NUL and bytes not UTF-8 stand percent-encoded, so that different
 * keys stay different. Returns text to free. */
char *json_key(const char *bytes, size_t n);

#endif
