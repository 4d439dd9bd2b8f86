/* SPDX-License-Identifier: MIT */
/* merge_note.c - see merge_note.h. */
#include "fs/merge/merge_note.h"
#include "fs/util/paths.h"
#include "fs/util/text_escape.h"
#include "gguf/error.h"
#include "gguf/reader.h"
#include "gguf/types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "organfs merge 1"

bool merge_note_organ(const char *name, uint32_t length, uint32_t type, uint32_t dims,
		      const uint64_t ne[GGML_AXES], struct organ *organ)
{
	struct gguf_tensor tensor = {
		.name = name, .name_length = length, .dims = dims, .type = type
	};

	memcpy(tensor.ne, ne, sizeof(tensor.ne));
	if (dims > GGML_AXES || type_size(type, ne, &tensor.size) != TYPE_SIZE_OK)
		return false;
	*organ = organ_of_tensor(&tensor);
	return true;
}

/* Print one word, percent-encoded; "-" stands for an empty one. */
static void print_word(FILE *out, const char *bytes, size_t n)
{
	fputc(' ', out);
	if (n == 0)
		fputc('-', out);
	else if (n == 1 && *bytes == '-')
		fputs("%2D", out);
	else
		paths_print(bytes, n, out);
}

static void print_tensor(FILE *out, const struct merge_note_tensor *tensor)
{
	const struct organ *organ = &tensor->organ;

	if (tensor->gone) {
		fputs("gone", out);
	} else {
		fprintf(out, "tensor %" PRIu32 " ", organ->type);
		for (uint32_t axis = 0; axis < organ->dims; axis++)
			fprintf(out, "%s%" PRIu64, axis ? "x" : "", organ->ne[axis]);
		if (organ->dims == 0)
			fputc('-', out);
	}
	print_word(out, organ->name, organ->name_length);
	fputc('\n', out);
}

