/* SPDX-License-Identifier: MIT */
/* sandbox.h - the rights that organfs drops, because it parses untrusted files and needs few
 * rights:
 *
 *	capabilities	root keeps those for opening users' files and for passthrough
 *	new privileges	no_new_privs is set
 *	system calls	seccomp filter, util/syscall_filter.h
 *	files		Landlock (util/landlock.h) for commands that print, and with -o confine
 *	core dumps	none is written, and the memory of root's daemon is hidden from processes
 *
 * If the kernel or a container refuses one of these, the log says so, and the process continues
 * with the rights that it has. Only -o confine fails the mount. */
#ifndef FS_MOUNT_SANDBOX_H
#define FS_MOUNT_SANDBOX_H

#include <stdbool.h>

struct landlock;
struct log;
struct options;

/* Drop the rights that a mount never needs. Call before a model is opened and before there is
 * another thread. */
void sandbox_begin_mount(void);

/* Drop the rights that a mount no longer needs once it exists. remote: keep sockets, for reads
 * from servers. landlock: a ruleset to enforce, or NULL; with a ruleset, other threads have to end
 * within seconds. Returns 0, or -errno after a line in the log if the ruleset is not in force. */
int sandbox_enter_mount(const struct options *options, bool remote, const struct landlock *landlock,
			struct log *log);

/* Files that a printing command reads; it writes only to its output. */
enum sandbox_reads {
	SANDBOX_NONE,	  /* no such command */
	SANDBOX_TABLES,	  /* the files given as models */
	SANDBOX_MODELS,	  /* these with the other shards and the targets of links; any file if a
			   * model is a directory or a configuration of mergekit, or has a layer */
	SANDBOX_ANYTHING, /* any file, also for measurements like those of .check */
};

/* Drop the rights that a printing command does not need. Call before a file is opened and before
 * there is another thread. Sockets are kept if a model is a URL. */
void sandbox_enter_command(const struct options *options, enum sandbox_reads reads);

#endif
