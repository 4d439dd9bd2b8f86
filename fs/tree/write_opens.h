/* SPDX-License-Identifier: MIT */
/* write_opens.h - who is about to open an organ for writing.
 *
 * A writer must not meet the inode that readers hold: the kernel would count its bytes into that
 * inode's size, and readers at the old end would see zeros. So a file being written has an inode of
 * its own. When an organ is opened for writing, the answer is ESTALE, upon which the kernel looks
 * the name up again and opens what it finds (path_openat() with LOOKUP_REVAL, since Linux 3.9); for
 * the thread that was answered so, and for no other, that lookup finds a new inode with a stage. */
#ifndef FS_TREE_WRITE_OPENS_H
#define FS_TREE_WRITE_OPENS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct write_opens; /* any thread may use it */

struct write_opens *write_opens_new(void);
void write_opens_free(struct write_opens *writers);

/* The thread opens that slot, any number that says which it is: it is to be answered ESTALE, unless
 * it was already and has not looked the name up since. Then it has no name: it opens a descriptor
 * once more through /proc/self/fd, or a file handle, which the kernel does not tell apart. smbd
 * opens every file so, and copies nothing onto a slot without it (tests/mount/tools/samba). For the
 * writer without a name see open_files.h. */
enum write_opens_answer { WRITE_OPENS_STALE, WRITE_OPENS_NAMELESS, WRITE_OPENS_NO_MEMORY };
enum write_opens_answer write_opens_expect(struct write_opens *writers, pid_t thread,
					   uint64_t slot);

/* Is a lookup of that slot by that thread its second one? Then *ino is the number of the stage's
 * inode, 0 if that is still to be made, which write_opens_set_inode() then tells. */
bool write_opens_find(struct write_opens *writers, pid_t thread, uint64_t slot, uint64_t *ino);
void write_opens_set_inode(struct write_opens *writers, pid_t thread, uint64_t slot, uint64_t ino);

/* The thread has opened the inode with that number, which its second lookup found. */
void write_opens_done(struct write_opens *writers, pid_t thread, uint64_t ino);

#endif
