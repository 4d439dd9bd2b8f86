/* SPDX-License-Identifier: MIT */
/* path_probe.c - see path_probe.h. The threads and the caller share a batch of jobs; the last frees
 * it. */
#include "fs/paths/path_probe.h"
#include "fs/base/donor.h"
#include "fs/base/link_target.h"
#include "fs/base/reference.h"
#include "fs/paths/path_resolve.h"
#include "fs/paths/probe_threads.h"
#include "fs/storage/backing.h"
#include "fs/util/cond_poll.h"
#include "fs/util/credentials.h"
#include "fs/util/paths.h"
#include "gguf/anatomy.h"
#include "gguf/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

#define PROBE_THREADS_MAX 8

struct probe_job {
	struct path_probe at; /* a copy; its pointers are the job's */
	char *place;	      /* name of its place, for probe_threads.h */
	struct path_probe_result found;
	bool begun, done;
};

struct probe_batch {
	struct probe_threads *probes;
	struct timespec until;
	char *point;
	dev_t device;
	pthread_mutex_t lock; /* protects the rest; a job is its thread's until done */
	pthread_cond_t progress;
	unsigned holders; /* number of threads, plus the caller */
	bool over;	  /* no further job is to be begun */
	size_t n, done;
	struct link_target_models models;
	struct probe_job jobs[];
};

void path_probe_result_release(struct path_probe_result *found)
{
	free(found->path);
	free(found->seen);
	free((char *)found->organ.name);
	gguf_free(found->gguf);
	backing_unref(found->file);
	donor_unref(found->donor);
	*found = (struct path_probe_result){ .own = false };
}

/* Part of a file that, as another mount of organfs says, holds the bytes of one of its files. */
struct disk_extent {
	char path[PATH_MAX + 64];
	uint64_t offset, length;
};

/* Cut ":NUMBER" off the end of text. */
static bool cut_number(char *text, uint64_t *number)
{
	char *colon = strrchr(text, ':'), *end;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return false;
	errno = 0;
	*number = strtoull(colon + 1, &end, 10);
	if (errno || *end)
		return false;
	*colon = '\0';
	return true;
}

/* Read a file's extent attribute, on FUSE alone: elsewhere any user can set such an attribute. */
static bool get_extent(int fd, struct disk_extent *extent)
{
	struct statfs status;
	ssize_t n;

	if (fstatfs(fd, &status) < 0 || status.f_type != FUSE_SUPER_MAGIC)
		return false;
	n = fgetxattr(fd, "user.organfs.extent", extent->path, sizeof(extent->path) - 1);
	if (n <= 0)
		return false;
	extent->path[n] = '\0';
	return cut_number(extent->path, &extent->length) &&
	       cut_number(extent->path, &extent->offset) && extent->path[0] == '/';
}

/* Open a file that lies outside of this mount. Returns 0 or -errno. */
static int resolve_outside(const struct path_resolve_mount *own, const char *path,
			   struct path_resolve_result *resolved, struct error *err)
{
	const int rc = path_resolve(own, "", path, resolved, err);

	return rc == 0 && resolved->own
		       ? error_set(err, ELOOP, ERROR_NO_OFFSET, "it is made from this mount itself")
		       : rc;
}

/* Open the file on disk that holds the organ's bytes. Returns 0 or -errno. */
static int open_extent(const struct path_resolve_mount *own, const struct disk_extent *extent,
		       struct path_probe_result *found)
{
	struct path_resolve_result resolved = { .links = found->links };

	if (extent->length != found->organ.data_size)
		return error_set(&found->err, EINVAL, ERROR_NO_OFFSET,
				 "the file and its extent do not agree");
	if (resolve_outside(own, extent->path, &resolved, &found->err) < 0)
		return -found->err.code;
	backing_unref(found->file);
	found->file = backing_fdopen(resolved.fd, extent->path, &found->err);
	if (!found->file)
		return -found->err.code;
	if (extent->offset > backing_size(found->file) ||
	    extent->length > backing_size(found->file) - extent->offset)
		return error_set(&found->err, EINVAL, ERROR_NO_OFFSET,
				 "the file ends before its extent");
	found->offset = extent->offset;
	return 0;
}

