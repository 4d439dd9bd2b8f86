/* SPDX-License-Identifier: MIT */
/* merge_config_internal.h - declarations shared by the readers of a configuration and of its
 * parameters. All functions return 0, or -errno with the error set. */
#ifndef FS_MERGE_MERGE_CONFIG_INTERNAL_H
#define FS_MERGE_MERGE_CONFIG_INTERNAL_H

#include "fs/merge/merge_config.h"
#include "fs/util/yaml_reader.h"

struct config_reader {
	struct yaml_reader yaml;
	struct merge_config *config;
	bool seeded;	    /* random_seed was read, at either of its two places */
	uint32_t out_dtype; /* overrides dtype */
};

#define refuse(reader, ...) yaml_reader_refuse(&(reader)->yaml, __VA_ARGS__)

/* A key of a mapping, and the function that reads its value. */
struct config_key {
	const char *name;
	int (*read)(struct config_reader *reader, void *into);
};

/* merge_config_read.c */

/* Line and column of the event, from 1 on. */
void merge_set_place(const struct config_reader *reader, size_t *line, size_t *column);

/* Read a mapping, whose start is the current event: n keys in any order, each at most once. seen
 * gets a bit for each key that is there. */
int merge_read_mapping(struct config_reader *reader, const struct config_key *keys, size_t n,
		       void *into, unsigned *seen);

/* Take the next event, which has to be a scalar that is not empty; merge_read_text() copies its
 * text for the caller to free. expected names the thing in the error. */
int merge_expect_word(struct config_reader *reader, const char *expected);
int merge_read_text(struct config_reader *reader, const char *expected, char **text);

/* merge_parameters_read.c */

/* Read the next value: a mapping, or nothing. */
int merge_read_parameters(struct config_reader *reader, struct merge_parameters *parameters);

/* Read the next value, that of random_seed. */
int merge_read_seed(struct config_reader *reader, void *into);

#endif
