/* SPDX-License-Identifier: MIT */
/* fuzz_layout.c - any GGUF as a base, with grafts and metadata chosen by the last bytes: the
 * layout's pieces lie within their sources, and the assembled file has the chosen tensors and
 * keys. */
#include "fuzz_help.h"
#include "gguf/organ.h"
#include "tests/unit/render.h"

/* Number of last bytes that choose grafts. */
#define CHOICES ((size_t)16)

struct bench {
	struct gguf *base;
	const uint8_t *bytes; /* of the base */
	struct organ *organs;
	struct layout_slot *slots; /* array for layout_build(); one slot is added */
	uint32_t n;
	uint8_t **data; /* of each graft */
	struct layout_value *values;
	uint32_t n_values, n_removed, n_added;
	bool any;
};

/* Choose nothing, the same organ again, another type, another shape, or an emptied slot. */
static void choose(struct bench *b, uint32_t i, uint8_t choice)
{
	const struct gguf_tensor *t = &b->base->tensors[i];
	struct organ organ = organ_of_tensor(t);
	struct error err;

	if (choice == 4) {
		b->slots[i].fill = FILL_NOTHING;
		b->any = true;
	}
	if ((choice & 3) == 0)
		return;
	if ((choice & 3) == 2)
		organ.type = (choice >> 2) % GGML_TYPES;
	if ((choice & 3) == 3) {
		organ.dims = choice >> 6;
		for (uint32_t axis = 0; axis < GGML_AXES; axis++)
			organ.ne[axis] = axis < organ.dims ? (choice >> 2 & 15u) * 32u : 1;
	}
	if (type_find(organ.type) &&
	    type_size(organ.type, organ.ne, &organ.data_size) != TYPE_SIZE_OK)
		return;
	if (organ.data_size > RENDER_MAX || organ_fits(&organ, t, true, &err) < 0)
		return;
	b->organs[i] = organ;
	b->slots[i] = (struct layout_slot){ FILL_ORGAN, &b->organs[i] };
	b->data[i] = malloc(organ.data_size + 1);
	require(b->data[i] != NULL);
	memset(b->data[i], 0x80 + (int)(i & 127), organ.data_size);
	b->any = true;
}

/* Choose an organ for the last slot, which the base lacks, by the last byte. */
static void choose_added(struct bench *b, uint8_t choice)
{
	static const uint64_t ne[GGML_AXES] = { 32, 1, 1, 1 };
	struct organ *organ = &b->organs[b->n - 1];

	b->slots[b->n - 1].fill = FILL_NOTHING;
	if ((choice & 15) != 1)
		return;
	*organ = (struct organ){ .name = "added", .name_length = 5, .dims = 1, .data_size = 32 };
	memcpy(organ->ne, ne, sizeof(ne));
	organ->type = GGML_I8;
	b->slots[b->n - 1] = (struct layout_slot){ FILL_ORGAN, organ };
	b->data[b->n - 1] = malloc(32);
	require(b->data[b->n - 1] != NULL);
	memset(b->data[b->n - 1], 0x77, 32);
	b->any = true;
}

/* Choose to keep or remove an entry of the base, or to replace it by a string or an array. */
static void choose_value(struct bench *b, uint32_t kv, uint8_t choice)
{
	static const uint8_t bytes[] = "\3\0\0\0\0\0\0\0abc";
	struct layout_value value = { .kv = kv, .bytes = bytes, .length = sizeof(bytes) - 1 };

	if ((choice & 3) == 0)
		return;
	value.removed = (choice & 3) == 1;
	value.type = (choice & 3) == 2 ? KV_STRING : KV_ARRAY;
	value.element = KV_U8;
	value.count = sizeof(bytes) - 1;
	/* The base has to keep its alignment. */
	if (strcmp(b->base->kv[kv].key, "general.alignment") == 0)
		return;
	b->n_removed += value.removed;
	b->values[b->n_values++] = value;
	b->any = true;
}

/* Add keys that the base lacks. */
static void choose_keys(struct bench *b, uint8_t choice)
{
	static const char *const keys[] = { "zz.added", "aa.added" };

	for (uint32_t i = 0; i < 2; i++) {
		if (!(choice >> i & 1) || gguf_find(b->base, keys[i]))
			continue;
		b->n_added++;
		b->values[b->n_values++] = (struct layout_value){ .kv = b->base->n_kv,
								  .key = keys[i],
								  .key_length = 8,
								  .type = KV_STRING,
								  .bytes = (const uint8_t *)"new",
								  .length = 3 };
		b->any = true;
	}
}

/* Check entry i of the new file, the base's or a changed one. */
static void check_entry(const struct bench *b, const struct kv *is, const struct kv *was,
			const struct layout_value *value, const uint8_t *bytes)
{
	const uint8_t *from = value ? value->bytes : b->bytes + was->offset;
	const char *key = was ? was->key : value->key;

	require(is->key_length == (was ? was->key_length : value->key_length));
	require(memcmp(is->key, key, is->key_length) == 0);
	require(is->type == (value ? value->type : was->type));
	require(is->length == (value ? value->length : was->length));
	require(memcmp(bytes + is->offset, from, is->length) == 0);
}

