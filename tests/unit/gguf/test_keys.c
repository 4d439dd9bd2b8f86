/* SPDX-License-Identifier: MIT */
/* test_keys.c - gguf/keys.c: types of the keys in the specification. */
#include "gguf/keys.h"
#include "tests/unit/unit.h"

static bool find(const char *key, const char *architecture, struct key_type *type)
{
	return key_type_find(key, strlen(key), architecture, type);
}

static void check(const char *key, const char *architecture, enum kv_type value,
		  enum kv_type element)
{
	struct key_type type;

	if (!find(key, architecture, &type))
		fail_msg("%s is not known", key);
	if (type.value != value || type.element != element)
		fail_msg("%s is %s and a list of %s", key, kv_type_name(type.value),
			 kv_type_name(type.element));
}

static void keys_have_the_types_that_loaders_want(void **state)
{
	(void)state;
	check("general.name", "llama", KV_STRING, KV_ARRAY);
	check("general.file_type", "llama", KV_U32, KV_ARRAY);
	check("general.sampling.temp", "", KV_F32, KV_ARRAY);
	check("general.sampling.top_k", "", KV_I32, KV_ARRAY);
	check("general.tags", "", KV_ARRAY, KV_STRING);
	check("qwen3.nextn_predict_layers", "qwen3", KV_U32, KV_ARRAY);
	check("qwen3.feed_forward_length", "qwen3", KV_U32, KV_I32);
	check("gemma3.attention.sliding_window_pattern", "gemma3", KV_U32, KV_BOOL);
	check("llama.rope.freq_base", "llama", KV_F32, KV_ARRAY);
	check("llama.rope.scaling.finetuned", "llama", KV_BOOL, KV_ARRAY);
	check("llama.rope.dimension_sections", "llama", KV_ARRAY, KV_I32);
	check("gemma-embedding.dense_2_feat_in", "gemma-embedding", KV_U32, KV_ARRAY);
	check("tokenizer.ggml.scores", "", KV_ARRAY, KV_F32);
	check("tokenizer.ggml.precompiled_charsmap", "", KV_ARRAY, KV_U8);
	check("clip.vision.image_mean", "clip", KV_ARRAY, KV_F32);
}

static void variable_part_of_key_may_be_any_word(void **state)
{
	struct key_type type;

	(void)state;
	check("general.base_model.0.name", "llama", KV_STRING, KV_ARRAY);
	check("general.base_model.12.doi", "llama", KV_STRING, KV_ARRAY);
	check("tokenizer.chat_template.tool_use", "llama", KV_STRING, KV_ARRAY);
	assert_false(find("general.base_model..name", "llama", &type));
	assert_false(find("general.base_model.0.1.name", "llama", &type));
	assert_false(find("tokenizer.chat_template.", "llama", &type));
}

static void other_keys_have_no_type(void **state)
{
	struct key_type type;

	(void)state;
	assert_false(find("my.block_count", "llama", &type));
	assert_false(find("llama2.block_count", "llama", &type));
	assert_false(find("llama.block_counts", "llama", &type));
	assert_false(find("llama.block_coun", "llama", &type));
	assert_false(find("llama", "llama", &type));
	assert_false(find("", "llama", &type));
	assert_false(find(".block_count", "", &type));
	assert_false(find("general.nam", "llama", &type));
	assert_false(key_type_find("general.name\0", 13, "llama", &type));
}

/* No byte after the first n is read. */
static void a_key_ends_where_its_length_says(void **state)
{
	static const char key[] = "llama.rope.freq_base_swa";
	struct key_type type;

	(void)state;
	for (size_t n = 0; n < sizeof(key) - 1; n++) {
		char *copy = malloc(n ? n : 1);

		assert_non_null(copy);
		memcpy(copy, key, n);
		assert_int_equal(key_type_find(copy, n, "llama", &type),
				 n == strlen("llama.rope.freq_base"));
		free(copy);
	}
}

UNIT_MAIN(NULL, NULL)
