/* SPDX-License-Identifier: MIT */
/* mountinfo.h - the mounts of this namespace, as /proc/self/mountinfo lists them (proc(5)). Nothing
 * here asks a filesystem other than /proc. */
#ifndef FS_UTIL_MOUNTINFO_H
#define FS_UTIL_MOUNTINFO_H

#include <stdbool.h>
#include <sys/types.h>

struct mountinfo {
	int id;
	dev_t device; /* of the superblock: every mount of it has the same */
	bool is_organfs;
	bool is_local;	     /* of a type that keeps the attributes of an open file in memory */
	const char *point;   /* as it is, without escapes; lies in line */
	const char *source;  /* the same of the mounted device, or a model's path; lies in line */
	const char *options; /* of the superblock; lies in line */
	char *line;	     /* what mountinfo_find() has to give back; NULL: nothing */
};

/* Take a line apart, in place. False: it has not the form of one. */
bool mountinfo_parse(char *line, struct mountinfo *mount);

/* The last mount, which at one point is the uppermost, that is_like says is like wanted. On true
 * mountinfo_release() is due. False: none that can be seen from here is, or no memory. */
bool mountinfo_find(bool (*is_like)(const struct mountinfo *mount, const struct mountinfo *wanted),
		    const struct mountinfo *wanted, struct mountinfo *found);
void mountinfo_release(struct mountinfo *mount);

/* Ways to be like: */
bool mountinfo_has_id(const struct mountinfo *mount, const struct mountinfo *wanted);
bool mountinfo_has_device(const struct mountinfo *mount, const struct mountinfo *wanted);
bool mountinfo_has_point(const struct mountinfo *mount, const struct mountinfo *wanted);
bool mountinfo_has_model(const struct mountinfo *mount, const struct mountinfo *wanted);

/* The number of an option, such as user_id of a FUSE mount. False: it has none. */
bool mountinfo_option(const struct mountinfo *mount, const char *option, unsigned *number);

#endif
