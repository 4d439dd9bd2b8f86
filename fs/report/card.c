/* SPDX-License-Identifier: MIT */
/* card.c - see card.h. The keys are those of llama.cpp (gguf-py, constants.py). */
#include "fs/report/card.h"
#include "fs/base/shards.h"
#include "fs/lazy/figures.h"
#include "fs/metadata/json_value.h"
#include "fs/metadata/metadata.h"
#include "fs/model/model.h"
#include "fs/util/plural.h"
#include "gguf/anatomy.h"
#include "gguf/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *card_count_key(enum card_count count)
{
	static const char *const keys[CARD_COUNTS] = {
		"block_count",
		"expert_count",
		"expert_used_count",
		"expert_shared_count",
		"embedding_length",
		"context_length",
		"attention.head_count",
		"attention.head_count_kv",
		"attention.kv_lora_rank",
		"attention.sliding_window",
		"rope.dimension_count",
	};

	return keys[count];
}

const char *card_number_key(enum card_number number)
{
	static const char *const keys[CARD_NUMBERS] = { "rope.freq_base", "rope.scaling.factor" };

	return keys[number];
}

struct metadata_of {
	struct model *model;
	struct metadata_edits *edits;
	const char *architecture;
};

/* The value of ARCHITECTURE.key, to release; NULL: none. */
static struct metadata_entry *find(const struct metadata_of *from, const char *key)
{
	char name[160];

	snprintf(name, sizeof(name), "%s.%s", from->architecture, key);
	return metadata_get_with_edits(from->model->metadata, from->edits, name);
}

/* Read a string value, cut and on one line, and release it. Empty: none. */
static void read_text(struct metadata_entry *metadatum, char text[CARD_TEXT_MAX])
{
	const struct value *is = metadatum ? metadata_entry_value(metadatum) : NULL;
	cJSON *value = is && is->type.type == KV_STRING ? json_value(is) : NULL;
	const char *string = cJSON_GetStringValue(value);

	snprintf(text, CARD_TEXT_MAX, "%s", string ? string : "");
	make_printable(text);
	cJSON_Delete(value);
	metadata_entry_unref(metadatum);
}

/* Value of an integer, or of element i of an array of integers. */
static bool element(const struct metadata_entry *metadatum, uint64_t i, uint64_t *value)
{
	const struct value_type type = metadata_entry_value(metadatum)->type;
	struct kv one = { .type = type.type == KV_ARRAY ? type.element : type.type };

	return value_scalar(metadata_entry_value(metadatum), i, &one.scalar) &&
	       kv_unsigned(&one, value);
}

/* Limit of array elements; no model has so many blocks. */
#define ELEMENTS_MAX 4096

static struct card_range read_range(const struct metadata_of *from, const char *key)
{
	struct metadata_entry *metadatum = find(from, key);
	const struct value *is = metadatum ? metadata_entry_value(metadatum) : NULL;
	const uint64_t n = is && is->type.type == KV_ARRAY ? is->count : is != NULL;
	struct card_range range = { n > 0, UINT64_MAX, 0 };
	uint64_t value;

	for (uint64_t i = 0; range.known && i < n && i < ELEMENTS_MAX; i++) {
		range.known = element(metadatum, i, &value);
		if (range.known && value < range.low)
			range.low = value;
		if (range.known && value > range.high)
			range.high = value;
	}
	metadata_entry_unref(metadatum);
	return range.known ? range : (struct card_range){ .known = false };
}

static struct card_value read_real(const struct metadata_of *from, const char *key)
{
	struct metadata_entry *metadatum = find(from, key);
	struct card_value value = { .known = false };
	struct kv one;

	if (metadatum) {
		one = (struct kv){ .type = metadata_entry_value(metadatum)->type.type };
		value.known = value_scalar(metadata_entry_value(metadatum), 0, &one.scalar) &&
			      kv_real(&one, &value.value);
	}
	metadata_entry_unref(metadatum);
	return value;
}

