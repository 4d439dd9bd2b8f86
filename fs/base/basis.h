/* SPDX-License-Identifier: MIT */
/* basis.h - the basis that a model's weights are stored in. A model whose weights are rotated says
 * so in keys with ".hadamard." in their names, as "prism.hadamard.block_size"; a program applies
 * the inverse rotation to activations. Weights of two bases do not mix. */
#ifndef FS_BASE_BASIS_H
#define FS_BASE_BASIS_H

#include <stdbool.h>
#include <stddef.h>
#include <xxhash.h>

struct gguf;
struct source;

/* Is that the name of such a key? */
bool basis_is_key(const char *key, size_t n);

/* Hash of names, types and values of these keys, in any order; zeros: there are none. source has
 * the bytes of the file. Returns 0, -ENOMEM, or the error of a read. */
int basis_read(const struct gguf *gguf, const struct source *source, XXH128_hash_t *basis);

/* Are the weights of both in one basis? Returns 1, 0, or as basis_read(). */
int basis_same(const struct gguf *a, const struct source *bytes_of_a, const struct gguf *b,
	       const struct source *bytes_of_b);

#endif
