/* SPDX-License-Identifier: MIT */
/* table_merge.h - models out of tables, which may have been made apart: of shards, on other
 * machines, more than once. Tables in, figures out.
 *
 * 1. Tables of one name are of one model. Where they tell different facts or another number of
 *    tensors, or another type or shape of a tensor, they are not, and it is refused.
 * 2. A tensor that two tables have counts once. If they measured it differently, which another
 *    number of samples does, the later one counts, and that is said.
 * 3. The order of the tables does not matter otherwise: tensors stand in the order of the file. */
#ifndef FS_REPORT_TABLE_MERGE_H
#define FS_REPORT_TABLE_MERGE_H

#include "fs/report/ranking.h"

struct error;
struct figures;
struct table;
struct table_merge;

struct table_merge *table_merge_new(void); /* NULL: out of memory */
void table_merge_free(struct table_merge *merge);

/* Add the tables of a file of that name; both are borrowed and outlive the merge. What is to be
 * said goes to said, in lines. Returns 0, or -EBADMSG or -ENOMEM with err set, and in *line of
 * which line of the file. */
int table_merge_add(struct table_merge *merge, const struct table *table, const char *file,
		    FILE *said, uint64_t *line, struct error *err);

/* Put the tensors into their order. All have been added; what follows is for after that. */
void table_merge_finish(struct table_merge *merge);

/* How many models there are, and the name of each, borrowed, in the order of their names. */
size_t table_merge_models(const struct table_merge *merge);
const char *table_merge_name(const struct table_merge *merge, size_t i);

/* The figures of a model, with their z, to free with figures_free(); all they point to is the
 * merge's. NULL: out of memory. */
struct figures *table_merge_figures(const struct table_merge *merge, size_t i);

/* A model for ranking_print(). One of which only a part is here has no θ in it. */
struct ranked table_merge_ranked(const struct table_merge *merge, size_t i);

#endif
