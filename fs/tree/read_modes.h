/* SPDX-License-Identifier: MIT */
/* read_modes.h - inodes that the kernel reads without the daemon.
 *
 * If an inode's bytes are those of one file, the inode can be handed to the kernel (FUSE
 * passthrough, Linux 6.9): reads and maps go to that file, and the daemon gets no requests. An open
 * inode has one mode in the kernel: an open() in the other mode fails with EIO (the kernel's
 * fs/fuse/iomode.c). The first open() therefore decides, and others follow until the last one is
 * released:
 *
 * 1. Each open() enters the inode's mode before it asks how to open, and leaves it at the end of
 *    its handle. The kernel ends its mode before it sends RELEASE, so the mode here never ends
 *    first.
 * 2. The first open() decides without a lock, because it reads a disk and may write a file; others
 *    wait for it.
 * 3. The last handle gives back the kernel's number of the file. The kernel keeps the file itself
 *    while a map of it exists. */
#ifndef FS_TREE_READ_MODES_H
#define FS_TREE_READ_MODES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum read_way {
	READ_BY_DAEMON,
	READ_PASSTHROUGH, /* of an existing file */
	READ_SNAPSHOT,	  /* of a file written for it */
};

struct read_modes; /* any thread may use it */
struct read_mode;

/* New table, switched off until read_modes_begin(). NULL: out of memory. */
struct read_modes *read_modes_new(void);
void read_modes_free(struct read_modes *modes);

/* Switch passthrough on; give_back(context, number) releases a number of the kernel's.
 * read_modes_end() switches it off, before the connection ends; no number is given back
 * afterwards. */
void read_modes_begin(struct read_modes *modes, void (*give_back)(void *context, int number),
		      void *context);
void read_modes_end(struct read_modes *modes);
bool read_modes_on(const struct read_modes *modes);

/* Enter the mode of an inode for one more open file. NULL: out of memory. */
struct read_mode *read_modes_enter(struct read_modes *modes, uint64_t ino);
void read_mode_leave(struct read_modes *modes, struct read_mode *mode); /* NULL is fine */

/* Mode of the inode: the kernel's number of its file, above 0; 0: the daemon reads; -EINTR if *stop
 * became true; or find's -errno. If the mode is undecided, find() decides it with the same results
 * and *way set; the mode keeps the number. find NULL: the daemon reads, unless decided
 * otherwise. */
typedef int read_mode_find(void *context, const atomic_bool *stop, enum read_way *way);
int read_mode_choose(struct read_modes *modes, struct read_mode *mode, read_mode_find *find,
		     void *context, const atomic_bool *stop);

/* Is the inode open with a decided mode? Sets *way. */
bool read_modes_way(struct read_modes *modes, uint64_t ino, enum read_way *way);

#endif
