/* SPDX-License-Identifier: MIT */
/* config.h - files of defaults, which the command line goes before: the system's and the user's.
 * A line is `option=value` or `option`, as -o takes it, or empty; '#' begins a comment. */
#ifndef FS_MOUNT_CONFIG_H
#define FS_MOUNT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct error;

/* The system's file; it goes for every user. */
#define CONFIG_SYSTEM "/etc/organfs.conf"

/* More than this is no file of defaults. */
#define CONFIG_BYTES_MAX ((size_t)64 << 10)
#define CONFIG_LINE_MAX	 1024 /* bytes */

struct config_option {
	char *text;    /* "name" or "name=value", without blanks around either; owned */
	unsigned line; /* from 1 */
};

struct config {
	struct config_option *options;
	size_t n;
	unsigned bad_line; /* where a failure was found; 0: it is the file as a whole */
};

/* The options in size bytes of text. Returns 0, or -code with err set (EINVAL, ENOMEM) and
 * config->bad_line. Release config with config_release() either way. */
int config_parse(const char *text, size_t size, struct config *config, struct error *err);

/* The options in the file at path, none if there is no such file. A user's own file must belong to
 * the effective user or to root: that of another user, to which an inherited environment leads, is
 * not read, and 1 is returned. Only regular files are read, and no other kind makes this wait.
 * Otherwise as config_parse(); other codes are those of open(2) and read(2). */
int config_read(const char *path, bool users_own, struct config *config, struct error *err);

/* The path of the user's file, to free: $XDG_CONFIG_HOME/organfs.conf, or
 * ~/.config/organfs.conf. NULL: the environment names none, or is that of a set-uid program's
 * caller; or out of memory. */
char *config_users_path(void);

void config_release(struct config *config);

#endif
