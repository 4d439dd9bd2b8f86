/* SPDX-License-Identifier: MIT */
/* listed_mount.h - the state of one mount, as reported by its daemon. */
#ifndef FS_COMMANDS_LISTED_MOUNT_H
#define FS_COMMANDS_LISTED_MOUNT_H

#include "fs/util/mount_child.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct mountinfo;

enum listed_state {
	LISTED_OK,
	LISTED_DEAD,   /* its daemon has ended */
	LISTED_BUSY,   /* its daemon does not answer in time */
	LISTED_CLOSED, /* it cannot be asked, for example if another mount covers it */
};

struct listed_mount {
	const struct mountinfo *mount;
	struct mount_child child;
	enum listed_state state;
	unsigned pid;	 /* of the daemon, as reported; 0: unknown */
	bool has_change; /* change is known */
	struct listed_change {
		unsigned models, grafts, adapters, merges, files;
		unsigned long long bytes;
		char path[PATH_MAX]; /* of the first file that an unmount will write */
	} change;
};

/* Ask the daemon, for at most that many milliseconds. The caller calls listed_mount_finish(). */
void listed_mount_begin(struct listed_mount *listed, const struct mountinfo *mount,
			int64_t patience);
void listed_mount_finish(struct listed_mount *listed);

/* Parse the text of user.organfs.unmount (mount/unmount_forecast.h). Returns false if it is
 * malformed. */
bool listed_change_parse(const char *text, struct listed_change *change);

/* The columns of the table. */
enum { LISTED_COLUMNS = 8 };
extern const char *const listed_titles[LISTED_COLUMNS];

/* The text of a column, to free. NULL: out of memory. */
char *listed_mount_cell(const struct listed_mount *listed, size_t column);

/* The mount as a JSON object. NULL: out of memory. */
cJSON *listed_mount_json(const struct listed_mount *listed);

#endif
