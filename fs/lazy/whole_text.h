/* SPDX-License-Identifier: MIT */
/* whole_text.h - a text that is made as a whole when it is first read, and kept. Its size does not
 * depend on what has to be found out for it, so it is known before.
 *
 * 1. One thread makes it; the other readers wait for that thread, and can be interrupted.
 * 2. A text that could not be made is made again by the next reader; one that was made stays. */
#ifndef FS_LAZY_WHOLE_TEXT_H
#define FS_LAZY_WHOLE_TEXT_H

#include <stdatomic.h>
#include <stdio.h>

struct halt;
struct view;

struct whole_text; /* any thread may use it */

struct whole_text_ops {
	/* Print the text: with all that it shows, which may take long, or where halt is NULL with
	 * nothing found out, but as many bytes. Returns 0; 1: it is the same with all found out,
	 * which halt NULL asks for; or -errno. */
	int (*print)(void *context, const struct halt *halt, FILE *out);
	void (*release)(void *context); /* NULL: context is borrowed */
};

/* ops and ending, which may be NULL, are borrowed and outlive it. context becomes the text's, also
 * on failure. When *ending becomes true, a read that waits gets -EINTR. NULL: out of memory. */
struct whole_text *whole_text_new(const struct whole_text_ops *ops, void *context,
				  const atomic_bool *ending);
void whole_text_free(struct whole_text *whole);

/* Make the text unless it is there, and copy all length bytes of it, which is its size, to bytes,
 * unless that is NULL. Returns 0; -EINTR: *stop, which may be NULL, or *ending is true; -EIO: it
 * came out longer or shorter than it should; or as print() does. */
int whole_text_read(struct whole_text *whole, const atomic_bool *stop, char *bytes, size_t length);

/* The text as a view, whose it becomes, also on failure. NULL: out of memory, or no text. */
struct view *whole_text_view(struct whole_text *whole);

#endif
