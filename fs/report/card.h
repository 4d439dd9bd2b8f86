/* SPDX-License-Identifier: MIT */
/* card.h - a summary of a model's metadata: the first lines of the report. */
#ifndef FS_REPORT_CARD_H
#define FS_REPORT_CARD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct figures;
struct metadata_edits;
struct model;

#define CARD_TEXT_MAX 64 /* bytes of a text, with a NUL */

/* Counts in the metadata, as one number for all blocks or one for each block. */
enum card_count {
	CARD_BLOCKS,
	CARD_EXPERTS,
	CARD_EXPERTS_USED,
	CARD_EXPERTS_SHARED,
	CARD_EMBEDDING,
	CARD_CONTEXT,
	CARD_HEADS,
	CARD_KV_HEADS,
	CARD_KV_RANK,
	CARD_WINDOW,
	CARD_ROPE_DIMENSIONS,
	CARD_COUNTS,
};

enum card_number {
	CARD_ROPE_BASE,
	CARD_ROPE_FACTOR,
	CARD_NUMBERS,
};

/* Plain data. Missing values are not known, or empty texts. */
struct card {
	char name[NAME_MAX + 1]; /* of the file, without ".gguf" */
	char architecture[CARD_TEXT_MAX], scaling[CARD_TEXT_MAX];
	struct card_range { /* least and greatest */
		bool known;
		uint64_t low, high;
	} counts[CARD_COUNTS];
	struct card_value {
		bool known;
		double value;
	} numbers[CARD_NUMBERS];
};

/* The metadata keys of counts and numbers, without the architecture: "block_count",
 * "rope.freq_base". */
const char *card_count_key(enum card_count count);
const char *card_number_key(enum card_number number);
#define CARD_SCALING_KEY "rope.scaling.type"

/* Print lines of "model", a key and its value: name, architecture, parameters, tensors, shards if
 * some are missing, grafts, blocks, experts, embedding, context, attention, rope. A missing value
 * is "unknown" or "none". The text does not depend on θ. */
void card_print(const struct figures *figures, FILE *out);

/* The card of a model, with "unknown" for a missing architecture. */
void card_get(const struct figures *figures, struct card *card);

/* Read the card of a model with those edits or NULL. An unreadable value counts as missing. */
void card_read(struct model *model, struct metadata_edits *edits, struct card *card);

#endif
