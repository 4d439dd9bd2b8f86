/* SPDX-License-Identifier: MIT */
/* recover.c - see recover.h. */
#include "fs/edit/recover.h"
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/edit/merge_edit.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/type_edit.h"
#include "fs/model/model.h"

int recover(struct model *model, const char *mountpoint, struct error *err)
{
	int rc;

	if (!model->layer)
		return 0;
	rc = metadata_edit_recover(model, err);
	/* The merge first: grafts may fill slots that only the merge has. */
	if (rc == 0)
		rc = merge_edit_recover(model, err);
	if (rc == 0)
		rc = graft_recover(model, mountpoint, err);
	if (rc == 0)
		rc = type_edit_recover(model, err);
	return rc == 0 ? adapter_edit_recover(model, err) : rc;
}
