/* SPDX-License-Identifier: MIT */
/* test_gather.c - gguf/gather.c: header and organs of a GGUF join to the same file. */
#include "gguf/cursor.h"
#include "gguf/gather.h"
#include "gguf/join.h"
#include "gguf/organ.h"
#include "tests/unit/gguf_bytes.h"

#include <errno.h>

#define GGML_F32  0u
#define GGML_F16  1u
#define UNKNOWN	  77u
#define FILES_MAX 5

static const uint64_t row[GGML_AXES] = { 10, 1, 1, 1 };

/* A file in parts: its header, then an organ for each tensor. */
struct bench {
	struct mk_file whole;
	struct gguf *gguf;
	uint32_t n; /* files */
	uint8_t *bytes[FILES_MAX];
	size_t sizes[FILES_MAX];
	struct gguf *files[FILES_MAX];
	struct gather_header header;
	struct error err;
};

static struct source source_of_file(struct memory_bytes *memory, const struct bench *b, uint32_t k)
{
	*memory = (struct memory_bytes){ b->bytes[k], b->sizes[k] };
	return source_of_memory(memory);
}

/* Take the bytes outside of all tensors. */
static void take_header(struct bench *b)
{
	uint8_t *bytes = malloc(b->whole.size + 1);
	size_t n = 0;

	assert_non_null(bytes);
	for (size_t at = 0; at < b->whole.size; at++) {
		bool data = false;

		for (uint32_t i = 0; i < b->gguf->n_tensors; i++) {
			const struct gguf_tensor *t = &b->gguf->tensors[i];

			data |= at >= t->offset && at - t->offset < t->size;
		}
		if (!data)
			bytes[n++] = b->whole.bytes[at];
	}
	b->bytes[0] = mk_copy(bytes, n);
	b->sizes[0] = n;
	free(bytes);
}

static void take_organ(struct bench *b, uint32_t i)
{
	const struct gguf_tensor *t = &b->gguf->tensors[i];
	const struct organ organ = organ_of_tensor(t);
	const size_t n = to_size(organ.header_size + organ.data_size);
	uint8_t *bytes = malloc(n);

	assert_non_null(bytes);
	organ_write_header(&organ, bytes);
	memcpy(bytes + organ.header_size, b->whole.bytes + t->offset, to_size(t->size));
	b->bytes[i + 1] = bytes;
	b->sizes[i + 1] = n;
}

static void read_files(struct bench *b)
{
	for (uint32_t k = 0; k < b->n; k++) {
		struct memory_bytes memory;
		const struct source source = source_of_file(&memory, b, k);
		const struct gguf_tensor *t = k ? &b->gguf->tensors[k - 1] : NULL;

		if (k == 0)
			b->files[0] = gguf_read_header(&source, &b->err);
		else
			b->files[k] = gather_read_organ(&source, t->name, t->name_length, &b->err);
		if (!b->files[k])
			fail_msg("file %u: %s", k, b->err.text);
	}
	b->header = (struct gather_header){ b->sizes[0], true };
}

static struct bench take_apart(struct mk_file whole)
{
	struct bench b = { .whole = whole, .gguf = read_bytes(whole.bytes, whole.size) };

	b.n = b.gguf->n_tensors + 1;
	take_header(&b);
	for (uint32_t i = 0; i < b.gguf->n_tensors; i++)
		take_organ(&b, i);
	return b;
}

static void release(struct bench *b)
{
	for (uint32_t k = 0; k < FILES_MAX; k++) {
		gguf_free(b->files[k]);
		free(b->bytes[k]);
	}
	gguf_free(b->gguf);
	mk_file_free(&b->whole);
}

