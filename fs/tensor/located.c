/* SPDX-License-Identifier: MIT */
/* located.c - see located.h. */
#include "fs/tensor/located.h"

#include <stdlib.h>

struct view *organ_location_view(const struct organ_location *located)
{
	const struct organ *organ = &located->organ;
	uint8_t *header = malloc(organ->header_size);
	const struct segment segments[] = {
		{ .kind = SEGMENT_MEMORY, .length = organ->header_size, .memory = header },
		{ .kind = SEGMENT_EXTENT,
		  .length = organ->data_size,
		  .backing = located->file,
		  .offset = located->offset },
	};

	if (!header)
		return NULL;
	organ_write_header(organ, header);
	return view_new(segments, 2, header);
}
