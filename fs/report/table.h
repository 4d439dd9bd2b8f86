/* SPDX-License-Identifier: MIT */
/* table.h - .table of a model: the content of its report for programs, and for reports made of many
 * such tables (table_merge.h). Lines have fields between tabs, the first of which is a word for the
 * kind of the line; empty lines and those that begin with '#' are remarks.
 *
 *	table	FORMAT MODEL TENSORS TOTAL GRAFTS	a table begins
 *	fact	KEY VALUE...				metadata (card.h)
 *	tensor	MODEL TENSOR SHARD CLASS BLOCK FILE TYPE SHAPE ELEMENTS, then THETA_EXACT
 *	end	MODEL TENSORS				the table is complete
 *
 * FORMAT is 1. MODEL is the name of the model without the suffix of a shard, so that shards have
 * one name. TENSORS counts this table, TOTAL the whole model ("-": unknown). SHARD is the number of
 * the file with the tensor, from 1, and the last one for an added tensor. Tensors of one shard are
 * in the order of its file. BLOCK is "-" for none. Facts: name, architecture and rope.scaling.type
 * are texts; counts are two numbers, least and greatest; others are one number. MODEL, TENSOR and
 * texts have control bytes and '%' percent-encoded. A file may have several tables in sequence. */
#ifndef FS_REPORT_TABLE_H
#define FS_REPORT_TABLE_H

struct memo;
struct model;
struct snapshot;
struct view;

#define TABLE_FORMAT	    1u
#define TABLE_TENSOR_FIELDS 10 /* fields before those of THETA_EXACT */

/* The table of a model at the snapshot. NULL: out of memory. */
struct view *table_view(struct model *model, struct memo *measures,
			const struct snapshot *snapshot);

#endif
