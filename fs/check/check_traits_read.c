/* SPDX-License-Identifier: MIT */
/* check_traits_read.c - see check_traits.h: reading of the traits. */
#include "fs/check/check_traits.h"
#include "fs/base/basis.h"
#include "fs/util/halt.h"
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK	((size_t)1 << 18)
#define KEY_MAX 160

/* Limit of array elements; no model has so many blocks. */
#define ELEMENTS_MAX 4096

/* Tensors of rope factors have an entry for each pair of dimensions of a head. */
#define FACTORS_MAX ((uint64_t)1 << 20)

struct reading_of_traits {
	const struct gguf *gguf;
	const struct source *source;
	const struct halt *halt;
	uint8_t *chunk;
	const char *architecture;
	int rc; /* the first failure; nothing is read after it */
};

static bool read_bytes(struct reading_of_traits *r, void *bytes, size_t n, uint64_t offset)
{
	if (r->rc == 0 && halted(r->halt))
		r->rc = -EINTR;
	if (r->rc == 0)
		r->rc = r->source->read_at(r->source->context, bytes, n, offset);
	return r->rc == 0;
}

static void hash_extent(struct reading_of_traits *r, XXH3_state_t *state, uint64_t offset,
			uint64_t length)
{
	for (uint64_t at = 0; at < length;) {
		const size_t n = length - at < CHUNK ? (size_t)(length - at) : CHUNK;

		if (!read_bytes(r, r->chunk, n, offset + at))
			return;
		XXH3_128bits_update(state, r->chunk, n);
		at += n;
	}
}

static const struct kv *find(const struct reading_of_traits *r, const char *key)
{
	char name[KEY_MAX];

	snprintf(name, sizeof(name), "%s.%s", r->architecture, key);
	return gguf_find(r->gguf, name);
}

/* Read a string, cut to the room; empty if missing. */
static void read_text(struct reading_of_traits *r, const struct kv *kv, char text[TRAIT_TEXT])
{
	size_t n = 0;

	if (kv && kv->type == KV_STRING) {
		n = kv->length < TRAIT_TEXT - 1 ? (size_t)kv->length : TRAIT_TEXT - 1;
		if (!read_bytes(r, text, n, kv->offset))
			n = 0;
	}
	text[n] = '\0';
}

static bool read_real(const struct kv *kv, double *value)
{
	return kv && kv_real(kv, value);
}

/* Read an array of one number for each block; anything else leaves number as it is. */
static void read_numbers(struct reading_of_traits *r, const struct kv *kv,
			 struct trait_number *number)
{
	const uint32_t width = kv_type_size(kv->element);
	struct trait_number all = { true, UINT64_MAX, 0, kv->count };

	if (width == 0 || kv->count == 0 || kv->count > ELEMENTS_MAX ||
	    !read_bytes(r, r->chunk, (size_t)kv->count * width, kv->offset))
		return;
	for (uint64_t i = 0; i < kv->count; i++) {
		struct kv one = { .type = kv->element };
		uint8_t bytes[8] = { 0 };
		uint64_t value;

		memcpy(bytes, r->chunk + i * width, width);
		one.scalar = load_u64(bytes);
		if (!kv_unsigned(&one, &value))
			return;
		all.low = value < all.low ? value : all.low;
		all.high = value > all.high ? value : all.high;
		all.hash = XXH3_64bits_withSeed(&value, sizeof(value), all.hash);
	}
	/* One number for all blocks is that number. */
	if (all.low == all.high)
		all.hash = all.high;
	*number = all;
}

static struct trait_number number_of(uint64_t value)
{
	return (struct trait_number){ true, value, value, value };
}

static void read_number(struct reading_of_traits *r, const char *key, struct trait_number *number)
{
	const struct kv *kv = find(r, key);
	uint64_t value;

	if (kv && kv->type == KV_ARRAY)
		read_numbers(r, kv, number);
	else if (kv && kv_unsigned(kv, &value))
		*number = number_of(value);
}

static void read_dimensions(struct reading_of_traits *r, struct trait_number *numbers)
{
	const struct trait_number *heads = &numbers[TRAIT_HEADS];

	for (enum trait trait = 0; trait < TRAIT_NUMBERS; trait++)
		read_number(r, check_traits_keys[trait], &numbers[trait]);
	if (!numbers[TRAIT_KV_HEADS].known)
		numbers[TRAIT_KV_HEADS] = *heads;
	if (heads->known && heads->high && heads->low == heads->high &&
	    numbers[TRAIT_EMBEDDING].known) {
		const uint64_t head = numbers[TRAIT_EMBEDDING].high / heads->high;

		if (!numbers[TRAIT_KEY].known)
			numbers[TRAIT_KEY] = number_of(head);
		if (!numbers[TRAIT_VALUE].known)
			numbers[TRAIT_VALUE] = number_of(head);
		if (!numbers[TRAIT_ROPE_DIMENSIONS].known)
			numbers[TRAIT_ROPE_DIMENSIONS] = numbers[TRAIT_KEY];
	}
	for (enum trait trait = TRAIT_EXPERTS; trait <= TRAIT_EXPERTS_USED; trait++)
		if (!numbers[trait].known)
			numbers[trait] = number_of(0);
}

static bool holds_factors(const struct gguf_tensor *t)
{
	static const char *const names[] = { "rope_freqs.weight", "rope_factors_long.weight",
					     "rope_factors_short.weight" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const size_t n = strlen(names[i]);

		/* Blocks may have factors of their own. */
		if (t->name_length >= n && t->size <= FACTORS_MAX &&
		    memcmp(t->name + t->name_length - n, names[i], n) == 0)
			return true;
	}
	return false;
}

