/* SPDX-License-Identifier: MIT */
/* anatomy.h - what a tensor is by its name: its class, its block, its file name.
 * The names the GGUF ecosystem uses are in tensor_classes.tsv, compiled in. */
#ifndef GGUF_ANATOMY_H
#define GGUF_ANATOMY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum organ_class {
	CLASS_SKELETON, /* attention and other sequence mixing */
	CLASS_ORGANS,	/* feed-forward networks, experts, routers */
	CLASS_EMBED,	/* token embedding, output head, output norm */
	CLASS_NORM,	/* every other norm */
	CLASS_ADAPTERS, /* LoRA pairs */
	CLASS_OTHER,
	CLASSES,
};

/* "skeleton", "organs", ... */
const char *class_name(enum organ_class klass);

/* The class of that name. False: there is none, and *klass is CLASSES. */
bool class_find(const char *name, size_t length, enum organ_class *klass);

/* The class of the tensor with this name. Names that no known model uses are classed by the words
 * in them. */
enum organ_class anatomy_class(const char *name, size_t length);

/* Is it a name that the GGUF ecosystem uses, or one of a diffusion model's block? */
bool anatomy_known(const char *name, size_t length);

/* What a tensor does, as far as its name says it. */
enum tensor_kind {
	KIND_DENSE,	/* feed-forward network without experts */
	KIND_EXPERTS,	/* one of many experts, or all of them stacked */
	KIND_SHARED,	/* experts that every token passes */
	KIND_NORM,	/* norms, the output's too */
	KIND_EMBEDDING, /* token embedding, output head, positions */
	KIND_ATTENTION, /* attention and other sequence mixing */
	KIND_OTHER,	/* routers, adapters and what fits nowhere else */
	KINDS,
};

/* "ffn-dense", "moe-experts", ... */
const char *kind_name(enum tensor_kind kind);

enum tensor_kind anatomy_kind(const char *name, size_t length);

/* The same, where the class of the name is known. */
enum tensor_kind anatomy_kind_in(enum organ_class klass, const char *name, size_t length);

/* Is the last axis of that tensor one of experts: has it a slice for each? Stacks of experts have,
 * their biases and scales, and routers. */
bool anatomy_by_expert(const char *name, size_t length);

/* The block number N of "blk.N." at the start of the name or after "dec.", "enc.", "v.", ..., or of
 * "single_blocks.N.", "layers.N." and the like of diffusion models at the start; -1 where there is
 * none. Only the plain decimal form counts: "blk.01." names no block. */
int32_t anatomy_block(const char *name, size_t length);

/* The kind of the model's own block that the tensor is of, as neither "enc.blk.N." nor "v.blk.N."
 * is: 0 for "blk.N.", others for diffusion models, whose kinds are numbered apart. -1: none. */
#define ANATOMY_BLOCK_KINDS 32
int anatomy_block_kind(const char *name, size_t length);

/* The tensor's name with that number of a block, into out of size bytes, with a NUL. Returns its
 * length, or 0 where the name has no block or there is no room. */
size_t anatomy_in_block(const char *name, size_t length, int32_t number, char *out, size_t size);

/* The longest NAME of a file, without ".bin". Longer tensor names are cut and closed with a hash,
 * so that NAME with any ending of this project is a valid file name. */
#define ANATOMY_NAME_MAX 200

/* The NAME of the tensor's files, at most ANATOMY_NAME_MAX bytes and a NUL, never empty, without
 * '/' and without a leading dot. Different tensor names give different exact NAMEs, except long
 * ones made to collide in XXH128. The short form drops a final ".weight" and turns '.' into '_';
 * two tensors may share it. Bytes outside A-Z a-z 0-9 _ - + . stand percent-encoded. */
enum anatomy_form { NAME_SHORT, NAME_EXACT };
void anatomy_file_name(const char *name, size_t length, enum anatomy_form form,
		       char out[ANATOMY_NAME_MAX + 1]);

/* The part that a tensor plays in whatever block it is: the short NAME of "blk.3.ffn_up.weight" is
 * "blk_3_ffn_up", its role "ffn_up". Second kinds of blocks keep their name: that of
 * "single_blocks.3.linear1.weight" is "single_blocks_linear1". The same form and limits as NAME; a
 * name that is too long to be shown keeps its block. */
void anatomy_role(const char *name, size_t length, char out[ANATOMY_NAME_MAX + 1]);

/* Are both names the same but for the number of the block and a final ".weight"? */
bool anatomy_same_role(const char *a, size_t a_length, const char *b, size_t b_length);

/* The name of the tensor that a file CLASS/NAME.bin adds to a model when the organ in it says it is
 * of that name: the number of the block comes from NAME, the rest from the organ, so that
 * "blk_32_ffn_up" holding "blk.5.ffn_up.weight" is "blk.32.ffn_up.weight". Into out of size bytes,
 * with a NUL. Returns its length, or 0 where NAME or klass is not what such a tensor has. */
size_t anatomy_added(const char *tensor, size_t length, const char *name, enum organ_class klass,
		     char *out, size_t size);

#endif
