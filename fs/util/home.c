/* SPDX-License-Identifier: MIT */
/* home.c - see home.h. */
#include "fs/util/home.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *home_path(const char *below)
{
	const char *home = getenv("HOME");
	const struct passwd *user;
	char *path;

	if (!home || home[0] != '/') {
		user = getpwuid(getuid());
		home = user ? user->pw_dir : "/";
	}
	return asprintf(&path, "%s/%s", home, below) < 0 ? NULL : path;
}
