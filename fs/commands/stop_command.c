/* SPDX-License-Identifier: MIT */
/* stop_command.c - see stop_command.h. */
#include "fs/commands/stop_command.h"
#include "fs/util/log.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Index of --stop among the arguments, or 0. */
static int find_option(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--stop") == 0)
			return i;
	return 0;
}

int stop_command(int argc, char **argv)
{
	const int place = find_option(argc, argv);
	char own[PATH_MAX], program[PATH_MAX + 16];
	char *slash;
	ssize_t n;

	if (!place)
		return -1;
	n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	own[n < 0 ? 0 : n] = '\0';
	slash = strrchr(own, '/');
	snprintf(program, sizeof(program), "%.*sorganfs-umount", slash ? (int)(slash - own) + 1 : 0,
		 own);
	memmove(argv + place, argv + place + 1, (size_t)(argc - place) * sizeof(*argv));
	argv[0] = program;
	execv(program, argv);
	log_error("--stop: %s: %s; it is installed together with organfs", program,
		  strerror(errno));
	return 32;
}
