/* SPDX-License-Identifier: MIT */
/* layer_trust.c - see layer_trust.h. */
#include "fs/layer/layer_trust.h"
#include "fs/layer/layer_open.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOT_OURS "files in it belong to another user, for example after unpacking as root"
#define WRITABLE "other users may write to it"
#define UNKNOWN	 "its owner is unknown"

/* A user's private group, as many systems have, gives access to nobody else. */
static bool is_writable(const struct stat *stat)
{
	return (stat->st_mode & S_IWOTH) ||
	       ((stat->st_mode & S_IWGRP) && stat->st_gid != getegid());
}

static const char *doubt_status(const struct stat *stat)
{
	return stat->st_uid != geteuid() ? NOT_OURS : is_writable(stat) ? WRITABLE : NULL;
}

static const char *doubt_entry(int dir, const char *name)
{
	struct stat stat;

	return fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) < 0 ? UNKNOWN : doubt_status(&stat);
}

/* Check the layer's directory of that name and its files. */
static const char *doubt_files(int layer, const char *name)
{
	int rc;
	DIR *entries = layer_list(layer, name, &rc);
	const char *why = NULL, *entry;
	struct stat stat;

	if (entries)
		why = fstat(dirfd(entries), &stat) < 0 ? UNKNOWN : doubt_status(&stat);
	while ((entry = layer_list_next(entries, &rc)))
		if (!why)
			why = doubt_entry(dirfd(entries), entry);
	return rc < 0 ? UNKNOWN : why;
}

/* Check the parent directory, in which another user might replace the layer. */
static const char *doubt_place(int layer)
{
	struct stat stat;

	if (fstatat(layer, "..", &stat, 0) < 0)
		return UNKNOWN;
	return is_writable(&stat) && !(stat.st_mode & S_ISVTX) ? "other users may replace it"
							       : NULL;
}

const char *layer_trust_doubt(int dir)
{
	const char *why = doubt_files(dir, ".");

	if (!why)
		why = doubt_files(dir, "blobs");
	return why ? why : doubt_place(dir);
}
