/* SPDX-License-Identifier: MIT */
/* merge_models.h - the models that a configuration names, found and opened. */
#ifndef FS_MERGE_MERGE_MODELS_H
#define FS_MERGE_MERGE_MODELS_H

#include <stdbool.h>

struct base;
struct error;
struct remote_cache;

/* Does it look like a name on Hugging Face, "mistralai/Mistral-7B-v0.1", with "@REVISION" or
 * without? A path may look so too. */
bool merge_looks_like_hub_id(const char *written);

/* Find the model that is named as in a store: as model_name_find(), and err names it. */
int merge_find_stored(const char *written, char **path, struct error *err);

/* Open the model that is written so, a path from that directory, or an absolute one, or a URL with
 * http, https or file, or a name in a store (base/model_name.h): a GGUF, of a split one any shard
 * or the name without the shards' numbers, each with or without ".gguf"; or a directory of organ
 * files. remote is for what lies on a server; NULL: it has one of its own. *path becomes the
 * absolute path, or the URL as it may be shown, to free. Returns 0, or -errno with err set to a
 * sentence that names it: ENOENT there is none, EINVAL a configuration or another directory, and as
 * base_open(). base_close() is due either way. */
int merge_open_by_path(const char *directory, const char *written, struct remote_cache *remote,
		       struct base *base, char **path, struct error *err);

#endif
