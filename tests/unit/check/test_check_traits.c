/* SPDX-License-Identifier: MIT */
/* test_check_traits.c - fs/check/check_traits.c and check_traits_read.c: two models' metadata. Two
 * pairs are real: a distilled 14B that works with its original model, and a 7B that does not work
 * with a model of equal shapes. */
#include "fs/check/check_traits.h"
#include "fs/check/check_verdict.h"
#include "fs/util/halt.h"
#include "gguf/cursor.h"
#include "gguf/reader.h"
#include "tests/unit/unit.h"

static const struct halt nothing = { NULL, NULL };

/* Metadata of a generated model; zero members are left out. */
struct said {
	const char *architecture, *scaling, *tokenizer, *pre, *name;
	uint32_t embedding, heads, kv_heads, feed_forward, experts, eos;
	float rope_base, factor, epsilon;
	uint32_t tokens;
	bool kv_array, kv_array_mixed, factors;
};

static const struct said qwen_14b = { .architecture = "qwen2",
				      .tokenizer = "gpt2",
				      .pre = "qwen2",
				      .embedding = 5120,
				      .heads = 40,
				      .kv_heads = 8,
				      .feed_forward = 13824,
				      .rope_base = 1e6f,
				      .epsilon = 1e-6f,
				      .eos = 151643,
				      .tokens = 100 };

static void put_float(struct mkgguf *m, const char *key, float value)
{
	if (value != 0)
		mkgguf_kv(m, key, strlen(key), 6, &value, sizeof(value));
}

static void put_number(struct mkgguf *m, const char *key, uint32_t value)
{
	if (value)
		mkgguf_kv_u32(m, key, value);
}

static void put_text(struct mkgguf *m, const char *key, const char *value)
{
	if (value)
		mkgguf_kv_string(m, key, value);
}

static void put_tokens(struct mkgguf *m, uint32_t n)
{
	/* Each string is a length and a letter. */
	uint8_t bytes[9 * 200] = { 0 };

	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++) {
		bytes[9 * i] = 1;
		bytes[9 * i + 8] = (uint8_t)('!' + i % 90);
	}
	mkgguf_kv_array(m, "tokenizer.ggml.tokens", 8, n, bytes, (size_t)9 * n);
}

static struct mk_file make(const struct said *said)
{
	static const uint64_t row[1] = { 32 };
	const uint32_t each[4] = { said->kv_heads, said->kv_heads, said->kv_heads,
				   said->kv_array_mixed ? 1 : said->kv_heads };
	struct mkgguf *m = mkgguf_new(3);

	put_text(m, "general.architecture", said->architecture);
	put_text(m, "general.name", said->name);
	put_number(m, "qwen2.embedding_length", said->embedding);
	put_number(m, "qwen2.attention.head_count", said->heads);
	if (said->kv_array)
		mkgguf_kv_array(m, "qwen2.attention.head_count_kv", 4, 4, each, sizeof(each));
	else
		put_number(m, "qwen2.attention.head_count_kv", said->kv_heads);
	put_number(m, "qwen2.feed_forward_length", said->feed_forward);
	put_number(m, "qwen2.expert_count", said->experts);
	put_float(m, "qwen2.rope.freq_base", said->rope_base);
	put_text(m, "qwen2.rope.scaling.type", said->scaling);
	put_float(m, "qwen2.rope.scaling.factor", said->factor);
	put_float(m, "qwen2.attention.layer_norm_rms_epsilon", said->epsilon);
	put_text(m, "tokenizer.ggml.model", said->tokenizer);
	put_text(m, "tokenizer.ggml.pre", said->pre);
	put_number(m, "tokenizer.ggml.eos_token_id", said->eos);
	put_tokens(m, said->tokens);
	if (said->factors)
		mkgguf_tensor(m, "rope_freqs.weight", 0, 1, row);
	return mkgguf_finish(m);
}

static struct traits read(const struct said *said)
{
	struct mk_file file = make(said);
	struct memory_bytes memory = { file.bytes, file.size };
	const struct source source = source_of_memory(&memory);
	struct error err = { 0 };
	struct gguf *gguf = gguf_read(&source, &err);
	struct traits traits;

	if (!gguf)
		fail_msg("%s", err.text);
	assert_int_equal(check_traits_read(gguf, &source, &nothing, &traits), 0);
	gguf_free(gguf);
	mk_file_free(&file);
	return traits;
}

#define assert_finding(finding, is, words) \
	unit_assert_finding(finding, is, words, __FILE__, __LINE__)

static void unit_assert_finding(const struct finding *finding, enum verdict verdict,
				const char *words, const char *file, int line)
{
	if (finding->verdict == verdict && strstr(finding->text, words))
		return;
	print_error("%s: %s\n", verdict_name(finding->verdict), finding->text);
	_fail(file, line);
}

