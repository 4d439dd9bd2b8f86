/* SPDX-License-Identifier: MIT */
/* read_modes.h - which inodes the kernel reads by itself.
 *
 * An inode whose bytes are those of one file can be handed to the kernel (FUSE passthrough, Linux
 * 6.9): reads and maps of it go to that file, and the daemon is not asked. The kernel wants one
 * mode for an inode as long as it is open: an open() in the other one fails with EIO (the kernel's
 * fs/fuse/iomode.c). So the first open() decides, and the others follow it until the last one is
 * released:
 *
 * 1. Each open() enters the inode's mode before it asks how to open, and leaves it when its handle
 *    goes. The kernel has ended its mode when it sends the RELEASE, so the mode here never ends
 *    before the kernel's.
 * 2. The first one decides, without a lock, for it asks a disk and may write a file; the others
 *    wait for it.
 * 3. The number by which the kernel knows the file is given back with the last handle. The kernel
 *    keeps the file itself as long as a map of it is there. */
#ifndef FS_TREE_READ_MODES_H
#define FS_TREE_READ_MODES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum read_way {
	READ_BY_DAEMON,
	READ_PASSTHROUGH, /* of a file that was there */
	READ_SNAPSHOT,	  /* of one that was made for it */
};

struct read_modes; /* any thread may use it */
struct read_mode;

/* None is on before read_modes_begin(). NULL: out of memory. */
struct read_modes *read_modes_new(void);
void read_modes_free(struct read_modes *modes);

/* From now on inodes may be read by the kernel; give_back(context, number) lets go of a number of
 * its. read_modes_end(): no number is given back any more, the connection goes. */
void read_modes_begin(struct read_modes *modes, void (*give_back)(void *context, int number),
		      void *context);
void read_modes_end(struct read_modes *modes);
bool read_modes_on(const struct read_modes *modes);

/* One more open file of that inode; NULL: out of memory. */
struct read_mode *read_modes_enter(struct read_modes *modes, uint64_t ino);
void read_mode_leave(struct read_modes *modes, struct read_mode *mode); /* NULL is fine */

/* How that inode is read: the kernel's number of its file, above 0; or 0, by the daemon; or -EINTR
 * where *stop became true, or what find says, an -errno. find is called where that is not decided
 * yet, and says the same, with *way set; the number is the mode's from then on. NULL: by the
 * daemon, unless it is decided. */
typedef int read_mode_find(void *context, const atomic_bool *stop, enum read_way *way);
int read_mode_choose(struct read_modes *modes, struct read_mode *mode, read_mode_find *find,
		     void *context, const atomic_bool *stop);

/* Is the inode open, and decided how? Then *way. */
bool read_modes_way(struct read_modes *modes, uint64_t ino, enum read_way *way);

#endif
