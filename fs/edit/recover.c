/* SPDX-License-Identifier: MIT */
/* recover.c - see recover.h. */
#include "fs/edit/recover.h"
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/undo.h"

void recover(struct model *model, const char *mountpoint)
{
	if (!model->layer)
		return;
	undo_finish(model);
	/* First, for the grafts' finishes what was noted for either. */
	metadata_edit_recover(model);
	graft_recover(model, mountpoint);
	adapter_edit_recover(model);
	undo_recover(model);
}