/* Make a backing of an open file, named as the kernel names it. Consumes fd. */
static bool open_found(int fd, struct path_probe_result *found)
{
	char link[48], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n < 0 ? 0 : n] = '\0';
	found->file = backing_fdopen(fd, path, &found->err);
	return found->file != NULL;
}

static void open_organ(const struct path_resolve_mount *own, int fd,
		       struct path_probe_result *found)
{
	struct source source;
	struct disk_extent extent;
	const bool elsewhere = get_extent(fd, &extent);

	if (!open_found(fd, found))
		return;
	source = backing_source(found->file);
	if (organ_parse(&source, &found->organ, &found->err) < 0) {
		found->organ.name = NULL;
		/* A file that is no organ is an invalid argument, not a bad message. */
		if (found->err.code == EBADMSG)
			found->err.code = EINVAL;
		return;
	}
	found->offset = found->organ.header_size;
	if (elsewhere)
		open_extent(own, &extent, found);
}

/* Open the file on disk behind a model.gguf of another mount of organfs, if it is one. Returns its
 * descriptor, else fd, or -1 with found->err set. Consumes fd. */
static int reopen_on_disk(const struct path_resolve_mount *own, int fd,
			  struct path_probe_result *found)
{
	struct path_resolve_result resolved = { .links = found->links };
	struct disk_extent extent;

	if (!get_extent(fd, &extent) || extent.offset)
		return fd;
	close(fd);
	return resolve_outside(own, extent.path, &resolved, &found->err) < 0 ? -1 : resolved.fd;
}

static void open_gguf(const struct path_resolve_mount *own, int fd, struct path_probe_result *found)
{
	struct source source;

	fd = reopen_on_disk(own, fd, found);
	if (fd < 0 || !open_found(fd, found))
		return;
	source = backing_source(found->file);
	found->gguf = gguf_read(&source, &found->err);
	if (!found->gguf && (found->err.code == EBADMSG || found->err.code == ENOTSUP))
		found->err.code = EINVAL;
}

/* Whether the path led to this file before. */
static bool is_known(const struct path_probe *at, const struct backing *file)
{
	return at->seen && at->file && paths_same_file(backing_stat(at->file), backing_stat(file));
}

/* Describe the organ, so that it can be found if the path later leads nowhere. */
static void note_seen(const struct path_probe *at, struct link_target_models *models,
		      struct path_probe_result *found)
{
	if (!is_known(at, found->file) || at->offset != found->offset)
		found->seen = link_target_print(models, found->file, &found->organ, found->offset);
}

/* Find the organ that a description names in the file; an unchanged file has the earlier result. */
static void match(const struct path_probe *at, struct link_target_models *models,
		  const struct reference *seen, struct path_probe_result *found)
{
	char *name;

	if (!is_known(at, found->file)) {
		link_target_find(models, found->file, seen, &found->organ, &found->offset,
				 &found->err);
		return;
	}
	backing_unref(found->file);
	found->file = backing_ref(at->file);
	found->offset = at->offset;
	found->organ = seen->organ;
	found->organ.name = name = malloc(seen->organ.name_length + 1u);
	if (name)
		memcpy(name, seen->organ.name, seen->organ.name_length + 1u);
	else
		error_errno(&found->err, ENOMEM);
}

/* Open the organ that was found at the end of a path that now leads nowhere. */
static void open_seen(const struct path_resolve_mount *own, const struct path_probe *at,
		      struct link_target_models *models, struct path_probe_result *found)
{
	struct path_resolve_result resolved = { .links = 0 };
	struct reference seen;

	if (reference_parse(at->seen, &seen, &found->err) == 0 &&
	    resolve_outside(own, seen.model, &resolved, &found->err) == 0 &&
	    open_found(resolved.fd, found))
		match(at, models, &seen, found);
	reference_release(&seen);
}

