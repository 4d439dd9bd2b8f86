/* SPDX-License-Identifier: MIT */
/* view_hash.h - the XXH128 of all bytes of a view. */
#ifndef FS_STORAGE_VIEW_HASH_H
#define FS_STORAGE_VIEW_HASH_H

#include "fs/util/hash_text.h"

#include <stdatomic.h>
#include <stdbool.h>

struct view;

/* Print the hash to text. Returns 0 or -errno: EIO, ENOMEM, or EINTR soon after *stop became true;
 * stop may be NULL. */
int view_hash(struct view *view, const atomic_bool *stop, char text[XXH128_TEXT]);

#endif
