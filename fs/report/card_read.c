/* SPDX-License-Identifier: MIT */
/* card_read.c - see card.h: what a model's metadata say. */
#include "fs/report/card.h"
#include "fs/metadata/metadata_json.h"
#include "gguf/printable.h"

#include <string.h>

#define KEY_MAX 160

struct metadata_of {
	struct model *model;
	struct metadata_edits *edits;
	const char *architecture;
};

static struct metadata_entry *find_whole(const struct metadata_of *from, const char *key)
{
	return metadata_get_with_edits(from->model->metadata, from->edits, key);
}

/* A string value, short and of one line. Empty: there is none. */
static void read_text(const struct metadata_of *from, const char *key, char text[CARD_TEXT_MAX])
{
	struct metadata_entry *metadatum = find_whole(from, key);
	const struct value *is = metadatum ? metadata_entry_value(metadatum) : NULL;
	cJSON *value = is && is->type.type == KV_STRING ? metadata_json_value(is) : NULL;
	const char *string = cJSON_GetStringValue(value);

	snprintf(text, CARD_TEXT_MAX, "%s", string ? string : "");
	make_printable(text);
	cJSON_Delete(value);
	metadata_entry_unref(metadatum);
}

static void name_key(const struct metadata_of *from, const char *key, char name[KEY_MAX])
{
	snprintf(name, KEY_MAX, "%s.%s", from->architecture, key);
}

/* The value of ARCHITECTURE.key, to release; NULL: none. */
static struct metadata_entry *find(const struct metadata_of *from, const char *key)
{
	char name[KEY_MAX];

	name_key(from, key, name);
	return find_whole(from, name);
}

/* An integer, or element i of an array of them. */
static bool element(const struct metadata_entry *metadatum, uint64_t i, uint64_t *value)
{
	const struct value_type type = metadata_entry_value(metadatum)->type;
	struct kv one = { .type = type.type == KV_ARRAY ? type.element : type.type };

	return metadata_entry_scalar(metadatum, i, &one.scalar) && kv_unsigned(&one, value);
}

/* More elements than blocks that any model has are not looked at. */
#define ELEMENTS_MAX 4096

static bool range_of(const struct metadata_entry *metadatum, struct card_range *range)
{
	const struct value *is = metadata_entry_value(metadatum);
	const uint64_t n = is->type.type == KV_ARRAY ? is->count : 1;
	uint64_t value;

	*range = (struct card_range){ true, UINT64_MAX, 0 };
	for (uint64_t i = 0; i < n && i < ELEMENTS_MAX; i++) {
		if (!element(metadatum, i, &value))
			return false;
		range->low = value < range->low ? value : range->low;
		range->high = value > range->high ? value : range->high;
	}
	return n > 0;
}

static struct card_range read_range(const struct metadata_of *from, const char *key)
{
	struct metadata_entry *metadatum = find(from, key);
	struct card_range range;

	if (!metadatum || !range_of(metadatum, &range))
		range = (struct card_range){ .known = false };
	metadata_entry_unref(metadatum);
	return range;
}

static struct card_value read_float(const struct metadata_of *from, const char *key)
{
	struct metadata_entry *metadatum = find(from, key);
	const enum kv_type type =
		metadatum ? metadata_entry_value(metadatum)->type.type : KV_STRING;
	struct card_value value = { .known = type == KV_F32 || type == KV_F64 };
	uint64_t scalar;
	float single;
	uint32_t bits;

	value.known = value.known && metadata_entry_scalar(metadatum, 0, &scalar);
	metadata_entry_unref(metadatum);
	if (!value.known)
		return value;
	if (type == KV_F64) {
		memcpy(&value.value, &scalar, sizeof(value.value));
	} else {
		bits = (uint32_t)scalar;
		memcpy(&single, &bits, sizeof(single));
		value.value = (double)single;
	}
	return value;
}

void card_read(struct model *model, struct metadata_edits *edits, struct card *card)
{
	struct metadata_of from = { model, edits, card->architecture };
	char key[KEY_MAX];

	*card = (struct card){ .name = "" };
	snprintf(card->name, sizeof(card->name), "%s", model->name);
	make_printable(card->name);
	read_text(&from, "general.architecture", card->architecture);
	/* Keys without an architecture are looked for all the same. */
	if (card->architecture[0] == '\0')
		from.architecture = "unknown";
	for (enum card_count i = 0; i < CARD_COUNTS; i++)
		card->counts[i] = read_range(&from, card_count_key(i));
	for (enum card_number i = 0; i < CARD_NUMBERS; i++)
		card->numbers[i] = read_float(&from, card_number_key(i));
	name_key(&from, CARD_SCALING_KEY, key);
	read_text(&from, key, card->scaling);
}
