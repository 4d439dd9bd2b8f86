/* SPDX-License-Identifier: MIT */
/* unmount_status.h - progress of an unmount in a memfd, for a process that waits for the daemon.
 *
 * 1. Readers open the memfd through /proc/PID/fd/FD, so the kernel admits the daemon's owner and
 *    root, and no other user. There is no path that a hostile user could create first, or that a
 *    daemon could leave behind.
 * 2. The daemon holds an exclusive flock(2) on the memfd until it ends. A process that gets a
 *    shared lock knows that the daemon has ended, well or not, and will write nothing more.
 * 3. No reader can block the daemon.
 *
 * The daemon rewrites the first line in place and appends the others, each a word, a tab and a
 * text:
 *
 *	STATE DONE TOTAL MS	mounted or finishing; bytes done and all bytes of the assembly under
 *				way, 0 without one; milliseconds since its first byte. Of fixed
 *				width, padded with blanks
 *	keep	DIRECTORY	a layer with grafts, which stays unless `drop` follows
 *	gone	TEXT		private files whose content is lost
 *	begin	NAME		the model that is written now
 *	done	TEXT		the file that was written, now or before, with the doubts of .check
 *	drop	DIRECTORY	the grafts of this layer are written
 *	impossible TEXT		a file that was written and .check calls impossible, and why
 *	failed	TEXT		a model that was not written, and why
 *	end	0, 1 or 2	the daemon ended regularly, with that outcome */
#ifndef FS_MOUNT_UNMOUNT_STATUS_H
#define FS_MOUNT_UNMOUNT_STATUS_H

#include <stddef.h>
#include <stdint.h>

/* One thread calls unmount_status_progress(), one unmount_status_add(), any
 * unmount_status_text(). */
struct unmount_status;

/* Make the status, locked, in the state mounted. NULL if the kernel or a sandbox does not allow it.
 * That is no error: the functions below accept NULL and do nothing. */
struct unmount_status *unmount_status_new(void);

/* Release the lock; the last action of a daemon. */
void unmount_status_free(struct unmount_status *status);

/* Print "PID FD NAME", by which a process that sees the same /proc finds the memfd: the link
 * /proc/PID/fd/FD reads "/memfd:NAME (deleted)". Returns the length as snprintf(), or -ENODATA. */
int unmount_status_text(const struct unmount_status *status, char *text, size_t n);

/* Set the state to finishing, with that progress. */
void unmount_status_progress(struct unmount_status *status, uint64_t done, uint64_t total,
			     uint64_t milliseconds);

/* Append a line. Control bytes of the text are replaced. */
void unmount_status_add(struct unmount_status *status, const char *word, const char *text);

#endif
