/* SPDX-License-Identifier: MIT */
/* check_parts.h - do the blocks of two models consist of the same parts? Biases, the norms of
 * queries and keys, the norms after attention and feed-forward network are there or not. */
#ifndef FS_CHECK_CHECK_PARTS_H
#define FS_CHECK_CHECK_PARTS_H

#include "fs/check/check_traits.h"

/* Of the parts that concern grafts of those concerns. Returns 0 or -ENOMEM. */
int check_parts_compare(const struct gguf *host, const struct gguf *donor, unsigned concerns,
			struct finding *finding);

#endif
