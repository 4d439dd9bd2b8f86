/* SPDX-License-Identifier: MIT */
/* recipe_write.c - see recipe.h: writes a recipe as YAML, by libyaml's emitter. */
#include "fs/recipe/recipe_fields.h"
#include "fs/util/paths.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct writer {
	yaml_emitter_t emitter;
	bool portable;
	bool failed; /* out of memory */
	bool too_long;
	char *text;
	size_t n, room;
};

/* Output handler of the emitter: 1 stored, 0 failed. */
static int keep(void *context, unsigned char *bytes, size_t n)
{
	struct writer *writer = context;
	size_t room = writer->room;
	char *more;

	if (n > RECIPE_MAX - writer->n) {
		writer->too_long = true;
		return 0;
	}
	if (room - writer->n <= n) {
		room = 2 * (writer->n + n) + 256;
		more = realloc(writer->text, room);
		if (!more)
			return 0;
		writer->text = more;
		writer->room = room;
	}
	memcpy(writer->text + writer->n, bytes, n);
	writer->n += n;
	writer->text[writer->n] = '\0';
	return 1;
}

static void emit(struct writer *writer, int made, yaml_event_t *event)
{
	if (!made)
		writer->failed = true;
	else if (writer->failed)
		yaml_event_delete(event);
	else if (!yaml_emitter_emit(&writer->emitter, event))
		writer->failed = true;
}

static void begin_map(struct writer *writer)
{
	yaml_event_t event;

	emit(writer,
	     yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE),
	     &event);
}

static void end_map(struct writer *writer)
{
	yaml_event_t event;

	emit(writer, yaml_mapping_end_event_initialize(&event), &event);
}

/* Write a scalar. Only keywords of the format go unquoted: other programs could read an unquoted
 * text as a number. */
static void scalar(struct writer *writer, const char *bytes, size_t n, yaml_scalar_style_t style)
{
	yaml_event_t event;

	emit(writer,
	     n <= INT_MAX &&
		     yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)bytes,
						  (int)n, 1, 1, style),
	     &event);
}

static void word(struct writer *writer, const char *text)
{
	scalar(writer, text, strlen(text), YAML_PLAIN_SCALAR_STYLE);
}

static void encoded(struct writer *writer, const struct recipe_text *text)
{
	char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	if (out)
		paths_print(text->bytes, text->length, out);
	if (!out || fclose(out) != 0)
		writer->failed = true;
	else
		scalar(writer, bytes, size, YAML_ANY_SCALAR_STYLE);
	free(bytes);
}

/* Write a text; several lines as a literal block. */
static void text(struct writer *writer, const struct recipe_text *text)
{
	const bool lines = memchr(text->bytes, '\n', text->length) != NULL;

	scalar(writer, text->bytes, text->length,
	       lines ? YAML_LITERAL_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE);
}

static void number(struct writer *writer, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	word(writer, digits);
}

/* Has the item a donor, or no field for one? */
static bool has_donor(const struct recipe_section_fields *section, const void *item)
{
	for (size_t i = 0; i < section->n; i++)
		if (section->fields[i].kind == FIELD_DONOR)
			return *(const uint32_t *)((const char *)item +
						   section->fields[i].offset) != RECIPE_NO_DONOR;
	return true;
}

static bool has_value(const struct writer *writer, const struct recipe_section_fields *section,
		      const struct recipe_field *field, const void *item)
{
	const void *value = (const char *)item + field->offset;
	const struct recipe_text *is = value;

	/* The target of a link within the mount is valid on any machine. */
	if (field->local && writer->portable && is->bytes &&
	    (is->bytes[0] == '/' || has_donor(section, item)))
		return false;
	switch (field->kind) {
	case FIELD_ENCODED:
		return is->bytes;
	case FIELD_TEXT:
		return is->bytes && recipe_is_utf8(is);
	case FIELD_UNTEXT:
		return is->bytes && !recipe_is_utf8(is);
	case FIELD_NUMBER:
		return field->required || *(const uint64_t *)value;
	case FIELD_HASH:
		return *(const char *)value;
	case FIELD_DONOR:
		return *(const uint32_t *)value != RECIPE_NO_DONOR;
	case FIELD_YES:
		return *(const bool *)value;
	default:
		return true;
	}
}

