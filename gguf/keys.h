/* SPDX-License-Identifier: MIT */
/* keys.h - the metadata keys defined by the GGUF specification and llama.cpp's gguf-py, with the
 * types of their values. */
#ifndef GGUF_KEYS_H
#define GGUF_KEYS_H

#include "reader.h"

/* The type of a key's value: a single value, a list, or either. */
struct key_type {
	enum kv_type value;   /* of a single value; KV_ARRAY: the key is always a list */
	enum kv_type element; /* of each element of a list; KV_ARRAY: the key is never a list */
};

/* Find the type of the key of n bytes in a model of that architecture ("llama", with its NUL).
 * Types are those of gguf-py's GGUFWriter, which llama.cpp's loader requires; for keys that it
 * lacks, those of ggml's docs/gguf.md. Keys that begin with an architecture are found for that
 * architecture only. False: unknown key. */
bool key_type_find(const char *key, size_t n, const char *architecture, struct key_type *type);

#endif
