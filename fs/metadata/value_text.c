/* SPDX-License-Identifier: MIT */
/* value_text.c - see value_text.h. */
#include "fs/metadata/value_text.h"
#include "fs/metadata/value.h"
#include "fs/util/array_grown.h"
#include "fs/util/utf8.h"
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "gguf/printable.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* bytes of text between two positions */
#define CHUNK_BYTES ((size_t)1 << 16)

/* most bytes written by a step: a word with quotes and separator */
#define STEP_MAX ((size_t)VALUE_SCALAR_TEXT + 8)

/* bytes of a string processed at a time */
#define SCAN_MAX ((size_t)4096)

enum phase { BEFORE, BETWEEN, IN_STRING, AFTER };

/* State of the generation, with which it can be continued. */
struct text_position {
	enum phase phase;
	uint64_t at;	  /* offset of the next byte of the source */
	uint64_t element; /* index of an array's element */
	uint64_t left;	  /* bytes left of the string */
	uint64_t text;	  /* bytes of text so far */
};

struct value_text {
	uint64_t size;
	size_t n, room;
	struct text_position *positions; /* about CHUNK_BYTES apart */
};

struct printing {
	const struct value *value;
	struct source source; /* the value's, limited to its end */
	struct cursor in;
	struct text_position position;
	char *out, *end;
};

static bool is_array(const struct printing *p)
{
	return p->value->type.type == KV_ARRAY;
}

static size_t room(const struct printing *p)
{
	return (size_t)(p->end - p->out);
}

static void put(struct printing *p, const char *text)
{
	while (*text)
		*p->out++ = *text++;
}

/* Take the next n bytes of the value. The file may have changed since the reader checked it. */
static int take(struct printing *p, size_t n, const uint8_t **bytes)
{
	return cursor_take(&p->in, n, bytes) < 0 ? -EIO : 0;
}

static int print_scalar(struct printing *p, enum kv_type type)
{
	char word[VALUE_SCALAR_TEXT];
	uint8_t wide[8] = { 0 };
	const uint8_t *bytes;
	const size_t size = kv_type_size(type);
	const int rc = take(p, size, &bytes);
	bool quoted;

	if (rc < 0)
		return rc;
	memcpy(wide, bytes, size);
	value_scalar_text(type, load_u64(wide), word);
	quoted = is_array(p) && (type == KV_F32 || type == KV_F64) && strpbrk(word, "in");
	if (quoted)
		put(p, "\"");
	put(p, word);
	if (quoted)
		put(p, "\"");
	return 0;
}

static int begin_string(struct printing *p)
{
	const uint8_t *bytes;
	const int rc = take(p, p->value->width, &bytes);

	if (rc < 0)
		return rc;
	p->position.left = p->value->width == 8 ? load_u64(bytes) : load_u32(bytes);
	if (p->position.left > cursor_left(&p->in))
		return -EIO;
	p->position.phase = IN_STRING;
	put(p, "\"");
	return 0;
}

/* Print one character of a string in an array. Returns the number of bytes used; 0: incomplete. */
static size_t print_character(struct printing *p, const uint8_t *bytes, size_t n, bool is_all)
{
	static const char short_forms[] = "\bb\tt\nn\ff\rr\"\"\\\\";
	const size_t length = utf8_length(bytes, n);
	uint32_t code;
	const size_t control = control_length(bytes, n, &code);
	const char *form = bytes[0] ? strchr(short_forms, bytes[0]) : NULL;

	/* The letters are the second of each pair. */
	if (form && (form - short_forms) % 2 == 0) {
		*p->out++ = '\\';
		*p->out++ = form[1];
		return 1;
	}
	if (control)
		p->out += sprintf(p->out, "\\u%04x", (unsigned)code);
	else if (length)
		p->out = (char *)store_bytes((uint8_t *)p->out, bytes, length);
	else if (n < 4 && !is_all)
		return 0;
	else
		p->out += sprintf(p->out, "\\udc%02x", bytes[0]);
	return length ? length : 1;
}

static int print_quoted(struct printing *p)
{
	const size_t n = p->position.left < SCAN_MAX ? (size_t)p->position.left : SCAN_MAX;
	const uint64_t at = p->in.at;
	const uint8_t *bytes;
	const int rc = take(p, n, &bytes);
	size_t used = 0;

	if (rc < 0)
		return rc;
	while (used < n && room(p) >= STEP_MAX) {
		const size_t length =
			print_character(p, bytes + used, n - used, n == p->position.left);

		if (length == 0)
			break;
		used += length;
	}
	p->in.at = at + used;
	p->position.left -= used;
	if (p->position.left == 0 && room(p) >= STEP_MAX) {
		put(p, "\"");
		p->position.phase = BETWEEN;
		p->position.element++;
	}
	return 0;
}

static int print_element(struct printing *p)
{
	int rc;

	if (p->position.element == p->value->count) {
		put(p, "]\n");
		p->position.phase = AFTER;
		return 0;
	}
	if (p->position.element)
		put(p, ", ");
	if (p->value->type.element == KV_STRING)
		return begin_string(p);
	rc = print_scalar(p, p->value->type.element);
	p->position.element++;
	return rc;
}

