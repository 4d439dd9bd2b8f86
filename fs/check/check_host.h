/* SPDX-License-Identifier: MIT */
/* check_host.h - is the model whole by itself, whatever the donors are like? header is its
 * GGUF as it is now (check_groups_header()). */
#ifndef FS_CHECK_CHECK_HOST_H
#define FS_CHECK_CHECK_HOST_H

#include <stdbool.h>

struct check_groups;
struct finding;
struct gguf;
struct gguf_tensor;
struct organ;

/* Returns 0 or -ENOMEM. */
typedef int check_host_fn(const struct check_groups *groups, const struct gguf *header,
			  struct finding *finding);

/* Run the blocks from 0 without a gap, and does the metadata count them? */
check_host_fn check_host_blocks;

/* Does a block lack what it had in the base, or a graft its data? This and the last one do without
 * the header. */
check_host_fn check_host_complete;

/* Is most of the model of the type that general.file_type says? Without the header; no text: it
 * is, or the base has no such key. */
check_host_fn check_host_types;

/* Have arrays with an entry for each block so many? */
check_host_fn check_host_arrays;

/* Can all adapters be merged? Without the header. */
check_host_fn check_host_adapters;

/* An output head that was added to or taken from the embedding. */
check_host_fn check_host_output;

/* Has the model a token embedding or such a head at all? */
bool check_host_output_any(const struct check_groups *groups);

/* Do all that hold something of each expert hold it of as many as the metadata says? */
check_host_fn check_host_experts;

/* Is there a slot of that kind? */
bool check_host_experts_any(const struct check_groups *groups);

/* Differs the organ in a slot from the base's in the number of experts alone? */
bool check_host_experts_shape(const struct organ *organ, const struct gguf_tensor *slot);

#endif
