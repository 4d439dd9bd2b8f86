/* SPDX-License-Identifier: MIT */
/* card.h - what a model is, by its metadata: a few lines at the head of the report. */
#ifndef FS_CARD_H
#define FS_CARD_H

#include "fs/figures.h"

#include <stdio.h>

/* Print lines of "model", a key and its value: name, architecture, parameters, tensors, of a
 * model that lacks shards what there is, grafts,
 * blocks, experts, embedding, context, attention, rope. What the metadata does not say is "unknown"
 * or "none". Depends on no θ. */
void card_print(const struct figures *figures, FILE *out);

/* "llama, 24 blocks, 290 tensors" into text of n bytes. */
void card_summary(const struct figures *figures, char *text, size_t n);

#endif
