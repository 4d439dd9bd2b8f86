/* SPDX-License-Identifier: MIT */
/* test_card.c - fs/report/card.c: a model's description from any metadata. */
#include "fs/model/model.h"
#include "fs/report/card.h"
#include "gguf/reader.h"
#include "tests/unit/measures.h"

/* Card of a model file made with this builder; caller frees. */
static char *card_named(void **state, const char *name, struct mkgguf *m)
{
	struct mk_file file = mkgguf_finish(m);
	struct figures *figures;
	struct opened o;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	save(state, name, &file);
	mk_file_free(&file);
	o = open_model(state, name);
	figures = figures_now(o.model);
	card_print(figures, out);
	must(fclose(out) == 0);
	figures_free(figures);
	close_model(&o);
	return text;
}

static char *card_of(void **state, struct mkgguf *m)
{
	return card_named(state, "base.gguf", m);
}

#define assert_line(card, key, value) unit_assert_line(card, key, value, __FILE__, __LINE__)

/* Check that the card has one line for the key, with this value. */
static void unit_assert_line(const char *card, const char *key, const char *value, const char *file,
			     int line)
{
	char expected[512];

	snprintf(expected, sizeof(expected), "model %-14s %s\n", key, value);
	if (strstr(card, expected))
		return;
	print_error("no line %sin\n%s", expected, card);
	_fail(file, line);
}

static const char *const keys[] = { "name",    "architecture", "parameters", "tensors",
				    "grafts",  "blocks",       "experts",    "embedding",
				    "context", "attention",    "rope" };

/* Check that the card has a line for each key, in order, and no other. */
static void assert_well_formed(const char *card)
{
	const char *at = card;

	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		char head[64];
		const char *end = strchr(at, '\n');

		snprintf(head, sizeof(head), "model %-14s ", keys[i]);
		assert_non_null(end);
		if (strncmp(at, head, strlen(head)) != 0 || at + strlen(head) == end)
			fail_msg("no line of %s: %s", keys[i], card);
		for (const char *c = at; c < end; c++)
			assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
		at = end + 1;
	}
	assert_string_equal(at, "");
}

static void kv_f32(struct mkgguf *m, const char *key, float value)
{
	mkgguf_kv(m, key, strlen(key), KV_F32, &value, sizeof(value));
}

static void card_describes_a_llama(void **state)
{
	static const uint64_t ne[] = { 64, 3 };
	struct mkgguf *m = mkgguf_new(3);
	char *card;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_u32(m, "llama.block_count", 24);
	mkgguf_kv_u32(m, "llama.embedding_length", 2048);
	mkgguf_kv_u32(m, "llama.context_length", 8192);
	mkgguf_kv_u32(m, "llama.attention.head_count", 32);
	mkgguf_kv_u32(m, "llama.attention.head_count_kv", 8);
	mkgguf_kv_u32(m, "llama.rope.dimension_count", 64);
	kv_f32(m, "llama.rope.freq_base", 500000);
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 2, ne);
	mkgguf_tensor(m, "blk.2.ffn_up.weight", GGML_Q8_0, 2, ne);
	mkgguf_tensor(m, "blk.11.ffn_up.weight", GGML_Q8_0, 2, ne);
	card = card_named(state, "Tiny-Llama.gguf", m);
	assert_well_formed(card);
	assert_line(card, "name", "Tiny-Llama");
	assert_line(card, "architecture", "llama");
	assert_line(card, "parameters", "576");
	assert_line(card, "tensors", "3");
	assert_line(card, "grafts", "0");
	assert_line(card, "blocks", "24, tensors of 2 to 11");
	assert_line(card, "experts", "none");
	assert_line(card, "embedding", "2048");
	assert_line(card, "context", "8192");
	assert_line(card, "attention", "grouped-query (GQA), 32 heads, 8 kv heads");
	assert_line(card, "rope", "64 dimensions, base 500000, no scaling");
	free(card);
}

static void a_mixture_of_experts_says_how_many_and_how_it_attends(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	char *card;

	mkgguf_kv_string(m, "general.architecture", "deepseek2");
	mkgguf_kv_u32(m, "deepseek2.block_count", 61);
	mkgguf_kv_u32(m, "deepseek2.expert_count", 256);
	mkgguf_kv_u32(m, "deepseek2.expert_used_count", 8);
	mkgguf_kv_u32(m, "deepseek2.expert_shared_count", 1);
	mkgguf_kv_u32(m, "deepseek2.attention.head_count", 128);
	mkgguf_kv_u32(m, "deepseek2.attention.head_count_kv", 1);
	mkgguf_kv_u32(m, "deepseek2.attention.kv_lora_rank", 512);
	mkgguf_kv_u32(m, "deepseek2.rope.dimension_count", 64);
	kv_f32(m, "deepseek2.rope.freq_base", 10000);
	mkgguf_kv_string(m, "deepseek2.rope.scaling.type", "yarn");
	kv_f32(m, "deepseek2.rope.scaling.factor", 40);
	mkgguf_tensor(m, "blk.3.ffn_up_exps.weight", GGML_Q8_0, 2, small_blocks);
	mkgguf_tensor(m, "blk.3.ffn_down_exps.weight", GGML_Q4_0, 2, small_blocks);
	mkgguf_tensor(m, "blk.3.ffn_gate_exps.weight", GGML_Q8_0, 2, small_blocks);
	mkgguf_tensor(m, "blk.3.ffn_gate_shexp.weight", GGML_F16, 2, small_blocks);
	mkgguf_tensor(m, "blk.3.ffn_gate_inp.weight", GGML_F32, 2, small_blocks);
	card = card_of(state, m);
	assert_well_formed(card);
	assert_line(card, "experts", "256, 8 used, 1 shared, of type Q8_0 Q4_0");
	assert_line(card, "blocks", "61, tensors of 3");
	assert_line(card, "attention", "latent (MLA), 128 heads, 1 kv head, kv rank 512");
	assert_line(card, "rope", "64 dimensions, base 10000, scaling yarn by 40");
	assert_line(card, "embedding", "unknown");
	free(card);
}

