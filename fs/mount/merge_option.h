/* SPDX-License-Identifier: MIT */
/* merge_option.h - a configuration of mergekit given as the MODEL. organfs mounts the merge's host,
 * and puts the merge in force before the mount appears, as if the configuration had been written to
 * .merge. A read-only mount does not keep the merge in a layer. */
#ifndef FS_MOUNT_MERGE_OPTION_H
#define FS_MOUNT_MERGE_OPTION_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct mount;

/* All zeros if no configuration was given. */
struct merge_option {
	char *text; /* size bytes and a NUL */
	size_t size;
	char *directory; /* of the configuration's file, absolute */
	char *host;	 /* the path of the model to be mounted */
	char *known;	 /* its name in a store, or NULL */
};

/* Is the file a configuration: NAME.yml or NAME.yaml that does not begin with the magic of GGUF? */
bool merge_option_is(const char *path);

/* Read the configuration, and find the model to mount. Returns 0, or -errno with err set. The
 * caller calls merge_option_release(), also after an error. */
int merge_option_read(struct merge_option *option, const char *path, struct error *err);
void merge_option_release(struct merge_option *option);

/* Put the mount's merge in force, if there is one. Returns 0, or -errno after a line on stderr. */
int merge_option_run(struct mount *fs);

#endif
