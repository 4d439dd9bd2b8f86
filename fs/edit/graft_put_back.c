/* SPDX-License-Identifier: MIT */
/* graft_put_back.c - see graft_internal.h: restores the former content of a slot whose file is
 * refused. */
#include "fs/edit/graft.h"
#include "fs/edit/graft_internal.h"
#include "fs/edit/journal.h"
#include "fs/edit/stage.h"
#include "fs/model/model.h"
#include "fs/model/removal.h"
#include "fs/model/slots.h"

#include <errno.h>

/* Put a graft back: a reference or link as such, a copy from its open file, whose name is gone. */
static int put_back_graft(struct model *model, const struct removal *removal)
{
	const struct content *content = removal->content;
	const struct origin origin = { model, removal->slot, removal->content };
	struct stage *stage = graft_stage_of(&origin, model->layer);
	bool moved_on;
	int rc = -ENOMEM;

	if (stage) {
		stage_set_mtime(stage, &content->mtime);
		rc = graft_fill_over(model, removal->slot, removal->nothing, stage, content->donor,
				     &moved_on);
	}
	stage_free(stage);
	return rc;
}

/* Put back a slot that had no graft. */
static int put_back_beneath(const struct filling *refused, const struct removal *removal)
{
	struct filling filling = { .model = refused->model,
				   .klass = refused->klass,
				   .name = refused->name,
				   .tensor = removal->slot,
				   .replaces_only = true,
				   .was = removal->nothing };
	int rc;

	journal_begin(filling.model);
	rc = filling_has_moved_on(&filling) ? -ESTALE : journal_check(filling.model);
	if (rc == 0)
		rc = filling_restore(&filling);
	journal_end(filling.model);
	return rc;
}

bool graft_put_back(const struct filling *refused, struct stage *stage)
{
	struct removal *removal = stage_take_removal(stage);
	int rc = -ENOENT;

	/* The file may have been renamed to another slot since. */
	if (removal && !refused->is_new && refused->tensor == removal->slot)
		rc = content_is_graft(removal->content) ? put_back_graft(refused->model, removal)
							: put_back_beneath(refused, removal);
	removal_free(removal);
	return rc == 0;
}
