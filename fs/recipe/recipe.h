/* SPDX-License-Identifier: MIT */
/* recipe.h - the state of a model, as what has to be done to a copy of its base to have it again:
 * as a structure, and as the text (YAML) that .recipe shows and takes.
 *
 *	organfs: recipe 1
 *	base:				the model that all of it is done to
 *	  name: base.gguf
 *	  size: 123456			bytes
 *	  fingerprint: HEX		as fingerprint()
 *	  contents: HEX			as fingerprint_contents()
 *	  recipe: |			ancestry: what the file carries as organfs.recipe, or in
 *					its place "cut: yes": it is too long or too deep
 *	options:			of the mount
 *	  blocks: keep			if it is not the default
 *	  merged: keep			with adapters or a merge; without it: q8_0
 *	  type: keep			if it is not the default
 *	donors:				what has to be at hand; grafts name them by 1, 2, ...
 *	- name: donor.gguf
 *	  size: 123456
 *	  fingerprint: HEX
 *	  contents: HEX
 *	  path: /models/donor.gguf	where it lay
 *	  recipe: |
 *	merge:				of models, beneath the grafts
 *	  config: |			as .merge has it
 *	models:				that the configuration names
 *	- model: other		as it is written there
 *	  donor: 1			or base
 *	grafts:				in the order of the slots
 *	- slot: organs/blk_5_ffn_up
 *	  how: copy			copy, reference, link, removed
 *	  tensor: blk.32.ffn_up.weight	the name, of a slot that was added
 *	  donor: 1			or base
 *	  from: blk.5.ffn_up.weight	the tensor in the donor
 *	  view: spectral		what was taken of the donor's tensor, not itself
 *	  organ: HEX			XXH128 of the organ file that fills the slot
 *	  size: 123456			of that file
 *	  target: /models/x.bin		of a link, as it was given; of an organ file, where it lay
 *	metadata:			in the order of the keys
 *	- key: general.name
 *	  type: string
 *	  value: text			as metadata/KEY has it, without its last newline
 *	- key: general.url
 *	  removed: yes
 *	adapters:			files of adapters/ that are no organs, links first
 *	- file: style.gguf
 *	  target: /adapters/style.gguf
 *	  donor: 2
 *	- file: style.scale
 *	  value: 0.5
 *	types:				in which slots show their contents
 *	- slot: organs/blk_5_ffn_up
 *	  type: Q6_K
 *
 * In names, paths, keys and targets, bytes up to a blank, '%' and those that are not ASCII stand
 * percent-encoded, as in .grafts. A value that is no UTF-8, or holds a NUL, stands so as "encoded"
 * in place of "value". */
#ifndef FS_RECIPE_RECIPE_H
#define FS_RECIPE_RECIPE_H

#include "fs/base/fingerprint.h"

#include <stdbool.h>
#include <stdio.h>

struct error;

/* The longest text, in bytes. */
#define RECIPE_MAX ((size_t)16 << 20)

/* Bytes, with a NUL behind them that does not count; NULL: there are none. */
struct recipe_text {
	char *bytes;
	size_t length;
};

/* A model, or an organ file, that other things are made from. */
struct recipe_source {
	struct recipe_text name;	    /* of the file, without its directory */
	uint64_t size;			    /* bytes */
	char fingerprint[FINGERPRINT_TEXT]; /* empty: not known */
	char contents[FINGERPRINT_TEXT];    /* the same */
	struct recipe_text path;	    /* where it lay; a hint */
	struct recipe_text recipe;	    /* that it carries itself, */
	bool cut; /* or carries, but it is too long or too deep to be here */
};

struct recipe_merge {
	struct recipe_text config; /* no bytes: there is no merge */
};

struct recipe_merged {
	struct recipe_text written;
	uint32_t donor;
};

