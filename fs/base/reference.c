/* SPDX-License-Identifier: MIT */
/* reference.c - see reference.h. */
#include "fs/base/reference.h"
#include "fs/util/paths.h"
#include "fs/util/text_escape.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_WORDS "organfs reference 1"
#define FIRST_LINE  FIRST_WORDS "\n"

const char *const reference_whose[] = {
	[REFERENCE_OF_BASE] = "base", [REFERENCE_OF_ANOTHER] = "another"
};

enum reference_of reference_parse_of(const char *word)
{
	for (enum reference_of of = REFERENCE_OF_BASE; word && of <= REFERENCE_OF_ANOTHER; of++)
		if (strcmp(word, reference_whose[of]) == 0)
			return of;
	return REFERENCE_OF_UNKNOWN;
}

char *reference_print(const char *path, const char *fingerprint, const struct organ *organ,
		      enum reference_of of)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs(FIRST_LINE "model ", out);
	paths_print(path, strlen(path), out);
	fprintf(out, "\nfingerprint %s\ntensor ", fingerprint);
	paths_print(organ->name, organ->name_length, out);
	fprintf(out, "\ntype %" PRIu32 "\nshape ", organ->type);
	for (uint32_t i = 0; i < organ->dims; i++)
		fprintf(out, "%s%" PRIu64, i ? "x" : "", organ->ne[i]);
	fprintf(out, "\nbytes %" PRIu64 "\n", organ->data_size);
	if (of != REFERENCE_OF_UNKNOWN)
		fprintf(out, "of %s\n", reference_whose[of]);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* The rest of the next line after `word`, with which it has to begin; *text moves to the line
 * after. NULL: it begins otherwise. */
static char *take_line(char **text, const char *word)
{
	const size_t n = strlen(word);
	char *line = *text, *end = strchr(line, '\n');

	if (!end || strncmp(line, word, n) != 0)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line + n;
}

static bool take_number(char **text, char end, uint64_t *value)
{
	char *after;

	errno = 0;
	if (**text < '0' || **text > '9')
		return false;
	*value = strtoull(*text, &after, 10);
	if (errno || *after != end)
		return false;
	*text = after + (end != '\0');
	return true;
}

/* Parse a shape that fits the type and the number of bytes of the tensor. */
static bool take_shape(char *shape, struct gguf_tensor *tensor)
{
	uint64_t bytes, elements;

	for (tensor->dims = 0; *shape; tensor->dims++) {
		const char end = strchr(shape, 'x') ? 'x' : '\0';

		if (tensor->dims == GGML_AXES)
			return false;
		if (!take_number(&shape, end, &tensor->ne[tensor->dims]))
			return false;
		if (*shape == '\0' && (end || tensor->ne[tensor->dims] == 0))
			return false;
	}
	if (!shape_elements(tensor->ne, &elements) || tensor->size > INT64_MAX / 2)
		return false;
	switch (type_size(tensor->type, tensor->ne, &bytes)) {
	case TYPE_SIZE_OK:
		return bytes == tensor->size;
	case TYPE_SIZE_UNKNOWN:
		return true;
	default:
		return false;
	}
}

static bool parse(char *text, struct reference *reference)
{
	char *first = take_line(&text, FIRST_WORDS), *model = take_line(&text, "model ");
	char *print = take_line(&text, "fingerprint "), *name = take_line(&text, "tensor ");
	char *type = take_line(&text, "type "), *shape = take_line(&text, "shape ");
	char *bytes = take_line(&text, "bytes "), *of = bytes ? take_line(&text, "of ") : NULL;
	struct gguf_tensor tensor = { .ne = { 1, 1, 1, 1 } };
	uint64_t id;

	if (!first || !model || !print || !name || !type || !shape || !bytes || *first ||
	    strlen(print) != FINGERPRINT_TEXT - 1 || !take_number(&type, '\0', &id) ||
	    id >= TYPE_SHORT || !take_number(&bytes, '\0', &tensor.size))
		return false;
	tensor.type = (uint32_t)id;
	if (!take_shape(shape, &tensor))
		return false;
	text_unescape(model);
	reference->of = reference_parse_of(of);
	reference->model = model;
	reference->tensor = name;
	reference->tensor_length = text_unescape(name);
	memcpy(reference->fingerprint, print, FINGERPRINT_TEXT);
	tensor.name = name;
	tensor.name_length = (uint32_t)reference->tensor_length;
	reference->organ = organ_of_tensor(&tensor);
	return true;
}

int reference_parse(const char *text, struct reference *reference, struct error *err)
{
	*reference = (struct reference){ .text = strdup(text) };
	if (!reference->text)
		return error_errno(err, ENOMEM);
	if (!parse(reference->text, reference))
		return error_set(err, EBADMSG, ERROR_NO_OFFSET, "not a reference");
	return 0;
}

void reference_release(struct reference *reference)
{
	free(reference->text);
	reference->text = NULL;
}
