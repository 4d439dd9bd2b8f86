/* SPDX-License-Identifier: MIT */
/* mkgguf.h - GGUF files built in memory for tests: valid ones, and ones broken at a chosen place.
 * The offsets of all parts are recorded, so that a test can name the byte of an error. A failed
 * allocation aborts. */
#ifndef TESTS_UNIT_MKGGUF_H
#define TESTS_UNIT_MKGGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In struct mk_tensor: compute the value. */
#define MK_AUTO UINT64_MAX

/* More axes than a tensor may have, for broken files. */
#define MK_AXES 8

/* A tensor to write. Every field may be changed until mkgguf_finish(). */
struct mk_tensor {
	const void *name; /* borrowed */
	size_t name_length;
	uint32_t dims;
	uint64_t ne[MK_AXES];
	uint32_t type;
	uint64_t offset; /* in the info; MK_AUTO: the sum of the padded sizes before */
	uint64_t size;	 /* bytes of data to write; MK_AUTO: by type and shape */
};

struct mkgguf {
	uint32_t version;
	uint32_t alignment;
	bool final_padding; /* pad after the last tensor; true unless changed */
	struct mk_tensor *tensors;
	uint32_t n_tensors, n_kv;
	uint8_t *kvs; /* metadata as written */
	size_t kvs_size, kvs_room;
	size_t *kv_starts; /* start of each entry in kvs */
};

/* The finished file. */
struct mk_file {
	uint8_t *bytes; /* exactly size bytes, for ASan */
	size_t size;
	size_t *kv_at;	 /* begin of each metadata entry, and the end of the last one */
	size_t *info_at; /* begin of each tensor info, and the end of the last one */
	size_t data_at;	 /* base of the tensor offsets */
};

struct mkgguf *mkgguf_new(uint32_t version);

/* Add a metadata entry; value: the bytes behind the type id. */
void mkgguf_kv(struct mkgguf *m, const void *key, size_t key_length, uint32_t type,
	       const void *value, size_t n);
void mkgguf_kv_u32(struct mkgguf *m, const char *key, uint32_t value);
void mkgguf_kv_string(struct mkgguf *m, const char *key, const char *value);
/* Add an array; elements: n bytes, behind element type and count. */
void mkgguf_kv_array(struct mkgguf *m, const char *key, uint32_t element, uint64_t count,
		     const void *elements, size_t n);

/* Set general.alignment and the alignment of the file. */
void mkgguf_alignment(struct mkgguf *m, uint32_t alignment);

/* Append a tensor; the result is valid until the next one is appended. The size of an unknown type
 * is 64 bytes unless set. */
struct mk_tensor *mkgguf_tensor(struct mkgguf *m, const char *name, uint32_t type, uint32_t dims,
				const uint64_t *ne);

/* Make the file, and free the builder. */
struct mk_file mkgguf_finish(struct mkgguf *m);
void mk_file_free(struct mk_file *file);

/* Byte of tensor number i at offset at. */
uint8_t mk_byte(uint32_t tensor, size_t at);

/* Bytes of a length field: 8, in version 1 four. */
size_t mk_width(uint32_t version);
void mk_poke_u32(struct mk_file *file, size_t at, uint32_t value);
void mk_poke_u64(struct mk_file *file, size_t at, uint64_t value);
void mk_poke_length(struct mk_file *file, uint32_t version, size_t at, uint64_t value);

/* A copy of n bytes in a block of exactly that size. */
uint8_t *mk_copy(const void *bytes, size_t n);

#endif