void card_read(struct model *model, struct metadata_edits *edits, struct card *card)
{
	struct metadata_of from = { model, edits, "general" };

	*card = (struct card){ .name = "" };
	snprintf(card->name, sizeof(card->name), "%s", model->name);
	make_printable(card->name);
	read_text(find(&from, "architecture"), card->architecture);
	/* Without an architecture look for keys all the same. */
	from.architecture = card->architecture[0] ? card->architecture : "unknown";
	for (enum card_count i = 0; i < CARD_COUNTS; i++)
		card->counts[i] = read_range(&from, card_count_key(i));
	for (enum card_number i = 0; i < CARD_NUMBERS; i++)
		card->numbers[i] = read_real(&from, card_number_key(i));
	read_text(find(&from, CARD_SCALING_KEY), card->scaling);
}

/* Whether the metadata has a count other than 0. */
static bool has(const struct card *card, enum card_count count)
{
	return card->counts[count].known && card->counts[count].high > 0;
}

/* Start of a line, with its key. */
#define KEY "model %-14s "

static void print_count(const struct card *card, const char *label, enum card_count count,
			FILE *out)
{
	if (card->counts[count].known)
		fprintf(out, KEY "%" PRIu64 "\n", label, card->counts[count].high);
	else
		fprintf(out, KEY "unknown\n", label);
}

static void print_range(const struct card_range *range, FILE *out)
{
	if (range->low == range->high)
		fprintf(out, "%" PRIu64, range->high);
	else
		fprintf(out, "%" PRIu64 " to %" PRIu64, range->low, range->high);
}

static void print_blocks(const struct card *card, const struct figures *figures, FILE *out)
{
	int32_t first = INT32_MAX, last = -1;

	if (card->counts[CARD_BLOCKS].known)
		fprintf(out, KEY "%" PRIu64, "blocks", card->counts[CARD_BLOCKS].high);
	else
		fprintf(out, KEY "unknown", "blocks");
	for (size_t i = 0; i < figures->n; i++) {
		const int32_t block = figures->figures[i].block;

		if (block >= 0 && block < first)
			first = block;
		if (block > last)
			last = block;
	}
	if (last > first)
		fprintf(out, ", tensors of %" PRId32 " to %" PRId32, first, last);
	else if (last > 0 || (last == 0 && card->counts[CARD_BLOCKS].high != 1))
		fprintf(out, ", tensors of %" PRId32, last);
	fputc('\n', out);
}

/* Print the first few types of experts. */
static void print_expert_types(const struct figures *figures, FILE *out)
{
	const char *seen[4];
	size_t n = 0;

	for (size_t i = 0; i < figures->n && n < 4; i++) {
		const struct figure *figure = &figures->figures[i];
		bool known = figure->kind != KIND_EXPERTS;

		for (size_t k = 0; k < n; k++)
			known = known || strcmp(seen[k], figure->type) == 0;
		if (known)
			continue;
		fprintf(out, "%s%s", n ? " " : ", of type ", figure->type);
		seen[n++] = figure->type;
	}
}

static void print_experts(const struct card *card, const struct figures *figures, FILE *out)
{
	const struct card_range *counts = card->counts;

	fprintf(out, KEY, "experts");
	if (!has(card, CARD_EXPERTS)) {
		fputs("none\n", out);
		return;
	}
	print_range(&counts[CARD_EXPERTS], out);
	if (counts[CARD_EXPERTS_USED].known)
		fprintf(out, ", %" PRIu64 " used", counts[CARD_EXPERTS_USED].high);
	if (has(card, CARD_EXPERTS_SHARED))
		fprintf(out, ", %" PRIu64 " shared", counts[CARD_EXPERTS_SHARED].high);
	print_expert_types(figures, out);
	fputc('\n', out);
}

static const char *attention_kind(const struct card *card, const struct card_range *heads,
				  const struct card_range *kv_heads)
{
	if (has(card, CARD_KV_RANK))
		return "latent (MLA)";
	if (kv_heads->high == heads->high)
		return "multi-head (MHA)";
	return kv_heads->high == 1 ? "multi-query (MQA)" : "grouped-query (GQA)";
}

