/* SPDX-License-Identifier: MIT */
/* yaml_reader.h - a YAML parser for untrusted text, event by event. The caller says which event has
 * to come next, and the first other event ends the reading. The nesting is therefore limited by the
 * caller, and as aliases are refused, the result is never longer than the text. */
#ifndef FS_UTIL_YAML_READER_H
#define FS_UTIL_YAML_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <yaml.h>

struct yaml_reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the last one; all zeros: none */
	const char *what;   /* noun for messages, "a recipe" */
	struct error *err;
};

/* Begin to read a text of n bytes, which is borrowed. Returns 0, or -ENOMEM with err set. */
int yaml_reader_open(struct yaml_reader *reader, const char *text, size_t n, const char *what,
		     struct error *err);

/* Call after a successful open. */
void yaml_reader_close(struct yaml_reader *reader);

/* Set the error "line 3, column 5: ..." of a position. Returns -EINVAL. */
int yaml_reader_refuse_at(struct yaml_reader *reader, const yaml_mark_t *mark, const char *format,
			  ...) __attribute__((format(printf, 3, 4)));

/* The same for the position of the last event. */
#define yaml_reader_refuse(reader, ...) \
	yaml_reader_refuse_at(reader, &(reader)->event.start_mark, __VA_ARGS__)

/* Set the error "KEY" and the problem with that key, which is the last event. Returns -EINVAL. */
int yaml_reader_refuse_key(struct yaml_reader *reader, const char *what);

/* Returns -ENOMEM. */
int yaml_reader_out_of_memory(struct yaml_reader *reader);

/* Read the next event. Anchors, aliases and tags are refused. Returns 0, or -errno with err set. */
int yaml_reader_next(struct yaml_reader *reader);

/* Read the next event, which has to be of that type, else it is refused. */
int yaml_reader_expect(struct yaml_reader *reader, yaml_event_type_t type, const char *what);

/* Bytes of the last event, a scalar: n, and a NUL that is not counted. */
const char *yaml_reader_value(const struct yaml_reader *reader, size_t *n);

/* The scalar as a whole number up to most. False: not such a number. */
bool yaml_reader_whole(const struct yaml_reader *reader, uint64_t most, uint64_t *number);

/* Is the scalar equal to that word? */
bool yaml_reader_is(const struct yaml_reader *reader, const char *word);

#endif
