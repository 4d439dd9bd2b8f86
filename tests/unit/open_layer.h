/* SPDX-License-Identifier: MIT */
/* open_layer.h - a base and its private layer, without a model around them. */
#ifndef TESTS_UNIT_OPEN_LAYER_H
#define TESTS_UNIT_OPEN_LAYER_H

#include "fs/layer/layer.h"
#include "tests/unit/small_gguf.h"

#include <limits.h>

struct site {
	struct backing *base;
	struct gguf *gguf;
	char state[PATH_MAX]; /* the directory that layers go to */
	struct layer_options manner;
};

/* A base of that name with these bytes. */
struct site open_site(void **state, const char *name, const struct mk_file *file);

struct site small_site(void **state);

void close_site(struct site *site);

struct layer *open_layer(const struct site *site);

/* layer_seal_stage() of a stage that was written and closed. */
int seal_stage(struct layer *layer, unsigned number, struct layer_seal *seal);

/* Seal that stage and put it in force. Returns what layer_commit() does, or sealing it. */
int keep_stage(struct layer *layer, unsigned number, enum organ_class klass, const char *name,
	       struct backing **file);

/* Stage that text and put it in force. */
int keep_text(struct layer *layer, enum organ_class klass, const char *name, const char *text);

/* What layer_each() finds, as "CLASS/NAME=CONTENT " for each, in order; "CLASS/NAME! " for what it
 * cannot open, "CLASS/NAME>TARGET " for links. */
struct listing {
	char items[16][96];
	size_t n;
};

int compare_items(const void *a, const void *b);

#define assert_layer(layer, expected)                  \
	do {                                           \
		char *listed = list_layer(layer);      \
		assert_string_equal(listed, expected); \
		free(listed);                          \
	} while (0)

char *list_layer(struct layer *layer);

#endif
