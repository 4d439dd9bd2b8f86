/* SPDX-License-Identifier: MIT */
/* name_locks.h - names that a thread is at work on. The close() of a private file puts it in force
 * under its name, rename() and unlink() take a name away: of each name one of them at a time, so
 * that a name which was taken away does not come back, and what was put in force is moved with it.
 * They are held while the disk works. What was opened as a slot goes into that slot, whatever
 * becomes of its name, and takes none. */
#ifndef FS_TREE_NAME_LOCKS_H
#define FS_TREE_NAME_LOCKS_H

#include "fs/tree/file_name.h"

struct name_locks; /* any thread may use them */

/* Of the names that one thread works on. It is the thread's, and nothing of it changes until it is
 * released. A thread holds one at a time. */
struct name_lock {
	struct name_lock *next; /* for name_locks.c */
	struct file_name names[2];
};

struct name_locks *name_locks_new(void); /* NULL: out of memory */
void name_locks_free(struct name_locks *locks);

/* Wait until no other thread has one of these names, and take both. */
void name_locks_take(struct name_locks *locks, struct name_lock *lock);
void name_locks_release(struct name_locks *locks, struct name_lock *lock);

#endif
