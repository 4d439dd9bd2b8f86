/* SPDX-License-Identifier: MIT */
/* options_internal.h - between the parts of fs/options*.c: what was given, before it means
 * anything. */
#ifndef FS_MOUNT_OPTIONS_INTERNAL_H
#define FS_MOUNT_OPTIONS_INTERNAL_H

#include "fs/mount/options.h"

/* What noassemble and assemble set; 0: neither was given. */
enum { ASSEMBLE_NOT = 1, ASSEMBLE };

/* What fuse_opt fills in; the last word on an option counts. */
struct parsed {
	struct options *options;
	char *report_model, *output, *layer, *compress, *shape, *blocks, *views, *merged, *uid,
		*gid, *umask, *threads, *samples;
	int help, version, report, picture, show, foreground, debug, read_only, assembly,
		no_execution, allow, auto_unmount, fresh,
		nonempty;
	char **more; /* models that are options */
	uint32_t n_more;
	const char *where; /* FILE:LINE of the default that is being taken; NULL: a command line */
	const char *not_read; /* a file of defaults, another user's; or NULL */
	char *complaint;      /* about the files of defaults, for where they are needed; or NULL */
};

/* Say in a line what is wrong: on stderr, or, about a default, in parsed->complaint. Returns -1. */
int options_complain(struct parsed *parsed, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Are the words ones that their options know? -1: no, after a complaint. */
int options_check_words(struct parsed *parsed);

/* Fill those of parsed->options that are numbers. -1: one is wrong, after a complaint. */
int options_fill_numbers(struct parsed *parsed);

#endif
