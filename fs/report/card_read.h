/* SPDX-License-Identifier: MIT */
/* card_read.h - what the metadata of a mounted model say of it. */
#ifndef FS_REPORT_CARD_READ_H
#define FS_REPORT_CARD_READ_H

#include "fs/report/card.h"

/* Fill the card of a model with those edits, which may be NULL. What cannot be read is as what is
 * not said. */
void card_read(struct model *model, struct metadata_edits_get *edits, struct card *card);

#endif