static void qwen_14b_agrees_with_its_origin(void **state)
{
	struct said distilled = qwen_14b;
	struct traits host = read(&qwen_14b), donor;
	struct finding f;

	(void)state;
	distilled.pre = "deepseek-r1-qwen";
	distilled.name = "DeepSeek R1 Distill Qwen 14B";
	donor = read(&distilled);
	for (unsigned concerns = CONCERN_ATTENTION; concerns <= CONCERN_FFN; concerns++) {
		check_traits_architecture(&host, &donor, &f);
		assert_finding(&f, VERDICT_OK, "qwen2");
		check_traits_dimensions(&host, &donor, concerns, &f);
		assert_finding(&f, VERDICT_OK, "5120");
		check_traits_rope(&host, &donor, concerns, &f);
		assert_finding(&f, VERDICT_OK, "freq_base 1000000, scaling none in both");
		check_traits_epsilon(&host, &donor, &f);
		assert_finding(&f, VERDICT_OK, "1e-06 in both");
		/* Converters spell the pre-tokenizer differently. */
		check_traits_tokenizer(&host, &donor, concerns, &f);
		assert_finding(&f, VERDICT_OK, "the same 100 tokens");
		assert_non_null(strstr(f.text, "deepseek-r1-qwen"));
	}
	check_traits_tokenizer(&host, &donor, CONCERN_TOKENS, &f);
	assert_finding(&f, VERDICT_RISKY, "may be the same");
	check_traits_names(&host, &donor, &f);
	assert_finding(&f, VERDICT_OK, "DeepSeek R1 Distill Qwen 14B");
}

static void qwen_7b_disagrees_with_a_foreign_origin(void **state)
{
	struct said distilled = qwen_14b, general = qwen_14b;
	struct traits host, donor;
	struct finding f;

	(void)state;
	distilled.embedding = general.embedding = 3584;
	distilled.heads = general.heads = 28;
	distilled.kv_heads = general.kv_heads = 4;
	distilled.rope_base = 10000;
	host = read(&general);
	donor = read(&distilled);
	check_traits_architecture(&host, &donor, &f);
	assert_finding(&f, VERDICT_OK, "qwen2");
	check_traits_dimensions(&host, &donor, CONCERN_ATTENTION | CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_OK, "3584");
	check_traits_rope(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "freq_base 10000 in the donor, 1000000 here");
	check_traits_rope(&host, &donor, CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_RISKY, "another lineage");
}

static void missing_keys_have_the_defaults_of_llama_cpp(void **state)
{
	struct said silent = { .architecture = "qwen2", .embedding = 64, .heads = 8 };
	struct said saying = silent;
	struct traits host = read(&silent), donor;
	struct finding f;

	(void)state;
	saying.kv_heads = 8;
	saying.rope_base = 10000;
	saying.scaling = "linear";
	saying.factor = 1;
	donor = read(&saying);
	assert_int_equal(donor.numbers[TRAIT_KEY].high, 8);
	assert_int_equal(donor.numbers[TRAIT_ROPE_DIMENSIONS].high, 8);
	check_traits_dimensions(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_OK, "64");
	check_traits_rope(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_OK, "10000");
	check_traits_epsilon(&host, &donor, &f);
	assert_finding(&f, VERDICT_UNKNOWN, "does not say");
	check_traits_tokenizer(&host, &donor, CONCERN_TOKENS, &f);
	assert_finding(&f, VERDICT_UNKNOWN, "no tokenizer");
	check_traits_tokenizer(&host, &donor, CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_OK, "no embedding and no head was grafted");
}

static void a_donor_of_tensors_alone_tells_no_angle(void **state)
{
	struct said bare = { .architecture = "qwen2" };
	struct traits host = read(&qwen_14b), donor = read(&bare);
	struct finding f;

	(void)state;
	assert_true(check_traits_bare(&donor));
	assert_false(check_traits_bare(&host));
	check_traits_rope(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_UNKNOWN, "the donor does not say it");
	check_traits_rope(&host, &donor, CONCERN_TOKENS, &f);
	assert_finding(&f, VERDICT_OK, "the donor does not say it");
}

static void an_empty_model_is_unknown(void **state)
{
	struct said nobody = { .tokens = 0 };
	struct traits host = read(&nobody);
	struct finding f;

	(void)state;
	check_traits_architecture(&host, &host, &f);
	assert_finding(&f, VERDICT_UNKNOWN, "has no general.architecture");
	check_traits_dimensions(&host, &host, CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_UNKNOWN, "neither");
}