static void only_four_types_of_experts_are_named(void **state)
{
	static const uint32_t types[] = { GGML_F32, GGML_F16, GGML_Q8_0, GGML_Q4_0, GGML_Q5_0 };
	static const char *const names[] = { "blk.0.ffn_up_exps.weight", "blk.1.ffn_up_exps.weight",
					     "blk.2.ffn_up_exps.weight", "blk.3.ffn_up_exps.weight",
					     "blk.4.ffn_up_exps.weight" };
	struct mkgguf *m = mkgguf_new(3);
	char *card;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_u32(m, "llama.expert_count", 4);
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
		mkgguf_tensor(m, names[i], types[i], 2, small_blocks);
	card = card_of(state, m);
	assert_line(card, "experts", "4, of type F32 F16 Q8_0 Q4_0");
	assert_line(card, "blocks", "unknown, tensors of 0 to 4");
	free(card);
}

static void kind_of_attention_follows_from_head_counts(void **state)
{
	static const struct {
		uint32_t heads, kv_heads;
		const char *line;
	} rows[] = {
		{ 8, 8, "multi-head (MHA), 8 heads, 8 kv heads" },
		{ 8, 1, "multi-query (MQA), 8 heads, 1 kv head" },
		{ 8, 2, "grouped-query (GQA), 8 heads, 2 kv heads" },
		{ 1, 1, "multi-head (MHA), 1 head, 1 kv head" },
		{ 8, 0, "multi-head (MHA), 8 heads, 8 kv heads" },
		{ 0, 8, "none" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct mkgguf *m = mkgguf_new(3);
		char *card;

		mkgguf_kv_string(m, "general.architecture", "x");
		mkgguf_kv_u32(m, "x.attention.head_count", rows[i].heads);
		if (rows[i].kv_heads)
			mkgguf_kv_u32(m, "x.attention.head_count_kv", rows[i].kv_heads);
		card = card_of(state, m);
		assert_line(card, "attention", rows[i].line);
		free(card);
	}
}

static void values_that_differ_between_blocks_print_as_range(void **state)
{
	static const uint32_t kv_heads[] = { 4, 8, 2, 8 }, heads[] = { 32, 32, 32, 32 };
	struct mkgguf *m = mkgguf_new(3);
	char *card;

	mkgguf_kv_string(m, "general.architecture", "openelm");
	mkgguf_kv_array(m, "openelm.attention.head_count", KV_U32, 4, heads, sizeof(heads));
	mkgguf_kv_array(m, "openelm.attention.head_count_kv", KV_I32, 4, kv_heads,
			sizeof(kv_heads));
	mkgguf_kv_u32(m, "openelm.attention.sliding_window", 4096);
	card = card_of(state, m);
	assert_line(card, "attention",
		    "grouped-query (GQA), 32 heads, 2 to 8 kv heads, window 4096");
	free(card);
}

/* Values that are no head counts are ignored. */
static void arrays_that_hold_no_counts_are_passed_over(void **state)
{
	static const int32_t negative[] = { 4, -8 };
	static const float floats[] = { 4, 8 };
	static const char strings[] = "\4\0\0\0\0\0\0\0four";
	static const struct {
		uint32_t element, count;
		const void *elements;
		size_t n;
	} rows[] = {
		{ KV_I32, 2, negative, sizeof(negative) },
		{ KV_F32, 2, floats, sizeof(floats) },
		{ KV_STRING, 1, strings, sizeof(strings) - 1 },
		{ KV_U32, 0, "", 0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct mkgguf *m = mkgguf_new(3);
		char *card;

		mkgguf_kv_string(m, "general.architecture", "x");
		mkgguf_kv_u32(m, "x.attention.head_count", 16);
		mkgguf_kv_array(m, "x.attention.head_count_kv", rows[i].element, rows[i].count,
				rows[i].elements, rows[i].n);
		mkgguf_kv_array(m, "x.embedding_length", rows[i].element, rows[i].count,
				rows[i].elements, rows[i].n);
		card = card_of(state, m);
		assert_well_formed(card);
		assert_line(card, "attention", "multi-head (MHA), 16 heads, 16 kv heads");
		assert_line(card, "embedding", "unknown");
		free(card);
	}
}

static void missing_keys_print_as_unknown_or_none(void **state)
{
	char *card = card_of(state, mkgguf_new(3));

	assert_well_formed(card);
	assert_line(card, "name", "base");
	assert_line(card, "architecture", "unknown");
	assert_line(card, "parameters", "0");
	assert_line(card, "tensors", "0");
	assert_line(card, "blocks", "unknown");
	assert_line(card, "experts", "none");
	assert_line(card, "embedding", "unknown");
	assert_line(card, "context", "unknown");
	assert_line(card, "attention", "unknown");
	assert_line(card, "rope", "unknown");
	free(card);
}

static void numbers_may_be_of_any_integer_type_and_floats_of_both(void **state)
{
	const int64_t embedding = 2048, negative = -1;
	const double base = 1e6, nan = (double)NAN;
	const uint8_t heads = 12;
	struct mkgguf *m = mkgguf_new(3);
	char *card;

	mkgguf_kv_string(m, "general.architecture", "x");
	mkgguf_kv(m, "x.embedding_length", 18, KV_I64, &embedding, 8);
	mkgguf_kv(m, "x.context_length", 16, KV_I64, &negative, 8);
	mkgguf_kv(m, "x.attention.head_count", 22, KV_U8, &heads, 1);
	mkgguf_kv(m, "x.rope.freq_base", 16, KV_F64, &base, 8);
	mkgguf_kv_string(m, "x.rope.scaling.type", "linear");
	mkgguf_kv(m, "x.rope.scaling.factor", 21, KV_F64, &nan, 8);
	mkgguf_kv_string(m, "x.block_count", "many");
	card = card_of(state, m);
	assert_well_formed(card);
	assert_line(card, "embedding", "2048");
	assert_line(card, "context", "unknown");
	assert_line(card, "attention", "multi-head (MHA), 12 heads, 12 kv heads");
	assert_line(card, "rope", "base 1000000, scaling linear by nan");
	assert_line(card, "blocks", "unknown");
	free(card);
}

static void scaling_by_none_is_no_scaling(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	char *card;

	mkgguf_kv_string(m, "general.architecture", "x");
	mkgguf_kv_string(m, "x.rope.scaling.type", "none");
	kv_f32(m, "x.rope.scaling.factor", 40);
	card = card_of(state, m);
	assert_line(card, "rope", "no scaling");
	free(card);
}

static void hostile_words_stay_on_their_line(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	char *card;

	mkgguf_kv_string(m, "general.architecture", "x\nwell 1.00\r\t\x1b[2J\x7f");
	card = card_named(state, "a\nmean tensors\x01.gguf", m);
	assert_well_formed(card);
	assert_line(card, "name", "a?mean tensors?");
	assert_line(card, "architecture", "x?well 1.00???[2J?");
	free(card);

	m = mkgguf_new(3);
	mkgguf_kv_string(m, "general.architecture", "x");
	mkgguf_kv_string(m, "x.rope.scaling.type", "yarn\nmodel name fake");
	card = card_of(state, m);
	assert_well_formed(card);
	assert_line(card, "rope", "scaling yarn?model name fake");
	free(card);
}

static void very_long_and_odd_architectures_are_cut_or_unknown(void **state)
{
	const uint32_t number = 7;
	struct mkgguf *m = mkgguf_new(3);
	char longest[5000], cut[64];
	char *card;

	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	snprintf(cut, sizeof(cut), "%.63s", longest);
	mkgguf_kv_string(m, "general.architecture", longest);
	card = card_of(state, m);
	assert_well_formed(card);
	assert_line(card, "architecture", cut);
	free(card);

	m = mkgguf_new(3);
	mkgguf_kv(m, "general.architecture", 20, KV_U32, &number, 4);
	card = card_of(state, m);
	assert_line(card, "architecture", "unknown");
	free(card);

	m = mkgguf_new(3);
	mkgguf_kv_string(m, "general.architecture", "");
	card = card_of(state, m);
	assert_line(card, "architecture", "unknown");
	free(card);

	/* The bytes are no text, and contain a format. */
	m = mkgguf_new(3);
	mkgguf_kv_string(m, "general.architecture", "\xff\xfe%s%n");
	card = card_of(state, m);
	assert_well_formed(card);
	assert_non_null(strstr(card, "%s%n\n"));
	free(card);
}

static void grafts_are_counted_with_their_own_elements(void **state)
{
	const struct model_options options = { .any_shape = true };
	struct figures *figures;
	struct opened o;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	save_small(state, "base.gguf");
	o = open_with(state, "base.gguf", &options);
	assert_int_equal(fill_organ(o.model, SMALL_UP, "blk.0.ffn_up.weight", GGML_F32, 1,
				    small_row, 5),
			 0);
	figures = figures_now(o.model);
	card_print(figures, out);
	must(fclose(out) == 0);
	assert_line(text, "grafts", "1");
	assert_line(text, "parameters", "176");
	free(text);
	figures_free(figures);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
