/* SPDX-License-Identifier: MIT */
/* whole_text.h - a text that is made as a whole at the first read, and kept. Its size does not
 * depend on computed values, so it is known before.
 *
 * 1. One thread makes the text; other readers wait for it, and can be interrupted.
 * 2. After a failure the next reader makes the text again. */
#ifndef FS_LAZY_WHOLE_TEXT_H
#define FS_LAZY_WHOLE_TEXT_H

#include <stdatomic.h>
#include <stdio.h>

struct halt;
struct view;

struct whole_text; /* any thread may use it */

struct whole_text_ops {
	/* Print the text with all values, which may take long; if halt is NULL with placeholders of
	 * the same length. Returns 0; 1 if the text for halt NULL is final; or -errno. */
	int (*print)(void *context, const struct halt *halt, FILE *out);
	void (*release)(void *context); /* NULL: context is borrowed */
};

/* ops and ending are borrowed and outlive the text; ending may be NULL. context becomes the text's,
 * also on failure. When *ending becomes true, waiting reads get -EINTR. NULL: out of memory. */
struct whole_text *whole_text_new(const struct whole_text_ops *ops, void *context,
				  const atomic_bool *ending);
void whole_text_free(struct whole_text *whole);

/* Make the text unless it exists, and copy all length bytes of it, its size, to bytes unless that
 * is NULL. Returns 0; -EINTR if *stop or *ending is true, where stop may be NULL; -EIO if the
 * length came out wrong; or as print(). */
int whole_text_read(struct whole_text *whole, const atomic_bool *stop, char *bytes, size_t length);

/* The text as a view that owns it, also on failure. NULL: out of memory, or no text. */
struct view *whole_text_view(struct whole_text *whole);

#endif
