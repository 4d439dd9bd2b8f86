/* SPDX-License-Identifier: MIT */
/* recipe_option.h - the option recipe=: what a recipe says is done before the mount is there. */
#ifndef FS_MOUNT_RECIPE_OPTION_H
#define FS_MOUNT_RECIPE_OPTION_H

struct mount;

/* Do the recipe that the options name, if they do. Returns 0, or -errno after lines on stderr; then
 * nothing is changed. */
int recipe_option_run(struct mount *fs);

#endif
