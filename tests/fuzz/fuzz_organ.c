/* SPDX-License-Identifier: MIT */
/* fuzz_organ.c - any bytes as an organ file: it is refused with a place in the file, or parsed
 * into an organ that writes the same header again. */
#include "fuzz_help.h"
#include "gguf/organ.h"

#include <errno.h>
#include <string.h>

static void check_organ(const struct organ *organ, const uint8_t *data, size_t size)
{
	struct gguf_tensor slot = { .dims = organ->dims,
				    .type = organ->type,
				    .size = organ->data_size };
	char shape[SHAPE_TEXT_MAX];
	struct error err;
	uint8_t *header;

	require(organ->header_size <= size && organ->data_size == size - organ->header_size);
	header = malloc(organ->header_size);
	require(header != NULL);
	organ_write_header(organ, header);
	require(memcmp(header, data, organ->header_size) == 0);
	free(header);
	require(strlen(shape_text(organ->ne, organ->dims, shape)) < SHAPE_TEXT_MAX);
	memcpy(slot.ne, organ->ne, sizeof(slot.ne));
	require(organ_fits(organ, &slot, false, &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_bytes memory = { data, size };
	const struct source source = source_of_memory(&memory);
	struct error err = { 0 };
	struct organ organ;

	if (organ_parse(&source, &organ, &err) == 0) {
		check_organ(&organ, data, size);
		free((char *)organ.name);
	} else {
		require(organ.name == NULL && err.code == EBADMSG && err.text[0]);
		require(err.offset <= size || err.offset == ERROR_NO_OFFSET);
	}
	return 0;
}
