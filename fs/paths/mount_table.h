/* SPDX-License-Identifier: MIT */
/* mount_table.h - the mounts of this namespace by their ids, read from /proc once for as long as
 * none comes or goes. Nothing here asks a filesystem other than /proc. */
#ifndef FS_PATHS_MOUNT_TABLE_H
#define FS_PATHS_MOUNT_TABLE_H

#include <stdbool.h>
#include <sys/types.h>

struct mount_table; /* any thread may use it */

/* What mountinfo.h tells of a mount. */
struct mount_entry {
	int id;
	dev_t device;
	bool is_organfs;
	bool is_local;
};

struct mount_table *mount_table_new(void);	  /* NULL: out of memory */
void mount_table_free(struct mount_table *table); /* NULL is fine */

/* The mount with that id. False: none that can be seen from here has it, or it cannot be told. */
bool mount_table_find(struct mount_table *table, int id, struct mount_entry *found);

#endif
