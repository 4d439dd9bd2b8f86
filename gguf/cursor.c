/* SPDX-License-Identifier: MIT */
/* cursor.c - see cursor.h. */
#include "cursor.h"
#include "bytes.h"

#include <errno.h>
#include <stdlib.h>

/* fits into the second-level cache, and makes reads few */
#define WINDOW (CURSOR_TAKE_MAX * 4)

/* longer than the headers of most organ files */
#define WINDOW_SHORT ((size_t)512)

static int memory_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	const struct memory_bytes *memory = context;

	if (offset > memory->size || n > memory->size - offset)
		return -EIO;
	if (n)
		memcpy(bytes, memory->bytes + offset, n);
	return 0;
}

struct source source_of_memory(struct memory_bytes *memory)
{
	return (struct source){ memory_read_at, memory, memory->size };
}

uint64_t cursor_left(const struct cursor *cursor)
{
	return cursor->at < cursor->source->size ? cursor->source->size - cursor->at : 0;
}

static int init(struct cursor *cursor, const struct source *source, uint64_t at, size_t room)
{
	*cursor = (struct cursor){ .source = source, .at = at, .start = at };
	cursor->room = cursor_left(cursor) < room ? (size_t)cursor_left(cursor) : room;
	cursor->window = malloc(cursor->room ? cursor->room : 1);
	return cursor->window ? 0 : -ENOMEM;
}

int cursor_init(struct cursor *cursor, const struct source *source, uint64_t at)
{
	return init(cursor, source, at, WINDOW);
}

int cursor_init_short(struct cursor *cursor, const struct source *source, uint64_t at)
{
	return init(cursor, source, at, WINDOW_SHORT);
}

void cursor_release(struct cursor *cursor)
{
	free(cursor->window);
	cursor->window = NULL;
}

/* Make at least `needed` bytes available, which exist in the source. */
static int fill(struct cursor *cursor, size_t needed)
{
	const uint64_t left = cursor_left(cursor);
	size_t n;
	int rc;

	if (needed > cursor->room) {
		uint8_t *window = realloc(cursor->window, needed);

		if (!window)
			return -ENOMEM;
		cursor->window = window;
		cursor->room = needed;
	}
	n = left < cursor->room ? (size_t)left : cursor->room;
	rc = cursor->source->read_at(cursor->source->context, cursor->window, n, cursor->at);
	cursor->start = cursor->at;
	cursor->filled = rc < 0 ? 0 : n;
	return rc;
}

int cursor_take(struct cursor *cursor, size_t n, const uint8_t **bytes)
{
	if (n > cursor_left(cursor) || n > CURSOR_TAKE_MAX)
		return -EBADMSG;
	if (cursor->at - cursor->start > cursor->filled ||
	    n > cursor->filled - (size_t)(cursor->at - cursor->start)) {
		const int rc = fill(cursor, n);

		if (rc < 0)
			return rc;
	}
	*bytes = cursor->window + (cursor->at - cursor->start);
	cursor->at += n;
	return 0;
}

int cursor_skip(struct cursor *cursor, uint64_t n)
{
	if (n > cursor_left(cursor))
		return -EBADMSG;
	cursor->at += n;
	return 0;
}

int cursor_u32(struct cursor *cursor, uint32_t *value)
{
	const uint8_t *bytes;
	const int rc = cursor_take(cursor, sizeof(*value), &bytes);

	if (rc == 0)
		*value = load_u32(bytes);
	return rc;
}

int cursor_u64(struct cursor *cursor, uint64_t *value)
{
	const uint8_t *bytes;
	const int rc = cursor_take(cursor, sizeof(*value), &bytes);

	if (rc == 0)
		*value = load_u64(bytes);
	return rc;
}
