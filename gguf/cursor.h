/* SPDX-License-Identifier: MIT */
/* cursor.h - sequential reading of untrusted bytes: each field is claimed, with a check that it
 * exists, before it is used.
 *
 * The bytes come from a source, a file of known size, through a window of fixed size, or of the
 * source's size if that is smaller. A header of any length is thus parsed in one pass and in
 * constant memory, and a file that shrinks meanwhile causes an error, not a SIGBUS. Bytes past the
 * end of the source are never claimed. */
#ifndef GGUF_CURSOR_H
#define GGUF_CURSOR_H

#include <stddef.h>
#include <stdint.h>

/* A file, or bytes in memory. read_at reads all n bytes or returns -EIO; it is called only for
 * bytes below size. */
struct source {
	int (*read_at)(void *context, void *bytes, size_t n, uint64_t offset);
	void *context;
	uint64_t size;
};

/* Bytes in memory as a source: its context points to this struct. */
struct memory_bytes {
	const uint8_t *bytes;
	size_t size;
};
struct source source_of_memory(struct memory_bytes *memory);

/* The most bytes that one cursor_take() may claim. */
#define CURSOR_TAKE_MAX ((size_t)65536)

struct cursor {
	const struct source *source;
	uint64_t at; /* offset of the next byte */
	/* The window: source bytes [start, start + filled). */
	uint8_t *window;
	uint64_t start;
	size_t filled;
	size_t room; /* size of the buffer */
};

/* Begin at byte `at` of the source. Returns 0 or -ENOMEM. Call cursor_release() in both cases. */
int cursor_init(struct cursor *cursor, const struct source *source, uint64_t at);

/* cursor_init() for a header of a few hundred bytes: a smaller window reads less of the source. The
 * window grows for longer claims, which may then return -ENOMEM. */
int cursor_init_short(struct cursor *cursor, const struct source *source, uint64_t at);
void cursor_release(struct cursor *cursor);

/* Number of bytes between the cursor and the end of the source. */
uint64_t cursor_left(const struct cursor *cursor);

/* The functions return 0, -EBADMSG if the source ends before (the cursor does not move), or -EIO.
 * Bytes of cursor_take() are valid until the next call. */
int cursor_take(struct cursor *cursor, size_t n, const uint8_t **bytes);
int cursor_skip(struct cursor *cursor, uint64_t n);
int cursor_u32(struct cursor *cursor, uint32_t *value);
int cursor_u64(struct cursor *cursor, uint64_t *value);

#endif
