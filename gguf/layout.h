/* SPDX-License-Identifier: MIT */
/* layout.h - the plan of an assembled GGUF: a base with some tensors replaced, removed or added, as
 * a list of pieces that say where every byte of the new file comes from. Reads nothing, writes
 * nothing. */
#ifndef GGUF_LAYOUT_H
#define GGUF_LAYOUT_H

#include "reader.h"

enum piece_kind {
	PIECE_BASE,   /* bytes of the base, from offset */
	PIECE_HEADER, /* bytes of layout->header, from offset */
	PIECE_ZEROS,
	PIECE_GRAFT, /* the data of the organ in slot number slot, all of it */
};

struct piece {
	enum piece_kind kind;
	uint32_t slot;
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

/* What a slot holds in the new file. */
enum fill { FILL_BASE, FILL_ORGAN, FILL_NOTHING };

struct layout_slot {
	enum fill fill;
	const struct organ *organ; /* FILL_ORGAN: it fits the slot (organ_fits()) */
};

/* A metadata entry that is not as in the base. */
struct layout_value {
	uint32_t kv;	 /* number of the base's entry; that of an added one is higher */
	bool removed;	 /* and then nothing else counts */
	const char *key; /* of an added one */
	uint32_t key_length;
	enum kv_type type, element; /* element: of an array */
	uint64_t count;		    /* elements of an array */
	const uint8_t *bytes; /* as in the file: of a string without its length, of an array */
	size_t length;	      /* without type and count */
};

/* What is not as in the base: first entries of the base in their order, then the added ones in any.
 * No key is there twice. */
struct layout_values {
	uint32_t n;
	const struct layout_value *values;
};

/* Plan the file that base becomes with n slots: first one a tensor in the order of base->tensors,
 * then those that are added, which are organs under the name that the tensor is to have, or
 * nothing. With all slots and values the base's this is the base, byte for byte. If no tensor goes,
 * comes or changes its size or needs more axes, and no tensors share bytes, every other byte stays
 * where it was, or is moved along as a whole where metadata changes its size. Otherwise the tensors
 * are laid out anew as llama.cpp demands: in the order of their infos, the added ones last in the
 * order of their names, each offset the sum of the padded sizes before it, the last one padded too
 * (ggml gguf.cpp, "has offset %, expected %"). Added metadata comes last in the order of its keys.
 * The alignment is the base's, whatever values say; values may be NULL.
 *
 * Release the result with layout_release(). Errors: EOVERFLOW the file would be too large or
 * version 1 cannot describe it, ENOMEM. */
int layout_build(const struct gguf *base, const struct layout_slot *slots, uint32_t n,
		 const struct layout_values *values, struct layout *layout, struct error *err);
void layout_release(struct layout *layout);

#endif