static int print_plain(struct printing *p)
{
	size_t n = p->position.left < SCAN_MAX ? (size_t)p->position.left : SCAN_MAX;
	const uint8_t *bytes;
	int rc;

	if (n > room(p))
		n = room(p);
	rc = take(p, n, &bytes);
	if (rc < 0)
		return rc;
	p->out = (char *)store_bytes((uint8_t *)p->out, bytes, n);
	p->position.left -= n;
	if (p->position.left == 0 && room(p) >= STEP_MAX) {
		put(p, "\n");
		p->position.phase = AFTER;
	}
	return 0;
}

static int begin(struct printing *p)
{
	int rc = 0;

	p->position.phase = BETWEEN;
	if (is_array(p)) {
		put(p, "[");
	} else if (p->value->type.type == KV_STRING) {
		p->position.left = p->value->length;
		p->position.phase = IN_STRING;
	} else {
		rc = print_scalar(p, p->value->type.type);
		put(p, "\n");
		p->position.phase = AFTER;
	}
	return rc;
}

/* Generate text from the position on, up to a chunk or the end. buffer has CHUNK_BYTES bytes, of
 * which *n are written. */
static int print_chunk(struct printing *p, char *buffer, size_t *n)
{
	int rc = 0;

	p->out = buffer;
	p->end = buffer + CHUNK_BYTES;
	p->in.at = p->position.at;
	while (rc == 0 && p->position.phase != AFTER && room(p) >= STEP_MAX) {
		if (p->position.phase == BEFORE)
			rc = begin(p);
		else if (p->position.phase == BETWEEN)
			rc = print_element(p);
		else
			rc = is_array(p) ? print_quoted(p) : print_plain(p);
	}
	*n = (size_t)(p->out - buffer);
	p->position.at = p->in.at;
	p->position.text += *n;
	return rc;
}

static int add_position(struct value_text *text, const struct text_position *position)
{
	struct text_position *positions =
		array_grown(text->positions, text->n, &text->room, sizeof(*positions));

	if (!positions)
		return -ENOMEM;
	text->positions = positions;
	text->positions[text->n++] = *position;
	return 0;
}

static int begin_printing(struct printing *p, const struct value *value,
			  const struct text_position *from, char **buffer)
{
	const uint64_t end = value->offset + value->length;

	*p = (struct printing){ .value = value, .source = *value->source, .position = *from };
	if (p->source.size > end)
		p->source.size = end;
	*buffer = malloc(CHUNK_BYTES);
	if (!*buffer || cursor_init(&p->in, &p->source, from->at) < 0) {
		free(*buffer);
		return -ENOMEM;
	}
	return 0;
}

static void end_printing(struct printing *p, char *buffer)
{
	cursor_release(&p->in);
	free(buffer);
}

static int measure(struct value_text *text, const struct value *value)
{
	const struct text_position start = { .at = value->offset };
	struct printing p;
	char *buffer;
	size_t n;
	int rc = begin_printing(&p, value, &start, &buffer);

	if (rc < 0)
		return rc;
	while (rc == 0 && p.position.phase != AFTER) {
		rc = add_position(text, &p.position);
		if (rc == 0)
			rc = print_chunk(&p, buffer, &n);
	}
	text->size = p.position.text;
	end_printing(&p, buffer);
	return rc;
}

struct value_text *value_text_new(const struct value *value, int *rc)
{
	struct value_text *text = calloc(1, sizeof(*text));

	*rc = text ? measure(text, value) : -ENOMEM;
	if (*rc == 0)
		return text;
	value_text_free(text);
	return NULL;
}

void value_text_free(struct value_text *text)
{
	if (!text)
		return;
	free(text->positions);
	free(text);
}

uint64_t value_text_size(const struct value_text *text)
{
	return text->size;
}

size_t value_text_chunks(const struct value_text *text)
{
	return text->n;
}

uint64_t value_text_chunk(const struct value_text *text, size_t i, uint64_t *offset)
{
	*offset = text->positions[i].text;
	return (i + 1 < text->n ? text->positions[i + 1].text : text->size) - *offset;
}

/* The last position at or before an offset. */
static size_t find_position(const struct value_text *text, uint64_t offset)
{
	size_t low = 0, high = text->n;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (text->positions[middle].text <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Did the generated text end where it did in the first run: at position i, or at the end? */
static bool is_as_measured(const struct value_text *text, size_t i,
			   const struct text_position *position)
{
	const struct text_position *next = &text->positions[i];

	if (i == text->n)
		return position->phase == AFTER && position->text == text->size;
	return position->phase == next->phase && position->at == next->at &&
	       position->element == next->element && position->left == next->left &&
	       position->text == next->text;
}

int value_text_read(const struct value_text *text, const struct value *value, char *bytes, size_t n,
		    uint64_t offset)
{
	size_t i = find_position(text, offset);
	struct printing p;
	char *buffer;
	int rc = begin_printing(&p, value, &text->positions[i], &buffer);

	if (rc < 0)
		return rc;
	while (rc == 0 && n) {
		const uint64_t start = p.position.text, skip = offset - start;
		size_t got;

		rc = print_chunk(&p, buffer, &got);
		if (rc == 0 && !is_as_measured(text, ++i, &p.position))
			rc = -EIO;
		if (rc == 0) {
			const size_t here = got - skip < n ? (size_t)(got - skip) : n;

			memcpy(bytes, buffer + skip, here);
			bytes += here;
			offset += here;
			n -= here;
		}
	}
	end_printing(&p, buffer);
	return rc;
}
