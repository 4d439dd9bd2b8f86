/* SPDX-License-Identifier: MIT */
/* types_list.c - see types_list.h. */
#include "fs/files/types_list.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/view.h"
#include "gguf/reader.h"
#include "gguf/types.h"

#include <stdio.h>
#include <stdlib.h>

struct view *types_list_view(struct model *model, const struct snapshot *snapshot)
{
	uint32_t *order = model_order(model, snapshot->n);
	char *text = NULL, path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX];
	size_t size;
	FILE *out = order ? open_memstream(&text, &size) : NULL;

	for (uint32_t k = 0; out && k < snapshot->n; k++) {
		const uint32_t i = order[k];
		const struct content *content = snapshot->content[i];
		struct organ organ;

		if (content_is_whiteout(content) || model->places[i].klass == CLASS_ADAPTERS ||
		    (!content && i >= model->gguf->n_tensors))
			continue;
		organ = model_organ(model, i, content);
		fprintf(out, "%s %s\n", model_organ_path(model, i, path),
			type_name(organ.type, scratch));
	}
	free(order);
	return out ? view_of_stream(out, &text, &size) : NULL;
}
