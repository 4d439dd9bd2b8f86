/* SPDX-License-Identifier: MIT */
/* check_merge.c - see check_merge.h. */
#include "fs/check/check_merge.h"
#include "fs/base/base.h"
#include "fs/check/check_lineage.h"
#include "fs/check/check_verdict.h"
#include "fs/merge/merge_note.h"
#include "fs/model/merge_force.h"
#include "fs/model/model.h"
#include "fs/util/plural.h"
#include "gguf/pair.h"
#include "gguf/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void check_merge_models(const struct merge_state *state, struct finding *finding)
{
	if (state->broken)
		finding_set(finding, VERDICT_IMPOSSIBLE, "its tensors cannot be read: %s",
			    state->broken);
	else
		finding_set(finding, VERDICT_OK,
			    "%s of %zu model%s: %" PRIu32 " tensor%s computed when read, %" PRIu32
			    " of one model, %" PRIu32 " removed%s",
			    state->method, state->n_models, plural(state->n_models), state->made,
			    plural(state->made), state->passed, state->gone,
			    state->chat_template ? "; with its own chat template" : "");
}

void check_merge_tokenizer(const struct merge_state *state, struct finding *finding)
{
	if (state->tokenizer)
		finding_set(finding, VERDICT_RISKY,
			    "merge: the same token may mean something else to %s",
			    state->tokenizer);
	else
		finding_set(finding, VERDICT_OK, "merge: all models have the base's");
}

/* Whether the file is an adapter, which has pairs alone. */
static bool is_adapter(const struct gguf *gguf)
{
	size_t target;

	return gguf->n_tensors > 0 &&
	       pair_half(gguf->tensors[0].name, gguf->tensors[0].name_length, &target) != PAIR_NONE;
}

/* The file name of a path. */
static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int check_merge_lineage(const struct merge_state *state, const struct model *model,
			const struct halt *halt, struct finding *finding)
{
	const struct lineage_model host = { model->base, model->gguf, NULL };
	size_t looked_at = 0;

	for (size_t i = 0; i < state->n_models; i++) {
		const struct lineage_model donor = { state->bases[i].file, state->bases[i].gguf,
						     NULL };
		struct finding of_model = { .verdict = VERDICT_OK };
		double likeness;
		int rc;

		if (!donor.file || is_adapter(donor.gguf))
			continue;
		rc = check_lineage_cosines(&host, &donor, halt, &of_model, &likeness);
		if (rc < 0)
			return rc;
		if (looked_at++ == 0 || of_model.verdict > finding->verdict)
			finding_set(finding, of_model.verdict, "merge: %.40s: %s",
				    name_of(state->models[i].path), of_model.text);
	}
	if (looked_at == 0)
		finding_set(finding, VERDICT_OK, "merge: no other model than the base");
	return 0;
}
