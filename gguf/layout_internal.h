/* SPDX-License-Identifier: MIT */
/* layout_internal.h - what layout.c and layout_header.c share. */
#ifndef GGUF_LAYOUT_INTERNAL_H
#define GGUF_LAYOUT_INTERNAL_H

#include "layout.h"
#include "organ.h"

struct plan {
	const struct gguf *base;
	const struct layout_slot *slots;
	struct layout *layout;
	const struct layout_values *values;
	uint32_t *order; /* slots that hold something, as their infos stand in the file */
	uint32_t n;	 /* of these */
	const struct layout_value **added; /* metadata, as it stands in the file */
	uint32_t n_added;
};

/* What fills a slot: an organ goes under the slot's name, with as many axes as the base's info has
 * or it needs. */
struct organ layout_content(const struct plan *plan, uint32_t slot);

/* There is room for every piece a plan can have, so adding cannot fail: see layout_build(). */
void layout_add_piece(struct plan *plan, enum piece_kind kind, uint32_t slot, uint64_t offset,
		      uint64_t length);

/* Find the added metadata and put it in order. Returns 0 or -ENOMEM. */
int layout_order_values(struct plan *plan);

/* Write what of the header is not the base's into the layout: both counts, changed values, added
 * entries, then all infos. offsets: of the data, by place in the order. -ENOMEM with err set. */
int layout_write_header(struct plan *plan, const uint64_t *offsets, struct error *err);

/* The pieces of the header: the base's with what layout_write_header() wrote in its places. */
void layout_add_header(struct plan *plan);

#endif
