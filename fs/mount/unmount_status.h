/* SPDX-License-Identifier: MIT */
/* unmount_status.h - how far the end of a mount is, for a process that waits for it: a file without
 * a name.
 *
 * 1. It is opened through /proc/PID/fd/FD, so the kernel lets in who owns the daemon, and root, and
 *    no other user. No name can have been made before by a hostile one, and none is left behind.
 * 2. It is locked, as flock(2) does it, as long as the daemon lives: a process that gets a shared
 *    lock knows that the daemon has ended, well or not, and that nothing more will be written.
 * 3. No reader can hold up the daemon.
 *
 * The first line is rewritten in place, the others are added, each a word, a tab and a text:
 *
 *	STATE DONE TOTAL MS	mounted or finishing; of the assembly under way its bytes that are
 *				done, all of them, 0 if there is none, and milliseconds since the
 *				first one. Of fixed width, padded with blanks
 *	keep	DIRECTORY	grafts that are to be written down lie there
 *	gone	TEXT		private files whose content is lost
 *	begin	NAME		of the model that is now written
 *	done	TEXT		what was written, or was before, with what .check says against it
 *	drop	DIRECTORY	what was kept there is written down
 *	impossible TEXT		a file that was written and .check calls impossible, and why
 *	failed	TEXT		why something was not
 *	end	0, 1 or 2	the daemon ended as it should, with that outcome */
#ifndef FS_MOUNT_UNMOUNT_STATUS_H
#define FS_MOUNT_UNMOUNT_STATUS_H

#include <stddef.h>
#include <stdint.h>

/* One thread calls unmount_status_progress(), one unmount_status_add(), any
 * unmount_status_text(). */
struct unmount_status;


/* Locked, and mounted is what it says. NULL: the kernel or a sandbox does not allow it, which is no
 * error: everything below takes NULL and does nothing then. */
struct unmount_status *unmount_status_new(void);

/* Give up the lock: the last thing that a daemon does. */
void unmount_status_free(struct unmount_status *status);

/* Where it is, for a process that sees the same /proc: "PID FD NAME"; the link /proc/PID/fd/FD then
 * reads "/memfd:NAME (deleted)". Returns the length as snprintf() does, or -ENODATA. */
int unmount_status_text(const struct unmount_status *status, char *text, size_t n);

/* finishing, that far. */
void unmount_status_progress(struct unmount_status *status, uint64_t done, uint64_t total,
			     uint64_t milliseconds);

/* Add a line. Control bytes of the text are replaced. */
void unmount_status_add(struct unmount_status *status, const char *word, const char *text);

#endif
