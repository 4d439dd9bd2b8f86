/* SPDX-License-Identifier: MIT */
/* loss_table.h - .views/types/TYPE/loss.tsv: size and loss of every tensor in that type. */
#ifndef FS_REPORT_LOSS_TABLE_H
#define FS_REPORT_LOSS_TABLE_H

#include <stdint.h>

struct model;
struct snapshot;
struct tensor_losses;
struct view;

/* Columns: the organ file's path in the mount, its type, the bytes of its data now and in the
 * table's type, and the loss (tensor_losses.h), which is computed when it is read. */
#define LOSS_TABLE_HEADER "file\ttype\tbytes\tnew_bytes\trelative\n"

/* The table for the type of that number (organ_view_of_type()), a line for each organ that
 * .views/types has in that type, in file order. NULL: out of memory. */
struct view *loss_table_view(struct model *model, struct tensor_losses *losses,
			     const struct snapshot *snapshot, uint32_t type);

#endif
