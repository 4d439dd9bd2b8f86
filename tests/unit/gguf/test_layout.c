/* SPDX-License-Identifier: MIT */
/* test_layout.c - gguf/layout.c: the assembled file, piece by piece and byte by byte. Every layout
 * is rendered in memory, read again and compared tensor by tensor. */
#include "gguf/organ.h"
#include "tests/unit/gguf_bytes.h"
#include "tests/unit/render.h"

#define ADDED_MOST 4u

/* A base, its grafts, and the resulting file. */
struct bench {
	struct mk_file file;
	struct gguf *base;
	struct organ *organs;
	struct layout_slot *slots; /* array for layout_build() */
	uint32_t n;
	uint8_t **data; /* of each graft */
	struct layout layout;
	uint8_t *bytes; /* rendered layout */
	struct gguf *read;
};

static struct bench bench_of(struct mkgguf *m)
{
	struct bench b = { .file = mkgguf_finish(m) };

	b.base = read_bytes(b.file.bytes, b.file.size);
	b.n = b.base->n_tensors;
	b.organs = calloc(b.n + ADDED_MOST, sizeof(*b.organs));
	b.slots = calloc(b.n + ADDED_MOST, sizeof(*b.slots));
	b.data = calloc(b.n + ADDED_MOST, sizeof(*b.data));
	assert_true(b.organs && b.slots && b.data);
	return b;
}

/* Fill a slot with an organ of this type and shape; its bytes differ from the base's. */
static void graft(struct bench *b, uint32_t slot, uint32_t type, uint32_t dims,
		  const uint64_t ne[GGML_AXES])
{
	struct organ *organ = &b->organs[slot];

	*organ = organ_of_tensor(&b->base->tensors[slot]);
	/* The slot's name counts, not the organ's. */
	organ->name = "donor";
	organ->name_length = 5;
	organ->type = type;
	organ->dims = dims;
	memcpy(organ->ne, ne, sizeof(organ->ne));
	if (type_find(type))
		assert_int_equal(type_size(type, ne, &organ->data_size), TYPE_SIZE_OK);
	b->slots[slot] = (struct layout_slot){ FILL_ORGAN, organ };
	b->data[slot] = malloc(to_size(organ->data_size));
	assert_true(b->data[slot] || !organ->data_size);
	for (size_t i = 0; i < organ->data_size; i++)
		b->data[slot][i] = mk_byte(slot + 100, i);
}

/* Graft other bytes of the same type and shape. */
static void graft_same(struct bench *b, uint32_t slot)
{
	const struct gguf_tensor *t = &b->base->tensors[slot];

	graft(b, slot, t->type, t->dims, t->ne);
}

/* Add a slot that the base lacks. */
static void add(struct bench *b, const char *name)
{
	static const uint64_t ne[GGML_AXES] = { 7, 1, 1, 1 };
	struct organ *organ = &b->organs[b->n];

	*organ = (struct organ){ .name = name,
				 .name_length = (uint32_t)strlen(name),
				 .dims = 1,
				 .type = GGML_I8,
				 .data_size = 7 };
	memcpy(organ->ne, ne, sizeof(ne));
	b->data[b->n] = mk_copy("content", 7);
	b->slots[b->n++] = (struct layout_slot){ FILL_ORGAN, organ };
}

static bool is_kept(const struct bench *b, uint32_t i)
{
	return b->slots[i].fill == FILL_BASE;
}

static void check_tensor(const struct bench *b, uint32_t i, const struct gguf_tensor *is)
{
	const struct gguf_tensor *was = &b->base->tensors[i];
	const struct organ organ = is_kept(b, i) ? organ_of_tensor(was) : *b->slots[i].organ;
	const bool added = i >= b->base->n_tensors;

	assert_int_equal(is->name_length, added ? organ.name_length : was->name_length);
	assert_memory_equal(is->name, added ? organ.name : was->name, is->name_length);
	assert_int_equal(is->type, organ.type);
	assert_memory_equal(is->ne, organ.ne, sizeof(is->ne));
	/* For an unknown type the reader counts the padding to the next tensor too. */
	if (type_find(is->type))
		assert_int_equal(is->size, organ.data_size);
	assert_true(is->size >= organ.data_size);
	assert_memory_equal(b->bytes + is->offset,
			    is_kept(b, i) ? b->file.bytes + was->offset : b->data[i],
			    to_size(organ.data_size));
}

