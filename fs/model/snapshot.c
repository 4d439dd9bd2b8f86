/* SPDX-License-Identifier: MIT */
/* snapshot.c - see snapshot.h. */
#include "fs/model/snapshot.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"

#include <errno.h>
#include <stdlib.h>

int model_snapshot(struct model *model, struct snapshot *snapshot)
{
	/* What changes from here on may be in it, and has a later generation. */
	const uint64_t generation = slots_generation(model->slots);
	struct metadata_edits *edits = metadata_edits_get(model->metadata);
	struct adapter_list *adapters = adapters_list(model);

	if (!edits || !adapters || slots_snapshot(model->slots, snapshot) < 0) {
		metadata_edits_unref(edits);
		adapter_list_free(adapters);
		return -ENOMEM;
	}
	snapshot->edits = edits;
	snapshot->adapters = adapters;
	snapshot->grafts += adapters->n;
	snapshot->generation = model->generation_before + generation + edits->generation;
	snapshot->grafts += edits->n;
	return 0;
}

void snapshot_release(struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->n; i++)
		content_unref(snapshot->content[i]);
	metadata_edits_unref(snapshot->edits);
	adapter_list_free(snapshot->adapters);
	free(snapshot->content);
	*snapshot = (struct snapshot){ 0 };
}
