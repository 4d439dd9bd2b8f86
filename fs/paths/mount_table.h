/* SPDX-License-Identifier: MIT */
/* mount_table.h - the mounts of this namespace by their ids, read from /proc again only after one
 * has come or gone. No filesystem but /proc is asked. */
#ifndef FS_PATHS_MOUNT_TABLE_H
#define FS_PATHS_MOUNT_TABLE_H

#include <stdbool.h>
#include <sys/types.h>

struct mount_table; /* any thread may use it */

/* Fields of struct mountinfo (util/mountinfo.h). */
struct mount_entry {
	int id;
	dev_t device;
	bool is_organfs;
	bool is_local;
};

struct mount_table *mount_table_new(void);	  /* NULL: out of memory */
void mount_table_free(struct mount_table *table); /* NULL is fine */

/* Find the mount with that id. False: it cannot be seen from here, or /proc cannot be read. */
bool mount_table_find(struct mount_table *table, int id, struct mount_entry *found);

#endif
