/* SPDX-License-Identifier: MIT */
/* names.h - a hash index from names to numbers; names are byte strings and may hold anything. */
#ifndef GGUF_NAMES_H
#define GGUF_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct names; /* while names are added, one thread only; afterwards any thread may search */

/* An empty index with room for `expected` names. NULL: out of memory. */
struct names *names_new(size_t expected);
void names_free(struct names *names);

/* Add a name with its value. The bytes are borrowed and must outlive the index. Returns 0, -EEXIST
 * if the name exists (its value stays), or -ENOMEM. */
int names_add(struct names *names, const char *name, size_t length, uint32_t value);

bool names_find(const struct names *names, const char *name, size_t length, uint32_t *value);

/* Order of added tensors in a model: memcmp(), and for equal beginnings the shorter name first.
 * Returns as memcmp(). */
int names_compare(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
