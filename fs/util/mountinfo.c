/* SPDX-License-Identifier: MIT */
/* mountinfo.c - see mountinfo.h. */
#include "fs/util/mountinfo.h"
#include "fs/util/array_grown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* The kernel writes blanks, tabs, newlines and backslashes as a backslash and three digits. */
static void decode(char *text)
{
	char *out = text;

	for (; *text; out++) {
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*out = (char)((text[1] & 3) << 6 | (text[2] & 7) << 3 | (text[3] & 7));
			text += 4;
		} else {
			*out = *text++;
		}
	}
	*out = '\0';
}

/* Filesystems that answer fstat() of an open file from memory, without asking a disk or server. */
static bool is_local(const char *type)
{
	static const char *const types[] = {
		"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs"
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* id parent major:minor root point options [more...] - type source options */
bool mountinfo_parse(char *line, struct mountinfo *mount)
{
	unsigned major, minor;
	char *rest, *type, *source, *point = NULL;

	*mount = (struct mountinfo){ .id = -1 };
	line[strcspn(line, "\n")] = '\0';
	rest = strstr(line, " - ");
	if (!rest || sscanf(line, "%d %*d %u:%u", &mount->id, &major, &minor) != 3)
		return false;
	*rest = '\0';
	rest += 3;
	type = strsep(&rest, " ");
	source = strsep(&rest, " ");
	for (unsigned i = 0; i < 5; i++)
		point = strsep(&line, " ");
	if (!point || !rest)
		return false;
	decode(point);
	decode(source);
	mount->device = makedev(major, minor);
	mount->is_organfs = strcmp(type, "fuse.organfs") == 0;
	mount->is_local = is_local(type);
	mount->point = point;
	mount->source = source;
	mount->options = rest;
	return true;
}

/* Parse the next valid line, which the mount owns, to release. False: none. */
static bool read_next(FILE *file, struct mountinfo *mount)
{
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	while (!found && getline(&line, &room, file) > 0)
		found = mountinfo_parse(line, mount);
	mount->line = line;
	return found;
}

bool mountinfo_find(bool (*is_like)(const struct mountinfo *mount, const struct mountinfo *wanted),
		    const struct mountinfo *wanted, struct mountinfo *found)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	struct mountinfo mount = { .id = -1 };

	*found = (struct mountinfo){ .id = -1 };
	while (file && read_next(file, &mount)) {
		if (is_like(&mount, wanted)) {
			mountinfo_release(found);
			*found = mount;
			mount.line = NULL;
		}
		mountinfo_release(&mount);
	}
	mountinfo_release(&mount);
	if (file)
		fclose(file);
	return found->line != NULL;
}

struct mountinfo *mountinfo_list(size_t *n)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	struct mountinfo mount = { .id = -1 }, *list = NULL, *longer;
	size_t room = 0;

	*n = 0;
	while (file && read_next(file, &mount)) {
		longer = mount.is_organfs ? array_grown(list, *n, &room, sizeof(*list)) : NULL;
		if (longer) {
			list = longer;
			list[(*n)++] = mount;
			mount.line = NULL;
		}
		mountinfo_release(&mount);
	}
	mountinfo_release(&mount);
	if (file)
		fclose(file);
	return list;
}

void mountinfo_list_free(struct mountinfo *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mountinfo_release(&list[i]);
	free(list);
}

bool mountinfo_is_of(const struct mountinfo *mount, uid_t user)
{
	unsigned owner;

	return mount->is_organfs && mountinfo_option(mount, "user_id", &owner) && owner == user;
}

void mountinfo_release(struct mountinfo *mount)
{
	free(mount->line);
	*mount = (struct mountinfo){ .id = -1 };
}

bool mountinfo_has_id(const struct mountinfo *mount, const struct mountinfo *wanted)
{
	return mount->id == wanted->id;
}

bool mountinfo_has_device(const struct mountinfo *mount, const struct mountinfo *wanted)
{
	return mount->device == wanted->device;
}

bool mountinfo_has_point(const struct mountinfo *mount, const struct mountinfo *wanted)
{
	return strcmp(mount->point, wanted->point) == 0;
}

bool mountinfo_has_model(const struct mountinfo *mount, const struct mountinfo *wanted)
{
	return mount->is_organfs && strcmp(mount->source, wanted->source) == 0;
}

bool mountinfo_option(const struct mountinfo *mount, const char *option, unsigned *number)
{
	const size_t n = strlen(option);
	const char *s = mount->options;

	while (strncmp(s, option, n) != 0 || s[n] != '=') {
		s = strchr(s, ',');
		if (!s)
			return false;
		s++;
	}
	return sscanf(s + n + 1, "%u", number) == 1;
}
