/* SPDX-License-Identifier: MIT */
/* arguments.h - the command lines of the helpers, as mount(8), umount(8) and users write them. */
#ifndef MOUNT_HELPERS_ARGUMENTS_H
#define MOUNT_HELPERS_ARGUMENTS_H

#include <stdbool.h>

enum action {
	ACTION_RUN,
	ACTION_HELP,
	ACTION_VERSION,
	ACTION_BAD, /* no such command line */
};

struct mount_arguments {
	const char *source, *directory;
	const char *space; /* a namespace of mounts, NULL: this one */
	bool fake, verbose;
	char *options;	/* for organfs -o, in its escapes; NULL: none */
	char *user;	/* setuid=; NULL: the calling user */
	bool optional;	/* nofail */
	char wrong[64]; /* reason of ACTION_BAD, or empty */
};

struct unmount_arguments {
	char **points; /* n of them, in argv */
	int n;
	const char *space;
	bool lazy, verbose;
	bool all;      /* mounts of this user, and no points */
	bool keep;     /* leave the grafts in the layer, and write no model */
	char flags[8]; /* for umount(8): "-", and each of f, l, n, r, v that was given */
};

/* Is the program, by its name without directories, a helper of mount(8)? Otherwise it unmounts. */
bool arguments_is_mount(const char *name);

/* Parse a command line; may be called again. argv is permuted, and the result points into it. The
 * caller calls mount_arguments_release(), also after an error. */
enum action arguments_of_mount(int argc, char **argv, struct mount_arguments *arguments);
void mount_arguments_release(struct mount_arguments *arguments);
enum action arguments_of_unmount(int argc, char **argv, struct unmount_arguments *arguments);

#endif
