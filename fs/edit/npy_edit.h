/* SPDX-License-Identifier: MIT */
/* npy_edit.h - values of NumPy as a graft. */
#ifndef FS_EDIT_NPY_EDIT_H
#define FS_EDIT_NPY_EDIT_H

#include <stdint.h>

struct model;
struct stage;

/* Fill the slot with the values of the NumPy file that is staged, if they have the slot's shape, as
 * the type that the slot has where that can be encoded, else as F16. What has the slot's own type
 * is taken as it is, whatever type that is; else the values are float64, float32, float16 or,
 * as uint16, bfloat16. Returns 0, or -errno with a line in the log: EINVAL they do not fit, ESTALE
 * the slot holds nothing any more, else as graft_fill(). Then the slot keeps what it has. A file
 * without values, of the type that the slot shows, changes nothing: it is about to be mapped. */
int npy_edit_put(struct model *model, uint32_t tensor, struct stage *stage);

#endif