static void run(const struct path_resolve_mount *own, struct link_target_models *models,
		struct probe_job *job)
{
	struct path_resolve_result resolved = { .links = job->at.links };
	struct path_probe_result *found = &job->found;
	struct credentials before;

	if (credentials_assume(job->at.uid, job->at.gid, &before) < 0) {
		error_set(&found->err, EPERM, ERROR_NO_OFFSET,
			  "the rights of its owner cannot be assumed");
		return;
	}
	if (!job->at.path) {
		open_seen(own, &job->at, models, found);
	} else if (path_resolve(own, job->at.inside, job->at.path, &resolved, &found->err) == 0) {
		found->links = resolved.links;
		found->own = resolved.own;
		if (!resolved.own && job->at.gguf)
			open_gguf(own, resolved.fd, found);
		else if (!resolved.own)
			open_organ(own, resolved.fd, found);
		else if (!(found->path = strdup(resolved.path)))
			error_errno(&found->err, ENOMEM);
		if (found->err.code == 0 && found->file && !job->at.gguf)
			note_seen(&job->at, models, found);
	}
	credentials_restore(&before);
}

static void free_batch(struct probe_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		path_probe_result_release(&batch->jobs[i].found);
		free((char *)batch->jobs[i].at.path);
		free((char *)batch->jobs[i].at.seen);
		free(batch->jobs[i].place);
		backing_unref(batch->jobs[i].at.file);
	}
	link_target_models_release(&batch->models);
	probe_threads_unref(batch->probes);
	pthread_cond_destroy(&batch->progress);
	pthread_mutex_destroy(&batch->lock);
	free(batch->point);
	free(batch);
}

/* Give up one holder. Call with the lock held, which is released. */
static void leave(struct probe_batch *batch)
{
	const bool last = --batch->holders == 0;

	pthread_mutex_unlock(&batch->lock);
	if (last)
		free_batch(batch);
}

/* The first job that no thread has begun, at that place or, for NULL, at any. NULL: there is none.
 * Call with the lock held. */
static struct probe_job *next_job(struct probe_batch *batch, const char *place)
{
	for (size_t i = 0; i < batch->n && !batch->over; i++) {
		struct probe_job *job = &batch->jobs[i];

		if (!job->begun && (!place || strcmp(job->place, place) == 0))
			return job;
	}
	return NULL;
}

/* Do all jobs at the job's place; leave them undone if another thread has been at that place for
 * long. Call with the lock held. */
static void visit(struct probe_batch *batch, struct probe_job *job)
{
	const struct path_resolve_mount own = { batch->point, batch->device };
	const char *place = job->place;
	bool begun;

	for (struct probe_job *same = job; same; same = next_job(batch, place))
		same->begun = true;
	pthread_mutex_unlock(&batch->lock);
	begun = probe_threads_begin(batch->probes, place, &batch->until);
	pthread_mutex_lock(&batch->lock);
	for (; begun && !batch->over && job < batch->jobs + batch->n; job++) {
		if (strcmp(job->place, place) != 0)
			continue;
		pthread_mutex_unlock(&batch->lock);
		run(&own, &batch->models, job);
		pthread_mutex_lock(&batch->lock);
		job->done = true;
		batch->done++;
		pthread_cond_signal(&batch->progress);
	}
	if (begun)
		probe_threads_end(batch->probes, place);
}

static void *work(void *argument)
{
	struct probe_batch *batch = argument;
	struct probe_job *job;

	pthread_mutex_lock(&batch->lock);
	while ((job = next_job(batch, NULL)))
		visit(batch, job);
	pthread_cond_signal(&batch->progress);
	leave(batch);
	return NULL;
}

/* Cut the last name off the path, if it equals name or name is NULL. */
static bool cut_name(char *path, const char *name)
{
	char *slash = strrchr(path, '/');

	if (!slash || (name && strcmp(slash + 1, name) != 0))
		return false;
	*slash = '\0';
	return true;
}

