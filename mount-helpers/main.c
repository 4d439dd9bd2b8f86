/* SPDX-License-Identifier: MIT */
/* main.c - the helpers of mount(8) and umount(8), in one program: mount.organfs mounts a model;
 * umount.fuse.organfs and organfs-umount unmount it and wait for its daemon to finish writing.
 *
 *	arguments	the command lines
 *	mounting	mount.organfs
 *	daemon_status	finds the status of a daemon, which is not trusted
 *	outcome		prints the status for people
 *	noassemble	leaves the grafts in the layer
 *	unmounting	umount.fuse.organfs and organfs-umount
 *
 * They share with fs/ the readers of mountinfo (mountinfo) and of files (io), the questions to
 * mounts (mount_child), the unmount as root (root_unmount), and the check of UTF-8 (utf8). They
 * load no library beside libc. */
#include "mount-helpers/arguments.h"
#include "mount-helpers/mounting.h"
#include "mount-helpers/unmounting.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static void print_mount_usage(const char *name, FILE *out)
{
	fprintf(out,
		"usage: %s MODEL DIRECTORY [-fnsv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]\n"
		"       %s --help | --version\n"
		"Mounts a GGUF model for mount(8). -f mounts nothing; -v prints the command.\n"
		"Exit status: 0; 1 bad usage; 2 there is no organfs; 32 it was not mounted.\n",
		name, name);
}

static void print_unmount_usage(const char *name, FILE *out)
{
	fprintf(out,
		"usage: %s [-flnrv] [--keep] [-N NAMESPACE] [-t TYPE] MOUNTPOINT...|--all\n"
		"       %s --help | --version\n"
		"Unmounts each MOUNTPOINT and waits until the grafts are assembled; -l does not "
		"wait.\n"
		"--all: your mounts of organfs. --keep: write no model; the next mount has the "
		"grafts.\n"
		"Exit status: 0; 1 something could not be written; 2 bad usage; 32 it stays "
		"mounted.\n",
		name, name);
}

static int answer(enum action action, const char *name,
		  void (*print_usage)(const char *name, FILE *out), int status_of_bad)
{
	if (action == ACTION_VERSION)
		printf("%s (organfs) " ORGANFS_VERSION "\n", name);
	else
		print_usage(name, action == ACTION_BAD ? stderr : stdout);
	return action == ACTION_BAD ? status_of_bad : 0;
}

static int run_mount(const char *name, int argc, char **argv)
{
	/* Path of this program as given to execve(2), like $0 in scripts. */
	const char *path = (const char *)getauxval(AT_EXECFN);
	struct mount_arguments arguments;
	const enum action action = arguments_of_mount(argc, argv, &arguments);
	int status;

	if (arguments.wrong[0])
		fprintf(stderr, "%s: %s\n", name, arguments.wrong);
	status = action == ACTION_RUN ? mounting_run(name, path ? path : argv[0], &arguments)
				      : answer(action, name, print_mount_usage, 1);
	mount_arguments_release(&arguments);
	return status;
}

int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "organfs-umount";
	struct unmount_arguments arguments;
	enum action action;

	/* If the parent process ignored SIGCHLD, no child could be waited for. */
	signal(SIGCHLD, SIG_DFL);
	if (arguments_is_mount(name))
		return run_mount(name, argc, argv);
	action = arguments_of_unmount(argc, argv, &arguments);
	return action == ACTION_RUN ? unmounting_run(name, &arguments)
				    : answer(action, name, print_unmount_usage, 2);
}
