/* SPDX-License-Identifier: MIT */
/* check_layout.h - check that the sizes of the base's tensors fit their types. */
#ifndef FS_CHECK_CHECK_LAYOUT_H
#define FS_CHECK_CHECK_LAYOUT_H

#include "fs/check/check_host.h"

/* impossible: tensors of the base, in slots without a graft, that are short (gguf/types.h). risky:
 * types whose tensors all have the same multiple of the bytes needed, as if the type's id meant
 * another layout. Otherwise a finding without text. */
check_host_fn check_layout_sizes;

#endif
