/* SPDX-License-Identifier: MIT */
/* shards_text.c - see shards.h: messages about a set. */
#include "fs/base/organ_files.h"
#include "fs/base/shards.h"
#include "fs/base/shards_internal.h"
#include "fs/util/log.h"
#include "fs/util/plural.h"
#include "gguf/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* number of missing files that are named */
#define NAMED_MAX 8u

const char *shards_filename(const struct shards *shards, uint32_t no, char name[NAME_MAX + 1])
{
	if (shards->organs)
		snprintf(name, NAME_MAX + 1, "%s",
			 no ? shards->organs->entries[no - 1].file : HEADER_FILE);
	else if (shards->stem)
		snprintf(name, NAME_MAX + 1, "%.200s-%05" PRIu32 "-of-%05" PRIu32 ".gguf",
			 basename(shards->stem), no + 1, shards->count);
	else
		snprintf(name, NAME_MAX + 1, "shard %" PRIu32 " of %" PRIu32, no + 1,
			 shards->count);
	return name;
}

/* Print "1-3,5". */
static void print_numbers(const struct shards *shards, FILE *out)
{
	const char *comma = "";

	for (uint32_t k = 0; k < shards->count; k++) {
		uint32_t last = k;

		if (!shards_is_present(shards, k))
			continue;
		while (last + 1 < shards->count && shards_is_present(shards, last + 1))
			last++;
		fprintf(out, "%s%" PRIu32, comma, k + 1);
		if (last > k)
			fprintf(out, "-%" PRIu32, last + 1);
		comma = ",";
		k = last;
	}
	if (!*comma)
		fputc('0', out);
}

static uint32_t count_there(const struct shards *shards)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < shards->count; k++)
		n += shards_is_present(shards, k);
	return n;
}

static void print_summary(const struct shards *shards, FILE *out)
{
	fprintf(out, "%" PRIu32, shards_tensor_count(shards));
	if (shards->total)
		fprintf(out, "/%" PRIu64, shards->total);
	fprintf(out, " tensor%s",
		plural(shards->total ? shards->total : shards_tensor_count(shards)));
	if (!shards->organs) {
		fprintf(out, ", shard%s ", plural(count_there(shards)));
		print_numbers(shards, out);
		fprintf(out, " of %" PRIu32, shards->count);
	}
}

static void print_missing(const struct shards *shards, FILE *out)
{
	char name[NAME_MAX + 1];
	uint32_t missing = 0;

	if (!shards->stem)
		fprintf(out, "the model lacks %" PRIu32 " of its %" PRIu32 " shard%s",
			shards->count - count_there(shards), shards->count, plural(shards->count));
	for (uint32_t k = 0; shards->stem && k < shards->count; k++) {
		const char *why = shards->candidates[k].why;

		if (shards_is_present(shards, k) || missing++ >= NAMED_MAX)
			continue;
		fprintf(out, "%s%s", missing > 1 ? ", " : "the model lacks ",
			shards_filename(shards, k, name));
		/* Reason for which an existing file is not used. */
		if (why)
			fprintf(out, " (%s)", why);
	}
	if (missing > NAMED_MAX)
		fprintf(out, " and %" PRIu32 " more", missing - NAMED_MAX);
	if (shards->stem && !missing && shards->total)
		fprintf(out,
			"the shards should have %" PRIu64 " tensor%s together, and have %" PRIu32,
			shards->total, plural(shards->total), shards_tensor_count(shards));
}

/* The output of print(), to free. NULL: out of memory. */
static char *text_of(const struct shards *shards,
		     void (*print)(const struct shards *shards, FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print(shards, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *shards_summary(const struct shards *shards)
{
	return text_of(shards, print_summary);
}

char *shards_missing_text(struct shards *shards)
{
	char *text;

	pthread_mutex_lock(&shards->lock);
	text = text_of(shards, print_missing);
	pthread_mutex_unlock(&shards->lock);
	return text;
}

static bool was_logged(const struct shards *old, size_t i, const char *why)
{
	return old && old->candidates[i].why && strcmp(old->candidates[i].why, why) == 0;
}

static void log_candidate(const struct shards *shards, const struct shards *old, size_t i,
			  struct log *log)
{
	const struct shard_candidate *candidate = &shards->candidates[i];
	const struct shard_file *part = candidate->part;

	if (candidate->why) {
		if (!was_logged(old, i, candidate->why))
			log_add(log, "%s: passed over: %s", candidate->path, candidate->why);
	} else if (part && shards->stem && part->split.no != i &&
		   (!old || !old->candidates[i].part)) {
		log_add(log, "%s: taken for shard %" PRIu64 ", the number in its split.no key",
			candidate->path, part->split.no + 1);
	}
}

void shards_log(struct shards *shards, const struct shards *old, struct log *log)
{
	char name[NAME_MAX + 1], *text;

	for (size_t i = 0; i < shards->n_candidates; i++)
		log_candidate(shards, old, i, log);
	for (uint32_t k = 0; old && k < shards->count; k++) {
		if (shards_is_present(shards, k) != shards_is_present(old, k))
			log_add(log, "%s %s", shards_filename(shards, k, name),
				shards_is_present(shards, k) ? "is there now" : "is gone");
	}
	if (!shards->stem)
		log_add(log,
			"%s: the name is not that of a shard of %" PRIu32
			", so the other shards cannot be found",
			shards->candidates[0].path, shards->count);
	text = shards_are_complete(shards) ? NULL : shards_missing_text(shards);
	if (text)
		log_report(log, "%s: %s; nothing can be grafted or assembled until all are there",
			   basename(shards->stem ? shards->stem : shards->candidates[0].path),
			   text);
	free(text);
}
