/* SPDX-License-Identifier: MIT */
/* keys.h - the metadata keys that the GGUF specification and llama.cpp's gguf-py name, and the
 * types of their values. */
#ifndef GGUF_KEYS_H
#define GGUF_KEYS_H

#include "reader.h"

/* What a key holds: a value of one type, a list, or one of both. */
struct key_type {
	enum kv_type value;   /* of a single value; KV_ARRAY: the key is always a list */
	enum kv_type element; /* of each element of a list; KV_ARRAY: the key is never a list */
};

/* The type of the key of n bytes in a model of that architecture ("llama", with its NUL). The types
 * are those that gguf-py's GGUFWriter gives, which llama.cpp's loader insists on; where it does not
 * name the key, those of ggml's docs/gguf.md. Only keys of this architecture count among those that
 * begin with one. False: neither names the key. */
bool key_type_find(const char *key, size_t n, const char *architecture, struct key_type *type);

#endif
