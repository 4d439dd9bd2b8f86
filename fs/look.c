/* SPDX-License-Identifier: MIT */
/* look.c - see look.h. What the threads work on is theirs and the caller's together; the last one
 * to leave frees it. */
#include "fs/look.h"
#include "fs/caller.h"
#include "fs/waiting.h"

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

#define THREADS_MOST 8

struct job {
	struct look_at at; /* its path is the job's own */
	struct found found;
	bool done;
};

struct batch {
	char *point;
	dev_t device;
	pthread_mutex_t lock; /* protects what follows; a job is its thread's until it is done */
	pthread_cond_t progress;
	unsigned holders; /* threads, and the caller */
	size_t n, next, done;
	struct job jobs[];
};

void found_release(struct found *found)
{
	free(found->path);
	free((char *)found->organ.name);
	gguf_free(found->gguf);
	backing_unref(found->file);
	donor_unref(found->donor);
	*found = (struct found){ .own = false };
}

/* Where another mount of organfs says that the bytes of a file lie. */
struct extent {
	char path[PATH_MAX + 64];
	uint64_t offset, length;
};

/* Cut ":NUMBER" off the end. */
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

/* Only what is a FUSE filesystem is believed: anybody can give such an attribute to a file. */
static bool get_extent(int fd, struct extent *extent)
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

/* The file on disk that the bytes lie in. */
static int open_extent(const struct resolve_own *own, const struct extent *extent,
		       struct found *found)
{
	struct resolved resolved = { .links = found->links };

	if (extent->length != found->organ.data_size)
		return error_set(&found->err, EINVAL, ERROR_NO_OFFSET,
				 "the file and its extent do not agree");
	if (resolve(own, "", extent->path, &resolved, &found->err) < 0)
		return -found->err.code;
	if (resolved.own)
		return error_set(&found->err, ELOOP, ERROR_NO_OFFSET,
				 "it is made from this mount itself");
	backing_unref(found->file);
	found->file = backing_adopt(resolved.fd, extent->path, &found->err);
	if (!found->file)
		return -found->err.code;
	if (extent->offset > backing_size(found->file) ||
	    extent->length > backing_size(found->file) - extent->offset)
		return error_set(&found->err, EINVAL, ERROR_NO_OFFSET,
				 "the file ends before its extent");
	found->offset = extent->offset;
	return 0;
}

/* The name of an open file, as the kernel knows it. */
static void name_of(int fd, char path[PATH_MAX])
{
	char link[48];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX - 1);
	path[n < 0 ? 0 : n] = '\0';
}

static void open_organ(const struct resolve_own *own, int fd, struct found *found)
{
	char path[PATH_MAX];
	struct source source;
	struct extent extent;
	bool elsewhere;

	name_of(fd, path);
	elsewhere = get_extent(fd, &extent);
	found->file = backing_adopt(fd, path, &found->err);
	if (!found->file)
		return;
	source = backing_source(found->file);
	if (organ_parse(&source, &found->organ, &found->err) < 0) {
		found->organ.name = NULL;
		/* A file that is no organ is no valid argument. */
		if (found->err.code == EBADMSG)
			found->err.code = EINVAL;
		return;
	}
	found->offset = found->organ.header_size;
	if (elsewhere)
		open_extent(own, &extent, found);
}

/* The model of another mount of organfs may be a file on disk as it is. Returns the descriptor to
 * read, that of the other mount where it is not, or -1 with found->err set; fd is used up. */
static int instead_of(const struct resolve_own *own, int fd, struct found *found)
{
	struct resolved resolved = { .links = found->links };
	struct extent extent;

	if (!get_extent(fd, &extent) || extent.offset)
		return fd;
	close(fd);
	if (resolve(own, "", extent.path, &resolved, &found->err) < 0)
		return -1;
	if (!resolved.own)
		return resolved.fd;
	error_set(&found->err, ELOOP, ERROR_NO_OFFSET, "it is made from this mount itself");
	return -1;
}

static void open_gguf(const struct resolve_own *own, int fd, struct found *found)
{
	char path[PATH_MAX];
	struct source source;

	fd = instead_of(own, fd, found);
	if (fd < 0)
		return;
	name_of(fd, path);
	found->file = backing_adopt(fd, path, &found->err);
	if (!found->file)
		return;
	source = backing_source(found->file);
	found->gguf = gguf_read(&source, &found->err);
	if (!found->gguf && (found->err.code == EBADMSG || found->err.code == ENOTSUP))
		found->err.code = EINVAL;
}

