/* SPDX-License-Identifier: MIT */
/* metadata_json.h - the values of metadata entries as JSON. */
#ifndef FS_METADATA_METADATA_JSON_H
#define FS_METADATA_METADATA_JSON_H

#include "fs/metadata/value.h"

#include <cjson/cJSON.h>

/* The value of a metadata entry: scalars and strings as they are; arrays, and strings of over
 * 1 MiB, as an object with type, length and how they begin. NULL: it cannot be read. */
cJSON *metadata_json_value(const struct value *value);

#endif
