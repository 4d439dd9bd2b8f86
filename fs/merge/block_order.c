/* SPDX-License-Identifier: MIT */
/* block_order.c - see block_order.h. */
#include "fs/merge/block_order.h"
#include "fs/merge/merge_config.h"
#include "fs/merge/merge_tensor.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\n"

/* Append the blocks first to last. */
static int add(struct block_order *order, uint64_t first, uint64_t last, struct error *err)
{
	const uint64_t n = order->n + (last - first + 1);
	uint32_t *blocks;

	if (n > MERGE_CONFIG_BLOCKS)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "a model has at most %" PRIu64 " blocks", MERGE_CONFIG_BLOCKS);
	blocks = reallocarray(order->blocks, n, sizeof(*blocks));
	if (!blocks)
		return error_errno(err, ENOMEM);
	order->blocks = blocks;
	for (uint64_t block = first; block <= last; block++)
		blocks[order->n++] = (uint32_t)block;
	return 0;
}

/* Parse the decimal number of a block. Returns the text behind the number, or NULL. */
static const char *read_number(const char *text, uint32_t blocks, uint64_t *number)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return NULL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno == 0 && *number < blocks ? end : NULL;
}

static int read_range(const char *word, int length, uint32_t blocks, struct block_order *order,
		      struct error *err)
{
	uint64_t first, last;
	const char *end = read_number(word, blocks, &first);

	last = first;
	if (end && *end == '-')
		end = read_number(end + 1, blocks, &last);
	if (!end || end != word + length)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "\"%.*s\" is neither a block nor a range FIRST-LAST of blocks; "
				 "there are %" PRIu32 ", from 0 on",
				 length < 40 ? length : 40, word, blocks);
	if (last < first)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the range \"%.*s\" runs backwards; write each block by itself",
				 length < 40 ? length : 40, word);
	return add(order, first, last, err);
}

/* End of the run of successive blocks that begins at index i. */
static size_t run_end(const struct block_order *order, size_t i)
{
	for (i++; i < order->n && order->blocks[i] == order->blocks[i - 1] + 1;)
		i++;
	return i;
}

int block_order_read(const char *text, uint32_t blocks, struct block_order *order,
		     struct error *err)
{
	size_t runs = 0;
	int rc = 0;

	*order = (struct block_order){ 0 };
	for (size_t length; rc == 0 && *(text += strspn(text, BLANKS)); text += length) {
		length = strcspn(text, text[0] == '#' ? "\n" : BLANKS);
		if (text[0] != '#')
			rc = read_range(text, (int)length, blocks, order, err);
	}
	for (size_t i = 0; rc == 0 && i < order->n; i = run_end(order, i))
		runs++;
	if (rc == 0 && runs == 0)
		rc = error_set(err, EINVAL, ERROR_NO_OFFSET, "no block is named");
	else if (runs > MERGE_CONFIG_SLICES)
		rc = error_set(err, EINVAL, ERROR_NO_OFFSET, "there are at most %d ranges",
			       MERGE_CONFIG_SLICES);
	return rc;
}

static char *end_text(FILE *out, char **text)
{
	if (!out)
		return NULL;
	if (fclose(out) == 0)
		return *text;
	free(*text);
	return NULL;
}

char *block_order_text(const struct block_order *order)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0, end; out && i < order->n; i = end) {
		end = run_end(order, i);
		fprintf(out, "%s%" PRIu32, i ? " " : "", order->blocks[i]);
		if (end - i > 1)
			fprintf(out, "-%" PRIu32, order->blocks[end - 1]);
	}
	if (out)
		fputc('\n', out);
	return end_text(out, &text);
}

char *block_order_config(const struct block_order *order, const char *model)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out)
		fputs("merge_method: passthrough\nslices:\n", out);
	for (size_t i = 0, end; out && i < order->n; i = end) {
		end = run_end(order, i);
		fputs("- sources:\n  - model: {path: '", out);
		for (const char *c = model; *c; c++)
			fputs((char[]){ *c, *c == '\'' ? '\'' : '\0', '\0' }, out);
		fprintf(out, "'}\n    layer_range: [%" PRIu32 ", %" PRIu32 "]\n", order->blocks[i],
			order->blocks[end - 1] + 1);
	}
	return end_text(out, &text);
}

static bool has_parameters(const struct merge_parameters *parameters)
{
	for (unsigned p = 0; p < MERGE_PARAMETERS; p++)
		if (parameters->settings[p].n)
			return true;
	return false;
}

/* Does the slice copy blocks of that model unchanged? */
static bool is_plain(const struct merge_slice *slice, const char *model)
{
	return slice->n == 1 && strcmp(slice->sources[0].model, model) == 0 &&
	       !slice->sources[0].lora && !slice->base_model.model &&
	       slice->sources[0].from < slice->sources[0].to &&
	       !has_parameters(&slice->parameters) &&
	       !has_parameters(&slice->sources[0].parameters);
}

int block_order_of_config(const char *text, size_t size, struct block_order *order)
{
	struct merge_config config;
	struct error err = { 0 };
	int rc = merge_config_read(text, size, &config, &err);
	const char *model = rc == 0 ? merge_config_host(&config) : NULL;
	bool plain = model && config.method == MERGE_PASSTHROUGH && config.sliced &&
		     !config.base_model.model && config.dtype == MERGE_TYPE_AS_IS &&
		     !has_parameters(&config.parameters) && !config.n_documents &&
		     !config.chat_template;

	*order = (struct block_order){ 0 };
	for (size_t i = 0; plain && i < config.n; i++) {
		const struct merge_source *source = config.slices[i].sources;

		plain = is_plain(&config.slices[i], model) &&
			(rc = add(order, source->from, source->to - 1, &err)) == 0;
	}
	merge_config_release(&config);
	return err.code == ENOMEM ? -ENOMEM : plain;
}