/* Gather the files; caller frees the bytes. */
static uint8_t *gather(struct bench *b, size_t *size)
{
	struct join join;
	uint8_t *bytes;

	assert_int_equal(gather_join((const struct gguf *const *)b->files, b->n, &b->header, &join,
				     &b->err),
			 0);
	*size = to_size(join.size);
	bytes = calloc(1, *size + 1);
	assert_non_null(bytes);
	for (size_t i = 0; i < join.n_pieces; i++) {
		const struct join_piece *p = &join.pieces[i];

		if (p->kind == JOIN_MEMORY)
			memcpy(bytes + p->start, join.header + p->offset, to_size(p->length));
		else if (p->kind == JOIN_SHARD) {
			assert_true(p->offset + p->length <= b->sizes[p->shard]);
			memcpy(bytes + p->start, b->bytes[p->shard] + p->offset,
			       to_size(p->length));
		}
	}
	join_release(&join);
	return bytes;
}

static void assert_same_again(struct mk_file whole)
{
	struct bench b = take_apart(whole);
	uint8_t *bytes;
	size_t size;

	read_files(&b);
	bytes = gather(&b, &size);
	assert_int_equal(size, b.whole.size);
	assert_memory_equal(bytes, b.whole.bytes, size);
	free(bytes);
	release(&b);
}

static struct mkgguf *three(uint32_t version)
{
	struct mkgguf *m = mkgguf_new(version);

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 1, row);
	mkgguf_tensor(m, "blk.0.ffn_down.weight", GGML_F16, 1, row);
	mkgguf_tensor(m, "output.weight", GGML_F32, 1, row);
	return m;
}

static void parts_of_every_version_join_to_the_same_file(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++)
		assert_same_again(mkgguf_finish(three(version)));
}

static void a_model_without_tensors_is_its_header(void **state)
{
	struct mkgguf *m = mkgguf_new(3);

	(void)state;
	mkgguf_kv_string(m, "general.architecture", "llama");
	assert_same_again(mkgguf_finish(m));
}

static void bytes_between_tensors_are_kept(void **state)
{
	struct mk_file whole = mkgguf_finish(three(3));

	(void)state;
	for (size_t at = whole.data_at + 40; at < whole.data_at + 64; at++)
		whole.bytes[at] = 0xa5;
	whole.bytes[whole.size - 1] = 0x5a;
	assert_same_again(whole);
}

static void unpadded_end_is_restored(void **state)
{
	struct mkgguf *m = three(3);

	(void)state;
	m->final_padding = false;
	assert_same_again(mkgguf_finish(m));
}

static void tensors_may_be_out_of_order_and_share_bytes(void **state)
{
	struct mkgguf *m = three(3);

	(void)state;
	m->tensors[0].offset = 32;
	m->tensors[1].offset = 0;
	m->tensors[2].offset = 32;
	assert_same_again(mkgguf_finish(m));
}

static void an_unknown_type_takes_its_size_from_the_organ(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct mkgguf *m = three(3);

		m->tensors[i].type = UNKNOWN;
		assert_same_again(mkgguf_finish(m));
	}
}

static void a_whole_gguf_lends_its_header_too(void **state)
{
	struct bench b = take_apart(mkgguf_finish(three(3)));
	struct memory_bytes memory;
	struct source source;
	uint8_t *bytes;
	size_t size;

	(void)state;
	free(b.bytes[0]);
	b.bytes[0] = mk_copy(b.whole.bytes, b.whole.size);
	b.sizes[0] = b.whole.size;
	read_files(&b);
	gguf_free(b.files[0]);
	source = source_of_file(&memory, &b, 0);
	b.files[0] = gather_read_lent(&source, &b.header.packed, &b.err);
	assert_non_null(b.files[0]);
	assert_false(b.header.packed);
	bytes = gather(&b, &size);
	assert_int_equal(size, b.whole.size);
	assert_memory_equal(bytes, b.whole.bytes, size);
	free(bytes);
	release(&b);
}

/* Replace tensor i by one of F16, of half as many bytes. */
static void replace_organ(struct bench *b, uint32_t i)
{
	struct gguf_tensor t = b->gguf->tensors[i];

	t.type = GGML_F16;
	t.size = 20;
	free(b->bytes[i + 1]);
	b->gguf->tensors[i] = t;
	take_organ(b, i);
}

