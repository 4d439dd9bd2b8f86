/* SPDX-License-Identifier: MIT */
/* table_merge.h - models combined from tables, which may come from shards, from other machines, and
 * repeatedly. Takes tables, gives figures.
 *
 * 1. Tables of the same name belong to one model. Tables with different facts, another number of
 *    tensors, or another type or shape of a tensor are refused.
 * 2. A tensor in two tables counts once. If its measures differ, as with another number of samples,
 *    the later table counts, with a message.
 * 3. Apart from that the order of tables does not matter: tensors are in file order. */
#ifndef FS_REPORT_TABLE_MERGE_H
#define FS_REPORT_TABLE_MERGE_H

#include "fs/report/ranking.h"

struct error;
struct figures;
struct table;
struct table_merge;

struct table_merge *table_merge_new(void); /* NULL: out of memory */
void table_merge_free(struct table_merge *merge);

/* Add the tables of a file of that name; both are borrowed and outlive the merge. Messages are
 * written to said, one a line. Returns 0, or -EBADMSG or -ENOMEM with err set, and in *line the
 * line of the file. */
int table_merge_add(struct table_merge *merge, const struct table *table, const char *file,
		    FILE *said, uint64_t *line, struct error *err);

/* Sort the tensors after all tables have been added. Call before the functions below. */
void table_merge_finish(struct table_merge *merge);

/* Number of models, and the borrowed name of each, in the order of names. */
size_t table_merge_models(const struct table_merge *merge);
const char *table_merge_name(const struct table_merge *merge, size_t i);

/* The measured figures of a model, to free with figures_free(); they point into the merge. NULL:
 * out of memory. */
struct figures *table_merge_figures(const struct table_merge *merge, size_t i);

/* A model for ranking_print(), without θ if tensors are missing. */
struct ranked table_merge_ranked(const struct table_merge *merge, size_t i);

#endif
