/* SPDX-License-Identifier: MIT */
/* check_layout.h - are the base's tensors laid out by the sizes of their types? */
#ifndef FS_CHECK_CHECK_LAYOUT_H
#define FS_CHECK_CHECK_LAYOUT_H

#include "fs/check/check_host.h"

/* Tensors of the base, in slots without a graft, that are short (gguf/types.h): impossible. Types
 * whose tensors all have the same multiple of the bytes that they need, as in another layout of the
 * type's id: risky. Neither: a finding without a text. */
check_host_fn check_layout_sizes;

#endif
