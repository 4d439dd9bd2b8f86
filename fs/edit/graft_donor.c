/* SPDX-License-Identifier: MIT */
/* graft_donor.c - see graft_internal.h: the donor of a graft, as traced by the writes to its stage
 * and as recorded in the layer. */
#include "fs/base/donor.h"
#include "fs/base/fingerprint.h"
#include "fs/edit/graft_internal.h"
#include "fs/edit/stage.h"
#include "fs/model/inode.h"
#include "fs/model/model.h"
#include "fs/paths/write_source.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"

#include <string.h>

/* Donor of the staged bytes, as far as the writes were traced. */
static struct donor *traced_donor(const struct filling *filling, struct stage *stage)
{
	struct write_source *trace = stage_trace(stage);
	struct content *content = NULL;
	struct donor *donor;
	uint64_t target = 0;

	if (!filling->is_new) {
		content = slots_get(filling->model->slots, filling->tensor);
		target = content ? content->ino
				 : inode_of(filling->model->number, INODE_ORGAN, filling->tensor);
	}
	donor = write_source_donor(trace, stage_shown(stage).size, target);
	content_unref(content);
	write_source_unref(trace);
	return donor;
}

/* Add the fingerprint of the donor's GGUF to the donor, which is used up, so that .recipe states it
 * even before the next mount. Reads from the donor. */
static struct donor *fingerprinted(const struct model *model, struct donor *donor)
{
	struct backing *held = donor ? donor_backing(donor) : NULL;
	char text[FINGERPRINT_TEXT];
	struct donor *known = NULL;
	struct source source;
	struct gguf *gguf;

	if (!held || held == model->base || donor_fingerprint(donor)[0])
		return donor;
	source = backing_source(held);
	gguf = gguf_read(&source, NULL);
	if (gguf && fingerprint(held, gguf, text) == 0)
		known = donor_with_fingerprint(donor, text);
	gguf_free(gguf);
	if (!known)
		return donor;
	donor_unref(donor);
	return known;
}

void filling_find_donor(struct filling *filling, struct stage *stage, struct donor *donor)
{
	filling->donor = fingerprinted(filling->model,
				       donor ? donor_ref(donor) : traced_donor(filling, stage));
}

/* Fingerprint of the donor's GGUF; empty: not known. */
static const char *fingerprint_of(const struct filling *filling)
{
	const char *known = donor_fingerprint(filling->donor);

	return !known[0] && donor_backing(filling->donor) == filling->model->base
		       ? model_fingerprint(filling->model)
		       : known;
}

/* A donor that was traced by path has no backing to compare. */
static bool is_of_base(const struct filling *filling)
{
	struct backing *base = filling->model->base;

	return donor_backing(filling->donor) == base ||
	       (strcmp(donor_path(filling->donor), backing_path(base)) == 0 &&
		strcmp(donor_fingerprint(filling->donor), model_fingerprint(filling->model)) == 0);
}

struct layer_entry filling_entry(const struct filling *filling)
{
	const struct organ_place *place = &filling->model->places[filling->tensor];
	struct layer_entry entry = { .klass = filling->klass,
				     .name = filling->name,
				     .origin = { .donor = filling->donor } };

	if (filling->donor) {
		strcpy(entry.origin.fingerprint, fingerprint_of(filling));
		entry.origin.of = is_of_base(filling) ? REFERENCE_OF_BASE : REFERENCE_OF_ANOTHER;
	}
	if (!filling->is_new && filling->tensor >= filling->model->gguf->n_tensors) {
		entry.origin.slot = place->tensor;
		entry.origin.slot_length = place->tensor_length;
	}
	return entry;
}
