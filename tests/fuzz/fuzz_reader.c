/* SPDX-License-Identifier: MIT */
/* fuzz_reader.c - any bytes as a GGUF: refused with a place in the file, or parsed into a
 * consistent struct gguf. */
#include "fuzz_help.h"
#include "gguf/anatomy.h"
#include "gguf/reader.h"

#include <errno.h>
#include <string.h>

static void check_refusal(const struct error *err, size_t size)
{
	require(err->code == EBADMSG || err->code == ENOTSUP);
	require(err->offset <= size || err->offset == ERROR_NO_OFFSET);
	require(err->text[0] != '\0' && memchr(err->text, '\n', sizeof(err->text)) == NULL);
}

static void check_kv(const struct gguf *g, uint32_t i)
{
	const struct kv *kv = &g->kv[i];
	uint64_t value;

	require(kv->key_length > 0 && kv->key[kv->key_length] == '\0');
	require(kv->type < KV_TYPES && kv_type_name(kv->type) != NULL);
	if (kv->type == KV_STRING || kv->type == KV_ARRAY)
		require(kv->offset <= g->infos_offset &&
			kv->length <= g->infos_offset - kv->offset);
	if (kv->type == KV_ARRAY && kv->element != KV_STRING)
		require(kv->length == kv->count * kv_type_size(kv->element));
	if (strlen(kv->key) == kv->key_length)
		require(gguf_find(g, kv->key) == kv);
	kv_unsigned(kv, &value);
}

static void check_anatomy(const struct gguf_tensor *t)
{
	char name[ANATOMY_NAME_MAX + 1];

	require(anatomy_class(t->name, t->name_length) < CLASSES);
	require(anatomy_block(t->name, t->name_length) >= -1);
	for (int form = NAME_SHORT; form <= NAME_EXACT; form++) {
		anatomy_file_name(t->name, t->name_length, (enum anatomy_form)form, name);
		require(name[0] && name[0] != '.' && !strchr(name, '/'));
	}
}

static void check_tensor(const struct gguf *g, uint32_t i)
{
	const struct gguf_tensor *t = &g->tensors[i];
	uint64_t bytes;

	require(t->offset >= g->data_offset && t->offset <= g->size);
	require(t->size <= g->size - t->offset);
	require(t->dims <= GGML_AXES && t->name[t->name_length] == '\0');
	for (uint32_t axis = t->dims; axis < GGML_AXES; axis++)
		require(t->ne[axis] == 1);
	if (type_find(t->type))
		require(type_size(t->type, t->ne, &bytes) == TYPE_SIZE_OK && bytes == t->size);
	if (type_is_short(t->type))
		require(type_size(type_id(t->type), t->ne, &bytes) == TYPE_SIZE_OK &&
			bytes > t->size);
	require(gguf_tensor(g, t->name, t->name_length) == t);
	check_anatomy(t);
}

/* Check that no tensor that has bytes begins within another one, which would be short. */
static void check_apart(const struct gguf_tensor *before, const struct gguf_tensor *t)
{
	require(before->offset == t->offset || before->offset + before->size <= t->offset);
}

/* Check that order has each tensor once, by offset, and that overlap tells of shared bytes. */
static void check_order(const struct gguf *g)
{
	const struct gguf_tensor *before = NULL;
	bool *seen = calloc(g->n_tensors + 1u, sizeof(*seen));
	bool overlap = false;
	uint64_t start = 0, end = 0;

	require(seen != NULL);
	for (uint32_t i = 0; i < g->n_tensors; i++) {
		const struct gguf_tensor *t = &g->tensors[g->order[i]];

		require(g->order[i] < g->n_tensors && !seen[g->order[i]]);
		seen[g->order[i]] = true;
		require(t->offset >= start);
		start = t->offset;
		if (before && t->size)
			check_apart(before, t);
		before = t->size ? t : before;
		if (t->size && t->offset < end)
			overlap = true;
		if (t->offset + t->size > end)
			end = t->offset + t->size;
	}
	require(g->overlap == overlap);
	free(seen);
}

static void check_gguf(const struct gguf *g, size_t size)
{
	require(g->version >= 1 && g->version <= 3 && g->size == size);
	require(g->alignment && !(g->alignment & (g->alignment - 1)));
	require(g->infos_offset <= g->infos_end && g->infos_end <= g->data_offset);
	require(g->infos_end <= size);
	if (g->n_tensors)
		require(g->data_offset % g->alignment == 0);
	for (uint32_t i = 0; i < g->n_kv; i++)
		check_kv(g, i);
	for (uint32_t i = 0; i < g->n_tensors; i++)
		check_tensor(g, i);
	check_order(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_bytes memory = { data, size };
	const struct source source = source_of_memory(&memory);
	struct error err = { 0 };
	struct gguf *g = gguf_read(&source, &err);

	if (g)
		check_gguf(g, size);
	else
		check_refusal(&err, size);
	gguf_free(g);
	return 0;
}
