/* SPDX-License-Identifier: MIT */
/* layout.h - the plan of an assembled GGUF: a base with some tensors replaced, as a list of pieces
 * that say where every byte of the new file comes from. Reads nothing, writes nothing. */
#ifndef GGUF_LAYOUT_H
#define GGUF_LAYOUT_H

#include "organ.h"

enum piece_kind {
	PIECE_BASE,   /* bytes of the base, from offset */
	PIECE_HEADER, /* bytes of layout->header, from offset */
	PIECE_ZEROS,
	PIECE_GRAFT, /* the data of the organ in slot tensor, all of it */
};

struct piece {
	enum piece_kind kind;
	uint32_t tensor;
	uint64_t offset;
	uint64_t length; /* bytes */
};

struct layout {
	uint64_t size; /* of the assembled file */
	struct piece *pieces;
	size_t n_pieces;
	uint8_t *header; /* what of the header is not the base's */
	size_t header_size;
};

/* Plan the file that base becomes with grafts, one entry a tensor in the order of base->tensors:
 * NULL keeps the base's. Without grafts this is the base, byte for byte. If no graft changes its
 * slot's size or needs more axes, and no tensors share bytes, every other byte stays where it was.
 * Otherwise the tensors are laid out anew as llama.cpp demands: in the order of their infos, each
 * offset the sum of the padded sizes before it, the last one padded too (ggml gguf.cpp, "has offset
 * %, expected %").
 *
 * An organ fits its slot (organ_fits()). Release the result with layout_release(). Errors:
 * EOVERFLOW the file would be too large or version 1 cannot describe it, ENOMEM. */
int layout_build(const struct gguf *base, const struct organ *const grafts[], struct layout *layout,
		 struct error *err);
void layout_release(struct layout *layout);

#endif
