/* SPDX-License-Identifier: MIT */
/* write_source.c - see write_source.h. */
#include "fs/paths/write_source.h"
#include "fs/base/donor.h"
#include "fs/base/fingerprint.h"
#include "fs/paths/mount_table.h"
#include "fs/paths/path_resolve.h"
#include "fs/paths/proc_fds.h"
#include "fs/storage/backing.h"
#include "fs/util/clock.h"
#include "fs/util/cond_poll.h"
#include "fs/util/credentials.h"
#include "fs/util/paths.h"
#include "gguf/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define PROC_FDS_MAX 8

/* A thread that hangs is abandoned, but at most this many are. */
#define THREADS_MAX 16

#define PATIENCE_SECONDS 3

#define TENSOR_MAX 65536

/* Number of recent donors whose fingerprints are kept, since each takes reading a header. */
#define REMEMBERED 8

struct write_sources {
	atomic_uint refs; /* the mount's and one for each trace; write_sources_free() drops one */
	pthread_mutex_t lock; /* protects the two below */
	struct remembered {
		struct stat stat;
		char fingerprint[FINGERPRINT_TEXT]; /* "": none */
	} remembered[REMEMBERED];
	unsigned oldest;
	write_source_own_fn *own;
	void *context;
	struct mount_table *mounts;
	char *point;
	dev_t device; /* 0: not known yet, and no write is traced */
	atomic_uint running;
};

/* A file that may be the source of the bytes. */
struct source_candidate {
	bool is_known; /* the fields below are set */
	uint64_t size;
	struct donor *donor; /* NULL: unknown */
};

struct write_source {
	atomic_uint refs;
	struct write_sources *tracer;
	uid_t uid;
	gid_t gid;
	unsigned n;
	struct proc_fd *openings;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t ended;
	bool is_done;
	struct source_candidate candidates[PROC_FDS_MAX];
};