/* Build a layout, check its pieces, render it, read it again and compare all tensors. Added slots
 * are in the order of their names. */
static void assemble(struct bench *b)
{
	struct error err = { 0 };
	uint32_t n = 0;

	if (layout_build(b->base, b->slots, b->n, NULL, &b->layout, &err) < 0)
		fail_msg("%s", err.text);
	check_layout(&b->layout, b->base, b->slots, b->n);
	b->bytes = render_layout(&b->layout, b->file.bytes, (const uint8_t *const *)b->data);
	b->read = read_bytes(b->bytes, to_size(b->layout.size));
	assert_int_equal(b->read->version, b->base->version);
	assert_int_equal(b->read->n_kv, b->base->n_kv);
	if (b->read->n_tensors)
		assert_int_equal(b->layout.data_offset, b->read->data_offset);
	assert_int_equal(b->read->infos_offset, b->base->infos_offset);
	for (uint32_t i = 0; i < b->n; i++)
		if (b->slots[i].fill != FILL_NOTHING)
			check_tensor(b, i, &b->read->tensors[n++]);
	assert_int_equal(b->read->n_tensors, n);
	/* Except for the number of tensors, the metadata are the base's. */
	if (n == b->base->n_tensors)
		assert_memory_equal(b->bytes, b->file.bytes, to_size(b->base->infos_offset));
	else
		assert_memory_equal(b->bytes + 16, b->file.bytes + 16,
				    to_size(b->base->infos_offset - 16));
}

static void finish(struct bench *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		free(b->data[i]);
	layout_release(&b->layout);
	assert_null(b->layout.pieces);
	gguf_free(b->base);
	gguf_free(b->read);
	free(b->bytes);
	free(b->organs);
	free(b->slots);
	free(b->data);
	mk_file_free(&b->file);
}

/* Check llama.cpp's conditions on a file that was laid out anew. */
static void assert_laid_out_anew(const struct bench *b)
{
	const uint64_t align = b->base->alignment;
	uint64_t end = b->read->infos_end;

	end = (end + align - 1) / align * align;
	assert_int_equal(b->read->data_offset, end);
	for (uint32_t i = 0, n = 0; i < b->n; i++) {
		const uint64_t size = b->slots[i].fill == FILL_NOTHING ? 0
				      : is_kept(b, i)		       ? b->base->tensors[i].size
						      : b->slots[i].organ->data_size;
		uint64_t next = (end + size + align - 1) / align * align;

		if (b->slots[i].fill == FILL_NOTHING)
			continue;
		assert_int_equal(b->read->tensors[n++].offset, end);
		for (end += size; end < next; end++)
			assert_int_equal(b->bytes[end], 0);
	}
	assert_int_equal(b->layout.size, end);
}

/* Check that all bytes except the grafts' are the base's. */
static void assert_rest_unchanged(const struct bench *b)
{
	uint8_t *expected = mk_copy(b->file.bytes, b->file.size);

	for (uint32_t i = 0; i < b->base->n_tensors; i++)
		if (!is_kept(b, i))
			store_bytes(expected + b->base->tensors[i].offset, b->data[i],
				    to_size(b->base->tensors[i].size));
	assert_int_equal(b->layout.size, b->file.size);
	assert_memory_equal(b->bytes, expected, b->file.size);
	free(expected);
}

static const uint64_t ne_a[GGML_AXES] = { 32, 3, 1, 1 };
static const uint64_t ne_b[GGML_AXES] = { 5, 1, 1, 1 };
static const uint64_t ne_c[GGML_AXES] = { 256, 2, 1, 1 };

