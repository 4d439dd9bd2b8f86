/* SPDX-License-Identifier: MIT */
/* manifest_internal.h - the values of metadata entries as JSON. */
#ifndef FS_MANIFEST_INTERNAL_H
#define FS_MANIFEST_INTERNAL_H

#include "fs/metadata/value.h"

#include <cjson/cJSON.h>

/* The value of a metadata entry: scalars and strings as they are; arrays, and strings of over
 * 1 MiB, as an object with type, length and how they begin. NULL: it cannot be read. */
cJSON *manifest_value(const struct value *value);

#endif
