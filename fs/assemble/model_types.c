/* SPDX-License-Identifier: MIT */
/* model_types.c - see model_types.h. */
#include "fs/assemble/model_types.h"
#include "fs/metadata/metadata.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "gguf/bytes.h"
#include "gguf/file_type.h"
#include "gguf/layout.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_matrix(const struct organ_place *place, uint32_t dims)
{
	return place->klass != CLASS_ADAPTERS &&
	       file_type_counts(place->tensor, place->tensor_length, dims) &&
	       !file_type_is_end(place->tensor, place->tensor_length);
}

static uint32_t most_of(const uint32_t counts[GGML_TYPES])
{
	uint32_t most = UINT32_MAX;

	for (uint32_t type = 0; type < GGML_TYPES; type++)
		if (counts[type] && (most == UINT32_MAX || counts[type] > counts[most]))
			most = type;
	return most;
}

struct model_types model_types_find(const struct model *model, const struct snapshot *snapshot)
{
	uint32_t counts[GGML_TYPES] = { 0 }, before[GGML_TYPES] = { 0 }, n = 0;
	struct model_types types;

	for (uint32_t i = 0; i < snapshot->n; i++) {
		const struct content *content = snapshot->content[i];
		const bool in_base = i < model->gguf->n_tensors;
		const uint32_t of_base = in_base ? model->gguf->tensors[i].type : UINT32_MAX;
		struct organ organ;

		if (in_base && of_base < GGML_TYPES &&
		    is_matrix(&model->places[i], model->gguf->tensors[i].dims))
			before[of_base]++;
		if (content_is_whiteout(content) || (!content && !in_base))
			continue;
		organ = model_organ(model, i, content);
		if (!is_matrix(&model->places[i], organ.dims))
			continue;
		n++;
		if (organ.type < GGML_TYPES)
			counts[organ.type]++;
	}
	types.most = most_of(counts);
	types.of_base = most_of(before);
	types.agree = types.most != UINT32_MAX && counts[types.most] > n / 2;
	return types;
}

int model_types_follow(const struct model *model, const struct snapshot *snapshot,
		       struct layout_values *follow)
{
	const struct gguf *gguf = model->gguf;
	const struct model_types types = model_types_find(model, snapshot);
	const struct kv *kv = gguf_find(gguf, FILE_TYPE_KEY);
	struct layout_value *values = (struct layout_value *)follow->values;
	uint64_t value;
	uint32_t file_type, place = follow->n;
	uint8_t *bytes;

	if (!types.agree || types.most == types.of_base || !file_type_of(types.most, &file_type) ||
	    !kv || !kv_unsigned(kv, &value) ||
	    metadata_edits_find(snapshot->edits, (uint32_t)(kv - gguf->kv)))
		return 0;
	bytes = malloc(8);
	if (!bytes)
		return -ENOMEM;
	store_u64(bytes, file_type);
	/* Keep the order of the base's entries. */
	while (place > 0 && values[place - 1].kv > (uint32_t)(kv - gguf->kv))
		place--;
	memmove(&values[place + 1], &values[place], (follow->n++ - place) * sizeof(*values));
	values[place] = (struct layout_value){ .kv = (uint32_t)(kv - gguf->kv),
					       .type = kv->type,
					       .length = kv_type_size(kv->type),
					       .bytes = bytes };
	return 0;
}