static void run(const struct resolve_own *own, struct job *job)
{
	struct resolved resolved = { .links = job->at.links };
	struct found *found = &job->found;

	if (caller_assume(job->at.uid, job->at.gid) < 0) {
		error_set(&found->err, EPERM, ERROR_NO_OFFSET,
			  "the rights of its owner cannot be assumed");
		return;
	}
	if (resolve(own, job->at.inside, job->at.path, &resolved, &found->err) == 0) {
		found->links = resolved.links;
		found->own = resolved.own;
		if (!resolved.own && job->at.gguf)
			open_gguf(own, resolved.fd, found);
		else if (!resolved.own)
			open_organ(own, resolved.fd, found);
		else if (!(found->path = strdup(resolved.path)))
			error_set(&found->err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	}
	caller_restore();
}

static void free_batch(struct batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		found_release(&batch->jobs[i].found);
		free((char *)batch->jobs[i].at.path);
	}
	pthread_cond_destroy(&batch->progress);
	pthread_mutex_destroy(&batch->lock);
	free(batch->point);
	free(batch);
}

/* With the lock held, which is released. */
static void leave(struct batch *batch)
{
	const bool last = --batch->holders == 0;

	pthread_mutex_unlock(&batch->lock);
	if (last)
		free_batch(batch);
}

static void *work(void *argument)
{
	struct batch *batch = argument;
	const struct resolve_own own = { batch->point, batch->device };

	pthread_mutex_lock(&batch->lock);
	while (batch->next < batch->n) {
		struct job *job = &batch->jobs[batch->next++];

		pthread_mutex_unlock(&batch->lock);
		run(&own, job);
		pthread_mutex_lock(&batch->lock);
		job->done = true;
		batch->done++;
		pthread_cond_signal(&batch->progress);
	}
	leave(batch);
	return NULL;
}

static struct batch *new_batch(const struct resolve_own *own, const struct look_at *places,
			       size_t n)
{
	struct batch *batch = calloc(1, sizeof(*batch) + n * sizeof(batch->jobs[0]));

	if (!batch)
		return NULL;
	pthread_mutex_init(&batch->lock, NULL);
	waiting_init(&batch->progress);
	batch->device = own->device;
	batch->holders = 1;
	batch->n = n;
	batch->point = own->point ? strdup(own->point) : NULL;
	for (size_t i = 0; i < n; i++) {
		batch->jobs[i].at = places[i];
		batch->jobs[i].at.path = strdup(places[i].path);
		if (!batch->jobs[i].at.path || (own->point && !batch->point)) {
			free_batch(batch);
			return NULL;
		}
	}
	return batch;
}

/* With the lock held. Fewer threads than wanted are slower, and none finds nothing. */
static void start(struct batch *batch)
{
	pthread_attr_t detached;
	pthread_t thread;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (size_t i = 0; i < batch->n && i < THREADS_MOST; i++)
		if (pthread_create(&thread, &detached, work, batch) == 0)
			batch->holders++;
	pthread_attr_destroy(&detached);
}

void look(const struct resolve_own *own, const struct look_at *places, size_t n,
	  const struct timespec *until, struct found *found)
{
	struct batch *batch = new_batch(own, places, n);
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		found[i] = (struct found){ .own = false };
		error_set(&found[i].err, batch ? ETIMEDOUT : ENOMEM, ERROR_NO_OFFSET,
			  batch ? "no answer came in time" : "out of memory");
	}
	if (!batch)
		return;
	pthread_mutex_lock(&batch->lock);
	start(batch);
	while (rc == 0 && batch->done < n && batch->holders > 1)
		rc = pthread_cond_timedwait(&batch->progress, &batch->lock, until);
	for (size_t i = 0; i < n; i++) {
		if (!batch->jobs[i].done)
			continue;
		found[i] = batch->jobs[i].found;
		batch->jobs[i].found = (struct found){ .own = false };
	}
	/* What nobody has begun is not begun any more. */
	batch->next = n;
	leave(batch);
}
