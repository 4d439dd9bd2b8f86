/* SPDX-License-Identifier: MIT */
/* recover.c - see recover.h. */
#include "fs/edit/recover.h"
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/edit/merge_edit.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/undo.h"

/* rc is what listing a part of the layer returned. */
static void check_listed(struct model *model, int rc)
{
	if (rc == 0)
		return;
	model->keep_layer = true;
	log_add(model->log, "%s: not all of it can be listed; left alone",
		layer_path(model->layer));
}

int recover(struct model *model, const char *mountpoint, struct error *err)
{
	int rc;

	if (!model->layer)
		return 0;
	undo_finish(model);
	check_listed(model, metadata_edit_recover(model));
	/* Beneath the grafts: it may have the slots that they fill. */
	rc = merge_edit_recover(model, err);
	if (rc < 0)
		return rc;
	check_listed(model, graft_recover(model, mountpoint));
	graft_finish_move(model);
	check_listed(model, adapter_edit_recover(model));
	undo_recover(model);
	return 0;
}
