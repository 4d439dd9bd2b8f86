/* SPDX-License-Identifier: MIT */
/* fuzz_npy_parse.c - any bytes as a NumPy file: refused with a reason, or read as an array whose
 * values are all in the file. */
#include "fs/tensor/npy_parse.h"
#include "fuzz_help.h"
#include "gguf/cursor.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_bytes memory = { data, size };
	const struct source source = source_of_memory(&memory);
	struct npy_array array;
	struct error err = { 0 };
	char text[NPY_SHAPE_TEXT];
	uint64_t bytes;
	const int rc = npy_parse(&source, &array, &err);

	if (rc < 0) {
		require(rc == -EINVAL && err.code == EINVAL && err.text[0]);
		return 0;
	}
	require(npy_type_word(array.type) && array.dims <= GGML_AXES && array.offset <= size);
	require(type_size(array.type, array.ne, &bytes) == TYPE_SIZE_OK);
	require(bytes == (array.has_values ? size - array.offset : bytes));
	require(array.has_values || array.offset == size);
	require(strlen(npy_shape_text(array.ne, array.dims, text)) < sizeof(text));
	return 0;
}
