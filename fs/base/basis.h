/* SPDX-License-Identifier: MIT */
/* basis.h - the basis in which a model's weights are stored. A model with rotated weights has keys
 * with ".hadamard." in their names, such as "prism.hadamard.block_size", and programs apply the
 * inverse rotation to activations. Weights of different bases must not be mixed. */
#ifndef FS_BASE_BASIS_H
#define FS_BASE_BASIS_H

#include <stdbool.h>
#include <stddef.h>
#include <xxhash.h>

struct gguf;
struct source;

/* Is it the name of such a key? */
bool basis_is_key(const char *key, size_t n);

/* Hash of names, types and values of these keys, independent of their order; zeros: no such key.
 * source has the bytes of the file. Returns 0, -ENOMEM, or a read error. */
int basis_read(const struct gguf *gguf, const struct source *source, XXH128_hash_t *basis);

/* Are the weights of both in the same basis? Returns 1, 0, or an error of basis_read(). */
int basis_same(const struct gguf *a, const struct source *bytes_of_a, const struct gguf *b,
	       const struct source *bytes_of_b);

#endif
