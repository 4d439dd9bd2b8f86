/* SPDX-License-Identifier: MIT */
/* check_experts.h - do all that hold something of each expert hold it of as many as the metadata
 * says? Returns 0 or -ENOMEM, as those of check_host.h. */
#ifndef FS_CHECK_CHECK_EXPERTS_H
#define FS_CHECK_CHECK_EXPERTS_H

#include "fs/check/check_groups.h"
#include "fs/check/check_verdict.h"

int check_experts_count(const struct check_groups *groups, const struct gguf *header,
			struct finding *finding);

/* Is there a slot of that kind? */
bool check_experts_any(const struct check_groups *groups);

/* Differs the organ in a slot from the base's in the number of experts alone? */
bool check_experts_shape(const struct organ *organ, const struct gguf_tensor *slot);

#endif