/* Four tensors: F32 32x3, I8 5, Q4_K 256x2, F32 scalar. */
static struct mkgguf *four_tensors(uint32_t version)
{
	struct mkgguf *m = mkgguf_new(version);

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "a", GGML_F32, 2, ne_a);
	mkgguf_tensor(m, "b", GGML_I8, 1, ne_b);
	mkgguf_tensor(m, "c", GGML_Q4_K, 2, ne_c);
	mkgguf_tensor(m, "d", GGML_F32, 0, NULL);
	return m;
}

static void without_grafts_layout_is_the_base_in_one_piece(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct bench b = bench_of(four_tensors(version));

		assemble(&b);
		assert_int_equal(b.layout.n_pieces, 1);
		assert_int_equal(b.layout.pieces[0].kind, PIECE_BASE);
		assert_int_equal(b.layout.header_size, 0);
		assert_rest_unchanged(&b);
		finish(&b);
	}
}

static void a_file_without_tensors_is_itself(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct bench b;

	(void)state;
	mkgguf_kv_string(m, "general.architecture", "llama");
	b = bench_of(m);
	assemble(&b);
	assert_rest_unchanged(&b);
	finish(&b);
}

static void bytes_after_the_last_tensor_are_kept(void **state)
{
	struct mkgguf *m = four_tensors(3);
	struct bench b;

	(void)state;
	mkgguf_tensor(m, "tail", GGML_I8, 1, ne_b)->size = 1000;
	b = bench_of(m);
	graft_same(&b, 1);
	assemble(&b);
	assert_rest_unchanged(&b);
	finish(&b);
}

static void a_graft_of_the_same_type_leaves_every_other_byte(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++)
		for (uint32_t chosen = 1; chosen < 16; chosen++) {
			struct bench b = bench_of(four_tensors(version));

			for (uint32_t i = 0; i < 4; i++)
				if (chosen >> i & 1)
					graft_same(&b, i);
			assemble(&b);
			assert_rest_unchanged(&b);
			assert_int_equal(b.layout.header_size, 0);
			finish(&b);
		}
}

static void a_type_of_the_same_size_changes_its_info_only(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct bench b = bench_of(four_tensors(version));
		const size_t type_at = b.file.info_at[1] - 12;

		graft(&b, 0, GGML_I32, 2, ne_a);
		assemble(&b);
		assert_int_equal(load_u32(b.bytes + type_at), GGML_I32);
		/* Only the graft's bytes differ once the type number is put back. */
		store_u32(b.bytes + type_at, GGML_F32);
		assert_rest_unchanged(&b);
		finish(&b);
	}
}

static void graft_of_another_size_moves_later_tensors(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct bench b = bench_of(four_tensors(version));

		graft(&b, 0, GGML_Q4_0, 2, ne_a);
		graft(&b, 2, GGML_F32, 2, ne_c);
		assemble(&b);
		assert_laid_out_anew(&b);
		finish(&b);
	}
}

static void every_alignment_is_kept(void **state)
{
	static const uint32_t alignments[] = { 1, 2, 8, 32, 64, 4096, 1u << 20 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(alignments); i++) {
		struct mkgguf *m = four_tensors(3);
		struct bench b;

		mkgguf_alignment(m, alignments[i]);
		b = bench_of(m);
		graft(&b, 1, GGML_F16, 1, ne_b);
		assemble(&b);
		assert_laid_out_anew(&b);
		finish(&b);
	}
}

static void the_last_tensor_is_padded_even_where_the_base_did_not(void **state)
{
	struct mkgguf *m = four_tensors(3);
	struct bench b;

	(void)state;
	m->final_padding = false;
	b = bench_of(m);
	assert_int_not_equal(b.file.size % 32, 0);
	graft(&b, 0, GGML_F16, 2, ne_a);
	assemble(&b);
	assert_int_equal(b.layout.size % 32, 0);
	assert_laid_out_anew(&b);
	finish(&b);
}

