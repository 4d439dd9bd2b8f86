/* SPDX-License-Identifier: MIT */
/* small_gguf.c - see small_gguf.h. */
#include "tests/unit/small_gguf.h"

char *read_view(struct view *view)
{
	const size_t n = (size_t)view_size(view);
	char *bytes = calloc(1, n + 1);

	must(bytes);
	assert_int_equal(view_read(view, bytes, n, 0), n);
	return bytes;
}

struct mk_file mk_small(void)
{
	struct mkgguf *m = mkgguf_new(3);

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_u32(m, "llama.block_count", 1);
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.attn_q.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.ffn_gate.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.ffn_norm.weight", GGML_F32, 1, small_row);
	mkgguf_tensor(m, "blk.0.ffn_down.weight", GGML_Q8_0, 2, small_blocks);
	return mkgguf_finish(m);
}

void save(void **state, const char *name, const struct mk_file *file)
{
	write_file(in_temp(state, name).text, file->bytes, file->size);
}

void save_small(void **state, const char *name)
{
	struct mk_file file = mk_small();

	save(state, name, &file);
	mk_file_free(&file);
}

struct organ_file mk_organ(const char *name, uint32_t type, uint32_t dims, const uint64_t *ne,
			   uint32_t seed)
{
	struct organ organ = { .name = name,
			       .name_length = (uint32_t)strlen(name),
			       .dims = dims,
			       .ne = { 1, 1, 1, 1 },
			       .type = type };
	struct organ_file file;

	for (uint32_t i = 0; i < dims; i++)
		organ.ne[i] = ne[i];
	must(type_size(type, organ.ne, &organ.data_size) == TYPE_SIZE_OK);
	file.data_at = 4 + organ.name_length + 4 + 8 * (size_t)dims + 4;
	file.size = file.data_at + (size_t)organ.data_size;
	file.bytes = malloc(file.size);
	must(file.bytes);
	organ_write_header(&organ, file.bytes);
	for (size_t i = 0; i < organ.data_size; i++)
		file.bytes[file.data_at + i] = mk_byte(seed, i);
	return file;
}
