/* SPDX-License-Identifier: MIT */
/* test_check_parts.c - fs/check/check_parts.c */
#include "fs/check/check_parts.h"
#include "tests/unit/unit.h"

static const uint64_t row[1] = { 32 }, matrix[2] = { 32, 4 };

/* Two blocks of the usual parts, and in the second one more, if any. */
static struct gguf *make(const char *more)
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

static struct finding compare(const char *host_more, const char *donor_more, unsigned concerns)
{
	struct gguf *host = make(host_more), *donor = make(donor_more);
	struct finding f;

	assert_int_equal(check_parts_compare(host, donor, concerns, &f), 0);
	gguf_free(host);
	gguf_free(donor);
	return f;
}

static void the_same_parts_are_ok(void **state)
{
	struct finding f = compare(NULL, NULL, CONCERN_ATTENTION | CONCERN_FFN);

	(void)state;
	assert_int_equal(f.verdict, VERDICT_OK);
	assert_non_null(strstr(f.text, "the same 4"));
}

static void a_bias_of_attention_on_one_side_is_impossible(void **state)
{
	struct finding f = compare(NULL, "blk.1.attn_q.bias", CONCERN_ATTENTION);

	(void)state;
	assert_int_equal(f.verdict, VERDICT_IMPOSSIBLE);
	assert_string_equal(f.text, "attn_q_bias only in the donor");
	f = compare("blk.1.attn_q_norm.weight", NULL, CONCERN_ATTENTION | CONCERN_FFN);
	assert_int_equal(f.verdict, VERDICT_IMPOSSIBLE);
	assert_string_equal(f.text, "attn_q_norm only here");
}

static void a_norm_of_the_other_part_does_not_matter(void **state)
{
	struct finding f = compare(NULL, "blk.1.attn_q.bias", CONCERN_FFN);

	(void)state;
	assert_int_equal(f.verdict, VERDICT_OK);
	f = compare("blk.1.post_ffw_norm.weight", NULL, CONCERN_ATTENTION);
	assert_int_equal(f.verdict, VERDICT_OK);
	f = compare("blk.1.post_ffw_norm.weight", NULL, CONCERN_FFN);
	assert_int_equal(f.verdict, VERDICT_RISKY);
}

static void without_memory_there_is_no_finding(void **state)
{
	struct gguf *host = make(NULL), *donor = make("blk.1.attn_q.bias");
	struct finding f;
	int rc = -1;

	(void)state;
	needs_failing_allocations();
	for (uint64_t k = 1; rc < 0; k++) {
		assert_between(k, 1, 100);
		allocation_fails(k);
		rc = check_parts_compare(host, donor, CONCERN_ATTENTION, &f);
		if (allocation_failed())
			assert_int_equal(rc, -ENOMEM);
	}
	gguf_free(host);
	gguf_free(donor);
}

UNIT_MAIN(NULL, NULL)
