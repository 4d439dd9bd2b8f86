/* SPDX-License-Identifier: MIT */
/* file_type.h - the tensors that llama-quantize quantises, and general.file_type, llama.cpp's
 * number for a model whose tensors mostly have one type. Sources: tensor_allows_quantization() in
 * llama-quant.cpp, enum llama_ftype in llama.h, and llama_model_loader's guess for a model without
 * the key. */
#ifndef GGUF_FILE_TYPE_H
#define GGUF_FILE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_TYPE_KEY "general.file_type"

/* Does llama-quantize quantise a tensor with that name and number of axes? */
bool file_type_counts(const char *name, size_t length, uint32_t dims);

/* Is it the token embedding or the output head, which have other types in most models? */
bool file_type_is_end(const char *name, size_t length);

/* The file type for a ggml type: for Q4_K that of Q4_K_M, and so on. False: llama.cpp has none. */
bool file_type_of(uint32_t type, uint32_t *file_type);

#endif
