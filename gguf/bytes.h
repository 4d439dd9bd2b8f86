/* SPDX-License-Identifier: MIT */
/* bytes.h - little-endian loads and stores, and arithmetic that cannot wrap unnoticed. */
#ifndef GGUF_BYTES_H
#define GGUF_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_u16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t load_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t load_u64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* The stores return a pointer to the byte after the stored ones. */
static inline uint8_t *store_u32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *store_u64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *store_bytes(uint8_t *p, const void *bytes, size_t n)
{
	if (n)
		memcpy(p, bytes, n);
	return p + n;
}

/* Set *out to a + b, a * b, or a rounded up to a multiple of align, a power of two. False, with
 * *out unspecified, on overflow. */
__attribute__((warn_unused_result)) static inline bool add_u64(uint64_t a, uint64_t b,
							       uint64_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

__attribute__((warn_unused_result)) static inline bool mul_u64(uint64_t a, uint64_t b,
							       uint64_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

__attribute__((warn_unused_result)) static inline bool align_u64(uint64_t a, uint64_t align,
								 uint64_t *out)
{
	if (!add_u64(a, align - 1, out))
		return false;
	*out &= ~(align - 1);
	return true;
}

#endif
