/* SPDX-License-Identifier: MIT */
/* path_probe.h - timed look-ups of several paths at once, by threads that may never return. */
#ifndef FS_PATHS_PATH_PROBE_H
#define FS_PATHS_PATH_PROBE_H

#include "gguf/error.h"
#include "gguf/organ.h"

#include <sys/types.h>
#include <time.h>

struct path_resolve_mount;
struct probe_threads;

/* A path to look up, with the rights of a user. */
struct path_probe {
	char inside[64];  /* directory of our mount in which a relative path starts */
	const char *path; /* NULL: look only for the organ in seen */
	const char *seen; /* description by link_target_print() of an earlier result; NULL: none */
	struct backing *file; /* that organ's file, borrowed; NULL: not found before */
	uint64_t offset;
	uid_t uid;
	gid_t gid;
	unsigned links; /* links followed so far */
	bool gguf;	/* look for a GGUF, not for an organ */
};

/* Result: an error, a place in our mount, an organ, or a GGUF. */
struct path_probe_result {
	struct error err; /* ETIMEDOUT: no answer in time; EINVAL: any other kind of file */
	bool own;
	char *path; /* own: path below our root, owned; else NULL */
	unsigned links;
	struct organ organ; /* the name is owned */
	struct gguf *gguf;  /* owned */
	struct backing *file;
	uint64_t offset;     /* of the organ's data */
	struct donor *donor; /* NULL: unknown, or the file names it */
	char *seen; /* for a path: description of the organ, owned; NULL: none, or unchanged */
};

/* Look up n paths until that time of CLOCK_MONOTONIC, and fill in the results, to release with
 * path_probe_result_release(). While one look-up hangs, others of the same place are not begun and
 * time out too. */
void path_probe(struct probe_threads *probes, const struct path_resolve_mount *own,
		const struct path_probe *places, size_t n, const struct timespec *until,
		struct path_probe_result *found);
void path_probe_result_release(struct path_probe_result *found);

#endif
