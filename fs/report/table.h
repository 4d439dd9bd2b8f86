/* SPDX-License-Identifier: MIT */
/* table.h - .table of a model: what its report says, for programs, and for reports that are made of
 * many such tables (table_merge.h). Lines of fields between tabs; the first field is a word that
 * says what the line is; lines that begin with '#' and empty ones are remarks.
 *
 *	table	FORMAT MODEL TENSORS TOTAL GRAFTS	a table begins
 *	fact	KEY VALUE...				what the metadata say (card.h)
 *	tensor	MODEL TENSOR SHARD CLASS BLOCK FILE TYPE SHAPE ELEMENTS, then THETA_EXACT
 *	end	MODEL TENSORS				it was complete
 *
 * FORMAT is 1. MODEL is the name of the model without the suffix of a shard, so that shards come
 * together. TENSORS are in this table, TOTAL in the whole model, "-" where that is not known. SHARD
 * is the number of the file that has the tensor, from 1; 1 where the model is one file, and that of
 * the last one for a tensor that was added. Those of one shard stand in the order of its file.
 * BLOCK is "-" for none. Facts: name, architecture and rope.scaling.type are a text, counts two
 * numbers, least and greatest, the others one. In MODEL, TENSOR and texts control bytes and '%'
 * stand percent-encoded. Tables may follow one another in a file. */
#ifndef FS_REPORT_TABLE_H
#define FS_REPORT_TABLE_H

struct memo;
struct model;
struct snapshot;
struct view;

#define TABLE_FORMAT	    1u
#define TABLE_TENSOR_FIELDS 10 /* before those of THETA_EXACT */

/* The table of a model with the slots of that snapshot. NULL: out of memory. */
struct view *table_view(struct model *model, struct memo *measures,
			const struct snapshot *snapshot);

#endif
