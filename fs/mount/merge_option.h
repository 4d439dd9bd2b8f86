/* SPDX-License-Identifier: MIT */
/* merge_option.h - a configuration of mergekit in the place of a MODEL: the model whose form the
 * result has is mounted, and the merge is in force before the mount is there, as if it had been
 * written to .merge; a mount that is only read keeps nothing of it. */
#ifndef FS_MOUNT_MERGE_OPTION_H
#define FS_MOUNT_MERGE_OPTION_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct mount;

/* Zeros: there is none. */
struct merge_option {
	char *text; /* size bytes and a NUL */
	size_t size;
	char *directory; /* where it lies, absolute */
	char *form;	 /* the path of the model to be mounted */
	char *known;	 /* the name that it has in a store; NULL: none */
};

/* Is a file that is called so a configuration? NAME.yml or NAME.yaml, that does not begin as a GGUF
 * does. */
bool merge_option_is(const char *path);

/* Read it, and find the model to be mounted; merge_option_release() is due either way. Returns 0,
 * or -errno with err set. */
int merge_option_read(struct merge_option *option, const char *path, struct error *err);
void merge_option_release(struct merge_option *option);

/* Put the configuration, if there is one, in force in the mount's model. Returns 0, or -errno after
 * a line on stderr. */
int merge_option_run(struct mount *fs);

#endif
