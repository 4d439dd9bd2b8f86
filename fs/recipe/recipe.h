/* SPDX-License-Identifier: MIT */
/* recipe.h - the state of a model as the changes that turn its base into it: as a structure, and as
 * the text (YAML) that .recipe shows and takes.
 *
 *	organfs: recipe 1
 *	base:				the model that is changed
 *	  name: base.gguf
 *	  size: 123456			bytes
 *	  fingerprint: HEX		by fingerprint()
 *	  contents: HEX			by fingerprint_contents()
 *	  recipe: |			ancestry: the file's own organfs.recipe; "cut: yes" in its
 *					place if that is too long or too deep
 *	options:			of the mount
 *	  blocks: keep			if not the default
 *	  merged: keep			with adapters or a merge; default: q8_0
 *	  type: keep			if not the default
 *	donors:				required files; grafts name them by 1, 2, ...
 *	- name: donor.gguf
 *	  size: 123456
 *	  fingerprint: HEX
 *	  contents: HEX
 *	  path: /models/donor.gguf	last known path
 *	  recipe: |
 *	merge:				of models, beneath the grafts
 *	  config: |			as in .merge
 *	models:				named by the configuration
 *	- model: other			its name there
 *	  donor: 1			or base
 *	grafts:				in the order of the slots
 *	- slot: organs/blk_5_ffn_up
 *	  how: copy			copy, reference, link, removed
 *	  tensor: blk.32.ffn_up.weight	the name, of an added slot
 *	  donor: 1			or base
 *	  from: blk.5.ffn_up.weight	the tensor in the donor
 *	  view: spectral		the view of the donor's tensor, if not the tensor itself
 *	  organ: HEX			XXH128 of the organ file in the slot
 *	  size: 123456			of that file
 *	  target: /models/x.bin		of a link, as given; of an organ file, its last known path
 *	metadata:			in the order of the keys
 *	- key: general.name
 *	  type: string
 *	  value: text			as in metadata/KEY, without the last newline
 *	- key: general.url
 *	  removed: yes
 *	adapters:			files of adapters/ other than organs, links first
 *	- file: style.gguf
 *	  target: /adapters/style.gguf
 *	  donor: 2
 *	- file: style.scale
 *	  value: 0.5
 *	types:				in which slots show their contents
 *	- slot: organs/blk_5_ffn_up
 *	  type: Q6_K
 *
 * In names, paths, keys and targets, bytes up to a blank, '%' and bytes that are not ASCII are
 * percent-encoded, as in .grafts. A value that is not UTF-8 or contains a NUL is encoded in the
 * same way, as "encoded" in place of "value". */
#ifndef FS_RECIPE_RECIPE_H
#define FS_RECIPE_RECIPE_H

#include "fs/base/fingerprint.h"

#include <stdbool.h>
#include <stdio.h>

struct error;

/* Maximal length of the text, in bytes. */
#define RECIPE_MAX ((size_t)16 << 20)

/* Bytes, followed by a NUL that length does not count; bytes NULL: no text. */
struct recipe_text {
	char *bytes;
	size_t length;
};

/* A model or organ file from which a model is made. */
struct recipe_source {
	struct recipe_text name;	    /* file name, without the directory */
	uint64_t size;			    /* bytes */
	char fingerprint[FINGERPRINT_TEXT]; /* empty: not known */
	char contents[FINGERPRINT_TEXT];    /* likewise */
	struct recipe_text path;	    /* last known path; a hint */
	struct recipe_text recipe;	    /* recipe in the file itself */
	bool cut;			    /* the file's recipe is omitted: too long or too deep */
};

struct recipe_merge {
	struct recipe_text config; /* no bytes: no merge */
};

struct recipe_merge_model {
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

/* Numbers of donors start at 1. */
#define RECIPE_NO_DONOR UINT32_MAX
#define RECIPE_BASE	0u

struct recipe_graft {
	struct recipe_text slot; /* CLASS/NAME */
	enum recipe_how how;
	struct recipe_text tensor; /* of an added slot */
	uint32_t donor;		   /* RECIPE_NO_DONOR: not known */
	struct recipe_text from;
	struct recipe_text view;
	char organ[FINGERPRINT_TEXT]; /* empty: not known; every copy has one */
	uint64_t size;
	struct recipe_text target; /* of a link; of a copied organ file its last known path */
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

/* ggml type in which a slot shows its content. */
struct recipe_type {
	struct recipe_text slot;
	struct recipe_text type; /* name of the type */
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
	struct recipe_merge_model *models;
	struct recipe_graft *grafts;
	struct recipe_key *keys;
	struct recipe_adapter *adapters;
	struct recipe_type *types;
	size_t n_donors, n_models, n_grafts, n_keys, n_adapters, n_types;
	size_t donors_room, models_room, grafts_room, keys_room, adapters_room, types_room;
};

/* Release a recipe. All zeros is an empty recipe. */
void recipe_release(struct recipe *recipe);

/* Does the recipe change nothing? */
static inline bool recipe_is_empty(const struct recipe *recipe)
{
	return !recipe->merge.config.bytes && recipe->n_grafts == 0 && recipe->n_keys == 0 &&
	       recipe->n_adapters == 0 && recipe->n_types == 0;
}

/* Does the recipe's model have computed tensors, in types chosen by -o merged=? */
static inline bool recipe_makes_values(const struct recipe *recipe)
{
	return recipe->merge.config.bytes || recipe->n_adapters;
}

/* Set text to a copy of n bytes. Returns 0 or -ENOMEM. */
int recipe_text_set(struct recipe_text *text, const char *bytes, size_t n);

/* Add an item, all zeros and without a donor. NULL: out of memory. */
struct recipe_source *recipe_add_donor(struct recipe *recipe);
struct recipe_merge_model *recipe_add_model(struct recipe *recipe);
struct recipe_graft *recipe_add_graft(struct recipe *recipe);
struct recipe_key *recipe_add_key(struct recipe *recipe);
struct recipe_adapter *recipe_add_adapter(struct recipe *recipe);
struct recipe_type *recipe_add_type(struct recipe *recipe);

/* Text of a recipe, of *size bytes and a NUL, to free; equal for equal recipes. portable: without
 * fields that hold on this machine alone: paths, and targets of links that are absolute or have a
 * donor. NULL with err set: EFBIG longer than RECIPE_MAX, ENOMEM. */
char *recipe_write(const struct recipe *recipe, bool portable, size_t *size, struct error *err);

/* Parse n bytes of text into recipe, to be released in either case. Checks everything that the text
 * alone tells: required fields, unknown and repeated ones, ranges of numbers and donors. Returns 0,
 * or -errno with err set, with line and column: EINVAL no recipe, EFBIG, ENOMEM. */
int recipe_read(const char *text, size_t n, struct recipe *recipe, struct error *err);

#endif