static void an_unpadded_end_stays_unpadded_where_no_size_changes(void **state)
{
	struct mkgguf *m = four_tensors(3);
	struct bench b;

	(void)state;
	m->final_padding = false;
	b = bench_of(m);
	graft_same(&b, 3);
	assemble(&b);
	assert_rest_unchanged(&b);
	finish(&b);
}

static void axes_of_one_are_kept_as_the_base_counts_them(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 32, 1, 1, 1 };
	struct mkgguf *m = four_tensors(3);
	struct bench b;

	(void)state;
	mkgguf_tensor(m, "ones", GGML_F32, 4, ne);
	b = bench_of(m);
	graft(&b, 4, GGML_I32, 1, ne);
	graft(&b, 0, GGML_Q8_0, 2, ne_a);
	assemble(&b);
	assert_int_equal(b.read->tensors[4].dims, 4);
	assert_laid_out_anew(&b);
	finish(&b);
}

static void a_graft_with_more_axes_gets_them(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 1, 1, 5, 1 };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct bench b = bench_of(four_tensors(version));

		graft(&b, 1, GGML_I8, 4, ne);
		assemble(&b);
		assert_int_equal(b.read->tensors[1].dims, 3);
		assert_laid_out_anew(&b);
		finish(&b);
	}
}

static void another_shape_of_the_same_size_and_axes_stays_in_place(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 3, 32, 1, 1 };
	struct bench b = bench_of(four_tensors(3));

	(void)state;
	graft(&b, 0, GGML_F32, 2, ne);
	assemble(&b);
	assert_int_equal(b.layout.size, b.file.size);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(b.read->tensors[i].offset, b.base->tensors[i].offset);
	finish(&b);
}

static void a_graft_of_no_bytes_takes_none(void **state)
{
	static const uint64_t empty[GGML_AXES] = { 32, 0, 1, 1 };

	(void)state;
	for (uint32_t slot = 0; slot < 4; slot++) {
		struct bench b = bench_of(four_tensors(3));

		graft(&b, slot, GGML_F32, 2, empty);
		assemble(&b);
		assert_laid_out_anew(&b);
		finish(&b);
	}
}

static void a_slot_of_no_bytes_can_be_grafted(void **state)
{
	static const uint64_t empty[GGML_AXES] = { 0, 3, 1, 1 };

	(void)state;
	for (int filled = 0; filled < 2; filled++) {
		struct mkgguf *m = four_tensors(3);
		struct bench b;

		mkgguf_tensor(m, "empty", GGML_F32, 2, empty);
		mkgguf_tensor(m, "last", GGML_F32, 2, ne_a);
		b = bench_of(m);
		graft(&b, 4, GGML_F32, 2, filled ? ne_a : empty);
		graft_same(&b, 5);
		assemble(&b);
		if (filled)
			assert_laid_out_anew(&b);
		else
			assert_rest_unchanged(&b);
		finish(&b);
	}
}

/* The infos are b, a, d, c, the data a, b, c, d, with a gap. */
static void tensors_out_of_order_stay_where_they_are(void **state)
{
	static const uint64_t offsets[] = { 512, 0, 1120, 800 };

	(void)state;
	for (uint32_t chosen = 0; chosen < 16; chosen++) {
		struct mkgguf *m = mkgguf_new(3);
		struct bench b;

		for (uint32_t i = 0; i < 4; i++)
			mkgguf_tensor(m, &"b\0a\0d\0c"[2 * i], GGML_I8, 2, ne_a)->offset =
				offsets[i];
		m->tensors[3].size = 2000;
		b = bench_of(m);
		for (uint32_t i = 0; i < 4; i++)
			if (chosen >> i & 1)
				graft_same(&b, i);
		assemble(&b);
		assert_rest_unchanged(&b);
		finish(&b);
	}
}

