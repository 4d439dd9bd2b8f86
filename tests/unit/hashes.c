/* SPDX-License-Identifier: MIT */
/* hashes.c - see hashes.h. */
#include "tests/unit/hashes.h"
#include "fs/model/model.h"
#include "gguf/reader.h"

struct tensor_hashes *new_digests(struct model *model)
{
	struct tensor_hashes *hashes = tensor_hashes_new(model, NULL);

	must(hashes);
	return hashes;
}

void digest_of_slot(struct model *model, enum hash_kind kind, uint32_t tensor,
		    char text[XXH128_TEXT])
{
	struct content *content = slots_get(model->slots, tensor);
	const size_t header = (size_t)model_organ(model, tensor, content).header_size;
	size_t size;
	char *bytes = read_organ(model, tensor, &size);

	if (kind == HASH_FILE)
		xxh128_text(XXH3_128bits(bytes, size), text);
	else
		xxh64_text(XXH64(bytes + header, size - header, 0), text);
	free(bytes);
	content_unref(content);
}

void add_slot(struct model *model, const char *name, const char *tensor, uint32_t of)
{
	const struct organ organ = model_organ(model, of, NULL);
	struct content *content =
		content_new_reference(77 + of, &organ, model->base, model->gguf->tensors[of].offset,
				      "fingerprint");

	must(content);
	assert_int_equal(model_add_slot(model, CLASS_ORGANS, name, tensor, (uint32_t)strlen(tensor),
					content),
			 0);
}

void close_hashed(struct opened *o, struct tensor_hashes *hashes, struct view *view)
{
	view_unref(view);
	tensor_hashes_free(hashes);
	close_model(o);
}

void assert_needs_memory(void **state,
			 struct view *make(struct model *model, struct tensor_hashes *hashes,
					   const struct snapshot *snapshot))
{
	struct tensor_hashes *hashes;
	struct snapshot snapshot;
	struct view *view;
	struct opened o;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	assert_int_equal(fill_up(o.model, 50), 0);
	hashes = new_digests(o.model);
	must(slots_snapshot(o.model->slots, &snapshot) == 0);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		view = make(o.model, hashes, &snapshot);
		if (!allocation_failed())
			break;
		assert_null(view);
	}
	assert_non_null(view);
	view_unref(view);
	assert_int_equal(snapshot.content[SMALL_UP]->refs, 2);
	snapshot_release(&snapshot);
	tensor_hashes_free(hashes);
	close_model(&o);
}
