/* SPDX-License-Identifier: MIT */
/* check_host.h - checks of the model itself, independent of donors. header is its current GGUF
 * header (check_groups_read_header()). */
#ifndef FS_CHECK_CHECK_HOST_H
#define FS_CHECK_CHECK_HOST_H

#include <stdbool.h>

struct check_groups;
struct finding;
struct gguf;
struct gguf_tensor;
struct organ;

/* Make a check. Returns 0 or -ENOMEM. */
typedef int check_host_fn(const struct check_groups *groups, const struct gguf *header,
			  struct finding *finding);

/* Blocks run from 0 without a gap, and the metadata counts them. */
check_host_fn check_host_blocks;

/* No block lacks a tensor of the base, and every graft is readable. header is not used here, nor by
 * check_host_types and check_host_adapters. */
check_host_fn check_host_complete;

/* general.file_type fits the most frequent type, or the base has no such key: then no text. */
check_host_fn check_host_types;

/* Arrays with an entry for each block have the right length. */
check_host_fn check_host_arrays;

/* All adapters can be merged. */
check_host_fn check_host_adapters;

/* No output head was added to a model without one, or removed. */
check_host_fn check_host_output;

/* Whether the model has a token embedding or an output head. */
bool check_host_output_any(const struct check_groups *groups);

/* Tensors by expert have as many experts as the metadata says. */
check_host_fn check_host_experts;

/* Whether there is a tensor by expert. */
bool check_host_experts_any(const struct check_groups *groups);

/* Whether the organ differs from the base's tensor in the number of experts alone. */
bool check_host_experts_shape(const struct organ *organ, const struct gguf_tensor *slot);

#endif
