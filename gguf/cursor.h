/* SPDX-License-Identifier: MIT */
/* cursor.h - reading untrusted bytes in order: claim them, then look at them.
 *
 * The bytes come from a source, a file of known size, through a window of fixed size (or of the
 * rest of the source, if less), so that a header of any length is parsed in one pass and constant
 * memory, and a file that shrinks meanwhile is an error and not a signal. Nothing past the end of
 * the source is ever claimed. */
#ifndef GGUF_CURSOR_H
#define GGUF_CURSOR_H

#include <stddef.h>
#include <stdint.h>

/* A file, or bytes in memory. read_at fills all n bytes or fails with -EIO; it is only asked for
 * bytes below size. */
struct source {
	int (*read_at)(void *context, void *bytes, size_t n, uint64_t offset);
	void *context;
	uint64_t size;
};

/* A source of bytes in memory: context is a struct memory_bytes. */
struct memory_bytes {
	const uint8_t *bytes;
	size_t size;
};
struct source source_of_memory(struct memory_bytes *memory);

/* The most that one cursor_take() may claim. */
#define CURSOR_TAKE_MAX ((size_t)65536)

struct cursor {
	const struct source *source;
	uint64_t at; /* the next byte of the source */
	/* The window: source bytes [start, start + filled). */
	uint8_t *window;
	uint64_t start;
	size_t filled;
	size_t room; /* bytes of it */
};

/* Begin at byte at of the source. -ENOMEM. Release with cursor_release() either way. */
int cursor_init(struct cursor *cursor, const struct source *source, uint64_t at);

/* The same for a header of a few hundred bytes: no more than those are read. What is longer is read
 * too, and then a claim may be -ENOMEM. */
int cursor_init_short(struct cursor *cursor, const struct source *source, uint64_t at);
void cursor_release(struct cursor *cursor);

/* Bytes between the cursor and the end of the source. */
uint64_t cursor_left(const struct cursor *cursor);

/* All of these return 0, or -EBADMSG without moving if the source ends before, or -EIO.
 * The bytes that cursor_take() points to are valid until the cursor is used again. */
int cursor_take(struct cursor *cursor, size_t n, const uint8_t **bytes);
int cursor_skip(struct cursor *cursor, uint64_t n);
int cursor_u32(struct cursor *cursor, uint32_t *value);
int cursor_u64(struct cursor *cursor, uint64_t *value);

#endif
