/* SPDX-License-Identifier: MIT */
/* fuzz_layout.c - any GGUF as a base, grafts as its last bytes choose: the layout's pieces lie
 * within what they are of, and the assembled file reads back as what went in. */
#include "tests/unit/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many of the last bytes choose grafts. */
#define CHOICES ((size_t)16)

/* Files of more are planned, but not rendered: an alignment may ask for gigabytes of padding. */
#define RENDER_MAX ((uint64_t)1 << 18)

struct bench {
	struct gguf *base;
	const uint8_t *bytes; /* of the base */
	struct organ *organs;
	struct layout_slot *slots; /* as layout_build() takes them; one is added */
	uint32_t n;
	uint8_t **data; /* of each graft */
	bool any;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct gguf *read_bytes(const uint8_t *bytes, size_t size)
{
	struct memory_bytes memory = { bytes, size };
	const struct source source = source_of_memory(&memory);
	struct error err;

	return gguf_read(&source, &err);
}

/* By choice nothing, the same again, another type, another shape, or the slot is emptied. */
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

/* The last slot: an organ that the base has not, by the last byte. */
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
	/* Of an unknown type the reader counts the padding to the next tensor too. */
	require(type_find(is->type) ? is->size == organ.data_size : is->size >= organ.data_size);
	require(memcmp(bytes + is->offset, from, organ.data_size) == 0);
}

static void check_rendered(const struct bench *b, const struct layout *layout)
{
	uint8_t *bytes = render_layout(layout, b->bytes, (const uint8_t *const *)b->data);
	struct gguf *made = read_bytes(bytes, layout->size);
	uint32_t n = 0;

	/* The base may have a tensor of the added one's name. */
	if (!made && b->slots[b->n - 1].fill == FILL_ORGAN && gguf_tensor(b->base, "added", 5)) {
		free(bytes);
		return;
	}
	require(made && made->n_kv == b->base->n_kv);
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
	struct layout layout;
	struct error err;

	/* What was chosen is small, so the file cannot be too large. */
	require(layout_build(b->base, b->slots, b->n, NULL, &layout, &err) == 0);
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
	require(b.organs && b.slots && b.data);
	for (uint32_t i = 0; i < b.base->n_tensors; i++)
		choose(&b, i, data[size - 1 - i % CHOICES]);
	choose_added(&b, data[size - 1]);
	plan(&b);
	for (uint32_t i = 0; i < b.n; i++)
		free(b.data[i]);
	free(b.organs);
	free(b.slots);
	free(b.data);
	gguf_free(b.base);
	return 0;
}
