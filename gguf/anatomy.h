/* SPDX-License-Identifier: MIT */
/* anatomy.h - properties of a tensor that follow from its name: class, block and file name. The
 * names of the GGUF ecosystem are in tensor_classes.tsv, which is compiled in. */
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

/* Find the class with that name. False: none, and *klass is CLASSES. */
bool class_find(const char *name, size_t length, enum organ_class *klass);

/* The class of the tensor with this name. Unknown names are classified by the words in them. */
enum organ_class anatomy_class(const char *name, size_t length);

/* Is it a name of the GGUF ecosystem or of a diffusion model's block? */
bool anatomy_known(const char *name, size_t length);

/* The function of a tensor, as far as its name tells. */
enum tensor_kind {
	KIND_DENSE,	/* feed-forward network without experts */
	KIND_EXPERTS,	/* one of many experts, or all of them stacked */
	KIND_SHARED,	/* experts that every token passes */
	KIND_NORM,	/* norms, the output's too */
	KIND_EMBEDDING, /* token embedding, output head, positions */
	KIND_ATTENTION, /* attention and other sequence mixing */
	KIND_OTHER,	/* routers, adapters and everything else */
	KINDS,
};

/* "ffn-dense", "moe-experts", ... */
const char *kind_name(enum tensor_kind kind);

enum tensor_kind anatomy_kind(const char *name, size_t length);

/* anatomy_kind() for a name whose class is known. */
enum tensor_kind anatomy_kind_in(enum organ_class klass, const char *name, size_t length);

/* Does the last axis count experts? True for stacks of experts, their biases, scales and
 * routers. */
bool anatomy_by_expert(const char *name, size_t length);

/* The block number N of "blk.N." at the start of the name or after "dec.", "enc.", "v.", ..., or of
 * a diffusion model's "single_blocks.N.", "layers.N." and the like at the start; -1: no block. N
 * has to be in plain decimal form: "blk.01." names no block. */
int32_t anatomy_block(const char *name, size_t length);

/* The kind of the model's own block to which the tensor belongs: 0 for "blk.N.", other numbers for
 * diffusion models, whose kinds of blocks are numbered separately. -1: none, as for "enc.blk.N."
 * and "v.blk.N.". */
#define ANATOMY_BLOCK_KINDS 32
int anatomy_block_kind(const char *name, size_t length);

/* Write the tensor's name, with its block number replaced, to out, which has size bytes, with a
 * NUL. Returns its length; 0: the name has no block, or out is too small. */
size_t anatomy_in_block(const char *name, size_t length, int32_t number, char *out, size_t size);

/* Longest NAME of a file, without ".bin". Longer tensor names are cut and end with a hash, so that
 * NAME with any suffix of this project is a valid file name. */
#define ANATOMY_NAME_MAX 200

/* The NAME of the tensor's files: never empty, at most ANATOMY_NAME_MAX bytes and a NUL, without
 * '/' and without a leading dot. Different tensor names have different exact NAMEs, unless long
 * ones are made to collide in XXH128. The short form drops a final ".weight" and replaces '.' by
 * '_'; two tensors may share it. Bytes other than A-Z a-z 0-9 _ - + . are percent-encoded. */
enum anatomy_form { NAME_SHORT, NAME_EXACT };
void anatomy_file_name(const char *name, size_t length, enum anatomy_form form,
		       char out[ANATOMY_NAME_MAX + 1]);

/* The tensor's name without its block number, in the form and with the limits of NAME:
 * "blk.3.ffn_up.weight" has the short NAME "blk_3_ffn_up" and the role "ffn_up". The role contains
 * the second kinds of blocks: "single_blocks.3.linear1.weight" has the role
 * "single_blocks_linear1". If the name is too long for NAME, the role keeps the block number. */
void anatomy_role(const char *name, size_t length, char out[ANATOMY_NAME_MAX + 1]);

/* Are both names equal except for block number and a final ".weight"? */
bool anatomy_same_role(const char *a, size_t a_length, const char *b, size_t b_length);

/* The name of the tensor that the organ in a new file CLASS/NAME.bin adds to a model. The block
 * number is that of NAME, the rest that of the organ's own name `tensor`: "blk_32_ffn_up" with an
 * organ "blk.5.ffn_up.weight" adds "blk.32.ffn_up.weight". Written to out, which has size bytes,
 * with a NUL. Returns its length; 0: NAME or klass does not suit such a tensor. */
size_t anatomy_added(const char *tensor, size_t length, const char *name, enum organ_class klass,
		     char *out, size_t size);

#endif
