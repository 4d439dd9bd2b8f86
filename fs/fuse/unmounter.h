/* SPDX-License-Identifier: MIT */
/* unmounter.h - taking a mount away takes rights that the daemon gives away when the mount is
 * there: of root to unmount, of a user to execute fusermount3, which gains privileges. A child that
 * was forked before keeps them and does only that. With -o auto_unmount it does so too where the
 * daemon is killed. */
#ifndef FS_FUSE_UNMOUNTER_H
#define FS_FUSE_UNMOUNTER_H

#include <stdbool.h>
#include <sys/types.h>

struct fuse_session;

/* The caller sets the first ones, which are borrowed. */
struct unmounter {
	struct fuse_session *session;  /* NULL: none, or not mounted */
	const char *point;	       /* absolute */
	dev_t device;		       /* of the mount */
	int id;			       /* of the mount (util/mountinfo.h); 0: not known */
	bool automatic;		       /* the mount goes also where this process is killed */
	bool in_utab;		       /* the mount has a line there (mount/utab.h) */
	bool ended;		       /* in the child: it has unmounted it */
	bool made;		       /* the directory, by this process: it goes with the mount */
	struct helper_process *helper; /* NULL: this process does it itself */
};

/* Fork the child. Returns 0 or -errno. */
int unmounter_fork(struct unmounter *unmounter);

/* Close the connection to the kernel, and take the mount away unless another process has, also
 * where what lies above its point was renamed. Returns 0; or -EBUSY: another mount lies over it,
 * and both stay. */
int unmounter_unmount(struct unmounter *unmounter);

/* When all is written: the line in utab goes, and the directory. The child ends. */
void unmounter_leave(struct unmounter *unmounter);

#endif
