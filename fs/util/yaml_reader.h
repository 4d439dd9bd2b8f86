/* SPDX-License-Identifier: MIT */
/* yaml_reader.h - YAML that may come from anywhere, event by event. The caller says what has to
 * come next, and the first event that is something else ends the reading: nothing is nested deeper
 * than the caller goes, and without aliases nothing is expanded, so that what is kept is no longer
 * than the text. */
#ifndef FS_UTIL_YAML_READER_H
#define FS_UTIL_YAML_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <yaml.h>

struct yaml_reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the last one; all zeros: there is none */
	const char *what;   /* the text is, "a recipe" */
	struct error *err;
};

/* Text of n bytes. Returns 0, or -ENOMEM with err set. */
int yaml_reader_open(struct yaml_reader *reader, const char *text, size_t n, const char *what,
		     struct error *err);

/* After an open that succeeded. */
void yaml_reader_close(struct yaml_reader *reader);

/* "line 3, column 5: ..." of a place. Returns -EINVAL. */
int yaml_reader_refuse_at(struct yaml_reader *reader, const yaml_mark_t *mark, const char *format,
			  ...) __attribute__((format(printf, 3, 4)));

/* Of the last event. */
#define yaml_reader_refuse(reader, ...) \
	yaml_reader_refuse_at(reader, &(reader)->event.start_mark, __VA_ARGS__)

/* "KEY" and what is wrong with that key, the last event. Returns -EINVAL. */
int yaml_reader_refuse_key(struct yaml_reader *reader, const char *what);

/* Returns -ENOMEM. */
int yaml_reader_out_of_memory(struct yaml_reader *reader);

/* The next event. One with an anchor, an alias or a tag is refused. Returns 0, or -errno with err
 * set. */
int yaml_reader_next(struct yaml_reader *reader);

/* The next event has to be of that type, else it is refused: "here has to be WHAT". */
int yaml_reader_expect(struct yaml_reader *reader, yaml_event_type_t type, const char *what);

/* Of a scalar: n bytes, and a NUL that does not count. */
const char *yaml_reader_value(const struct yaml_reader *reader, size_t *n);

/* The scalar as a whole number up to most. False: it is none. */
bool yaml_reader_whole(const struct yaml_reader *reader, uint64_t most, uint64_t *number);

/* Is the scalar that word? */
bool yaml_reader_is(const struct yaml_reader *reader, const char *word);

#endif