/* Check that tensor i may have another type than in the header. */
static void assert_type_is_taken(uint32_t i)
{
	struct bench b = take_apart(mkgguf_finish(three(3)));
	struct gguf *gguf;
	uint8_t *bytes;
	size_t size;

	replace_organ(&b, i);
	read_files(&b);
	bytes = gather(&b, &size);
	gguf = read_bytes(bytes, size);
	assert_int_equal(gguf->n_kv, 1);
	assert_int_equal(gguf->n_tensors, 3);
	assert_int_equal(gguf->tensors[i].type, GGML_F16);
	for (uint32_t k = 0; k < 3; k++)
		assert_memory_equal(bytes + gguf->tensors[k].offset,
				    b.bytes[k + 1] + b.sizes[k + 1] - gguf->tensors[k].size,
				    to_size(gguf->tensors[k].size));
	gguf_free(gguf);
	free(bytes);
	release(&b);
}

static void layout_has_the_type_of_the_graft(void **state)
{
	(void)state;
	assert_type_is_taken(0);
	assert_type_is_taken(2);
}

static void missing_tensors_are_left_out(void **state)
{
	struct bench b = take_apart(mkgguf_finish(three(3)));
	struct gguf *gguf;
	uint8_t *bytes;
	size_t size;

	(void)state;
	read_files(&b);
	gguf_free(b.files[2]);
	b.files[2] = NULL;
	gguf_free(b.files[0]);
	b.files[0] = NULL;
	bytes = gather(&b, &size);
	gguf = read_bytes(bytes, size);
	assert_int_equal(gguf->n_kv, 0);
	assert_int_equal(gguf->n_tensors, 2);
	assert_string_equal(gguf->tensors[1].name, "output.weight");
	gguf_free(gguf);
	free(bytes);
	release(&b);
}

/* Every prefix of a header is refused or whole, and no read goes past its end. */
static void a_header_that_was_cut_is_refused(void **state)
{
	struct bench b = take_apart(mkgguf_finish(three(3)));
	struct memory_bytes memory;
	struct gguf *gguf;
	bool packed;

	(void)state;
	for (size_t n = 0; n < b.sizes[0]; n++) {
		uint8_t *bytes = mk_copy(b.bytes[0], n);
		struct source source;

		memory = (struct memory_bytes){ bytes, n };
		source = source_of_memory(&memory);
		gguf = gather_read_lent(&source, &packed, &b.err);
		/* The padding behind the last tensor may be missing. */
		assert_true(!gguf || b.sizes[0] - n <= 24);
		assert_true(gguf || b.err.code == EBADMSG);
		gguf_free(gguf);
		free(bytes);
	}
	release(&b);
}

static void offsets_beyond_any_file_are_refused(void **state)
{
	static const uint64_t offsets[] = { UINT64_MAX, INT64_MAX, INT64_MAX / 2 };
	struct memory_bytes memory;
	struct error err = { 0 };
	struct source source;
	struct mk_file file;
	struct gguf *gguf;
	bool packed;

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		struct mkgguf *m = three(3);

		m->tensors[2].offset = 96;
		file = mkgguf_finish(m);
		mk_poke_u64(&file, file.info_at[3] - 8, offsets[i]);
		memory = (struct memory_bytes){ file.bytes, file.size };
		source = source_of_memory(&memory);
		gguf = gather_read_lent(&source, &packed, &err);
		assert_null(gguf);
		assert_int_equal(err.code, EBADMSG);
		mk_file_free(&file);
	}
}

static void no_memory_is_an_error(void **state)
{
	struct bench b = take_apart(mkgguf_finish(three(3)));
	struct memory_bytes memory;
	const struct source source = source_of_file(&memory, &b, 1);
	struct gguf *gguf;

	(void)state;
	needs_failing_allocations();
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		gguf = gather_read_organ(&source, NULL, 0, &b.err);
		if (!allocation_failed())
			break;
		assert_null(gguf);
		assert_int_equal(b.err.code, ENOMEM);
	}
	assert_string_equal(gguf->tensors[0].name, "blk.0.ffn_up.weight");
	gguf_free(gguf);
	release(&b);
}

UNIT_MAIN(NULL, NULL)
