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

/* Stage those bytes: the descriptor, or -errno. */
int write_stage(struct layer *layer, const void *bytes, size_t n, uint64_t *number);

/* Put that seal in force: 0 with its bytes in *file, or -errno. */
int commit_seal(struct layer *layer, struct layer_seal *seal, enum organ_class klass,
		const char *name, const struct layer_origin *origin, const struct timespec *mtime,
		struct backing **file);

/* Stage those bytes and put them in force: 0 with *file, or -errno of the step that failed. */
int keep_bytes(struct layer *layer, enum organ_class klass, const char *name,
	       const struct layer_origin *origin, const void *bytes, size_t n,
	       struct backing **file);

/* Stage that text and put it in force. */
int keep_text(struct layer *layer, enum organ_class klass, const char *name, const char *text);

/* The slot is removed, and the layer says so; or the layer says nothing about it. */
int white_out(struct layer *layer, enum organ_class klass, const char *name);
int revert(struct layer *layer, enum organ_class klass, const char *name);

/* Result of layer_each(), as "CLASS/NAME=CONTENT " for each, in order; "CLASS/NAME! " for slots
 * that it cannot open, "CLASS/NAME>TARGET " for links, "CLASS/NAME@TEXT " for references,
 * "CLASS/NAME- " for removed slots. */
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

/* ## the database of a layer's directory, past organfs and its constraints */

/* No layer has it open: layer_close() or layer_rest() was called. */
void alter_rows(const char *path, const char *sql);

/* SQL after which the tables slot and blob have their columns and no constraint. */
#define LOOSE_SLOTS                                                                   \
	"CREATE TABLE loose AS SELECT * FROM slot; DROP TABLE slot;"                  \
	"ALTER TABLE loose RENAME TO slot; CREATE TABLE bytes AS SELECT * FROM blob;" \
	"DROP TABLE blob; ALTER TABLE bytes RENAME TO blob;"

/* The first number that a query gives. */
int64_t ask_rows(const char *path, const char *sql);

/* The same of an open layer, which opens its database again when it needs it. */
int64_t ask_layer(struct layer *layer, const char *sql);

#endif
