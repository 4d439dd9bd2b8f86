/* SPDX-License-Identifier: MIT */
/* mkgguf.c - see mkgguf.h. */
#include "gguf/bytes.h"
#include "gguf/types.h"
#include "tests/unit/mkgguf.h"

#include <stdlib.h>

static void *grown(void *block, size_t n)
{
	void *bigger = realloc(block, n ? n : 1);

	if (!bigger)
		abort();
	return bigger;
}

/* Grow an array of n items of that size for one more, to a power of two. */
static void *grown_by_one(void *items, size_t n, size_t size)
{
	return n & (n - 1) ? items : grown(items, (2 * n + !n) * size);
}

uint8_t *mk_copy(const void *bytes, size_t n)
{
	uint8_t *copy = malloc(n);

	if (!copy && n)
		abort();
	store_bytes(copy, bytes, n);
	return copy;
}

size_t mk_width(uint32_t version)
{
	return version == 1 ? 4 : 8;
}

static void append(struct mkgguf *m, const void *bytes, size_t n)
{
	if (n > m->kvs_room - m->kvs_size) {
		m->kvs_room = 2 * (m->kvs_size + n);
		m->kvs = grown(m->kvs, m->kvs_room);
	}
	store_bytes(m->kvs + m->kvs_size, bytes, n);
	m->kvs_size += n;
}

static uint8_t *store_length(uint8_t *at, uint32_t version, uint64_t value)
{
	return version == 1 ? store_u32(at, (uint32_t)value) : store_u64(at, value);
}

static void append_length(struct mkgguf *m, uint64_t value)
{
	uint8_t bytes[8];

	append(m, bytes, (size_t)(store_length(bytes, m->version, value) - bytes));
}

static void append_u32(struct mkgguf *m, uint32_t value)
{
	uint8_t bytes[4];

	store_u32(bytes, value);
	append(m, bytes, sizeof(bytes));
}

struct mkgguf *mkgguf_new(uint32_t version)
{
	struct mkgguf *m = grown(NULL, sizeof(*m));

	*m = (struct mkgguf){ .version = version, .alignment = 32, .final_padding = true };
	return m;
}

static void begin_kv(struct mkgguf *m, const void *key, size_t key_length, uint32_t type)
{
	m->kv_starts = grown_by_one(m->kv_starts, m->n_kv, sizeof(*m->kv_starts));
	m->kv_starts[m->n_kv++] = m->kvs_size;
	append_length(m, key_length);
	append(m, key, key_length);
	append_u32(m, type);
}

void mkgguf_kv(struct mkgguf *m, const void *key, size_t key_length, uint32_t type,
	       const void *value, size_t n)
{
	begin_kv(m, key, key_length, type);
	append(m, value, n);
}

void mkgguf_kv_u32(struct mkgguf *m, const char *key, uint32_t value)
{
	begin_kv(m, key, strlen(key), 4);
	append_u32(m, value);
}

void mkgguf_kv_string(struct mkgguf *m, const char *key, const char *value)
{
	begin_kv(m, key, strlen(key), 8);
	append_length(m, strlen(value));
	append(m, value, strlen(value));
}

void mkgguf_kv_array(struct mkgguf *m, const char *key, uint32_t element, uint64_t count,
		     const void *elements, size_t n)
{
	begin_kv(m, key, strlen(key), 9);
	append_u32(m, element);
	append_length(m, count);
	append(m, elements, n);
}

void mkgguf_alignment(struct mkgguf *m, uint32_t alignment)
{
	mkgguf_kv_u32(m, "general.alignment", alignment);
	m->alignment = alignment;
}

struct mk_tensor *mkgguf_tensor(struct mkgguf *m, const char *name, uint32_t type, uint32_t dims,
				const uint64_t *ne)
{
	struct mk_tensor *t;

	if (dims > MK_AXES)
		abort();
	m->tensors = grown_by_one(m->tensors, m->n_tensors, sizeof(*m->tensors));
	t = &m->tensors[m->n_tensors++];
	*t = (struct mk_tensor){ name, strlen(name), dims,   { 1, 1, 1, 1, 1, 1, 1, 1 },
				 type, MK_AUTO,	     MK_AUTO };
	for (uint32_t i = 0; i < dims; i++)
		t->ne[i] = ne[i];
	return t;
}

