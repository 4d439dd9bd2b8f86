/* SPDX-License-Identifier: MIT */
/* manifest_internal.h - what manifest.c and manifest_metadata.c share. */
#ifndef FS_MANIFEST_INTERNAL_H
#define FS_MANIFEST_INTERNAL_H

#include "fs/model.h"

#include <cjson/cJSON.h>

/* The value of a metadata entry: scalars and strings as they are; arrays, and strings of over
 * 1 MiB, as an object with type, length and how they begin. NULL: it cannot be read. */
cJSON *manifest_value(const struct value *value);

#endif