static void another_architecture_is_impossible(void **state)
{
	struct said llama = qwen_14b;
	struct traits host = read(&qwen_14b), donor;
	struct finding f;

	(void)state;
	llama.architecture = "llama";
	donor = read(&llama);
	check_traits_architecture(&host, &donor, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "llama in the donor, qwen2 here");
}

static void a_part_needs_only_its_own_dimensions(void **state)
{
	struct said other = qwen_14b;
	struct traits host = read(&qwen_14b), donor;
	struct finding f;

	(void)state;
	other.kv_heads = 4;
	donor = read(&other);
	check_traits_dimensions(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "head_count_kv 4 in the donor, 8 here");
	check_traits_dimensions(&host, &donor, CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_OK, "5120");
	other = qwen_14b;
	other.feed_forward = 1000;
	donor = read(&other);
	check_traits_dimensions(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_OK, "5120");
	check_traits_dimensions(&host, &donor, CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "feed_forward_length 1000 in the donor, 13824");
	other = qwen_14b;
	other.experts = 8;
	donor = read(&other);
	check_traits_dimensions(&host, &donor, CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "expert_count 8 in the donor, 0 here");
	other.embedding = 8;
	donor = read(&other);
	check_traits_dimensions(&host, &donor, CONCERN_TOKENS, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "embedding_length 8 in the donor, 5120 here");
}

static void uniform_array_counts_as_one_number(void **state)
{
	struct said each = qwen_14b;
	struct traits host = read(&qwen_14b), donor;
	struct finding f;

	(void)state;
	each.kv_array = true;
	donor = read(&each);
	check_traits_dimensions(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_OK, "5120");
	each.kv_array_mixed = true;
	donor = read(&each);
	check_traits_dimensions(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "head_count_kv 1 to 8 in the donor, 8 here");
}

static void scaling_and_factors_count(void **state)
{
	struct said yarn = qwen_14b, more;
	struct traits host = read(&qwen_14b), donor;
	struct finding f;

	(void)state;
	yarn.scaling = "yarn";
	yarn.factor = 4;
	donor = read(&yarn);
	check_traits_rope(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "scaling yarn in the donor, none here");
	more = yarn;
	more.factor = 8;
	host = read(&more);
	check_traits_rope(&host, &donor, CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_RISKY, "scaling by 4 from 0 in the donor, by 8");
	host = read(&qwen_14b);
	more = qwen_14b;
	more.factors = true;
	donor = read(&more);
	check_traits_rope(&host, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "other rope factor tensors");
	check_traits_rope(&donor, &donor, CONCERN_ATTENTION, &f);
	assert_finding(&f, VERDICT_OK, "in both");
}

static void epsilons_more_than_ten_times_apart_are_risky(void **state)
{
	struct said other = qwen_14b;
	struct traits host = read(&qwen_14b), donor;
	struct finding f;

	(void)state;
	other.epsilon = 1e-5f;
	donor = read(&other);
	check_traits_epsilon(&host, &donor, &f);
	assert_finding(&f, VERDICT_OK, "1e-05 in the donor, 1e-06 here");
	other.epsilon = 1.1e-5f;
	donor = read(&other);
	check_traits_epsilon(&host, &donor, &f);
	assert_finding(&f, VERDICT_RISKY, "more than 10 times");
	check_traits_epsilon(&donor, &host, &f);
	assert_finding(&f, VERDICT_RISKY, "more than 10 times");
}

static void another_vocabulary_is_impossible_for_the_embedding(void **state)
{
	struct said other = qwen_14b;
	struct traits host = read(&qwen_14b), donor;
	struct finding f;

	(void)state;
	other.tokens = 101;
	donor = read(&other);
	check_traits_tokenizer(&host, &donor, CONCERN_TOKENS, &f);
	assert_finding(&f, VERDICT_IMPOSSIBLE, "gpt2 of 101 tokens in the donor, gpt2 of 100 here");
	check_traits_tokenizer(&host, &donor, CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_RISKY, "another vocabulary");
	other = qwen_14b;
	other.eos = 7;
	donor = read(&other);
	check_traits_tokenizer(&host, &donor, CONCERN_FFN, &f);
	assert_finding(&f, VERDICT_RISKY, "other special tokens");
}

static void stopped_read_returns_eintr(void **state)
{
	struct mk_file file = make(&qwen_14b);
	struct memory_bytes memory = { file.bytes, file.size };
	const struct source source = source_of_memory(&memory);
	struct gguf *gguf = gguf_read(&source, NULL);
	const atomic_bool yes = true;
	const struct halt reader = { &yes, NULL }, mount = { NULL, &yes };
	struct traits traits;

	(void)state;
	assert_non_null(gguf);
	assert_int_equal(check_traits_read(gguf, &source, &reader, &traits), -EINTR);
	assert_int_equal(check_traits_read(gguf, &source, &mount, &traits), -EINTR);
	gguf_free(gguf);
	mk_file_free(&file);
}