static void write_value(struct writer *writer, const struct recipe_field *field, const void *value)
{
	switch (field->kind) {
	case FIELD_ENCODED:
	case FIELD_UNTEXT:
		encoded(writer, value);
		break;
	case FIELD_TEXT:
		text(writer, value);
		break;
	case FIELD_NUMBER:
		number(writer, *(const uint64_t *)value);
		break;
	case FIELD_HASH:
		/* "0000..." and "1e1..." are numbers to other programs. */
		scalar(writer, value, strlen(value), YAML_SINGLE_QUOTED_SCALAR_STYLE);
		break;
	case FIELD_DONOR:
		if (*(const uint32_t *)value == RECIPE_BASE)
			word(writer, "base");
		else
			number(writer, *(const uint32_t *)value);
		break;
	case FIELD_HOW:
		word(writer, recipe_hows[*(const enum recipe_how *)value]);
		break;
	case FIELD_YES:
		word(writer, "yes");
		break;
	}
}

static bool is_empty(const struct writer *writer, const struct recipe_section_fields *section,
		     const void *item)
{
	for (size_t i = 0; i < section->n; i++)
		if (has_value(writer, section, &section->fields[i], item))
			return false;
	return true;
}

static void write_item(struct writer *writer, const struct recipe_section_fields *section,
		       const void *item)
{
	begin_map(writer);
	for (size_t i = 0; i < section->n; i++) {
		const struct recipe_field *field = &section->fields[i];

		if (!has_value(writer, section, field, item))
			continue;
		word(writer, field->name);
		write_value(writer, field, (const char *)item + field->offset);
	}
	end_map(writer);
}

static void write_section(struct writer *writer, const struct recipe *recipe,
			  enum recipe_section number)
{
	const struct recipe_section_fields *section = &recipe_sections[number];
	yaml_event_t event;
	const void *item = recipe_item(recipe, number, 0);

	if (!item || (!section->list && is_empty(writer, section, item)))
		return;
	word(writer, section->name);
	if (!section->list) {
		write_item(writer, section, item);
		return;
	}
	emit(writer,
	     yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE),
	     &event);
	for (size_t i = 0; (item = recipe_item(recipe, number, i)); i++)
		write_item(writer, section, item);
	emit(writer, yaml_sequence_end_event_initialize(&event), &event);
}

static void write_all(struct writer *writer, const struct recipe *recipe)
{
	yaml_event_t event;

	emit(writer, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event);
	emit(writer, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1), &event);
	begin_map(writer);
	word(writer, RECIPE_WORD);
	word(writer, RECIPE_VERSION);
	for (enum recipe_section section = 0; section < RECIPE_SECTIONS; section++)
		write_section(writer, recipe, section);
	end_map(writer);
	emit(writer, yaml_document_end_event_initialize(&event, 1), &event);
	emit(writer, yaml_stream_end_event_initialize(&event), &event);
}

char *recipe_write(const struct recipe *recipe, bool portable, size_t *size, struct error *err)
{
	struct writer writer = { .portable = portable };

	if (!yaml_emitter_initialize(&writer.emitter)) {
		error_errno(err, ENOMEM);
		return NULL;
	}
	yaml_emitter_set_output(&writer.emitter, keep, &writer);
	yaml_emitter_set_encoding(&writer.emitter, YAML_UTF8_ENCODING);
	yaml_emitter_set_unicode(&writer.emitter, 1);
	yaml_emitter_set_width(&writer.emitter, -1);
	write_all(&writer, recipe);
	yaml_emitter_delete(&writer.emitter);
	*size = writer.n;
	if (!writer.failed)
		return writer.text;
	free(writer.text);
	if (writer.too_long)
		error_set(err, EFBIG, ERROR_NO_OFFSET, "the recipe would be longer than %zu bytes",
			  RECIPE_MAX);
	else
		error_errno(err, ENOMEM);
	return NULL;
}
