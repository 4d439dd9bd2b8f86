/* SPDX-License-Identifier: MIT */
/* layout.h - the plan of an assembled GGUF: a base with some tensors replaced, removed or added, as
 * a list of pieces, each with its source. Reads and writes nothing. */
#ifndef GGUF_LAYOUT_H
#define GGUF_LAYOUT_H

#include "reader.h"

enum piece_kind {
	PIECE_BASE,   /* bytes of the base, from offset */
	PIECE_HEADER, /* bytes of layout->header, from offset */
	PIECE_ZEROS,
	PIECE_GRAFT, /* all data of the organ in slot number `slot` */
};

struct piece {
	enum piece_kind kind;
	uint32_t slot;
	uint64_t offset;
	uint64_t length; /* bytes */
};

struct layout {
	uint64_t size;	      /* size of the assembled file */
	uint64_t data_offset; /* where its header ends, and tensor data begins */
	struct piece *pieces;
	size_t n_pieces;
	uint8_t *header; /* new bytes of the header */
	size_t header_size;
};

/* The content of a slot in the new file. */
enum fill { FILL_BASE, FILL_ORGAN, FILL_NOTHING };

struct layout_slot {
	enum fill fill;
	const struct organ *organ; /* FILL_ORGAN: it fits the slot (organ_fits()) */
};

/* A metadata entry that differs from the base. */
struct layout_value {
	uint32_t kv;	 /* the base's entry; greater numbers: an added entry */
	bool removed;	 /* the members below are unused */
	const char *key; /* of an added one */
	uint32_t key_length;
	enum kv_type type, element; /* element: of an array */
	uint64_t count;		    /* elements of an array */
	const uint8_t *bytes;	    /* as in the file, without type, count and a string's length */
	size_t length;
};

/* The entries that differ: the base's in their order, then added ones in any. Keys are unique. */
struct layout_values {
	uint32_t n;
	const struct layout_value *values;
};

/* Plan the file that results from base with n slots: one per tensor, in the order of base->tensors,
 * then the added ones, each with an organ that has the tensor's name, or with nothing. If all slots
 * and values are the base's, the result is the base, byte for byte. If no tensor is added, removed,
 * resized or needs more axes, and no tensors share bytes, all other bytes keep their places, or all
 * move together if metadata changes its size. Otherwise the data is laid out anew as llama.cpp
 * requires: in the order of the infos, with added tensors last, ordered by name, each offset being
 * the sum of the padded sizes before it; the last tensor is padded too (ggml gguf.cpp, "has offset
 * %, expected %"). Added metadata comes last, ordered by key. The alignment is the
 * base's, even if values set another one; values may be NULL.
 *
 * Release the result with layout_release(). Errors: EOVERFLOW the file would be too large or
 * version 1 cannot describe it, ENOMEM. */
int layout_build(const struct gguf *base, const struct layout_slot *slots, uint32_t n,
		 const struct layout_values *values, struct layout *layout, struct error *err);
void layout_release(struct layout *layout);

#endif
