/* SPDX-License-Identifier: MIT */
/* models_report.h - the ranking of the models in a mount, measured when it is read. A model that
 * cannot be measured comes last and spoils nothing. */
#ifndef FS_TREE_MODELS_REPORT_H
#define FS_TREE_MODELS_REPORT_H

#include "fs/tree/model_files.h"

/* Of n models as they are now; borrowed, and they outlive the view. NULL: out of memory. */
struct view *models_report_view(struct model_files *mounted, uint32_t n);

#endif
