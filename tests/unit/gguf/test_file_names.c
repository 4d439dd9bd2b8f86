/* SPDX-License-Identifier: MIT */
/* test_file_names.c - gguf/file_names.c: no two tensors of a model have the same file. */
#include "gguf/arena.h"
#include "gguf/file_names.h"
#include "tests/unit/gguf_bytes.h"

static const uint64_t row[GGML_AXES] = { 8, 1, 1, 1 };

static void tensors_with_one_short_name_have_exact_names(void **state)
{
	static const char *const tensors[] = { "blk.0.ffn_up.weight", "a.b", "a_b", "a.b.weight" };
	static const char *const files[] = { "blk_0_ffn_up", "a.b", "a_b", "a.b.weight" };
	struct mkgguf *m = mkgguf_new(3);
	struct arena *arena = arena_new();
	const char *names[4];
	struct mk_file file;
	struct gguf *gguf;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		mkgguf_tensor(m, tensors[i], 0, 1, row);
	file = mkgguf_finish(m);
	gguf = read_bytes(file.bytes, file.size);
	assert_int_equal(file_names(gguf, arena, names), 0);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(names[i], files[i]);
	gguf_free(gguf);
	arena_free(arena);
	mk_file_free(&file);
}

UNIT_MAIN(NULL, NULL)