static void tensors_out_of_order_are_put_in_order_where_sizes_change(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct bench b;

	(void)state;
	mkgguf_tensor(m, "second", GGML_I8, 2, ne_a)->offset = 96;
	mkgguf_tensor(m, "first", GGML_I8, 2, ne_a)->offset = 0;
	b = bench_of(m);
	graft(&b, 0, GGML_F16, 2, ne_a);
	assemble(&b);
	assert_laid_out_anew(&b);
	finish(&b);
}

static void tensors_that_share_bytes_are_laid_apart(void **state)
{
	(void)state;
	for (uint32_t slot = 0; slot < 3; slot++) {
		struct mkgguf *m = mkgguf_new(3);
		struct bench b;

		mkgguf_tensor(m, "one", GGML_I8, 2, ne_a)->offset = 0;
		mkgguf_tensor(m, "same", GGML_I8, 2, ne_a)->offset = 0;
		mkgguf_tensor(m, "half", GGML_I8, 2, ne_a)->offset = 32;
		b = bench_of(m);
		assert_true(b.base->overlap);
		graft_same(&b, slot);
		assemble(&b);
		assert_false(b.read->overlap);
		assert_laid_out_anew(&b);
		finish(&b);
	}
}

static void shared_bytes_without_a_graft_stay_shared(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct bench b;

	(void)state;
	mkgguf_tensor(m, "one", GGML_I8, 2, ne_a)->offset = 0;
	mkgguf_tensor(m, "same", GGML_I8, 2, ne_a)->offset = 0;
	b = bench_of(m);
	assemble(&b);
	assert_rest_unchanged(&b);
	finish(&b);
}

static void an_unknown_type_is_carried_along(void **state)
{
	struct mkgguf *m = four_tensors(3);
	struct bench b;

	(void)state;
	mkgguf_tensor(m, "opaque", 97, 2, ne_a)->size = 50;
	mkgguf_tensor(m, "after", GGML_F32, 2, ne_a);
	b = bench_of(m);
	assert_int_equal(b.base->tensors[4].size, 64);
	graft_same(&b, 4);
	graft(&b, 0, GGML_F16, 2, ne_a);
	assemble(&b);
	assert_laid_out_anew(&b);
	finish(&b);
}

static void a_header_that_ends_on_the_alignment_gets_no_padding(void **state)
{
	unsigned exact = 0;

	(void)state;
	for (size_t n = 0; n < 32; n++) {
		struct mkgguf *m = mkgguf_new(3);
		char value[33] = "";
		struct bench b;

		memset(value, 'x', n);
		mkgguf_kv_string(m, "k", value);
		mkgguf_tensor(m, "a", GGML_F32, 2, ne_a);
		mkgguf_tensor(m, "b", GGML_F32, 2, ne_a);
		b = bench_of(m);
		graft(&b, 0, GGML_Q8_0, 2, ne_a);
		assemble(&b);
		assert_laid_out_anew(&b);
		exact += b.read->infos_end == b.read->data_offset;
		finish(&b);
	}
	assert_int_equal(exact, 1);
}

/* Check a refusal that leaves nothing to release. */
static void assert_too_large(struct bench *b)
{
	struct error err = { 0 };

	assert_refused(layout_build(b->base, b->slots, b->n, NULL, &b->layout, &err), &err,
		       EOVERFLOW, ERROR_NO_OFFSET);
	assert_null(b->layout.pieces);
	assert_null(b->layout.header);
}

static void a_file_beyond_all_bounds_is_refused(void **state)
{
	static const uint64_t sizes[] = { INT64_MAX, 1ull << 62 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct bench b = bench_of(four_tensors(3));
		const struct organ huge = { .name = "x",
					    .name_length = 1,
					    .dims = 1,
					    .ne = { sizes[i], 1, 1, 1 },
					    .type = GGML_I8,
					    .data_size = sizes[i] };

		for (uint32_t slot = 0; slot < 4; slot++)
			b.slots[slot] = (struct layout_slot){ FILL_ORGAN, &huge };
		assert_too_large(&b);
		finish(&b);
	}
}

