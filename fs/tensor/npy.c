/* SPDX-License-Identifier: MIT */
/* npy.c - see npy.h. */
#include "fs/tensor/npy.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/organ_views.h"
#include "gguf/dequant.h"
#include "gguf/types.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* room for four axes of 20 digits */
#define HEAD	   10u
#define HEADER_MAX 256u

/* NumPy's name of a type whose bytes are used unchanged, or NULL. */
static const char *own_type(uint32_t type)
{
	static const char *const words[] = {
		[GGML_F64] = "<f8", [GGML_F32] = "<f4", [GGML_F16] = "<f2", [GGML_I8] = "|i1",
		[GGML_I16] = "<i2", [GGML_I32] = "<i4", [GGML_I64] = "<i8",
	};

	return type < sizeof(words) / sizeof(words[0]) ? words[type] : NULL;
}

bool npy_supports(uint32_t type)
{
	return own_type(type) || dequant_supported(type);
}

uint32_t npy_values(uint32_t type)
{
	return own_type(type) ? type : GGML_F32;
}

/* Write the header for an organ's values, and return its size. */
static size_t write_header(const struct organ *organ, char header[HEADER_MAX])
{
	const char *type = own_type(organ->type);
	const char *gap = "";
	size_t n = HEAD, size;

	n += (size_t)sprintf(header + n, "{'descr': '%s', 'fortran_order': False, 'shape': (",
			     type ? type : "<f4");
	for (uint32_t axis = organ->dims; axis-- > 0; gap = " ")
		n += (size_t)sprintf(header + n, "%s%" PRIu64 ",", gap, organ->ne[axis]);
	/* A tuple of one axis needs a comma after the axis. */
	if (organ->dims > 1)
		n--;
	n += (size_t)sprintf(header + n, "), }");
	size = (n + 1 + 63) / 64 * 64;
	memset(header + n, ' ', size - n);
	header[size - 1] = '\n';
	memcpy(header, "\x93NUMPY\x01\x00", 8);
	header[8] = (char)((size - HEAD) & 0xff);
	header[9] = (char)((size - HEAD) >> 8);
	return size;
}

static uint64_t elements_of(const struct organ *organ)
{
	uint64_t elements = 0;

	shape_elements(organ->ne, &elements);
	return elements;
}

bool npy_size(const struct organ *organ, uint64_t *size)
{
	char header[HEADER_MAX];
	const uint64_t elements = elements_of(organ), head = write_header(organ, header);
	uint64_t data = organ->data_size;

	if (!own_type(organ->type)) {
		if (elements > INT64_MAX / sizeof(float))
			return false;
		data = elements * sizeof(float);
	}
	*size = head + data;
	return *size <= INT64_MAX;
}

struct view *npy_view(const struct organ_location *located)
{
	const struct organ *organ = &located->organ;
	char *header = malloc(HEADER_MAX);
	struct segment segments[2] = {
		{ .kind = SEGMENT_MEMORY, .memory = header },
		{ .kind = SEGMENT_EXTENT,
		  .length = organ->data_size,
		  .backing = located->file,
		  .offset = located->offset },
	};
	struct backing *floats = NULL;
	struct view *view;

	if (!header)
		return NULL;
	segments[0].length = write_header(organ, header);
	if (!own_type(organ->type)) {
		floats =
			decode_new(located->file, located->offset, organ->type, elements_of(organ));
		if (!floats) {
			free(header);
			return NULL;
		}
		segments[1].length = backing_size(floats);
		segments[1].backing = floats;
		segments[1].offset = 0;
	}
	view = view_new(segments, 2, header);
	backing_unref(floats);
	return view;
}
