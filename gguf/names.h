/* SPDX-License-Identifier: MIT */
/* names.h - a hash index from names to numbers; names are byte strings and may hold anything. */
#ifndef GGUF_NAMES_H
#define GGUF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names; /* not thread-safe while it is added to; any thread may find once it is complete */

/* An empty index that holds expected names without growing. NULL: out of memory. */
struct names *names_new(size_t expected);
void names_free(struct names *names);

/* Add a name with its value. The bytes are borrowed and must outlive the index. Returns 0, -EEXIST
 * if the name is there already (its value stays), -ENOMEM. */
int names_add(struct names *names, const char *name, size_t length, uint32_t value);

bool names_find(const struct names *names, const char *name, size_t length, uint32_t *value);

/* The order in which added tensors come last in a model: byte by byte, and of two that begin alike
 * the shorter one first. As memcmp(). */
int names_compare(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
