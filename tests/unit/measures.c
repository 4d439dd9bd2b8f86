/* SPDX-License-Identifier: MIT */
/* measures.c - see measures.h. */
#include "tests/unit/measures.h"
#include "fs/edit/adapter_edit.h"
#include "tests/unit/gguf_bytes.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "measure/sample.h"

struct zmeasure z_of_slot(struct model *model, uint32_t tensor)
{
	struct content *content = slots_get(model->slots, tensor);
	const struct organ organ = model_organ(model, tensor, content);
	struct zmeasure z;
	uint64_t elements;
	size_t size;
	char *bytes = read_organ(model, tensor, &size);

	must(shape_elements(organ.ne, &elements));
	z = z_of_blocks(organ.type, bytes + organ.header_size, elements);
	free(bytes);
	content_unref(content);
	return z;
}

void save_many(void **state, const char *name, uint32_t n)
{
	static const uint64_t ne[] = { 64 };
	struct mkgguf *m = mkgguf_new(3);
	char(*names)[32] = calloc(n + 1u, sizeof(*names));
	struct mk_file file;

	must(names);
	mkgguf_kv_string(m, "general.architecture", "llama");
	for (uint32_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "blk.%u.ffn_up.weight", i);
		mkgguf_tensor(m, names[i], GGML_F32, 1, ne);
	}
	file = mkgguf_finish(m);
	save(state, name, &file);
	mk_file_free(&file);
	free(names);
}

void save_hole(void **state, const char *name, uint32_t type, uint64_t elements)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	uint64_t size;
	const uint64_t ne[GGML_AXES] = { elements, 1, 1, 1 };

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "blk.0.ffn_up.weight", type, 1, ne)->size = 0;
	file = mkgguf_finish(m);
	must(type_size(type, ne, &size) == TYPE_SIZE_OK);
	save(state, name, &file);
	must(truncate(in_temp(state, name).text, (off_t)(file.data_at + size)) == 0);
	mk_file_free(&file);
}

struct memo *new_readings(struct model *model)
{
	struct memo *measures = tensor_measures_new(model, SAMPLE_DEFAULT, NULL);

	must(measures);
	return measures;
}

void use_importance(void **state, struct model *model)
{
	static const uint64_t one[] = { 1 };
	struct mkgguf *m = mkgguf_new(3);
	struct error err = { 0 };
	struct mk_file file;
	struct gguf *gguf;

	mkgguf_kv_string(m, "general.type", "imatrix");
	mkgguf_tensor(m, "blk.0.ffn_up.weight.in_sum2", GGML_F32, 1, small_row);
	mkgguf_tensor(m, "blk.0.ffn_up.weight.counts", GGML_F32, 1, one);
	file = mkgguf_finish(m);
	gguf = read_bytes(file.bytes, file.size);
	for (uint32_t i = 0; i <= small_row[0]; i++) {
		const float value = i < small_row[0] ? 3 : 2;
		const struct gguf_tensor *t = &gguf->tensors[i / small_row[0]];

		memcpy(file.bytes + t->offset + 4 * (i % small_row[0]), &value, 4);
	}
	save(state, "imatrix.gguf", &file);
	mk_file_free(&file);
	gguf_free(gguf);
	if (adapter_edit_use_importance(model, in_temp(state, "imatrix.gguf").text, &err) < 0)
		fail_msg("%s", err.text);
}

struct figures *figures_now(struct model *model)
{
	struct snapshot snapshot;
	struct figures *figures;

	must(slots_snapshot(model->slots, &snapshot) == 0);
	figures = figures_new(model, &snapshot);
	snapshot_release(&snapshot);
	must(figures);
	return figures;
}
