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
	const struct organ **grafts; /* as layout_build() takes them */
	uint8_t **data;		     /* of each graft */
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

/* By choice nothing, the same again, another type, or another shape. */
static void choose(struct bench *b, uint32_t i, uint8_t choice)
{
	const struct gguf_tensor *t = &b->base->tensors[i];
	struct organ organ = organ_of_tensor(t);
	struct error err;

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
	b->grafts[i] = &b->organs[i];
	b->data[i] = malloc(organ.data_size + 1);
	require(b->data[i] != NULL);
	memset(b->data[i], 0x80 + (int)(i & 127), organ.data_size);
	b->any = true;
}

static void check_tensor(const struct bench *b, uint32_t i, const struct gguf *made,
			 const uint8_t *bytes)
{
	const struct gguf_tensor *was = &b->base->tensors[i], *is = &made->tensors[i];
	const struct organ organ = b->grafts[i] ? *b->grafts[i] : organ_of_tensor(was);
	const uint8_t *from = b->grafts[i] ? b->data[i] : b->bytes + was->offset;

	require(is->name_length == was->name_length);
	require(memcmp(is->name, was->name, was->name_length) == 0);
	require(is->type == organ.type && memcmp(is->ne, organ.ne, sizeof(is->ne)) == 0);
	/* Of an unknown type the reader counts the padding to the next tensor too. */
	require(type_find(is->type) ? is->size == organ.data_size : is->size >= organ.data_size);
	require(memcmp(bytes + is->offset, from, organ.data_size) == 0);
}

static void check_rendered(const struct bench *b, const struct layout *layout)
{
	uint8_t *bytes = render_layout(layout, b->bytes, (const uint8_t *const *)b->data);
	struct gguf *made = read_bytes(bytes, layout->size);

	require(made && made->n_tensors == b->base->n_tensors && made->n_kv == b->base->n_kv);
	require(memcmp(bytes, b->bytes, b->base->infos_offset) == 0);
	for (uint32_t i = 0; i < made->n_tensors; i++)
		check_tensor(b, i, made, bytes);
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
	require(layout_build(b->base, b->grafts, &layout, &err) == 0);
	check_layout(&layout, b->base, b->grafts);
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
	b.organs = calloc(b.base->n_tensors + 1u, sizeof(*b.organs));
	b.grafts = calloc(b.base->n_tensors + 1u, sizeof(*b.grafts));
	b.data = calloc(b.base->n_tensors + 1u, sizeof(*b.data));
	require(b.organs && b.grafts && b.data);
	for (uint32_t i = 0; i < b.base->n_tensors; i++)
		choose(&b, i, data[size - 1 - i % CHOICES]);
	plan(&b);
	for (uint32_t i = 0; i < b.base->n_tensors; i++)
		free(b.data[i]);
	free(b.organs);
	free(b.grafts);
	free(b.data);
	gguf_free(b.base);
	return 0;
}
