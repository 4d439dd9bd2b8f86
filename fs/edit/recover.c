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
	edit_take_up(model);
	graft_take_up(model, mountpoint);
	adapt_take_up(model);
	undo_take_up(model);
}
