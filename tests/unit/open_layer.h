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
	char state[PATH_MAX]; /* directory of the layers */
	struct layer_options manner;
};

/* Make a base of that name with these bytes. */
struct site open_site(void **state, const char *name, const struct mk_file *file);

struct site small_site(void **state);

void close_site(struct site *site);

struct layer *open_layer(const struct site *site);

/* Write these bytes to a stage. Returns the descriptor, or -errno. */
int write_stage(struct layer *layer, const void *bytes, size_t n, uint64_t *number);

/* Put a seal in force. Returns 0 with the content in *file, or -errno. */
int commit_seal(struct layer *layer, struct layer_seal *seal, enum organ_class klass,
		const char *name, const struct layer_origin *origin, const struct timespec *mtime,
		struct backing **file);

/* Stage these bytes and put them in force. Returns 0 with *file, or -errno of the failed step. */
int keep_bytes(struct layer *layer, enum organ_class klass, const char *name,
	       const struct layer_origin *origin, const void *bytes, size_t n,
	       struct backing **file);

/* Stage a text and put it in force. */
int keep_text(struct layer *layer, enum organ_class klass, const char *name, const char *text);

/* Remove a slot in the layer, or have the layer forget the slot. */
int white_out(struct layer *layer, enum organ_class klass, const char *name);
int revert(struct layer *layer, enum organ_class klass, const char *name);

/* Result of layer_each(), in order: "CLASS/NAME=CONTENT " for content, "CLASS/NAME! " for a slot
 * that it cannot open, "CLASS/NAME>TARGET " for a link, "CLASS/NAME@TEXT " for a reference,
 * "CLASS/NAME- " for a removed slot. */
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

/* ## SQL in a layer's database, past organfs and its constraints */

/* Alter a database that no layer has open, after layer_close() or layer_rest(). */
void alter_rows(const char *path, const char *sql);

/* SQL that makes the tables slot and blob anew without constraints. */
#define LOOSE_SLOTS                                                                   \
	"CREATE TABLE loose AS SELECT * FROM slot; DROP TABLE slot;"                  \
	"ALTER TABLE loose RENAME TO slot; CREATE TABLE bytes AS SELECT * FROM blob;" \
	"DROP TABLE blob; ALTER TABLE bytes RENAME TO blob;"

/* First number that a query gives. */
int64_t ask_rows(const char *path, const char *sql);

/* First number that a query gives in an open layer, which opens its database again later. */
int64_t ask_layer(struct layer *layer, const char *sql);

#endif
