/* SPDX-License-Identifier: MIT */
/* viewing.h - models that are looked at without a mount: opened as a mount would, and measured. */
#ifndef FS_VIEWING_H
#define FS_VIEWING_H

#include "fs/lazy/figures.h"
#include "fs/mount/models.h"

/* One of them. */
struct viewed {
	struct model *model; /* borrowed */
	struct readings *readings;
	struct figures *figures; /* with their z */
	struct zmeasure *values;
};

struct viewing {
	struct log *log;
	struct collection collection;
	struct viewed *models;
	uint32_t n;
};

/* Open and measure the models that options name, which are as options_parse() fills them; each has
 * to be one model. What is wrong is said in a line on stderr. Returns 0 or -1; viewing_close() is
 * due either way. */
int viewing_open(struct viewing *viewing, const struct options *options);
void viewing_close(struct viewing *viewing);

/* Say in a line on stderr what is wrong, or what is wrong with a file. The text may hold any bytes:
 * no terminal obeys them (terminal_put()). Both return -1. */
int viewing_say(const char *text);
int viewing_fail(const char *file, int rc);

/* Print all of a text to standard output, or say what is wrong with that. Returns 0 or -1. */
int viewing_print(const char *text, size_t size);

#endif
