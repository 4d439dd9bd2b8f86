/* SPDX-License-Identifier: MIT */
/* sandbox.h - the rights that organfs gives away, as it reads files of strangers and needs few:
 *
 *	capabilities	of root those stay that reading and writing for users and passthrough take
 *	new privileges	no program that the process executes gets any
 *	system calls	util/syscall_filter.h
 *	files		of commands that print, and with -o confine; see util/landlock.h
 *	core dumps	none is written, and of root's daemon no other process sees the memory
 *
 * What fails is said in the log, and the process goes on with the rights it has: a container may
 * forbid any of this. Only -o confine is a promise. */
#ifndef FS_MOUNT_SANDBOX_H
#define FS_MOUNT_SANDBOX_H

#include <stdbool.h>

struct landlock;
struct log;
struct options;

/* What a mount never needs, before it opens a model: there is no other thread yet. */
void sandbox_begin_mount(void);

/* What a mount needs no more when it is there. remote: sockets are left, as it reads from servers.
 * landlock, with the files that are left, comes into force too unless it is NULL; then there must
 * be no other thread for long. Returns 0, or -errno after a line in the log: the files are not
 * confined. */
int sandbox_enter_mount(const struct options *options, bool remote, const struct landlock *landlock,
			struct log *log);

/* What a command reads that writes nothing but what it prints. */
enum sandbox_reads {
	SANDBOX_NONE,	  /* no such command */
	SANDBOX_TABLES,	  /* the files that options name as models */
	SANDBOX_MODELS,	  /* these as models: with the other shards beside them, and what these link
			   * to; anything if one is a directory or a configuration of mergekit, or
			   * comes with a layer */
	SANDBOX_ANYTHING, /* what is measured too, as .check does */
};

/* Before the command opens anything, and before there is another thread. Sockets are left where a
 * model is a URL. */
void sandbox_enter_command(const struct options *options, enum sandbox_reads reads);

#endif