/* Version 1 writes an axis in 32 bits. With shape=any a graft may exceed that; the layout refuses
 * it instead of cutting it. */
static void an_axis_too_long_for_version_1_is_refused(void **state)
{
	struct bench b = bench_of(four_tensors(1));
	const struct organ tall = { .name = "x",
				    .name_length = 1,
				    .dims = 2,
				    .ne = { 0, (1ull << 32) + 1, 1, 1 },
				    .type = GGML_F32 };

	(void)state;
	b.slots[0] = (struct layout_slot){ FILL_ORGAN, &tall };
	assert_too_large(&b);
	finish(&b);
}

static void each_failing_allocation_is_reported(void **state)
{
	struct error err;
	struct bench b;
	int rc;

	(void)state;
	needs_failing_allocations();
	b = bench_of(four_tensors(3));
	for (int round = 0; round < 3; round++) {
		if (round)
			graft(&b, 1, round == 1 ? GGML_I8 : GGML_F16, 1, ne_b);
		for (uint64_t k = 1;; k++) {
			allocation_fails(k);
			rc = layout_build(b.base, b.slots, b.n, NULL, &b.layout, &err);
			if (!allocation_failed())
				break;
			assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
			assert_null(b.layout.pieces);
		}
		assert_int_equal(rc, 0);
		layout_release(&b.layout);
		free(b.data[1]);
		b.data[1] = NULL;
	}
	finish(&b);
}

static void any_slots_may_be_emptied(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++)
		for (uint32_t chosen = 1; chosen < 16; chosen++) {
			struct bench b = bench_of(four_tensors(version));

			for (uint32_t i = 0; i < 4; i++)
				if (chosen >> i & 1)
					b.slots[i].fill = FILL_NOTHING;
			assemble(&b);
			/* A file without data has no offset of the data. */
			if (chosen != 15)
				assert_laid_out_anew(&b);
			finish(&b);
		}
}

static void added_slots_come_last_by_their_names(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct bench b = bench_of(four_tensors(version));
		struct layout_slot swapped;
		uint8_t *data;

		add(&b, "z");
		add(&b, "blk.10.x");
		b.slots[1].fill = FILL_NOTHING;
		/* assemble() expects the slots in order; layout_build() sorts them. */
		swapped = b.slots[4];
		b.slots[4] = b.slots[5];
		b.slots[5] = swapped;
		data = b.data[4];
		b.data[4] = b.data[5];
		b.data[5] = data;
		assemble(&b);
		assert_laid_out_anew(&b);
		assert_string_equal(b.read->tensors[3].name, "blk.10.x");
		assert_string_equal(b.read->tensors[4].name, "z");
		layout_release(&b.layout);
		gguf_free(b.read);
		free(b.bytes);
		b.slots[5] = b.slots[4];
		b.slots[4] = swapped;
		assert_int_equal(layout_build(b.base, b.slots, b.n, NULL, &b.layout, NULL), 0);
		b.bytes = render_layout(&b.layout, b.file.bytes, (const uint8_t *const *)b.data);
		b.read = read_bytes(b.bytes, to_size(b.layout.size));
		assert_string_equal(b.read->tensors[3].name, "blk.10.x");
		assert_string_equal(b.read->tensors[4].name, "z");
		finish(&b);
	}
}

static void an_added_slot_that_holds_nothing_changes_nothing(void **state)
{
	struct bench b = bench_of(four_tensors(3));

	(void)state;
	add(&b, "gone");
	b.slots[4].fill = FILL_NOTHING;
	assemble(&b);
	assert_int_equal(b.layout.n_pieces, 1);
	finish(&b);
}

static void a_layout_can_be_released_twice(void **state)
{
	struct layout layout = { 0 };

	(void)state;
	layout_release(&layout);
	layout_release(&layout);
}

UNIT_MAIN(NULL, NULL)
