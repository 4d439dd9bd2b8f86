/* SPDX-License-Identifier: MIT */
/* reader.h - one GGUF file, parsed: metadata and tensor infos. Never reads tensor bytes.
 * Source: the GGUF specification (ggml docs/gguf.md) and what llama.cpp's reader does where the
 * specification is silent; version 1 after the reader of August 2023. */
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

/* One metadata entry. Scalars are here; a string's or array's bytes stay in the file. */
struct kv {
	const char *key; /* borrowed from the struct gguf; NUL-terminated, may hold NULs */
	uint32_t key_length;
	enum kv_type type;
	enum kv_type element; /* of an array */
	uint64_t count;	      /* elements of an array */
	uint64_t scalar;      /* the value's little-endian bytes, zero-extended */
	uint64_t offset;      /* first byte of the value; of a string or array after its lengths */
	uint64_t length;      /* bytes from there to its end */
};

/* A tensor as its file describes it. Shape is ggml's ne, fastest axis first; unused axes are 1. */
struct gguf_tensor {
	const char *name; /* borrowed from the struct gguf; NUL-terminated, may hold NULs */
	uint32_t name_length;
	uint32_t dims; /* axes as the file counts them, 0 to 4 */
	uint64_t ne[GGML_AXES];
	uint32_t type;	 /* ggml type id; unknown ids are kept (type_find() says NULL), and those of
			    short tensors marked (type_is_short()) */
	uint64_t info;	 /* where the file describes it, bytes */
	uint64_t offset; /* of its data, bytes from the start of the file */
	uint64_t size;	 /* bytes; of an unknown type and a short tensor those up to the next one */
};

/* A parsed file. Immutable once made; any thread may read it. */
struct gguf {
	uint32_t version; /* 1, 2 or 3 */
	uint32_t alignment;
	uint64_t size;	       /* of the file */
	uint64_t infos_offset; /* first byte after the metadata: the tensor infos */
	uint64_t infos_end;    /* first byte after the tensor infos */
	uint64_t data_offset;  /* what tensor offsets count from */
	uint32_t n_kv, n_tensors;
	struct kv *kv;
	struct gguf_tensor *tensors; /* in file order of the infos */
	uint32_t *order;	     /* tensor numbers by offset in the file */
	bool overlap;		     /* some tensors share bytes */
	struct names *keys, *names;  /* key to kv number, tensor name to tensor number */
	struct arena *arena;	     /* keys and names */
};

/* Parse a file. Returns a struct gguf to release with gguf_free(), or NULL with err set: EBADMSG
 * malformed (err->offset is the first bad byte), ENOTSUP a kind of file that is not read (big
 * endian, a version to come), EIO, ENOMEM. Works for a shard of a split model too. */
struct gguf *gguf_read(const struct source *source, struct error *err);

/* The same for a header alone: the source is a GGUF without the bytes of its tensors, so that the
 * bytes between and after them follow one another from data_offset on. Offsets and size are those
 * of the whole file. Of a tensor of an unknown type that no other follows the size cannot be known,
 * and counts as 0. */
struct gguf *gguf_read_header(const struct source *source, struct error *err);
void gguf_free(struct gguf *gguf);

/* NULL where there is no such key or tensor. Borrowed. */
const struct kv *gguf_find(const struct gguf *gguf, const char *key);
const struct gguf_tensor *gguf_tensor(const struct gguf *gguf, const char *name, size_t length);

/* The value of an unsigned or signed integer entry, if it is not negative. */
bool kv_unsigned(const struct kv *kv, uint64_t *value);

/* The value of an F32 or F64 entry. */
bool kv_real(const struct kv *kv, double *value);

/* Bytes that one element of a scalar type takes; 0 for strings and arrays. */
uint32_t kv_type_size(enum kv_type type);

/* "u32", "string", ... as the specification names the types. */
const char *kv_type_name(enum kv_type type);

#endif
