/* SPDX-License-Identifier: MIT */
/* type_lines.h - lines that choose types of ggml for tensors, read into choices:
 *
 *	CLASS/GLOB TYPE		the slots whose CLASS/NAME, with or without ".bin", matches the
 *				pattern of the shell: "organs/blk_1*_ffn_down q6_k"
 *	REGEX=TYPE ...		the tensors in whose names, as GGUF has them, the regular
 *				expression is found: "ffn_down=q6_k"
 *
 * The second form is that of llama-quantize's --tensor-type-file: regular expressions are in lower
 * case, with \d for a digit. The first line that names a tensor decides its type, as there. A name
 * without wildcards stands for that slot; patterns pass over the tensors that llama-quantize does
 * not quantise (tensor_allows_quantization() in llama-quant.cpp), and those that a later line may
 * name: whose rows are not whole blocks of the type, or for which the importance matrix has none of
 * the weights that the type needs. A line that begins with '#' is a comment. */
#ifndef FS_EDIT_TYPE_LINES_H
#define FS_EDIT_TYPE_LINES_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct model;
struct type_choice;

struct type_lines {
	struct type_choice *choices; /* n choices, each for another slot; to free */
	size_t n;
	uint32_t unfit; /* tensors named by patterns alone whose types do not fit them */
};

/* Read NUL-terminated text, which is modified. Returns 0, or -errno with the line's text in err:
 * EINVAL the line is wrong, its type has no encoder, or it names no tensor; ENOMEM. The caller
 * frees lines->choices in each case. */
int type_lines_read(struct model *model, char *text, struct type_lines *lines, struct error *err);

#endif
