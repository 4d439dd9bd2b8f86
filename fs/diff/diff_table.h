/* SPDX-License-Identifier: MIT */
/* diff_table.h - .diff/OTHER.tsv: a line for each pair of tensors, of fields between tabs. Its size
 * is known before anything is measured, and a read measures the pairs whose lines it touches. */
#ifndef FS_DIFF_DIFF_TABLE_H
#define FS_DIFF_DIFF_TABLE_H

#include <stdio.h>

struct diff;
struct diff_tensor;
struct view;

/* "class\tkind\tblock\ttensor\there\tthere\tsame\t..." of which the fields from "same" on are
 * measured. In names control bytes and '%' are percent-encoded; "-" is what there is none of.
 * Before a number there may be blanks. */
#define DIFF_TABLE_DESCRIBED "class\tkind\tblock\ttensor\there\tthere"
#define DIFF_TABLE_MEASURED  "same\tcosine\trelative\taverage\tlargest\ttheta\tstatus"
#define DIFF_TABLE_HEADER    DIFF_TABLE_DESCRIBED "\t" DIFF_TABLE_MEASURED "\n"

/* The table as a view, which takes a reference of its own. NULL: out of memory. */
struct view *diff_table_view(struct diff *diff);

/* Print "class\tkind\tblock\ttensor\t" of it. */
void diff_table_print_tensor(const struct diff_tensor *tensor, FILE *out);

/* No NaN has a sign, which would take a byte. */
double diff_table_number(double value);

#endif