void write_sources_free(struct write_sources *tracer)
{
	if (!tracer || atomic_fetch_sub(&tracer->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&tracer->lock);
	mount_table_free(tracer->mounts);
	free(tracer->point);
	free(tracer);
}

struct write_sources *write_sources_new(write_source_own_fn *own, void *context)
{
	struct write_sources *tracer = calloc(1, sizeof(*tracer));

	if (!tracer)
		return NULL;
	tracer->mounts = mount_table_new();
	if (!tracer->mounts) {
		free(tracer);
		return NULL;
	}
	atomic_init(&tracer->refs, 1);
	atomic_init(&tracer->running, 0);
	pthread_mutex_init(&tracer->lock, NULL);
	tracer->own = own;
	tracer->context = context;
	return tracer;
}

void write_sources_set_mount(struct write_sources *tracer, const char *point, dev_t device)
{
	tracer->point = strdup(point);
	tracer->device = tracer->point ? device : 0;
}

struct write_source *write_source_ref(struct write_source *trace)
{
	if (trace)
		atomic_fetch_add(&trace->refs, 1);
	return trace;
}

void write_source_unref(struct write_source *trace)
{
	if (!trace || atomic_fetch_sub(&trace->refs, 1) != 1)
		return;
	for (unsigned i = 0; i < trace->n; i++) {
		if (trace->openings[i].fd >= 0)
			close(trace->openings[i].fd);
		donor_unref(trace->candidates[i].donor);
	}
	pthread_mutex_destroy(&trace->lock);
	pthread_cond_destroy(&trace->ended);
	write_sources_free(trace->tracer);
	free(trace->openings);
	free(trace);
}

/* Value of an extended attribute and a NUL, to free. NULL: none. */
static char *attribute(int fd, const char *name, size_t *n)
{
	char path[64], *value = malloc(TENSOR_MAX + 1);
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = value ? getxattr(path, name, value, TENSOR_MAX) : -1;
	if (length < 0) {
		free(value);
		return NULL;
	}
	value[length] = '\0';
	*n = (size_t)length;
	return value;
}

/* Cut PATH:OFFSET:LENGTH down to PATH. */
static bool cut_extent(char *extent)
{
	for (unsigned i = 0; i < 2; i++) {
		char *colon = strrchr(extent, ':');

		if (!colon || strspn(colon + 1, "0123456789") != strlen(colon + 1))
			return false;
		*colon = '\0';
	}
	return extent[0] == '/';
}

static bool recall(struct write_sources *tracer, const struct stat *stat,
		   char text[FINGERPRINT_TEXT])
{
	bool known = false;

	pthread_mutex_lock(&tracer->lock);
	for (unsigned i = 0; !known && i < REMEMBERED; i++) {
		const struct remembered *one = &tracer->remembered[i];

		known = one->fingerprint[0] && paths_same_file(&one->stat, stat);
		if (known)
			memcpy(text, one->fingerprint, FINGERPRINT_TEXT);
	}
	pthread_mutex_unlock(&tracer->lock);
	return known;
}

static void remember(struct write_sources *tracer, const struct stat *stat, const char *text)
{
	struct remembered *one;

	pthread_mutex_lock(&tracer->lock);
	one = &tracer->remembered[tracer->oldest++ % REMEMBERED];
	one->stat = *stat;
	memcpy(one->fingerprint, text, FINGERPRINT_TEXT);
	pthread_mutex_unlock(&tracer->lock);
}

/* Give the donor its fingerprint, by which a later mount recognises the GGUF. Consumes fd. */
static void learn(struct write_sources *tracer, int fd, const struct stat *stat,
		  struct donor *donor)
{
	char text[FINGERPRINT_TEXT];
	struct backing *file = NULL;
	struct gguf *gguf = NULL;
	struct source source;

	if (recall(tracer, stat, text)) {
		donor_set_fingerprint(donor, text);
		close(fd);
		return;
	}
	file = backing_fdopen(fd, donor_path(donor), NULL);
	if (file) {
		source = backing_source(file);
		gguf = gguf_read(&source, NULL);
	}
	if (gguf && fingerprint(file, gguf, text) == 0) {
		remember(tracer, stat, text);
		donor_set_fingerprint(donor, text);
	}
	gguf_free(gguf);
	backing_unref(file);
}

/* The donor of another mount's organ: the file that its extent lies in, which is an organ file for
 * a graft there. NULL: unknown. */
static struct donor *donor_of_extent(struct write_sources *tracer, const char *path,
				     const char *tensor, size_t n)
{
	const struct path_resolve_mount own = { tracer->point, tracer->device };
	struct path_resolve_result resolved = { .links = 0 };
	struct donor *donor = NULL;
	char magic[4] = "";
	struct stat stat;

	if (path_resolve(&own, "", path, &resolved, NULL) < 0)
		return NULL;
	if (resolved.own)
		return donor_from_path(path, NULL, tensor, n);
	if (fstat(resolved.fd, &stat) == 0 &&
	    pread(resolved.fd, magic, sizeof(magic), 0) == sizeof(magic)) {
		if (memcmp(magic, "GGUF", sizeof(magic)) == 0)
			donor = donor_from_path(path, &stat, tensor, n);
		else
			donor = donor_from_path(path, NULL, NULL, 0);
	}
	if (donor && donor_tensor(donor, &n))
		learn(tracer, resolved.fd, &stat, donor);
	else
		close(resolved.fd);
	return donor;
}

static struct donor *donor_elsewhere(struct write_sources *tracer, const struct proc_fd *opening)
{
	struct donor *donor = NULL;
	char *extent, *tensor;
	size_t n, length;

	if (!opening->is_organfs)
		return donor_from_path(opening->path, NULL, NULL, 0);
	extent = attribute(opening->fd, "user.organfs.extent", &length);
	tensor = attribute(opening->fd, "user.organfs.tensor", &n);
	if (extent && tensor && strlen(extent) == length && cut_extent(extent))
		donor = donor_of_extent(tracer, extent, tensor, n);
	/* The bytes of a graft there may lie in pieces. */
	else if (tensor)
		donor = donor_from_path(opening->path, NULL, NULL, 0);
	free(extent);
	free(tensor);
	return donor;
}

/* Whether the path leads to the file: in a mount that cannot be seen from here it may not. */
static bool is_at_its_path(const struct proc_fd *opening, const struct stat *known)
{
	struct stat stat;

	return !opening->is_hidden ||
	       (lstat(opening->path, &stat) == 0 && stat.st_dev == known->st_dev &&
		stat.st_ino == known->st_ino);
}

static struct source_candidate open_candidate(struct write_sources *tracer,
					      const struct proc_fd *opening)
{
	struct source_candidate candidate = { .is_known = true };
	struct stat stat;

	if (fstat(opening->fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_nlink == 0)
		return candidate;
	candidate.size = (uint64_t)stat.st_size;
	if (is_at_its_path(opening, &stat))
		candidate.donor = donor_elsewhere(tracer, opening);
	return candidate;
}

/* Whether the file can be examined at once, needing neither the user's rights nor a wait. */
static bool answers_at_once(const struct proc_fd *opening)
{
	return opening->is_local && !opening->is_organfs && !opening->is_hidden;
}

static void *run(void *argument)
{
	struct write_source *trace = argument;
	struct write_sources *tracer = trace->tracer;
	struct credentials before;
	const bool may = credentials_assume(trace->uid, trace->gid, &before) == 0;

	for (unsigned i = 0; i < trace->n && may; i++) {
		struct source_candidate candidate;

		if (trace->openings[i].fd < 0 || trace->candidates[i].is_known)
			continue;
		candidate = open_candidate(tracer, &trace->openings[i]);
		pthread_mutex_lock(&trace->lock);
		trace->candidates[i] = candidate;
		pthread_mutex_unlock(&trace->lock);
	}
	pthread_mutex_lock(&trace->lock);
	trace->is_done = true;
	pthread_cond_broadcast(&trace->ended);
	pthread_mutex_unlock(&trace->lock);
	atomic_fetch_sub(&tracer->running, 1);
	write_source_unref(trace);
	return NULL;
}

/* Start a thread for the files that may make it wait. */
static bool start_thread(struct write_source *trace)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int rc;

	if (atomic_fetch_add(&trace->tracer->running, 1) >= THREADS_MAX ||
	    pthread_attr_init(&attributes) != 0) {
		atomic_fetch_sub(&trace->tracer->running, 1);
		return false;
	}
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attributes, run, write_source_ref(trace));
	pthread_attr_destroy(&attributes);
	if (rc == 0)
		return true;
	atomic_fetch_sub(&trace->tracer->running, 1);
	write_source_unref(trace);
	return false;
}

