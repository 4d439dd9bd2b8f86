/* SPDX-License-Identifier: MIT */
/* mountinfo.h - the mounts of this namespace, as listed by /proc/self/mountinfo (proc(5)). The
 * functions access no filesystem but /proc. */
#ifndef FS_UTIL_MOUNTINFO_H
#define FS_UTIL_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mountinfo {
	int id;
	dev_t device; /* of the superblock; equal for all its mounts */
	bool is_organfs;
	bool is_local;	     /* its type keeps the attributes of open files in memory */
	const char *point;   /* path of the mount point, unescaped; lies in line */
	const char *source;  /* mounted device, or a model's path, unescaped; lies in line */
	const char *options; /* of the superblock; lies in line */
	char *line;	     /* owned, for mountinfo_release(); NULL: none */
};

/* Parse a line in place. Returns false if it is malformed. */
bool mountinfo_parse(char *line, struct mountinfo *mount);

/* Find the last mount for which is_like(mount, wanted) is true; of several mounts at one point the
 * last is the uppermost. On success the caller calls mountinfo_release(). False: none found, or out
 * of memory. */
bool mountinfo_find(bool (*is_like)(const struct mountinfo *mount, const struct mountinfo *wanted),
		    const struct mountinfo *wanted, struct mountinfo *found);
void mountinfo_release(struct mountinfo *mount);

/* All mounts of organfs, in the order of mounting, to free with mountinfo_list_free(). A mount for
 * which memory is short is omitted. */
struct mountinfo *mountinfo_list(size_t *n);
void mountinfo_list_free(struct mountinfo *list, size_t n);

/* Is it a mount of organfs made by this user? */
bool mountinfo_is_of(const struct mountinfo *mount, uid_t user);

/* Predicates for is_like. */
bool mountinfo_has_id(const struct mountinfo *mount, const struct mountinfo *wanted);
bool mountinfo_has_device(const struct mountinfo *mount, const struct mountinfo *wanted);
bool mountinfo_has_point(const struct mountinfo *mount, const struct mountinfo *wanted);
bool mountinfo_has_model(const struct mountinfo *mount, const struct mountinfo *wanted);

/* The number that an option has, such as user_id of a FUSE mount. False: no such option. */
bool mountinfo_option(const struct mountinfo *mount, const char *option, unsigned *number);

#endif
