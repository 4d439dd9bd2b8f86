/* SPDX-License-Identifier: MIT */
/* unmounter.h - a child process that unmounts. Unmounting needs rights that the daemon drops once
 * it has mounted: root's right to unmount, or a user's right to execute fusermount3, which is
 * setuid. A child forked before keeps these rights and does nothing else. With -o auto_unmount it
 * also unmounts if the daemon is killed. */
#ifndef FS_FUSE_UNMOUNTER_H
#define FS_FUSE_UNMOUNTER_H

#include <stdbool.h>
#include <sys/types.h>

struct fuse_session;

/* The caller sets the fields from session to made; pointers are borrowed. */
struct unmounter {
	struct fuse_session *session; /* NULL: not mounted */
	const char *point;	      /* absolute */
	dev_t device;		      /* of the mount */
	int id;			      /* of the mount (util/mountinfo.h); 0: unknown */
	bool automatic;		      /* unmount also if this process is killed */
	bool in_utab;		      /* utab has a line for the mount (mount/utab.h) */
	bool ended;		      /* in the child: it has unmounted */
	bool made; /* this process made the directory, and removes it at the end */
	struct helper_process *helper; /* NULL: this process unmounts by itself */
};

/* Fork the child. Returns 0 or -errno. */
int unmounter_fork(struct unmounter *unmounter);

/* Close the connection to the kernel and unmount, unless another process has, even if a directory
 * above the mount point was renamed. Returns 0, or -EBUSY: another mount covers this one, and both
 * stay. */
int unmounter_unmount(struct unmounter *unmounter);

/* Remove the line in utab and the directory, and end the child. Call after all is written. */
void unmounter_leave(struct unmounter *unmounter);

#endif
