/* SPDX-License-Identifier: MIT */
/* check_groups.h - the grafts in force, by where they came from; slots named in few words. */
#ifndef FS_CHECK_CHECK_GROUPS_H
#define FS_CHECK_CHECK_GROUPS_H

#include "fs/assemble/model_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gguf;
struct snapshot;
struct source;
struct view;

/* Higher block numbers are no model's. */
#define BLOCKS_MAX 100000

enum group_kind {
	GROUP_MODEL,   /* tensors of one other GGUF */
	GROUP_SELF,    /* tensors of the base itself */
	GROUP_ORGANS,  /* organ files, of whatever models */
	GROUP_UNKNOWN, /* of which nothing is known */
};

/* Grafts with one donor. */
struct check_group {
	enum group_kind kind;
	const struct donor *donor; /* of one of them; NULL: unknown. Borrowed from the content */
	uint32_t *slots;	   /* their slots, ascending */
	uint32_t n;
	size_t room;
	unsigned concerns; /* enum concern */
	char title[36];	   /* the file's name, short and printable */
};

struct check_groups {
	struct model *model;	  /* borrowed */
	struct content **content; /* one a slot: what it holds, with references; NULL: base's */
	uint32_t n_slots;
	struct merge_state *merge;    /* beneath them, with a reference; NULL: none */
	struct metadata_edits *edits; /* of the metadata, with a reference; NULL: none */
	struct adapted {
		uint32_t adapters, broken, touched, halves;
	} adapted; /* adapters, which are no grafts (adapters.h) */
	struct model_types types;
	/* In the order of their first slots, those of kind UNKNOWN last. */
	struct check_group *groups;
	uint32_t n, grafts, removed;
	size_t room;
};

/* Take the grafts of a snapshot apart. NULL: out of memory. */
struct check_groups *check_groups_new(struct model *model, const struct snapshot *snapshot);
void check_groups_free(struct check_groups *groups); /* NULL is fine */

/* The model's GGUF as it would be assembled, with its metadata as that is now, to release; source
 * gives its bytes as long as the view is there, which is to be released too. NULL: there is none,
 * nor a view. */
struct gguf *check_groups_header(const struct check_groups *groups, struct view **view,
				 struct source *source);

/* The block that the organ in a slot was made for, -1: none. */
int32_t check_groups_donor_block(const struct check_groups *groups, uint32_t slot);

/* Is the organ in a slot of a tensor that has the slot's own name? */
bool check_groups_in_place(const struct check_groups *groups, uint32_t slot);

/* Slots in few words, "blk 5-20 ffn_*" or "token_embd, output"; cut to n bytes. Returns text. */
const char *check_groups_slots(const struct check_groups *groups, const uint32_t *slots, uint32_t n,
			       char *text, size_t size);

/* The roles of slots, "ffn_gate, ffn_up"; in few words, "ffn_*", where all are longer than size
 * bytes, and cut to these. Returns text. */
const char *check_groups_roles(const struct check_groups *groups, const uint32_t *slots, uint32_t n,
			       char *text, size_t size);

/* Numbers in few words, "0-3, 7", of those of n that are true. Returns text. */
const char *check_groups_numbers(const bool *marked, uint32_t n, char *text, size_t size);

#endif
