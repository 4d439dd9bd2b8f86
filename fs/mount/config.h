/* SPDX-License-Identifier: MIT */
/* config.h - files of defaults, the system's and the user's; the command line overrides both.
 * A line is `option=value` or `option`, as -o takes it, or empty; '#' begins a comment. */
#ifndef FS_MOUNT_CONFIG_H
#define FS_MOUNT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct error;

/* The system's file, which applies to every user. */
#define CONFIG_SYSTEM "/etc/organfs.conf"

/* Most bytes of a file of defaults. */
#define CONFIG_BYTES_MAX ((size_t)64 << 10)
#define CONFIG_LINE_MAX	 1024 /* bytes */

struct config_option {
	char *text;    /* "name" or "name=value", without blanks around either; owned */
	unsigned line; /* from 1 */
};

struct config {
	struct config_option *options;
	size_t n;
	unsigned bad_line; /* the line that was refused; 0: the file as a whole */
};

/* Parse size bytes of text. Returns 0, or -errno with err (EINVAL, ENOMEM) and config->bad_line
 * set. The caller calls config_release(), also after an error. */
int config_parse(const char *text, size_t size, struct config *config, struct error *err);

/* Parse the file at path; a missing file has no options. With users_own the file must belong to the
 * effective user or to root; the file of another user, to which an inherited environment may lead,
 * is not read, and 1 is returned. Only regular files are read; other kinds fail without waiting.
 * Other results are those of config_parse(), and error codes of open(2) and read(2). */
int config_read(const char *path, bool users_own, struct config *config, struct error *err);

/* Path of the user's file, to free: $XDG_CONFIG_HOME/organfs.conf, or ~/.config/organfs.conf. NULL
 * if the environment names no directory, if the program runs set-uid, or if memory is exhausted. */
char *config_users_path(void);

void config_release(struct config *config);

#endif
