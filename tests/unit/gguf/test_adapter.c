/* SPDX-License-Identifier: MIT */
/* test_adapter.c - gguf/adapter.c: the plan is a GGUF whose pairs fit their tensors. */
#include "gguf/adapter.h"
#include "gguf/pair.h"
#include "tests/unit/gguf_bytes.h"

static struct adapter_target target(const char *name, uint64_t ne0, uint64_t ne1, uint64_t ne2,
				    uint32_t rank)
{
	return (struct adapter_target){ .organ = { .name = name,
						   .name_length = (uint32_t)strlen(name),
						   .dims = ne2 > 1 ? 3 : 2,
						   .ne = { ne0, ne1, ne2, 1 },
						   .type = GGML_Q4_K },
					.rank = rank };
}

static const struct kv *find_key(const struct gguf *gguf, const char *key)
{
	for (uint32_t i = 0; i < gguf->n_kv; i++)
		if (strcmp(gguf->kv[i].key, key) == 0)
			return &gguf->kv[i];
	return NULL;
}

/* Check the bytes of a key's value, which are length bytes long. */
static void assert_value(const uint8_t *bytes, const struct gguf *gguf, const char *key,
			 const void *value, size_t length)
{
	const struct kv *kv = find_key(gguf, key);

	assert_non_null(kv);
	assert_memory_equal(bytes + kv->offset + kv->length - length, value, length);
}

static void assert_pair(const struct gguf *gguf, const struct adapter *adapter, uint32_t i,
			const struct adapter_target *of)
{
	const struct gguf_tensor *a = &gguf->tensors[2 * i], *b = &gguf->tensors[2 * i + 1];
	const struct organ half_a = organ_of_tensor(a), half_b = organ_of_tensor(b);
	const struct adapter_place *place = &adapter->places[i];
	struct error err = { 0 };
	size_t n;

	assert_int_equal(pair_half(half_a.name, half_a.name_length, &n), PAIR_A);
	assert_int_equal(n, of->organ.name_length);
	assert_memory_equal(half_a.name, of->organ.name, n);
	assert_int_equal(pair_half(half_b.name, half_b.name_length, &n), PAIR_B);
	assert_int_equal(pair_fits(&of->organ, &half_a, &half_b, &err), 0);
	assert_int_equal(half_b.ne[0], of->rank);
	assert_true(a->offset == place->a && half_a.data_size == place->a_size);
	assert_true(b->offset == place->b && half_b.data_size == place->b_size);
	assert_true(place->a % ADAPTER_ALIGNMENT == 0 && place->b % ADAPTER_ALIGNMENT == 0);
}

static void check(const struct adapter_target *targets, uint32_t n, float alpha)
{
	struct adapter adapter;
	struct gguf *gguf;
	uint8_t *bytes;

	assert_int_equal(adapter_build("llama", 5, targets, n, &adapter), 0);
	bytes = calloc(1, to_size(adapter.size));
	assert_non_null(bytes);
	memcpy(bytes, adapter.header, adapter.header_size);
	gguf = read_bytes(bytes, to_size(adapter.size));
	assert_int_equal(gguf->n_tensors, 2 * n);
	assert_int_equal(gguf->n_kv, 4);
	assert_value(bytes, gguf, "general.type", "adapter", 7);
	assert_value(bytes, gguf, "general.architecture", "llama", 5);
	assert_value(bytes, gguf, "adapter.type", "lora", 4);
	assert_value(bytes, gguf, "adapter.lora.alpha", &alpha, sizeof(alpha));
	for (uint32_t i = 0; i < n; i++)
		assert_pair(gguf, &adapter, i, &targets[i]);
	gguf_free(gguf);
	free(bytes);
	adapter_release(&adapter);
}

static void the_plan_is_a_gguf_of_pairs_that_fit(void **state)
{
	const struct adapter_target targets[] = {
		target("token_embd.weight", 64, 512, 1, 8),
		target("blk.0.attn_q.weight", 64, 33, 1, 8),
		target("blk.0.ffn_up_exps.weight", 32, 48, 5, 8),
	};

	(void)state;
	check(targets, ARRAY_LENGTH(targets), 8);
	check(targets, 1, 8);
	check(targets, 0, 0);
}

static void ranks_that_differ_are_not_divided_by(void **state)
{
	const struct adapter_target targets[] = {
		target("blk.0.attn_q.weight", 64, 33, 1, 16),
		target("blk.0.ffn_gate_inp.weight", 64, 7, 1, 7),
	};

	(void)state;
	check(targets, ARRAY_LENGTH(targets), 0);
}

static void too_large_adapter_is_refused(void **state)
{
	const uint64_t many = (uint64_t)1 << 40;
	const struct adapter_target one = target("x", many, many, 1, 1u << 30);
	const struct adapter_target two[] = { target("x", many, 1, 1, 1u << 20),
					      target("y", many, 1, 1, 1u << 20) };
	struct adapter adapter;

	(void)state;
	assert_int_equal(adapter_build("llama", 5, &one, 1, &adapter), -EOVERFLOW);
	assert_int_equal(adapter_build("llama", 5, two, 2, &adapter), -EOVERFLOW);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	const struct adapter_target one = target("blk.0.attn_q.weight", 64, 33, 1, 4);
	bool well = false;

	(void)state;
	needs_failing_allocations();
	for (uint64_t k = 1; !well; k++) {
		struct adapter adapter;
		int rc;

		allocation_fails(k);
		rc = adapter_build("llama", 5, &one, 1, &adapter);
		well = !allocation_failed();
		assert_int_equal(rc, well ? 0 : -ENOMEM);
		adapter_release(&adapter);
	}
}

UNIT_MAIN(NULL, NULL)