enum recipe_how {
	RECIPE_COPY,
	RECIPE_REFERENCE,
	RECIPE_LINK,
	RECIPE_REMOVED,
	RECIPE_HOWS,
};

/* The number of a donor, from 1 on. */
#define RECIPE_NO_DONOR UINT32_MAX
#define RECIPE_BASE	0u

struct recipe_graft {
	struct recipe_text slot; /* CLASS/NAME */
	enum recipe_how how;
	struct recipe_text tensor; /* of a slot that was added */
	uint32_t donor;		   /* RECIPE_NO_DONOR: not known */
	struct recipe_text from;
	struct recipe_text view;
	char organ[FINGERPRINT_TEXT]; /* empty: not known, which it is of each copy */
	uint64_t size;
	struct recipe_text target; /* of a link; of a copied organ file, where that lay */
};

struct recipe_key {
	struct recipe_text key;
	bool removed;
	struct recipe_text type;
	struct recipe_text value;
};

struct recipe_adapter {
	struct recipe_text file;
	struct recipe_text target; /* of a link */
	uint32_t donor;
	struct recipe_text value; /* of a setting */
};

/* The type of ggml that a slot shows its content in. */
struct recipe_type {
	struct recipe_text slot;
	struct recipe_text type; /* its name */
};

/* Options of the mount: blocks and type if they are not the default, merged if
 * recipe_makes_values(). */
struct recipe_options {
	struct recipe_text blocks, merged, type;
};

struct recipe {
	struct recipe_source base;
	struct recipe_options options;
	struct recipe_source *donors;
	struct recipe_merge merge;
	struct recipe_merged *models;
	struct recipe_graft *grafts;
	struct recipe_key *keys;
	struct recipe_adapter *adapters;
	struct recipe_type *types;
	size_t n_donors, n_models, n_grafts, n_keys, n_adapters, n_types;
	size_t donors_room, models_room, grafts_room, keys_room, adapters_room, types_room;
};

/* All zeros is a recipe without anything, to be released. */
void recipe_release(struct recipe *recipe);

/* Does it change nothing? */
static inline bool recipe_is_empty(const struct recipe *recipe)
{
	return !recipe->merge.config.bytes && recipe->n_grafts == 0 && recipe->n_keys == 0 &&
	       recipe->n_adapters == 0 && recipe->n_types == 0;
}

/* Does the model of the recipe have tensors that are computed, in types that -o merged= chooses? */
static inline bool recipe_makes_values(const struct recipe *recipe)
{
	return recipe->merge.config.bytes || recipe->n_adapters;
}

/* A copy of n bytes. Returns 0 or -ENOMEM. */
int recipe_text_set(struct recipe_text *text, const char *bytes, size_t n);

/* One more, all zeros and without a donor. NULL: out of memory. */
struct recipe_source *recipe_add_donor(struct recipe *recipe);
struct recipe_merged *recipe_add_model(struct recipe *recipe);
struct recipe_graft *recipe_add_graft(struct recipe *recipe);
struct recipe_key *recipe_add_key(struct recipe *recipe);
struct recipe_adapter *recipe_add_adapter(struct recipe *recipe);
struct recipe_type *recipe_add_type(struct recipe *recipe);

/* The text, of *size bytes and a NUL, to free: always the same for the same recipe. portable:
 * without what holds on this machine alone, paths, and targets of links that are absolute or have a
 * donor. NULL with err set: EFBIG it would be longer than RECIPE_MAX, ENOMEM. */
char *recipe_write(const struct recipe *recipe, bool portable, size_t *size, struct error *err);

/* Read n bytes of text into recipe, to be released either way. All is checked that the text alone
 * tells: what is required is there and nothing else, nothing twice, numbers within their range and
 * donors those that there are. Returns 0, or -errno with err set, which says line and column:
 * EINVAL it is no recipe, EFBIG, ENOMEM. */
int recipe_read(const char *text, size_t n, struct recipe *recipe, struct error *err);

#endif
