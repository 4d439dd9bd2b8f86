/* SPDX-License-Identifier: MIT */
/* pollers.h - open files on which processes wait by poll(2), each with the handle by which libfuse
 * tells the kernel of a change. One notice wakes all waiting processes: the kernel then asks for
 * each file again, and the answer says whether that file has changed. */
#ifndef FS_FUSE_POLLERS_H
#define FS_FUSE_POLLERS_H

struct fuse_pollhandle;
struct poller;	/* part of an open file; zeros at first */
struct pollers; /* part of a mount; any thread may use it */

/* Use handle to tell the kernel of the next change. The pollers own the handle, which replaces an
 * earlier one of the same poller. */
void pollers_add(struct pollers *pollers, struct poller *poller, struct fuse_pollhandle *handle);

/* The file is being closed: destroy its handle, if it has one. */
void pollers_remove(struct pollers *pollers, struct poller *poller);

/* Tell the kernel of a change by every handle, and destroy all handles. Does not block, and takes
 * no lock but that of the pollers. */
void pollers_tell(struct pollers *pollers);

/* Destroy every handle, before the connection to the kernel is closed. */
void pollers_clear(struct pollers *pollers);

#endif
