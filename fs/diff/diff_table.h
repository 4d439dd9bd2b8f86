/* SPDX-License-Identifier: MIT */
/* diff_table.h - .diff/OTHER.tsv: a line of fields between tabs for each pair of tensors. Its size
 * is known before any measurement, and a read measures only the pairs whose lines it touches. */
#ifndef FS_DIFF_DIFF_TABLE_H
#define FS_DIFF_DIFF_TABLE_H

#include <stdio.h>

struct diff;
struct diff_tensor;
struct view;

/* The fields from "same" on are measured. Control bytes and '%' in names are percent-encoded; "-"
 * is a missing value. Blanks may precede a number. */
#define DIFF_TABLE_DESCRIBED "class\tkind\tblock\ttensor\there\tthere"
#define DIFF_TABLE_MEASURED  "same\tcosine\trelative\taverage\tlargest\ttheta\tstatus"
#define DIFF_TABLE_HEADER    DIFF_TABLE_DESCRIBED "\t" DIFF_TABLE_MEASURED "\n"

/* The table as a view with a reference of its own. NULL: out of memory. */
struct view *diff_table_view(struct diff *diff);

/* Print the fields "class\tkind\tblock\ttensor\t" of a line. */
void diff_table_print_tensor(const struct diff_tensor *tensor, FILE *out);

/* The value, without the sign of a NaN, which would take a byte. */
double diff_table_number(double value);

#endif
