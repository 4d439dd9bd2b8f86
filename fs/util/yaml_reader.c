/* SPDX-License-Identifier: MIT */
/* yaml_reader.c - see yaml_reader.h. */
#include "fs/util/yaml_reader.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int yaml_reader_open(struct yaml_reader *reader, const char *text, size_t n, const char *what,
		     struct error *err)
{
	*reader = (struct yaml_reader){ .what = what, .err = err };
	if (!yaml_parser_initialize(&reader->parser))
		return yaml_reader_out_of_memory(reader);
	yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text, n);
	yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
	return 0;
}

void yaml_reader_close(struct yaml_reader *reader)
{
	yaml_event_delete(&reader->event);
	yaml_parser_delete(&reader->parser);
}

int yaml_reader_refuse_at(struct yaml_reader *reader, const yaml_mark_t *mark, const char *format,
			  ...)
{
	char why[200];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return error_set(reader->err, EINVAL, ERROR_NO_OFFSET, "line %zu, column %zu: %s",
			 mark->line + 1, mark->column + 1, why);
}

int yaml_reader_refuse_key(struct yaml_reader *reader, const char *what)
{
	size_t n;
	const char *value = yaml_reader_value(reader, &n);

	return yaml_reader_refuse(reader, "\"%.60s\" %s", n ? value : "", what);
}

int yaml_reader_out_of_memory(struct yaml_reader *reader)
{
	return error_errno(reader->err, ENOMEM);
}

/* Set the error that libyaml reports. */
static int refuse_yaml(struct yaml_reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	const yaml_mark_t *mark =
		parser->error == YAML_READER_ERROR ? &parser->mark : &parser->problem_mark;

	if (parser->error == YAML_MEMORY_ERROR)
		return yaml_reader_out_of_memory(reader);
	return yaml_reader_refuse_at(reader, mark, "%s",
				     parser->problem ? parser->problem : "not valid YAML");
}

static bool has_decoration(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.anchor || event->data.scalar.tag;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.anchor || event->data.mapping_start.tag;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.anchor || event->data.sequence_start.tag;
	default:
		return event->type == YAML_ALIAS_EVENT;
	}
}

int yaml_reader_next(struct yaml_reader *reader)
{
	yaml_event_delete(&reader->event);
	memset(&reader->event, 0, sizeof(reader->event));
	if (!yaml_parser_parse(&reader->parser, &reader->event)) {
		memset(&reader->event, 0, sizeof(reader->event));
		return refuse_yaml(reader);
	}
	if (has_decoration(&reader->event))
		return yaml_reader_refuse(reader, "%s has no anchors, aliases and tags",
					  reader->what);
	return 0;
}

int yaml_reader_expect(struct yaml_reader *reader, yaml_event_type_t type, const char *what)
{
	const int rc = yaml_reader_next(reader);

	if (rc == 0 && reader->event.type != type)
		return yaml_reader_refuse(reader, "expected %s", what);
	return rc;
}

const char *yaml_reader_value(const struct yaml_reader *reader, size_t *n)
{
	*n = reader->event.data.scalar.length;
	return (const char *)reader->event.data.scalar.value;
}

bool yaml_reader_whole(const struct yaml_reader *reader, uint64_t most, uint64_t *number)
{
	size_t n;
	const char *value = yaml_reader_value(reader, &n);

	*number = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t digit = (uint64_t)(unsigned char)value[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, digit, number))
			return false;
	}
	return n && *number <= most;
}

bool yaml_reader_is(const struct yaml_reader *reader, const char *word)
{
	size_t n;
	const char *value = yaml_reader_value(reader, &n);

	return n == strlen(word) && memcmp(value, word, n) == 0;
}
