/* SPDX-License-Identifier: MIT */
/* merge_config_internal.h - what the readers of a configuration and of its parameters share. All of
 * them return 0, or -errno with the error set. */
#ifndef FS_MERGE_MERGE_CONFIG_INTERNAL_H
#define FS_MERGE_MERGE_CONFIG_INTERNAL_H

#include "fs/merge/merge_config.h"
#include "fs/util/yaml_reader.h"

struct config_reader {
	struct yaml_reader yaml;
	struct merge_config *config;
	bool seeded;	    /* by either of the two keys */
	uint32_t out_dtype; /* goes before dtype */
};

#define refuse(reader, ...) yaml_reader_refuse(&(reader)->yaml, __VA_ARGS__)

/* A mapping's key, and what reads its value into something. */
struct config_key {
	const char *name;
	int (*read)(struct config_reader *reader, void *into);
};

/* merge_config_read.c */

/* Line and column of the event, from 1 on. */
void merge_set_place(const struct config_reader *reader, size_t *line, size_t *column);

/* The event is the start of a mapping: its n keys in any order, each once. seen: a bit for each. */
int merge_read_mapping(struct config_reader *reader, const struct config_key *keys, size_t n,
		       void *into, unsigned *seen);

/* A scalar with something in it comes next, and is kept in memory from malloc(). */
int merge_expect_word(struct config_reader *reader, const char *what);
int merge_read_text(struct config_reader *reader, const char *what, char **text);

/* merge_parameters_read.c */

/* A mapping comes next, or nothing. */
int merge_read_parameters(struct config_reader *reader, struct merge_parameters *parameters);

/* The value of random_seed comes next. */
int merge_read_seed(struct config_reader *reader, void *into);

#endif
