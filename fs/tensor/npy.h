/* SPDX-License-Identifier: MIT */
/* npy.h - a tensor as a NumPy file. The shape is reversed: NumPy counts axes from the slowest on.
 *
 *	0x93 "NUMPY" 1 0 | header length u16 | header, ended by spaces and a newline | values
 *
 * Values begin at a multiple of 64. F64, F32, F16 and the integers are the tensor's own bytes; any
 * other type is float32. Source: numpy.lib.format, version 1.0. */
#ifndef FS_TENSOR_NPY_H
#define FS_TENSOR_NPY_H

#include <stdbool.h>
#include <stdint.h>

struct organ;
struct organ_location;
struct view;

/* Can the type's values be represented? */
bool npy_supports(uint32_t type);

/* The type of the values in the NumPy file for such a type. */
uint32_t npy_values(uint32_t type);

/* Size of the file in bytes, if npy_supports() the organ. False: more than 2^63 - 1. */
bool npy_size(const struct organ *organ, uint64_t *size);

/* The file. NULL: out of memory. */
struct view *npy_view(const struct organ_location *located);

#endif
