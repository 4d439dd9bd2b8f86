/* SPDX-License-Identifier: MIT */
/* recipe_option.h - the option recipe=: a recipe is carried out before the mount appears. */
#ifndef FS_MOUNT_RECIPE_OPTION_H
#define FS_MOUNT_RECIPE_OPTION_H

struct mount;

/* Carry out the recipe of the options, if there is one. Returns 0, or -errno after lines on stderr;
 * after an error the model is unchanged. */
int recipe_option_run(struct mount *fs);

#endif
