/* SPDX-License-Identifier: MIT */
/* npy_edit.h - a NumPy file as a graft. */
#ifndef FS_EDIT_NPY_EDIT_H
#define FS_EDIT_NPY_EDIT_H

#include <stdint.h>

struct model;
struct stage;

/* Fill the slot with the values of the staged NumPy file, which must have the slot's shape. Values
 * of the slot's own type are taken unchanged. Others (float64, float32, float16 or, as uint16,
 * bfloat16) are encoded in the slot's type, or in F16 if that type has no encoder. A file without
 * values, of the type that the slot shows, changes nothing: the writer is about to map it. Returns
 * 0, or -errno with a line in the log and the slot unchanged: EINVAL the values do not fit, ESTALE
 * the slot is empty now, else as graft_fill(). */
int npy_edit_put(struct model *model, uint32_t tensor, struct stage *stage);

#endif
