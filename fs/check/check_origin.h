/* SPDX-License-Identifier: MIT */
/* check_origin.h - grafts without a record, as organ files copied from one directory into another:
 * the bytes of a tensor tell which donor it is from. */
#ifndef FS_CHECK_CHECK_ORIGIN_H
#define FS_CHECK_CHECK_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

struct base;
struct model;

/* Each slot whose origin is not on record holds a graft from now on if its bytes are those of a
 * tensor of a donor: that of the same name, or else one of the same role in another block. It is a
 * reference, marked as found; of several donors the first one counts. Type, shape and size are
 * compared before any byte is read.
 *
 * unchanged, one a slot, says which slots are known to hold no graft; the others hold one also if
 * no donor has their bytes, of unknown origin. With unchanged NULL a tensor that model and donor
 * have alike counts as a graft too. Returns 0, or -errno: EIO a tensor cannot be read, ENOMEM. */
int check_origin_find(struct model *model, const struct base *donors, size_t n,
		      const bool *unchanged);

#endif
