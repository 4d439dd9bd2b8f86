/* SPDX-License-Identifier: MIT */
/* name_locks.h - locks on names. The close() of a private file commits it under its name; rename()
 * and unlink() take a name away. A lock lets one thread at a time work on a name, so that a removed
 * name does not come back and a committed file is moved with its name. Locks are held while the
 * disk works. The close of a slot's stage locks its inode's number with an empty name, so that two
 * closes commit in turn. */
#ifndef FS_TREE_NAME_LOCKS_H
#define FS_TREE_NAME_LOCKS_H

#include "fs/tree/file_name.h"

struct name_locks; /* any thread may use them */

/* A lock on up to two names, owned by the thread and unchanged until released. A thread holds one
 * lock at a time. */
struct name_lock {
	struct name_lock *next; /* for name_locks.c */
	struct file_name names[2];
};

struct name_locks *name_locks_new(void); /* NULL: out of memory */
void name_locks_free(struct name_locks *locks);

/* Wait until no thread has locked either name, then lock both at once. A lock on one name has NULL
 * as its second. */
void name_locks_take(struct name_locks *locks, struct name_lock *lock);
void name_locks_release(struct name_locks *locks, struct name_lock *lock);

#endif