char *merge_note_print(const struct merge_note *note)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs(FIRST_LINE "\n", out);
	for (size_t i = 0; i < note->n_models; i++) {
		const struct merge_note_model *model = &note->models[i];

		fputs("model", out);
		print_word(out, model->written, strlen(model->written));
		print_word(out, model->path, strlen(model->path));
		if (model->fingerprint[0])
			fprintf(out, " %s", model->fingerprint);
		fputc('\n', out);
	}
	if (note->chat_template) {
		fputs("template", out);
		print_word(out, note->chat_template, strlen(note->chat_template));
		fputc('\n', out);
	}
	for (size_t i = 0; i < note->n; i++)
		print_tensor(out, &note->tensors[i]);
	fprintf(out, "config %zu\n", note->size);
	fwrite(note->text, 1, note->size, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* State of the parser. */
struct note_reader {
	struct merge_note *note;
	size_t room_models, room;
	bool ended; /* the configuration was read */
};

/* Parse a decimal number up to the byte end, and skip that byte. */
static bool take_number(char **at, char end, uint64_t *number)
{
	char *stop;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*number = strtoull(*at, &stop, 10);
	if (errno || *stop != end)
		return false;
	*at = stop + (end != '\0');
	return true;
}

/* The next word, decoded, or NULL. */
static char *take_word(char **at, size_t *length)
{
	char *word = strsep(at, " ");

	if (!word || !*word)
		return NULL;
	if (strcmp(word, "-") == 0)
		*word = '\0';
	*length = text_unescape(word);
	return word;
}

static bool take_shape(char **at, struct organ *organ)
{
	char *word = strsep(at, " "), *axis;

	organ->dims = 0;
	for (uint32_t i = 0; i < GGML_AXES; i++)
		organ->ne[i] = 1;
	if (word && strcmp(word, "-") == 0)
		return true;
	while (word && (axis = strsep(&word, "x"))) {
		if (organ->dims == GGML_AXES ||
		    !take_number(&axis, '\0', &organ->ne[organ->dims++]))
			return false;
	}
	return organ->dims > 0;
}

/* Parse the rest of a line as a fingerprint. Returns false if it is none. */
static bool take_fingerprint(const char *rest, char fingerprint[FINGERPRINT_TEXT])
{
	fingerprint[0] = '\0';
	if (!rest)
		return true;
	if (strlen(rest) != FINGERPRINT_TEXT - 1 ||
	    strspn(rest, "0123456789abcdef") != FINGERPRINT_TEXT - 1)
		return false;
	memcpy(fingerprint, rest, FINGERPRINT_TEXT);
	return true;
}

static int read_model(struct note_reader *reader, char *line)
{
	struct merge_note *note = reader->note;
	const size_t room = reader->room_models;
	struct merge_note_model *more = note->models;
	size_t length;

	if (note->n_models == room) {
		more = reallocarray(note->models, 2 * room + 8, sizeof(*more));
		if (!more)
			return -ENOMEM;
		reader->room_models = 2 * room + 8;
		note->models = more;
	}
	more += note->n_models;
	more->written = take_word(&line, &length);
	if (!more->written || strlen(more->written) != length)
		return -EBADMSG;
	more->path = take_word(&line, &length);
	if (!more->path || strlen(more->path) != length ||
	    !take_fingerprint(line, more->fingerprint))
		return -EBADMSG;
	note->n_models++;
	return 0;
}

static int read_template(struct merge_note *note, char *line)
{
	size_t length;

	if (note->chat_template)
		return -EBADMSG;
	note->chat_template = take_word(&line, &length);
	return note->chat_template && !line && strlen(note->chat_template) == length ? 0 : -EBADMSG;
}

static bool parse_tensor(char *line, struct merge_note_tensor *tensor)
{
	struct organ organ = { .dims = 0 };
	uint64_t type = 0;
	size_t length;
	const char *name;

	if (!tensor->gone &&
	    (!take_number(&line, ' ', &type) || type > UINT32_MAX || !take_shape(&line, &organ)))
		return false;
	name = take_word(&line, &length);
	if (!name || line || length > UINT32_MAX)
		return false;
	if (!tensor->gone)
		return merge_note_organ(name, (uint32_t)length, (uint32_t)type, organ.dims,
					organ.ne, &tensor->organ);
	tensor->organ = (struct organ){ .name = name, .name_length = (uint32_t)length };
	return true;
}

static int read_tensor(struct note_reader *reader, char *line, bool gone)
{
	struct merge_note *note = reader->note;
	const size_t room = reader->room;
	struct merge_note_tensor *more = note->tensors;

	if (note->n == room) {
		more = reallocarray(note->tensors, 2 * room + 64, sizeof(*more));
		if (!more)
			return -ENOMEM;
		reader->room = 2 * room + 64;
		note->tensors = more;
	}
	more += note->n;
	*more = (struct merge_note_tensor){ .gone = gone };
	if (!parse_tensor(line, more))
		return -EBADMSG;
	note->n++;
	return 0;
}

static int read_config(struct note_reader *reader, char *number, const char *rest)
{
	uint64_t size;

	if (!rest || !take_number(&number, '\0', &size) || strlen(rest) != size)
		return -EBADMSG;
	reader->note->text = rest;
	reader->note->size = (size_t)size;
	reader->ended = true;
	return 0;
}

/* Parse one line; rest is the text after it, where a config line's bytes are. */
static int read_line(struct note_reader *reader, char *line, const char *rest)
{
	if (strncmp(line, "model ", 6) == 0)
		return read_model(reader, line + 6);
	if (strncmp(line, "template ", 9) == 0)
		return read_template(reader->note, line + 9);
	if (strncmp(line, "tensor ", 7) == 0)
		return read_tensor(reader, line + 7, false);
	if (strncmp(line, "gone ", 5) == 0)
		return read_tensor(reader, line + 5, true);
	if (strncmp(line, "config ", 7) == 0)
		return read_config(reader, line + 7, rest);
	return -EBADMSG;
}

int merge_note_read(char *bytes, struct merge_note *note, struct error *err)
{
	struct note_reader reader = { .note = note };
	char *rest = bytes, *line;
	size_t number = 1;
	int rc;

	*note = (struct merge_note){ .bytes = bytes };
	line = strsep(&rest, "\n");
	rc = strcmp(line, FIRST_LINE) == 0 ? 0 : -EBADMSG;
	while (rc == 0 && !reader.ended) {
		number++;
		line = strsep(&rest, "\n");
		rc = line ? read_line(&reader, line, rest) : -EBADMSG;
	}
	if (rc == -EBADMSG)
		error_set(err, EBADMSG, ERROR_NO_OFFSET, "line %zu is not a line of a merge note",
			  number);
	else if (rc < 0)
		error_set(err, -rc, ERROR_NO_OFFSET, "out of memory");
	return rc;
}

void merge_note_release(struct merge_note *note)
{
	free(note->models);
	free(note->tensors);
	free(note->bytes);
	*note = (struct merge_note){ 0 };
}
