/* SPDX-License-Identifier: MIT */
/* card.c - see card.h. The keys are those of llama.cpp (gguf-py, constants.py). */
#include "fs/card.h"
#include "fs/manifest_internal.h"
#include "gguf/bytes.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX	 160
#define TEXT_MAX 64

struct card {
	struct model *model;
	const struct figures *figures;
	char architecture[TEXT_MAX];
};

/* Least and greatest element of a value that may stand for all blocks or be one a block. */
struct range {
	uint64_t low, high;
};

/* A file name or a hostile value may have line breaks in it. */
static void make_one_line(char *text)
{
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

static struct metadatum *find_whole(const struct card *card, const char *key)
{
	return metadata_with(card->model->metadata, card->figures->edits, key);
}

/* A string value, short and of one line. False: there is none. */
static bool find_text(const struct card *card, const char *key, char text[TEXT_MAX])
{
	struct metadatum *metadatum = find_whole(card, key);
	const struct value *is = metadatum ? metadatum_value(metadatum) : NULL;
	cJSON *value = is && is->type.type == KV_STRING ? manifest_value(is) : NULL;
	const char *string = cJSON_GetStringValue(value);

	snprintf(text, TEXT_MAX, "%s", string ? string : "");
	make_one_line(text);
	cJSON_Delete(value);
	metadatum_unref(metadatum);
	return text[0] != '\0';
}

/* The value of ARCHITECTURE.key, to release; NULL: none. */
static struct metadatum *find(const struct card *card, const char *key)
{
	char name[KEY_MAX];

	snprintf(name, sizeof(name), "%s.%s", card->architecture, key);
	return find_whole(card, name);
}

/* An integer, or element i of an array of them. */
static bool element(const struct metadatum *metadatum, uint64_t i, uint64_t *value)
{
	const struct value_type type = metadatum_value(metadatum)->type;
	struct kv one = { .type = type.type == KV_ARRAY ? type.element : type.type };

	return metadatum_scalar(metadatum, i, &one.scalar) && kv_unsigned(&one, value);
}

/* More elements than blocks that any model has are not looked at. */
#define ELEMENTS_MAX 4096

static bool range_of(const struct metadatum *metadatum, struct range *range)
{
	const struct value *is = metadatum_value(metadatum);
	const uint64_t n = is->type.type == KV_ARRAY ? is->count : 1;
	uint64_t value;

	*range = (struct range){ UINT64_MAX, 0 };
	for (uint64_t i = 0; i < n && i < ELEMENTS_MAX; i++) {
		if (!element(metadatum, i, &value))
			return false;
		range->low = value < range->low ? value : range->low;
		range->high = value > range->high ? value : range->high;
	}
	return n > 0;
}

static bool find_range(const struct card *card, const char *key, struct range *range)
{
	struct metadatum *metadatum = find(card, key);
	const bool found = metadatum && range_of(metadatum, range);

	metadatum_unref(metadatum);
	return found;
}

static bool find_number(const struct card *card, const char *key, uint64_t *value)
{
	struct range range;

	if (!find_range(card, key, &range))
		return false;
	*value = range.high;
	return true;
}

static bool find_float(const struct card *card, const char *key, double *value)
{
	struct metadatum *metadatum = find(card, key);
	const enum kv_type type = metadatum ? metadatum_value(metadatum)->type.type : KV_STRING;
	bool found = type == KV_F32 || type == KV_F64;
	uint64_t scalar;
	float single;
	uint32_t bits;

	found = found && metadatum_scalar(metadatum, 0, &scalar);
	metadatum_unref(metadatum);
	if (!found)
		return false;
	if (type == KV_F64) {
		memcpy(value, &scalar, sizeof(*value));
	} else {
		bits = (uint32_t)scalar;
		memcpy(&single, &bits, sizeof(single));
		*value = (double)single;
	}
	return true;
}

static void print_key(FILE *out, const char *key)
{
	fprintf(out, "model %-14s ", key);
}

static void print_number(const struct card *card, const char *label, const char *key, FILE *out)
{
	uint64_t value;

	print_key(out, label);
	if (find_number(card, key, &value))
		fprintf(out, "%" PRIu64 "\n", value);
	else
		fputs("unknown\n", out);
}

static void print_range(const struct range *range, FILE *out)
{
	if (range->low == range->high)
		fprintf(out, "%" PRIu64, range->high);
	else
		fprintf(out, "%" PRIu64 " to %" PRIu64, range->low, range->high);
}

static void print_blocks(const struct card *card, FILE *out)
{
	const struct figures *figures = card->figures;
	int32_t first = INT32_MAX, last = -1;
	uint64_t count;

	print_key(out, "blocks");
	if (find_number(card, "block_count", &count))
		fprintf(out, "%" PRIu64, count);
	else
		fputs("unknown", out);
	for (size_t i = 0; i < figures->n; i++) {
		const int32_t block = figures->figures[i].block;

		if (block >= 0 && block < first)
			first = block;
		if (block > last)
			last = block;
	}
	if (last >= 0)
		fprintf(out, ", tensors of %" PRId32 " to %" PRId32, first, last);
	fputc('\n', out);
}

/* The first few types that experts have. */
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

static void print_experts(const struct card *card, FILE *out)
{
	struct range experts;
	uint64_t value;

	print_key(out, "experts");
	if (!find_range(card, "expert_count", &experts) || experts.high == 0) {
		fputs("none\n", out);
		return;
	}
	print_range(&experts, out);
	if (find_number(card, "expert_used_count", &value))
		fprintf(out, ", %" PRIu64 " used", value);
	if (find_number(card, "expert_shared_count", &value) && value)
		fprintf(out, ", %" PRIu64 " shared", value);
	print_expert_types(card->figures, out);
	fputc('\n', out);
}

static const char *attention_kind(const struct card *card, const struct range *heads,
				  const struct range *kv_heads)
{
	uint64_t rank;

	if (find_number(card, "attention.kv_lora_rank", &rank) && rank)
		return "latent (MLA)";
	if (kv_heads->high == heads->high)
		return "multi-head (MHA)";
	return kv_heads->high == 1 ? "multi-query (MQA)" : "grouped-query (GQA)";
}

static void print_attention(const struct card *card, FILE *out)
{
	struct range heads, kv_heads;
	uint64_t value;

	print_key(out, "attention");
	if (!find_range(card, "attention.head_count", &heads)) {
		fputs("unknown\n", out);
		return;
	}
	if (heads.high == 0) {
		fputs("none\n", out);
		return;
	}
	if (!find_range(card, "attention.head_count_kv", &kv_heads))
		kv_heads = heads;
	fprintf(out, "%s, ", attention_kind(card, &heads, &kv_heads));
	print_range(&heads, out);
	fputs(heads.high == 1 ? " head, " : " heads, ", out);
	print_range(&kv_heads, out);
	fputs(kv_heads.high == 1 ? " kv head" : " kv heads", out);
	if (find_number(card, "attention.kv_lora_rank", &value) && value)
		fprintf(out, ", kv rank %" PRIu64, value);
	if (find_number(card, "attention.sliding_window", &value) && value)
		fprintf(out, ", window %" PRIu64, value);
	fputc('\n', out);
}

static void print_rope(const struct card *card, FILE *out)
{
	char key[KEY_MAX], scaling[TEXT_MAX];
	uint64_t dimensions;
	double value;
	const char *between = "";

	print_key(out, "rope");
	if (find_number(card, "rope.dimension_count", &dimensions)) {
		fprintf(out, "%" PRIu64 " dimensions", dimensions);
		between = ", ";
	}
	if (find_float(card, "rope.freq_base", &value)) {
		fprintf(out, "%sbase %.9g", between, value);
		between = ", ";
	}
	snprintf(key, sizeof(key), "%s.rope.scaling.type", card->architecture);
	if (!find_text(card, key, scaling) || strcmp(scaling, "none") == 0) {
		fprintf(out, "%s%s\n", between,
			between[0] || scaling[0] ? "no scaling" : "unknown");
		return;
	}
	fprintf(out, "%sscaling %s", between, scaling);
	if (find_float(card, "rope.scaling.factor", &value))
		fprintf(out, " by %.9g", value);
	fputc('\n', out);
}

static uint64_t count_parameters(const struct figures *figures)
{
	uint64_t parameters = 0;

	for (size_t i = 0; i < figures->n; i++)
		parameters += figures->figures[i].elements;
	return parameters;
}

static struct card make_card(const struct figures *figures)
{
	struct card card = { .model = figures->model, .figures = figures };

	if (!find_text(&card, "general.architecture", card.architecture))
		snprintf(card.architecture, sizeof(card.architecture), "unknown");
	return card;
}

/* Only where something is missing. */
static void print_shards(const struct card *card, FILE *out)
{
	char *summary = card->model->whole ? NULL : shards_summary(card->model->shards);

	if (!summary)
		return;
	print_key(out, "shards");
	fprintf(out, "%s\n", summary);
	free(summary);
}

void card_print(const struct figures *figures, FILE *out)
{
	const struct card card = make_card(figures);
	char name[NAME_MAX + 1];

	snprintf(name, sizeof(name), "%s", card.model->name);
	make_one_line(name);
	print_key(out, "name");
	fprintf(out, "%s\n", name);
	print_key(out, "architecture");
	fprintf(out, "%s\n", card.architecture);
	print_key(out, "parameters");
	fprintf(out, "%" PRIu64 "\n", count_parameters(figures));
	print_key(out, "tensors");
	fprintf(out, "%zu\n", figures->n);
	print_shards(&card, out);
	print_key(out, "grafts");
	fprintf(out, "%" PRIu32 "\n", figures->grafts);
	print_blocks(&card, out);
	print_experts(&card, out);
	print_number(&card, "embedding", "embedding_length", out);
	print_number(&card, "context", "context_length", out);
	print_attention(&card, out);
	print_rope(&card, out);
}

void card_summary(const struct figures *figures, char *text, size_t n)
{
	const struct card card = make_card(figures);
	uint64_t blocks = 0;

	if (find_number(&card, "block_count", &blocks))
		snprintf(text, n, "%s, %" PRIu64 " block%s, %zu tensors", card.architecture, blocks,
			 blocks == 1 ? "" : "s", figures->n);
	else
		snprintf(text, n, "%s, %zu tensors", card.architecture, figures->n);
}
