/* SPDX-License-Identifier: MIT */
/* check_groups.h - the grafts in force, grouped by donor; and short names of slots. */
#ifndef FS_CHECK_CHECK_GROUPS_H
#define FS_CHECK_CHECK_GROUPS_H

#include "fs/assemble/model_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gguf;
struct gguf_tensor;
struct snapshot;
struct source;
struct view;

/* Limit of block numbers; no model has so many blocks. */
#define BLOCKS_MAX 100000

enum group_kind {
	GROUP_MODEL,   /* tensors of one other GGUF */
	GROUP_SELF,    /* tensors of the base itself */
	GROUP_ORGANS,  /* organ files, which name no model */
	GROUP_UNKNOWN, /* unknown donors */
};

/* Grafts with one donor. */
struct check_group {
	enum group_kind kind;
	const struct donor *donor; /* donor of one graft, borrowed; NULL: unknown */
	uint32_t *slots;	   /* their slots, ascending */
	uint32_t n;
	size_t room;
	unsigned concerns; /* enum concern */
	char title[36];	   /* the file's name, short and printable */
};

struct check_groups {
	struct model *model;	  /* borrowed */
	struct content **content; /* content of each slot, with a reference; NULL: the base's */
	bool *foreign;		  /* for each slot: the base's own tensor is another model's too */
	uint32_t n_slots;
	struct merge_state *merge;    /* merge beneath the grafts, with a reference; NULL: none */
	struct metadata_edits *edits; /* metadata edits, with a reference; NULL: none */
	struct adapted {
		uint32_t adapters, broken, touched, halves;
	} adapted; /* counts of adapters, which are no grafts (adapters.h) */
	struct model_types types;
	/* In the order of their first slots, unknown donors last. */
	struct check_group *groups;
	uint32_t n, grafts, removed;
	size_t room;
};

/* Group the grafts of a snapshot. NULL: out of memory. */
struct check_groups *check_groups_new(struct model *model, const struct snapshot *snapshot);
void check_groups_free(struct check_groups *groups); /* NULL is fine */

/* Parsed header of the model as it would be assembled, with the current metadata, to release.
 * source reads its bytes while *view exists, which is to be released too. NULL: it has none. */
struct gguf *check_groups_read_header(const struct check_groups *groups, struct view **view,
				      struct source *source);

/* Tensor of the base that the slot is for, below its n_tensors. If another model's tensor lies in
 * the place of the base's, the tensor is as header.gguf lists it. */
const struct gguf_tensor *check_groups_tensor(const struct check_groups *groups, uint32_t slot);

/* Original block of the organ in a slot, -1: none. */
int32_t check_groups_donor_block(const struct check_groups *groups, uint32_t slot);

/* Whether the organ in a slot was a tensor of the slot's own name. */
bool check_groups_in_place(const struct check_groups *groups, uint32_t slot);

/* Print slots in short, "blk 5-20 ffn_*" or "token_embd, output", cut to size. Returns text. */
const char *check_groups_slots(const struct check_groups *groups, const uint32_t *slots, uint32_t n,
			       char *text, size_t size);

/* Print the roles of slots, "ffn_gate, ffn_up", or in short, "ffn_*", if that exceeds size bytes;
 * cut to size bytes. Returns text. */
const char *check_groups_roles(const struct check_groups *groups, const uint32_t *slots, uint32_t n,
			       char *text, size_t size);

/* Print the numbers below n that are marked in short, "0-3, 7". Returns text. */
const char *check_groups_numbers(const bool *marked, uint32_t n, char *text, size_t size);

#endif
