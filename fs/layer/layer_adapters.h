/* SPDX-License-Identifier: MIT */
/* layer_adapters.h - adapters in a layer, beside the organ files of adapters/.
 *
 *	adapters/NAME.gguf    a symbolic link to an adapter's file
 *	adapters/NAME.scale   text: what it is multiplied by
 *	adapters/lora.alpha   text: the alpha of the pairs that are there as organ files
 *
 * A file is as it was given, or it is not there. */
#ifndef FS_LAYER_LAYER_ADAPTERS_H
#define FS_LAYER_LAYER_ADAPTERS_H

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

struct error;
struct layer;

/* From now on adapters/ has a file of that name with that text; durable. It has that modification
 * time. Returns 0 or -errno. */
int layer_write_setting(struct layer *layer, const char *file, const char *text,
			const struct timespec *mtime);

/* The same of a symbolic link, made by that user. */
int layer_link_adapter(struct layer *layer, const char *file, const char *target, uid_t uid,
		       gid_t gid, const struct timespec *mtime);

/* From now on it has none of these n files, at most LAYER_ADAPTER_FILES; durable. Returns 0 or
 * -errno. */
#define LAYER_ADAPTER_FILES 2
int layer_remove_adapter(struct layer *layer, const char *const *files, size_t n);

/* A file that adapters/ has and that is no organ's: of a symbolic link the target, else up to
 * LAYER_SETTING_MAX bytes of text; both NULL: it is neither a link nor a regular file that may be
 * read. */
#define LAYER_SETTING_MAX 64
struct layer_adapter {
	const char *file;
	const char *target, *text;
	struct stat stat; /* of the file or link itself */
};

/* Call found for each. It returns 0, or -errno with err set, which ends it. Returns that, or -errno
 * with err set where not all can be read. */
typedef int layer_adapter_fn(void *context, const struct layer_adapter *what, struct error *err);
int layer_each_adapter(struct layer *layer, layer_adapter_fn *found, void *context,
		       struct error *err);

#endif