/* Name of the place where a probe may hang: the mount of an organ in a mount, the directory of
 * another file, the model file of a description. */
static char *place_of(const struct path_probe *at)
{
	static const char model[] = "\nmodel ";
	const char *file = at->path ? NULL : strstr(at->seen, model);
	char *place = at->path ? strdup(at->path)
		      : file   ? strndup(file, 1 + strcspn(file + 1, "\n"))
			       : strdup("");

	if (!place || !at->path)
		return place;
	cut_name(place, NULL);
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		if (cut_name(place, class_name(klass)))
			break;
	cut_name(place, ".base");
	return place;
}

/* Copy the probe with its texts. False: out of memory. */
static bool copy_place(struct path_probe *copy, const struct path_probe *place)
{
	*copy = *place;
	copy->path = place->path ? strdup(place->path) : NULL;
	copy->seen = place->seen ? strdup(place->seen) : NULL;
	if (copy->file)
		backing_ref(copy->file);
	return !place->path == !copy->path && !place->seen == !copy->seen;
}

static struct probe_batch *new_batch(struct probe_threads *probes,
				     const struct path_resolve_mount *own,
				     const struct path_probe *places, size_t n)
{
	struct probe_batch *batch = calloc(1, sizeof(*batch) + n * sizeof(batch->jobs[0]));
	bool whole;

	if (!batch)
		return NULL;
	pthread_mutex_init(&batch->lock, NULL);
	cond_poll_init(&batch->progress);
	batch->probes = probe_threads_ref(probes);
	batch->device = own->device;
	batch->holders = 1;
	batch->n = n;
	link_target_models_init(&batch->models);
	batch->point = own->point ? strdup(own->point) : NULL;
	whole = !own->point || batch->point;
	for (size_t i = 0; i < n; i++) {
		whole &= copy_place(&batch->jobs[i].at, &places[i]);
		batch->jobs[i].place = place_of(&places[i]);
		whole &= batch->jobs[i].place != NULL;
	}
	if (whole)
		return batch;
	free_batch(batch);
	return NULL;
}

/* Start a thread for each place, which does all jobs there. Call with the lock held. Fewer threads
 * only take longer; without any no path is found. */
static void start(struct probe_batch *batch)
{
	const char *places[PROBE_THREADS_MAX];
	pthread_attr_t detached;
	pthread_t thread;
	size_t n = 0;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (size_t i = 0; i < batch->n && n < PROBE_THREADS_MAX; i++) {
		const char *place = batch->jobs[i].place;
		size_t k = 0;

		while (k < n && strcmp(places[k], place) != 0)
			k++;
		if (k < n)
			continue;
		places[n++] = place;
		if (pthread_create(&thread, &detached, work, batch) == 0)
			batch->holders++;
	}
	pthread_attr_destroy(&detached);
}

void path_probe(struct probe_threads *probes, const struct path_resolve_mount *own,
		const struct path_probe *places, size_t n, const struct timespec *until,
		struct path_probe_result *found)
{
	struct probe_batch *batch = new_batch(probes, own, places, n);
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		found[i] = (struct path_probe_result){ .own = false };
		error_set(&found[i].err, batch ? ETIMEDOUT : ENOMEM, ERROR_NO_OFFSET,
			  batch ? "no answer came in time" : "out of memory");
	}
	if (!batch)
		return;
	batch->until = *until;
	pthread_mutex_lock(&batch->lock);
	start(batch);
	while (rc == 0 && batch->done < n && batch->holders > 1)
		rc = pthread_cond_timedwait(&batch->progress, &batch->lock, until);
	for (size_t i = 0; i < n; i++) {
		if (!batch->jobs[i].done)
			continue;
		found[i] = batch->jobs[i].found;
		batch->jobs[i].found = (struct path_probe_result){ .own = false };
	}
	/* Jobs that have not begun are cancelled. */
	batch->over = true;
	leave(batch);
}