static struct write_source *new_trace(struct write_sources *tracer)
{
	struct write_source *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	atomic_init(&trace->refs, 1);
	pthread_mutex_init(&trace->lock, NULL);
	cond_poll_init(&trace->ended);
	atomic_fetch_add(&tracer->refs, 1);
	trace->tracer = tracer;
	trace->openings = calloc(PROC_FDS_MAX, sizeof(*trace->openings));
	if (trace->openings)
		return trace;
	write_source_unref(trace);
	return NULL;
}

struct write_source *write_source_begin(struct write_sources *tracer, pid_t pid, uid_t uid,
					gid_t gid)
{
	struct write_source *trace = new_trace(tracer);
	bool others = false;

	if (!trace)
		return NULL;
	trace->uid = uid;
	trace->gid = gid;
	if (tracer->device)
		trace->n = proc_fds_find(tracer->mounts, pid, tracer->device, trace->openings,
					 PROC_FDS_MAX);
	for (unsigned i = 0; i < trace->n; i++) {
		struct source_candidate *candidate = &trace->candidates[i];

		if (answers_at_once(&trace->openings[i]))
			*candidate = open_candidate(tracer, &trace->openings[i]);
		others |= trace->openings[i].fd >= 0 && !candidate->is_known;
		if (trace->openings[i].fd >= 0)
			continue;
		candidate->donor =
			tracer->own(tracer->context, trace->openings[i].ino, &candidate->size);
		candidate->is_known = true;
	}
	trace->is_done = !others;
	if (others && !start_thread(trace))
		trace->is_done = true;
	return trace;
}

/* Wait for the thread, a few seconds at most. Call with the lock held. */
static void await(struct write_source *trace)
{
	const struct timespec until = clock_in(PATIENCE_SECONDS * 1000);
	int rc = 0;

	while (!trace->is_done && rc == 0)
		rc = pthread_cond_timedwait(&trace->ended, &trace->lock, &until);
}

/* Whether opening i may be the source if its size is right: it is not the target, and not the same
 * file as an earlier opening. */
static bool counts(const struct write_source *trace, unsigned i, uint64_t target)
{
	const struct proc_fd *openings = trace->openings;

	if (openings[i].fd < 0 && openings[i].ino == target)
		return false;
	for (unsigned k = 0; k < i; k++)
		if (openings[i].ino && openings[k].ino == openings[i].ino &&
		    openings[k].device == openings[i].device)
			return false;
	return true;
}

struct donor *write_source_donor(struct write_source *trace, uint64_t size, uint64_t target)
{
	struct donor *donor = NULL;
	unsigned fitting = 0;

	if (!trace)
		return NULL;
	pthread_mutex_lock(&trace->lock);
	await(trace);
	for (unsigned i = 0; i < trace->n; i++) {
		const struct source_candidate *candidate = &trace->candidates[i];

		/* A file that does not answer may be the source. */
		if ((candidate->is_known && candidate->size != size) || !counts(trace, i, target))
			continue;
		if (fitting++ == 0)
			donor = donor_ref(candidate->donor);
	}
	pthread_mutex_unlock(&trace->lock);
	if (fitting <= 1)
		return donor;
	donor_unref(donor);
	return NULL;
}
