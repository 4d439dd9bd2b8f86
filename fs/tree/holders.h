/* SPDX-License-Identifier: MIT */
/* holders.h - the processes that opened a file to write, or wrote to it, and have not closed it
 * since.
 *
 * The kernel tells of every close of every descriptor of an open file, also when a child that has
 * inherited one ends or executes a program. The file is busy until each process that wrote has
 * closed it; before anything is written, until the one has that opened it. A close by any other
 * process means nothing. A shell that has opened the file for its commands waits for the first of
 * them, and learns nothing from its own close: so what that wrote counts when it closes the file,
 * and with what the next one writes once more. Then the shell remains.
 *
 * A process is known by its lock owner, which the kernel tells of a write() and of a close(), but
 * not of open(), ftruncate(), copy_file_range() or a write through the page cache; and by the
 * number of the process of the thread that asks, which is not known where this process cannot see
 * that (pid_namespaces(7)). Where neither is known, as of a page that was changed through a map, it
 * is of those by which the file is busy; if it is not, it is until the next close by any process.
 * One that is no more is forgotten with any close, too. */
#ifndef FS_TREE_HOLDERS_H
#define FS_TREE_HOLDERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOLDERS_KNOWN 16u /* more of one open file are not known */

struct holders { /* any thread may use it */
	/* What wrote last, or 0: that it writes again changes nothing. */
	atomic_uint_fast64_t owner;
	atomic_int thread;
	pthread_mutex_t lock; /* protects what follows */
	struct holder {
		uint64_t owner; /* 0: not known */
		pid_t process;	/* 0: not known */
		bool wrote;
	} known[HOLDERS_KNOWN];
	unsigned n;
	bool fresh;   /* it was opened, and none of them has closed it */
	bool unknown; /* there are others, beside these or alone */
};

void holders_init(struct holders *holders);
void holders_release(struct holders *holders);

/* A process opens the file, or a thread of one writes to it; what is not known is 0. Return whether
 * there was no holder before. */
bool holders_open(struct holders *holders, pid_t process);
bool holders_write(struct holders *holders, uint64_t owner, pid_t thread);

/* What has the process done, if it is one? */
enum holder_part { HOLDER_NONE, HOLDER_OPENED, HOLDER_WROTE };
enum holder_part holders_part(struct holders *holders, uint64_t owner, pid_t process);

/* The process has closed a descriptor, and has no other one, as far as is known. Is the file busy
 * still, not any more, or was it not? */
enum holders_left { HOLDERS_SOME, HOLDERS_NONE, HOLDERS_NONE_BEFORE };
enum holders_left holders_close(struct holders *holders, uint64_t owner, pid_t process);

/* No process has a descriptor any more. */
enum holders_left holders_clear(struct holders *holders);

#endif
