/* SPDX-License-Identifier: MIT */
/* layout_internal.h - shared by layout.c and layout_header.c. */
#ifndef GGUF_LAYOUT_INTERNAL_H
#define GGUF_LAYOUT_INTERNAL_H

#include "layout.h"
#include "organ.h"

struct plan {
	const struct gguf *base;
	const struct layout_slot *slots;
	struct layout *layout;
	const struct layout_values *values;
	uint32_t *order; /* non-empty slots, in the order of their infos in the file */
	uint32_t n;	 /* number of these */
	const struct layout_value **added; /* added metadata, in the order of the file */
	uint32_t n_added;
};

/* The content of a slot: an organ gets the slot's name, and the base's axes or those it needs. */
struct organ layout_content(const struct plan *plan, uint32_t slot);

/* Append a piece; layout_build() has reserved room for all possible pieces. */
void layout_add_piece(struct plan *plan, enum piece_kind kind, uint32_t slot, uint64_t offset,
		      uint64_t length);

/* Collect and sort the added metadata. Returns 0 or -ENOMEM. */
int layout_order_values(struct plan *plan);

/* Write the new bytes of the header to the layout: both counts, changed values, added entries, all
 * infos. offsets: of the data, by position in order. -ENOMEM with err set. */
int layout_write_header(struct plan *plan, const uint64_t *offsets, struct error *err);

/* Add the pieces of the header: the base's bytes, and in their places those of
 * layout_write_header(). */
void layout_add_header(struct plan *plan);

#endif
