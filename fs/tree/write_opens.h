/* SPDX-License-Identifier: MIT */
/* write_opens.h - threads about to open an organ for writing.
 *
 * A writer must not share the readers' inode: the kernel would count its bytes into that inode's
 * size, and readers at the old end would see zeros. A file being written therefore has an inode of
 * its own. The open() of an organ for writing is answered with ESTALE, whereupon the kernel looks
 * the name up again and opens the result (path_openat() with LOOKUP_REVAL, since Linux 3.9); for
 * that thread alone, this second lookup finds a new inode with a stage. */
#ifndef FS_TREE_WRITE_OPENS_H
#define FS_TREE_WRITE_OPENS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct write_opens; /* any thread may use it */

struct write_opens *write_opens_new(void);
void write_opens_free(struct write_opens *writers);

/* Answer an open() of a slot by a thread: ESTALE. A thread that got ESTALE within the last seconds
 * and has not looked the name up since is a nameless writer: it reopens a descriptor through
 * /proc/self/fd or a file handle, which the kernel does not distinguish. smbd opens every file so,
 * and could copy nothing onto a slot otherwise (tests/mount/tools/samba). open_files.h describes
 * nameless writers. slot is any number that identifies the slot. */
enum write_opens_answer { WRITE_OPENS_STALE, WRITE_OPENS_NAMELESS, WRITE_OPENS_NO_MEMORY };
enum write_opens_answer write_opens_expect(struct write_opens *writers, pid_t thread,
					   uint64_t slot);

/* Is a lookup of that slot by that thread its second one? Sets *ino to the number of the stage's
 * inode, or to 0 if it must be made; write_opens_set_inode() then records it. */
bool write_opens_find(struct write_opens *writers, pid_t thread, uint64_t slot, uint64_t *ino);
void write_opens_set_inode(struct write_opens *writers, pid_t thread, uint64_t slot, uint64_t ino);

/* Record that the thread has opened the inode of its second lookup. */
void write_opens_done(struct write_opens *writers, pid_t thread, uint64_t ino);

#endif