static XXH128_hash_t hash_factors(struct reading_of_traits *r, XXH3_state_t *state)
{
	const XXH128_hash_t none = { 0, 0 };
	bool any = false;

	XXH3_128bits_reset(state);
	for (uint32_t i = 0; i < r->gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &r->gguf->tensors[i];

		if (!holds_factors(t))
			continue;
		any = true;
		XXH3_128bits_update(state, t->name, t->name_length + 1u);
		hash_extent(r, state, t->offset, t->size);
	}
	return any ? XXH3_128bits_digest(state) : none;
}

static void read_rope(struct reading_of_traits *r, XXH3_state_t *state, struct traits *traits)
{
	const struct kv *kv = find(r, "rope.scaling.original_context_length");
	uint64_t context;

	traits->rope_base = 10000;
	traits->rope_factor = 1;
	read_real(find(r, "rope.freq_base"), &traits->rope_base);
	if (!read_real(find(r, "rope.scaling.factor"), &traits->rope_factor))
		/* The key's name in older files. */
		read_real(find(r, "rope.scale_linear"), &traits->rope_factor);
	read_text(r, find(r, "rope.scaling.type"), traits->rope_scaling);
	if (traits->rope_factor == 0)
		traits->rope_factor = 1;
	if (!traits->rope_scaling[0])
		strcpy(traits->rope_scaling, traits->rope_factor != 1 ? "linear" : "none");
	/* Linear scaling by 1 is none. */
	if (strcmp(traits->rope_scaling, "linear") == 0 && traits->rope_factor == 1)
		strcpy(traits->rope_scaling, "none");
	if (strcmp(traits->rope_scaling, "none") == 0)
		traits->rope_factor = 1;
	else if (kv && kv_unsigned(kv, &context))
		traits->rope_context = (double)context;
	traits->rope_factors = hash_factors(r, state);
}

static bool is_special(const struct kv *kv)
{
	static const char before[] = "tokenizer.ggml.", after[] = "_token_id";
	const size_t n = sizeof(before) - 1, m = sizeof(after) - 1;

	return kv->key_length > n + m && memcmp(kv->key, before, n) == 0 &&
	       memcmp(kv->key + kv->key_length - m, after, m) == 0;
}

/* Hash of the special tokens, independent of their order. */
static XXH128_hash_t hash_special(const struct gguf *gguf)
{
	XXH128_hash_t all = { 0, 0 };
	uint64_t value;

	for (uint32_t i = 0; i < gguf->n_kv; i++) {
		const struct kv *kv = &gguf->kv[i];

		if (is_special(kv) && kv_unsigned(kv, &value)) {
			const XXH128_hash_t one =
				XXH3_128bits_withSeed(kv->key, kv->key_length, value);

			all.low64 += one.low64;
			all.high64 += one.high64;
		}
	}
	return all;
}

static void read_tokenizer(struct reading_of_traits *r, XXH3_state_t *state, struct traits *traits)
{
	static const char *const keys[] = { "tokenizer.ggml.tokens", "tokenizer.ggml.token_type",
					    "tokenizer.ggml.merges" };
	const struct kv *tokens = gguf_find(r->gguf, keys[0]);

	read_text(r, gguf_find(r->gguf, "tokenizer.ggml.model"), traits->tokenizer);
	read_text(r, gguf_find(r->gguf, "tokenizer.ggml.pre"), traits->tokenizer_pre);
	traits->has_tokenizer = tokens && tokens->type == KV_ARRAY;
	if (!traits->has_tokenizer)
		return;
	traits->tokens = tokens->count;
	XXH3_128bits_reset(state);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct kv *kv = gguf_find(r->gguf, keys[i]);

		XXH3_128bits_update(state, &i, sizeof(i));
		if (kv && kv->type == KV_ARRAY)
			hash_extent(r, state, kv->offset, kv->length);
	}
	traits->vocabulary = XXH3_128bits_digest(state);
	traits->special = hash_special(r->gguf);
}

int check_traits_read(const struct gguf *gguf, const struct source *source, const struct halt *halt,
		      struct traits *traits)
{
	struct reading_of_traits r = { .gguf = gguf,
				       .source = source,
				       .halt = halt,
				       .chunk = malloc(CHUNK),
				       .architecture = traits->architecture };
	XXH3_state_t *state = XXH3_createState();

	*traits = (struct traits){ 0 };
	if (r.chunk && state) {
		read_text(&r, gguf_find(gguf, "general.architecture"), traits->architecture);
		read_text(&r, gguf_find(gguf, "general.name"), traits->name);
		read_text(&r, gguf_find(gguf, "general.base_model.0.name"), traits->base_model);
		read_dimensions(&r, traits->numbers);
		read_rope(&r, state, traits);
		traits->has_epsilon =
			read_real(find(&r, "attention.layer_norm_rms_epsilon"), &traits->epsilon) ||
			read_real(find(&r, "attention.layer_norm_epsilon"), &traits->epsilon);
		read_tokenizer(&r, state, traits);
		if (r.rc == 0)
			r.rc = basis_read(gguf, source, &traits->basis);
	} else {
		r.rc = -ENOMEM;
	}
	XXH3_freeState(state);
	free(r.chunk);
	return r.rc;
}