static void print_attention(const struct card *card, FILE *out)
{
	const struct card_range *counts = card->counts, *heads = &counts[CARD_HEADS], *kv_heads;

	fprintf(out, KEY, "attention");
	if (!heads->known) {
		fputs("unknown\n", out);
		return;
	}
	if (heads->high == 0) {
		fputs("none\n", out);
		return;
	}
	kv_heads = counts[CARD_KV_HEADS].known ? &counts[CARD_KV_HEADS] : heads;
	fprintf(out, "%s, ", attention_kind(card, heads, kv_heads));
	print_range(heads, out);
	fputs(heads->high == 1 ? " head, " : " heads, ", out);
	print_range(kv_heads, out);
	fputs(kv_heads->high == 1 ? " kv head" : " kv heads", out);
	if (has(card, CARD_KV_RANK))
		fprintf(out, ", kv rank %" PRIu64, counts[CARD_KV_RANK].high);
	if (has(card, CARD_WINDOW))
		fprintf(out, ", window %" PRIu64, counts[CARD_WINDOW].high);
	fputc('\n', out);
}

static void print_rope(const struct card *card, FILE *out)
{
	const struct card_value *base = &card->numbers[CARD_ROPE_BASE];
	const struct card_value *factor = &card->numbers[CARD_ROPE_FACTOR];
	const char *between = "";

	fprintf(out, KEY, "rope");
	if (card->counts[CARD_ROPE_DIMENSIONS].known) {
		fprintf(out, "%" PRIu64 " dimension%s", card->counts[CARD_ROPE_DIMENSIONS].high,
			plural(card->counts[CARD_ROPE_DIMENSIONS].high));
		between = ", ";
	}
	if (base->known) {
		fprintf(out, "%sbase %.9g", between, base->value);
		between = ", ";
	}
	if (card->scaling[0] == '\0' || strcmp(card->scaling, "none") == 0) {
		fprintf(out, "%s%s\n", between,
			between[0] || card->scaling[0] ? "no scaling" : "unknown");
		return;
	}
	fprintf(out, "%sscaling %s", between, card->scaling);
	if (factor->known)
		fprintf(out, " by %.9g", factor->value);
	fputc('\n', out);
}

static uint64_t count_parameters(const struct figures *figures)
{
	uint64_t parameters = 0;

	for (size_t i = 0; i < figures->n; i++)
		parameters += figures->figures[i].elements;
	return parameters;
}

void card_get(const struct figures *figures, struct card *card)
{
	if (figures->card)
		*card = *figures->card;
	else
		card_read(figures->model, figures->edits, card);
	if (card->architecture[0] == '\0')
		snprintf(card->architecture, sizeof(card->architecture), "unknown");
}

/* Print the shards if any is missing. */
static void print_shards(const struct figures *figures, FILE *out)
{
	const struct model *model = figures->model;
	char *summary = !model || model->whole ? NULL : shards_summary(model->shards);

	if (!summary)
		return;
	fprintf(out, KEY "%s\n", "shards", summary);
	free(summary);
}

void card_print(const struct figures *figures, FILE *out)
{
	struct card card;

	card_get(figures, &card);
	fprintf(out, KEY "%s\n", "name", card.name);
	fprintf(out, KEY "%s\n", "architecture", card.architecture);
	fprintf(out, KEY "%" PRIu64 "\n", "parameters", count_parameters(figures));
	fprintf(out, KEY "%zu", "tensors", figures->n);
	if (figures->total)
		fprintf(out, "/%" PRIu64, figures->total);
	fputc('\n', out);
	print_shards(figures, out);
	fprintf(out, KEY "%" PRIu32 "\n", "grafts", figures->grafts);
	print_blocks(&card, figures, out);
	print_experts(&card, figures, out);
	print_count(&card, "embedding", CARD_EMBEDDING, out);
	print_count(&card, "context", CARD_CONTEXT, out);
	print_attention(&card, out);
	print_rope(&card, out);
}
