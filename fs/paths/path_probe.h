/* SPDX-License-Identifier: MIT */
/* path_probe.h - looking where paths lead, by threads that may never come back: several at a time,
 * for a limited time. */
#ifndef FS_PATHS_PATH_PROBE_H
#define FS_PATHS_PATH_PROBE_H

#include "gguf/error.h"
#include "gguf/organ.h"

#include <sys/types.h>
#include <time.h>

struct path_resolve_mount;
struct probe_threads;

/* Where to look, and with whose rights. */
struct path_probe {
	char inside[64];      /* the directory in our mount that a relative path starts in */
	const char *path;     /* NULL: only what was seen there is looked for */
	const char
		*seen; /* what link_target_print() said of where it led; NULL: that is not known */
	struct backing *file; /* where that was found in this mount, borrowed; NULL: nowhere yet */
	uint64_t offset;
	uid_t uid;
	gid_t gid;
	unsigned links; /* that were followed already */
	bool gguf;	/* a GGUF is looked for, and not an organ */
};

/* What was found: err, or a place in our mount, or an organ, or a GGUF. */
struct path_probe_result {
	struct error
		err; /* ETIMEDOUT: no answer came in time; EINVAL: it is a file, and none of these
		      */
	bool own;
	char *path; /* own: after our root, owned; else NULL */
	unsigned links;
	struct organ organ; /* its name is owned */
	struct gguf *gguf;  /* owned */
	struct backing *file;
	uint64_t offset;     /* of its data */
	struct donor *donor; /* where that came from; NULL: not known, or the file says it */
	char *seen; /* by a path: what link_target_print() says of it, owned; NULL: nothing, or what
				it said before */
};

/* Look at n places until that time of CLOCK_MONOTONIC, and fill in what was found at each, to
 * release with path_probe_result_release(). Of one that hangs others of the same probes do not
 * begin to look again: they have no answer either. */
void path_probe(struct probe_threads *probes, const struct path_resolve_mount *own,
		const struct path_probe *places, size_t n, const struct timespec *until,
		struct path_probe_result *found);
void path_probe_result_release(struct path_probe_result *found);

#endif