static void long_reason_is_cut_and_its_odd_characters_are_replaced(void **state)
{
	struct finding f;

	(void)state;
	finding_set(&f, VERDICT_OK, "a\tb\nc\xc3\xa4");
	assert_string_equal(f.text, "a?b?c??");
	finding_add(&f, VERDICT_RISKY, "%0200d", 1);
	assert_int_equal(f.verdict, VERDICT_RISKY);
	assert_int_equal(strlen(f.text), FINDING_TEXT - 1);
	assert_string_equal(f.text + FINDING_TEXT - 4, "...");
	finding_add(&f, VERDICT_OK, "more");
	assert_int_equal(f.verdict, VERDICT_RISKY);
	assert_int_equal(strlen(f.text), FINDING_TEXT - 1);
}

static const uint64_t row[1] = { 32 }, matrix[2] = { 32, 4 };

/* Two blocks of the usual parts; more is an additional part of the second one, or NULL. */
static struct gguf *blocks_with(const char *more)
{
	static const char *const parts[] = { "attn_norm", "attn_q", "ffn_norm", "ffn_up" };
	struct mkgguf *m = mkgguf_new(3);
	char names[12][64];
	struct mk_file file;
	struct memory_bytes memory;
	struct source source;
	struct gguf *gguf;
	unsigned n = 0;

	for (unsigned block = 0; block < 2; block++) {
		for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
			snprintf(names[n], sizeof(names[n]), "blk.%u.%s.weight", block, parts[i]);
			mkgguf_tensor(m, names[n++], 0, i % 2 ? 2 : 1, i % 2 ? matrix : row);
		}
	}
	mkgguf_tensor(m, "token_embd.weight", 0, 2, matrix);
	if (more)
		mkgguf_tensor(m, more, 0, 1, row);
	file = mkgguf_finish(m);
	memory = (struct memory_bytes){ file.bytes, file.size };
	source = source_of_memory(&memory);
	gguf = gguf_read(&source, NULL);
	assert_non_null(gguf);
	mk_file_free(&file);
	return gguf;
}

static struct finding compare_parts(const char *host_more, const char *donor_more,
				    unsigned concerns)
{
	struct gguf *host = blocks_with(host_more), *donor = blocks_with(donor_more);
	struct finding f;

	assert_int_equal(check_traits_parts(host, donor, concerns, &f), 0);
	gguf_free(host);
	gguf_free(donor);
	return f;
}

static void the_same_parts_are_ok(void **state)
{
	struct finding f = compare_parts(NULL, NULL, CONCERN_ATTENTION | CONCERN_FFN);

	(void)state;
	assert_int_equal(f.verdict, VERDICT_OK);
	assert_non_null(strstr(f.text, "the same 4"));
}

static void a_bias_of_attention_on_one_side_is_impossible(void **state)
{
	struct finding f = compare_parts(NULL, "blk.1.attn_q.bias", CONCERN_ATTENTION);

	(void)state;
	assert_int_equal(f.verdict, VERDICT_IMPOSSIBLE);
	assert_string_equal(f.text, "attn_q_bias only in the donor");
	f = compare_parts("blk.1.attn_q_norm.weight", NULL, CONCERN_ATTENTION | CONCERN_FFN);
	assert_int_equal(f.verdict, VERDICT_IMPOSSIBLE);
	assert_string_equal(f.text, "attn_q_norm only here");
}

static void a_norm_of_the_other_part_does_not_matter(void **state)
{
	struct finding f = compare_parts(NULL, "blk.1.attn_q.bias", CONCERN_FFN);

	(void)state;
	assert_int_equal(f.verdict, VERDICT_OK);
	f = compare_parts("blk.1.post_ffw_norm.weight", NULL, CONCERN_ATTENTION);
	assert_int_equal(f.verdict, VERDICT_OK);
	f = compare_parts("blk.1.post_ffw_norm.weight", NULL, CONCERN_FFN);
	assert_int_equal(f.verdict, VERDICT_RISKY);
}

static void without_memory_there_is_no_finding(void **state)
{
	struct gguf *host = blocks_with(NULL), *donor = blocks_with("blk.1.attn_q.bias");
	struct finding f;
	int rc = -1;

	(void)state;
	needs_failing_allocations();
	for (uint64_t k = 1; rc < 0; k++) {
		assert_between(k, 1, 100);
		allocation_fails(k);
		rc = check_traits_parts(host, donor, CONCERN_ATTENTION, &f);
		if (allocation_failed())
			assert_int_equal(rc, -ENOMEM);
	}
	gguf_free(host);
	gguf_free(donor);
}

UNIT_MAIN(NULL, NULL)
