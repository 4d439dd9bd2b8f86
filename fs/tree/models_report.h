/* SPDX-License-Identifier: MIT */
/* standings.h - the ranking of the models in a mount, measured when it is read. A model that cannot
 * be measured comes last and spoils nothing. */
#ifndef FS_STANDINGS_H
#define FS_STANDINGS_H

#include "fs/tree/model_files.h"

/* Of n models as they are now; borrowed, and they outlive the view. NULL: out of memory. */
struct view *standings_view(struct mounted *mounted, uint32_t n);

#endif
