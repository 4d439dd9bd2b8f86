/* SPDX-License-Identifier: MIT */
/* adapter.c - see adapter.h. */
#include "adapter.h"
#include "bytes.h"
#include "pair.h"
#include "reader.h"

#include <errno.h>
#include <stdlib.h>

#define VERSION	  3u
#define KEYS	  4u
#define SIZE_MOST ((uint64_t)INT64_MAX)

/* Writes the header, or if bytes is NULL only computes its size. */
struct header_writer {
	uint8_t *bytes;
	size_t n;
};

static void put(struct header_writer *w, const void *bytes, size_t n)
{
	if (w->bytes)
		store_bytes(w->bytes + w->n, bytes, n);
	w->n += n;
}

static void put_u32(struct header_writer *w, uint32_t value)
{
	uint8_t bytes[4];

	store_u32(bytes, value);
	put(w, bytes, sizeof(bytes));
}

static void put_u64(struct header_writer *w, uint64_t value)
{
	uint8_t bytes[8];

	store_u64(bytes, value);
	put(w, bytes, sizeof(bytes));
}

static void put_key(struct header_writer *w, const char *key, enum kv_type type)
{
	put_u64(w, strlen(key));
	put(w, key, strlen(key));
	put_u32(w, type);
}

static void put_string(struct header_writer *w, const char *key, const char *value, size_t length)
{
	put_key(w, key, KV_STRING);
	put_u64(w, length);
	put(w, value, length);
}

static void put_float(struct header_writer *w, const char *key, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	put_key(w, key, KV_F32);
	put_u32(w, bits);
}

static void put_info(struct header_writer *w, const struct organ *half, const char *ending,
		     uint64_t offset)
{
	put_u64(w, half->name_length + strlen(ending));
	put(w, half->name, half->name_length);
	put(w, ending, strlen(ending));
	put_u32(w, half->dims);
	for (uint32_t axis = 0; axis < half->dims; axis++)
		put_u64(w, half->ne[axis]);
	put_u32(w, half->type);
	put_u64(w, offset);
}

static float alpha_of(const struct adapter_target *targets, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (targets[i].rank != targets[0].rank)
			return 0;
	return n ? (float)targets[0].rank : 0;
}

/* Offsets of the places still count from the end of the header. */
static void write_header(const char *architecture, uint32_t length,
			 const struct adapter_target *targets, const struct adapter *adapter,
			 struct header_writer *w)
{
	w->n = 0;
	put(w, "GGUF", 4);
	put_u32(w, VERSION);
	put_u64(w, 2 * (uint64_t)adapter->n);
	put_u64(w, KEYS);
	put_string(w, "general.type", "adapter", strlen("adapter"));
	put_string(w, "general.architecture", architecture, length);
	put_string(w, "adapter.type", "lora", strlen("lora"));
	put_float(w, "adapter.lora.alpha", alpha_of(targets, adapter->n));
	for (uint32_t i = 0; i < adapter->n; i++) {
		struct organ a, b;

		pair_of_rank(&targets[i].organ, targets[i].rank, &a, &b);
		put_info(w, &a, ".lora_a", adapter->places[i].a);
		put_info(w, &b, ".lora_b", adapter->places[i].b);
	}
}

/* Set *offset to *at and move *at behind size bytes and their padding. */
static bool place(uint64_t *at, uint64_t size, uint64_t *offset)
{
	*offset = *at;
	return add_u64(*at, size, at) && align_u64(*at, ADAPTER_ALIGNMENT, at) && *at <= SIZE_MOST;
}

static bool place_all(const struct adapter_target *targets, struct adapter *adapter)
{
	for (uint32_t i = 0; i < adapter->n; i++) {
		struct adapter_place *to = &adapter->places[i];
		struct organ a, b;

		if (!pair_of_rank(&targets[i].organ, targets[i].rank, &a, &b) ||
		    !place(&adapter->size, a.data_size, &to->a) ||
		    !place(&adapter->size, b.data_size, &to->b))
			return false;
		to->a_size = a.data_size;
		to->b_size = b.data_size;
	}
	return true;
}

static int build(const char *architecture, uint32_t length, const struct adapter_target *targets,
		 struct adapter *adapter)
{
	struct header_writer w = { .bytes = NULL };
	uint64_t size;

	if (!place_all(targets, adapter))
		return -EOVERFLOW;
	write_header(architecture, length, targets, adapter, &w);
	if (!align_u64(w.n, ADAPTER_ALIGNMENT, &size) ||
	    !add_u64(adapter->size, size, &adapter->size) || adapter->size > SIZE_MOST)
		return -EOVERFLOW;
	adapter->header_size = (size_t)size;
	w.bytes = adapter->header = calloc(1, adapter->header_size);
	if (!w.bytes)
		return -ENOMEM;
	write_header(architecture, length, targets, adapter, &w);
	for (uint32_t i = 0; i < adapter->n; i++) {
		adapter->places[i].a += size;
		adapter->places[i].b += size;
	}
	return 0;
}

int adapter_build(const char *architecture, uint32_t length, const struct adapter_target *targets,
		  uint32_t n, struct adapter *adapter)
{
	int rc = -ENOMEM;

	*adapter = (struct adapter){ .n = n };
	adapter->places = calloc(n + 1u, sizeof(*adapter->places));
	if (adapter->places)
		rc = build(architecture, length, targets, adapter);
	if (rc < 0)
		adapter_release(adapter);
	return rc;
}

void adapter_release(struct adapter *adapter)
{
	free(adapter->header);
	free(adapter->places);
	*adapter = (struct adapter){ .n = 0 };
}
