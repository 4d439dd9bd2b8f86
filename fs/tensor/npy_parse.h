/* SPDX-License-Identifier: MIT */
/* npy_parse.h - parses the header of a NumPy file.
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
	uint32_t type; /* type of the blocks; '<u2' is read as BF16 */
	bool fortran;  /* fortran_order: NumPy's first axis, not its last, varies fastest */
	uint32_t dims;
	uint64_t ne[GGML_AXES]; /* in ggml's order, NumPy's last axis first; unused axes are 1 */
	uint64_t offset;	/* of the values, in bytes */
	uint64_t elements;
	bool has_values; /* false: no values yet, as numpy.lib.format.open_memmap() leaves it */
};

/* Parse the header and check the size. Returns 0, -EINVAL with err set, or a source's error. */
int npy_parse(const struct source *source, struct npy_array *array, struct error *err);

/* NumPy's name of the type, "float32"; NULL: none. */
const char *npy_type_word(uint32_t type);

/* Print a shape in NumPy's notation, "(11008, 4096)". Returns text. */
#define NPY_SHAPE_TEXT 96
const char *npy_shape_text(const uint64_t ne[GGML_AXES], uint32_t dims, char text[NPY_SHAPE_TEXT]);

#endif
