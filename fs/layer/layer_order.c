/* SPDX-License-Identifier: MIT */
/* layer_order.c - see layer_order.h. */
#include "fs/layer/layer_order.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Its name in the kernel, as <linux/magic.h> of older systems has none. */
#define XFS_MAGIC 0x58465342ul

/* Is that a line of the file? */
static bool has_line(const char *path, const char *wanted)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	bool has = false;

	while (file && !has && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		has = strcmp(line, wanted) == 0;
	}
	free(line);
	if (file)
		fclose(file);
	return has;
}

/* An ext4 filesystem NAME with its journal in itself is /proc/fs/jbd2/NAME-INODE; a journal on a
 * disk of its own has another name. Then an fsync() of a directory does not promise to flush the
 * cache of the disk that has the files. */
static bool has_own_journal(const struct layer_order_places *places, const char *name)
{
	const size_t n = strlen(name);
	const struct dirent *entry;
	char path[PATH_MAX];
	bool has = false;
	DIR *journals;

	snprintf(path, sizeof(path), "%s/fs/jbd2", places->proc);
	journals = opendir(path);
	while (journals && !has && (entry = readdir(journals)))
		has = strncmp(entry->d_name, name, n) == 0 && entry->d_name[n] == '-';
	if (journals)
		closedir(journals);
	return has;
}

/* /proc/fs/ext4/NAME/options (ext4(5)) has "data=ordered" where there is a journal and file data
 * goes to the disk before what refers to it; without a journal it has no such line. */
static bool is_ext4_ordered(const struct layer_order_places *places, unsigned major, unsigned minor)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/dev/block/%u:%u", places->sys, major, minor);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	name = strrchr(target, '/');
	name = name ? name + 1 : target;
	return has_own_journal(places, name) &&
	       snprintf(path, sizeof(path), "%s/fs/ext4/%s/options", places->proc, name) <
		       (int)sizeof(path) &&
	       has_line(path, "data=ordered");
}

/* Is it one of the options of the superblock? */
static bool has_option(const char *options, const char *name)
{
	const size_t n = strlen(name);

	for (const char *s = options; s; s = strchr(s, ',')) {
		s += *s == ',';
		if (strncmp(s, name, n) == 0)
			return true;
	}
	return false;
}

/* The log of XFS keeps the order; data of a real-time device and a log elsewhere are caches of
 * their own, which an fsync() of a directory does not promise to flush. The fields are those of
 * proc(5). */
static bool is_xfs_in_one_place(const struct layer_order_places *places, unsigned major,
				unsigned minor)
{
	FILE *file = fopen(places->mountinfo, "re");
	bool seen = false, elsewhere = false;
	unsigned its_major, its_minor;
	char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		const char *rest = strstr(line, " - xfs ");

		if (!rest || sscanf(line, "%*d %*d %u:%u", &its_major, &its_minor) != 2 ||
		    its_major != major || its_minor != minor)
			continue;
		seen = true;
		rest = strrchr(rest, ' ') + 1;
		elsewhere |= has_option(rest, "rtdev=") || has_option(rest, "logdev=");
	}
	free(line);
	if (file)
		fclose(file);
	return seen && !elsewhere;
}

bool layer_order_is_told(const struct layer_order_places *places, unsigned long type,
			 unsigned major, unsigned minor)
{
	/* The number is also that of ext2 and ext3, which the same driver mounts. */
	if (type == EXT4_SUPER_MAGIC)
		return is_ext4_ordered(places, major, minor);
	return type == XFS_MAGIC && is_xfs_in_one_place(places, major, minor);
}

bool layer_order_is_kept(int dir)
{
	const struct layer_order_places places = { "/proc", "/sys", "/proc/self/mountinfo" };
	struct statfs filesystem;
	struct stat stat;

	return fstatfs(dir, &filesystem) == 0 && fstat(dir, &stat) == 0 &&
	       layer_order_is_told(&places, (unsigned long)filesystem.f_type, major(stat.st_dev),
				   minor(stat.st_dev));
}
