/* SPDX-License-Identifier: MIT */
/* render.c - see render.h. */
#include "tests/unit/render.h"
#include "gguf/organ.h"

void check_layout(const struct layout *layout, const struct gguf *base,
		  const struct layout_slot *slots, uint32_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < layout->n_pieces; i++) {
		const struct piece *p = &layout->pieces[i];
		uint64_t end, most = UINT64_MAX;

		if (p->kind == PIECE_BASE)
			most = base->size;
		else if (p->kind == PIECE_HEADER)
			most = layout->header_size;
		else if (p->kind == PIECE_GRAFT)
			most = p->slot < n && slots[p->slot].fill == FILL_ORGAN
				       ? slots[p->slot].organ->data_size
				       : 0;
		if (p->length == 0 || !add_u64(p->offset, p->length, &end) || end > most)
			abort();
		if (p->kind == PIECE_GRAFT && (p->offset != 0 || p->length != most))
			abort();
		if (!add_u64(sum, p->length, &sum))
			abort();
	}
	if (sum != layout->size)
		abort();
}

uint8_t *render_layout(const struct layout *layout, const uint8_t *base,
		       const uint8_t *const grafts[])
{
	uint8_t *bytes = malloc((size_t)layout->size), *at = bytes;

	if (!bytes)
		abort();
	for (size_t i = 0; i < layout->n_pieces; i++) {
		const struct piece *p = &layout->pieces[i];

		switch (p->kind) {
		case PIECE_BASE:
			at = store_bytes(at, base + p->offset, (size_t)p->length);
			break;
		case PIECE_HEADER:
			at = store_bytes(at, layout->header + p->offset, (size_t)p->length);
			break;
		case PIECE_ZEROS:
			memset(at, 0, (size_t)p->length);
			at += p->length;
			break;
		case PIECE_GRAFT:
			at = store_bytes(at, grafts[p->slot], (size_t)p->length);
			break;
		}
	}
	return bytes;
}