static uint64_t padded(const struct mkgguf *m, uint64_t n)
{
	const uint64_t align = m->alignment ? m->alignment : 1;

	return (n + align - 1) / align * align;
}

static void settle_tensors(struct mkgguf *m)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < m->n_tensors; i++) {
		struct mk_tensor *t = &m->tensors[i];

		if (t->size == MK_AUTO && type_size(t->type, t->ne, &t->size) != TYPE_SIZE_OK)
			t->size = 64;
		if (t->offset == MK_AUTO)
			t->offset = end;
		end += padded(m, t->size);
	}
}

static size_t info_size(const struct mkgguf *m, const struct mk_tensor *t)
{
	return mk_width(m->version) * (1 + t->dims) + t->name_length + 4 + 4 + 8;
}

static uint8_t *store_info(const struct mkgguf *m, const struct mk_tensor *t, uint8_t *at)
{
	at = store_length(at, m->version, t->name_length);
	at = store_bytes(at, t->name, t->name_length);
	at = store_u32(at, t->dims);
	for (uint32_t i = 0; i < t->dims; i++)
		at = store_length(at, m->version, t->ne[i]);
	at = store_u32(at, t->type);
	return store_u64(at, t->offset);
}

uint8_t mk_byte(uint32_t tensor, size_t at)
{
	return (uint8_t)(1 + (tensor * 37 + at * 11 + (at >> 8)) % 255);
}

/* Compute all offsets. Data are written in the order of the infos, each tensor at the sum of the
 * padded sizes before it, even if its info differs. */
static void place(const struct mkgguf *m, struct mk_file *file)
{
	size_t at = 8 + 2 * mk_width(m->version);

	file->kv_at = grown(NULL, (m->n_kv + 1u) * sizeof(*file->kv_at));
	for (uint32_t i = 0; i < m->n_kv; i++)
		file->kv_at[i] = at + m->kv_starts[i];
	at += m->kvs_size;
	file->kv_at[m->n_kv] = at;
	file->info_at = grown(NULL, (m->n_tensors + 1u) * sizeof(*file->info_at));
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		file->info_at[i] = at;
		at += info_size(m, &m->tensors[i]);
	}
	file->info_at[m->n_tensors] = at;
	file->data_at = m->n_tensors ? (size_t)padded(m, at) : at;
	file->size = file->data_at;
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		const bool last = i + 1 == m->n_tensors && !m->final_padding;
		const uint64_t size = m->tensors[i].size;

		file->size += (size_t)(last ? size : padded(m, size));
	}
}

struct mk_file mkgguf_finish(struct mkgguf *m)
{
	struct mk_file file = { 0 };
	size_t data;
	uint8_t *at;

	settle_tensors(m);
	place(m, &file);
	file.bytes = calloc(1, file.size);
	if (!file.bytes)
		abort();
	at = store_bytes(file.bytes, "GGUF", 4);
	at = store_u32(at, m->version);
	at = store_length(at, m->version, m->n_tensors);
	at = store_length(at, m->version, m->n_kv);
	at = store_bytes(at, m->kvs, m->kvs_size);
	for (uint32_t i = 0; i < m->n_tensors; i++)
		at = store_info(m, &m->tensors[i], at);
	data = file.data_at;
	for (uint32_t i = 0; i < m->n_tensors; i++) {
		for (size_t j = 0; j < m->tensors[i].size; j++)
			file.bytes[data + j] = mk_byte(i, j);
		data += (size_t)padded(m, m->tensors[i].size);
	}
	free(m->tensors);
	free(m->kvs);
	free(m->kv_starts);
	free(m);
	return file;
}

void mk_file_free(struct mk_file *file)
{
	free(file->bytes);
	free(file->kv_at);
	free(file->info_at);
	*file = (struct mk_file){ 0 };
}

void mk_poke_u32(struct mk_file *file, size_t at, uint32_t value)
{
	if (file->size < 4 || at > file->size - 4)
		abort();
	store_u32(file->bytes + at, value);
}

void mk_poke_u64(struct mk_file *file, size_t at, uint64_t value)
{
	if (file->size < 8 || at > file->size - 8)
		abort();
	store_u64(file->bytes + at, value);
}

void mk_poke_length(struct mk_file *file, uint32_t version, size_t at, uint64_t value)
{
	if (version == 1)
		mk_poke_u32(file, at, (uint32_t)value);
	else
		mk_poke_u64(file, at, value);
}
