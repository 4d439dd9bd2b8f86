/* SPDX-License-Identifier: MIT */
/* json_value.h - JSON for values that cJSON cannot represent: exact integers, floats that read back
 * unchanged, and text of any bytes. Values are added to an object under a key; out of memory, a
 * value is omitted. */
#ifndef FS_METADATA_JSON_VALUE_H
#define FS_METADATA_JSON_VALUE_H

#include "gguf/reader.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct value;

void json_add_unsigned(cJSON *object, const char *key, uint64_t value);

/* The JSON value of a metadata scalar, given its little-endian bytes. */
cJSON *json_scalar(enum kv_type type, uint64_t scalar);

/* Text of n bytes. NUL and invalid UTF-8 become U+FFFD. */
cJSON *json_text(const char *bytes, size_t n);

/* The JSON value of a metadata entry, read from its source: scalars and strings as such; arrays,
 * and strings above 1 MiB, as an object with type, length and the first elements or bytes. NULL:
 * unreadable. */
cJSON *json_value(const struct value *value);

/* The JSON string of n bytes, converted as by json_text(), with quotes and escaped as by
 * json_print(); to free. NULL: out of memory. */
char *json_string(const char *bytes, size_t n);

/* Print the output of cJSON, and escape control characters above U+0020, which cJSON does not. */
void json_print(const char *json, FILE *out);

/* A key of n bytes, with '%', NUL and invalid UTF-8 percent-encoded, so that different keys stay
 * different. Returns text to free. */
char *json_key(const char *bytes, size_t n);

#endif
