/* SPDX-License-Identifier: MIT */
/* merge_models.h - find and open the models that a configuration names. */
#ifndef FS_MERGE_MERGE_MODELS_H
#define FS_MERGE_MERGE_MODELS_H

#include <stdbool.h>

struct base;
struct error;
struct remote_cache;

/* Does the text look like a name on Hugging Face, "mistralai/Mistral-7B-v0.1", with "@REVISION" or
 * without? A relative path may look the same. */
bool merge_looks_like_hub_id(const char *written);

/* Find a model by its name in a store, as model_name_find(); the message in err names the model. */
int merge_find_stored(const char *written, char **path, struct error *err);

/* Open the model that the configuration writes so. written is a path, relative to the directory or
 * absolute; a URL with http, https or file; or a name in a store (base/model_name.h). It names a
 * GGUF (of a split one any shard, or the name without the shards' numbers), with or without
 * ".gguf", or a directory of organ files. remote serves URLs; NULL: the base makes its own. *path
 * becomes the absolute path, or the URL without credentials, to free. Returns 0, or -errno with a
 * message in err that names the model: ENOENT, EINVAL if it is a configuration or another
 * directory, or an error of base_open(). The caller calls base_close() in each case. */
int merge_open_by_path(const char *directory, const char *written, struct remote_cache *remote,
		       struct base *base, char **path, struct error *err);

#endif