static void check_metadata(const struct bench *b, const struct gguf *made, const uint8_t *bytes)
{
	const struct layout_value *value = b->values;
	uint32_t n = 0;

	require(made->n_kv == b->base->n_kv - b->n_removed + b->n_added);
	for (uint32_t i = 0; i < b->base->n_kv; i++) {
		const bool changed = value < b->values + b->n_values && value->kv == i;

		if (!changed || !value->removed)
			check_entry(b, &made->kv[n++], &b->base->kv[i], changed ? value : NULL,
				    bytes);
		value += changed;
	}
	/* choose_keys() adds keys in reverse order. */
	for (uint32_t i = 0; i < b->n_added; i++)
		check_entry(b, &made->kv[n++], NULL, &value[b->n_added - 1 - i], bytes);
}

static void check_tensor(const struct bench *b, uint32_t i, const struct gguf_tensor *is,
			 const uint8_t *bytes)
{
	const bool added = i == b->n - 1;
	const struct gguf_tensor *was = &b->base->tensors[i];
	const bool kept = b->slots[i].fill == FILL_BASE;
	const struct organ organ = kept ? organ_of_tensor(was) : *b->slots[i].organ;
	const uint8_t *from = kept ? b->bytes + was->offset : b->data[i];
	const char *name = added ? organ.name : was->name;

	require(is->name_length == (added ? organ.name_length : was->name_length));
	require(memcmp(is->name, name, is->name_length) == 0);
	require(is->type == organ.type && memcmp(is->ne, organ.ne, sizeof(is->ne)) == 0);
	/* The reader counts the padding to the next tensor as data of an unknown type. */
	require(type_find(is->type) ? is->size == organ.data_size : is->size >= organ.data_size);
	require(memcmp(bytes + is->offset, from, organ.data_size) == 0);
}

static void check_rendered(const struct bench *b, const struct layout *layout)
{
	uint8_t *bytes = render_layout(layout, b->bytes, (const uint8_t *const *)b->data);
	struct gguf *made = read_bytes(bytes, layout->size);
	uint32_t n = 0;

	/* The base may have a tensor of the added one's name. */
	if (!made && b->any && b->slots[b->n - 1].fill == FILL_ORGAN &&
	    gguf_tensor(b->base, "added", 5)) {
		free(bytes);
		return;
	}
	require(made != NULL);
	check_metadata(b, made, bytes);
	require(memcmp(bytes, b->bytes, 8) == 0);
	for (uint32_t i = 0; i < b->n; i++)
		if (b->slots[i].fill != FILL_NOTHING)
			check_tensor(b, i, &made->tensors[n++], bytes);
	require(n == made->n_tensors);
	if (!b->any)
		require(layout->size == b->base->size &&
			memcmp(bytes, b->bytes, layout->size) == 0);
	gguf_free(made);
	free(bytes);
}

static void plan(const struct bench *b)
{
	const struct layout_values values = { b->n_values, b->values };
	struct layout layout;
	struct error err;

	/* The chosen organs are small, so the file cannot be too large. */
	require(layout_build(b->base, b->slots, b->n, &values, &layout, &err) == 0);
	check_layout(&layout, b->base, b->slots, b->n);
	require(b->any || layout.n_pieces == 1);
	if (layout.size <= RENDER_MAX)
		check_rendered(b, &layout);
	layout_release(&layout);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bench b = { .base = read_bytes(data, size), .bytes = data };

	if (!b.base)
		return 0;
	b.n = b.base->n_tensors + 1u;
	b.organs = calloc(b.n, sizeof(*b.organs));
	b.slots = calloc(b.n, sizeof(*b.slots));
	b.data = calloc(b.n, sizeof(*b.data));
	b.values = calloc(b.base->n_kv + 2u, sizeof(*b.values));
	require(b.organs && b.slots && b.data && b.values);
	/* A base with short tensors is only planned as it is. */
	if (!has_short(b.base)) {
		for (uint32_t i = 0; i < b.base->n_tensors; i++)
			choose(&b, i, data[size - 1 - i % CHOICES]);
		choose_added(&b, data[size - 1]);
		for (uint32_t i = 0; i < b.base->n_kv; i++)
			choose_value(&b, i, data[size - 1 - i % CHOICES] >> 5);
		choose_keys(&b, data[size - 1] >> 5);
	} else {
		b.n--;
	}
	plan(&b);
	for (uint32_t i = 0; i < b.n; i++)
		free(b.data[i]);
	free(b.organs);
	free(b.values);
	free(b.slots);
	free(b.data);
	gguf_free(b.base);
	return 0;
}
