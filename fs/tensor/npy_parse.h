/* SPDX-License-Identifier: MIT */
/* npy_parse.h - what a NumPy file says of its values.
 *
 *	0x93 "NUMPY" | version u8 u8 | header length u16, from version 2 on u32 | header | values
 *
 * The header is a dict of Python with 'descr', 'fortran_order' and 'shape'. Source:
 * numpy.lib.format, versions 1.0, 2.0 and 3.0. */
#ifndef FS_TENSOR_NPY_PARSE_H
#define FS_TENSOR_NPY_PARSE_H

#include "gguf/types.h"

#include <stdbool.h>

struct error;
struct source;

struct npy_array {
	uint32_t type; /* whose blocks the values are: '<u2' is taken for BF16 */
	bool fortran;  /* the first axis of NumPy is the fastest one in the file, not the last */
	uint32_t dims;
	uint64_t ne[GGML_AXES]; /* as ggml counts axes: NumPy's last one first; unused ones are 1 */
	uint64_t offset;	/* of the values in the file, in bytes */
	uint64_t elements;
	bool has_values; /* else the file ends with the header, as numpy.lib.format.open_memmap()
			  * makes it before it maps it */
};

/* Reads the header and checks the file's size against it. Returns 0, -EINVAL with the reason in
 * err, or as the source. */
int npy_parse(const struct source *source, struct npy_array *array, struct error *err);

/* NumPy's word for the type's values, "float32"; NULL: it has none. */
const char *npy_type_word(uint32_t type);

/* A shape as NumPy writes it, "(11008, 4096)". Returns text. */
#define NPY_SHAPE_TEXT 96
const char *npy_shape_text(const uint64_t ne[GGML_AXES], uint32_t dims, char text[NPY_SHAPE_TEXT]);

#endif
