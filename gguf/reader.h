/* SPDX-License-Identifier: MIT */
/* reader.h - parses the metadata and tensor infos of a GGUF file, never tensor data. Source: the
 * GGUF specification (ggml docs/gguf.md), and llama.cpp's reader for cases that the specification
 * leaves open; for version 1 the reader of August 2023. */
#ifndef GGUF_READER_H
#define GGUF_READER_H

#include "types.h"

#include <stdbool.h>
#include <stddef.h>

struct error;
struct source;

/* The types a metadata value can have, with the ids of the file. */
enum kv_type {
	KV_U8 = 0,
	KV_I8 = 1,
	KV_U16 = 2,
	KV_I16 = 3,
	KV_U32 = 4,
	KV_I32 = 5,
	KV_F32 = 6,
	KV_BOOL = 7,
	KV_STRING = 8,
	KV_ARRAY = 9,
	KV_U64 = 10,
	KV_I64 = 11,
	KV_F64 = 12,
	KV_TYPES = 13,
};

/* One metadata entry. Scalars are stored here, bytes of strings and arrays stay in the file. */
struct kv {
	const char *key; /* borrowed from the struct gguf; NUL-terminated, may hold NULs */
	uint32_t key_length;
	enum kv_type type;
	enum kv_type element; /* of an array */
	uint64_t count;	      /* elements of an array */
	uint64_t scalar;      /* the value's little-endian bytes, zero-extended */
	uint64_t offset;      /* offset of the value; for strings and arrays after the length */
	uint64_t length;      /* bytes from offset to the end of the value */
};

/* A tensor as its file describes it. Shape is ggml's ne, fastest axis first; unused axes are 1. */
struct gguf_tensor {
	const char *name; /* borrowed from the struct gguf; NUL-terminated, may hold NULs */
	uint32_t name_length;
	uint32_t dims; /* axes as the file counts them, 0 to 4 */
	uint64_t ne[GGML_AXES];
	uint32_t type;	 /* ggml type id, also an unknown one (type_find()); marked if short
			  * (type_is_short()) */
	uint64_t info;	 /* offset of its info in the file */
	uint64_t offset; /* offset of its data in the file */
	uint64_t size;	 /* bytes; for an unknown type or a short tensor those up to the next one */
};

/* A parsed file. Immutable once made; any thread may read it. */
struct gguf {
	uint32_t version; /* 1, 2 or 3 */
	uint32_t alignment;
	uint64_t size;	       /* size of the file */
	uint64_t infos_offset; /* end of the metadata, begin of the tensor infos */
	uint64_t infos_end;    /* end of the tensor infos */
	uint64_t data_offset;  /* base of the tensors' offsets */
	uint32_t n_kv, n_tensors;
	struct kv *kv;
	struct gguf_tensor *tensors; /* in file order of the infos */
	uint32_t *order;	     /* tensor numbers by offset in the file */
	bool overlap;		     /* some tensors share bytes */
	struct names *keys, *names;  /* key to kv number, tensor name to tensor number */
	struct arena *arena;	     /* keys and names */
};

/* Parse a file, also a shard of a split model. Returns a struct gguf to release with gguf_free(),
 * or NULL with err set: EBADMSG malformed (err->offset is the first bad byte), ENOTSUP not
 * supported (big endian, a future version), EIO, ENOMEM. */
struct gguf *gguf_read(const struct source *source, struct error *err);

/* Parse a packed header: the source is a GGUF without tensor data, so that the bytes between and
 * after the tensors follow each other from data_offset on. Offsets and sizes are those of the whole
 * file. The size of the last tensor is unknown if its type is, and is set to 0. */
struct gguf *gguf_read_header(const struct source *source, struct error *err);
void gguf_free(struct gguf *gguf);

/* Find a key or tensor. Borrowed; NULL: not found. */
const struct kv *gguf_find(const struct gguf *gguf, const char *key);
const struct gguf_tensor *gguf_tensor(const struct gguf *gguf, const char *name, size_t length);

/* The value of an unsigned or signed integer entry, if it is not negative. */
bool kv_unsigned(const struct kv *kv, uint64_t *value);

/* The value of an F32 or F64 entry. */
bool kv_real(const struct kv *kv, double *value);

/* Size of a value of a scalar type in bytes; 0 for strings and arrays. */
uint32_t kv_type_size(enum kv_type type);

/* The specification's name of a type: "u32", "string", ... */
const char *kv_type_name(enum kv_type type);

#endif
