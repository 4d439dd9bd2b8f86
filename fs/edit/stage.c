/* SPDX-License-Identifier: MIT */
/* stage.c - see stage.h. */
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/model/removal.h"
#include "fs/model/slots.h"
#include "fs/paths/write_source.h"
#include "fs/storage/view.h"
#include "fs/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct stage {
	struct layer *layer;
	bool is_brief;
	atomic_uint opens;
	atomic_bool ended;
	_Atomic(struct removal *) removal;
	atomic_uint busy;	   /* writers that have not closed since their last write */
	pthread_mutex_t show_lock; /* protects shown and trace; held for moments */
	struct stage_shown shown;
	struct write_source *trace; /* NULL: no write yet, or not traced */

	pthread_mutex_t lock; /* protects the fields below; held while the disk works */
	struct view *content; /* the bytes while fd is -1; NULL: empty */
	int fd;		      /* -1: no bytes written yet */
	bool in_memory; /* fd is a memfd; a small organ is written to disk once, at the commit */
	uint64_t number;
	uint64_t size;
	bool written;
	bool unflushed; /* written to since the last attempt to commit */
	bool sealed;	/* seal must be released, and a file may exist */
	struct layer_seal seal;
	bool adopted; /* content is the organ at origin */
	struct origin origin;
	int failed; /* -errno of a failed write or fsync(): the staged bytes are incomplete */
};

static uint64_t content_size(const struct stage *stage)
{
	if (stage->fd >= 0)
		return stage->size;
	return stage->content ? view_size(stage->content) : 0;
}

/* Update the attributes, with the lock held or before another thread knows the stage. */
static void show(struct stage *stage)
{
	pthread_mutex_lock(&stage->show_lock);
	stage->shown.size = content_size(stage);
	if (!stage->shown.has_mtime)
		clock_gettime(CLOCK_REALTIME, &stage->shown.mtime);
	pthread_mutex_unlock(&stage->show_lock);
}

struct stage *stage_new(struct layer *layer, struct view *content)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	if (!stage)
		return NULL;
	atomic_init(&stage->opens, 0);
	atomic_init(&stage->ended, false);
	atomic_init(&stage->removal, NULL);
	atomic_init(&stage->busy, 0);
	pthread_mutex_init(&stage->show_lock, NULL);
	pthread_mutex_init(&stage->lock, NULL);
	stage->layer = layer;
	stage->content = view_ref(content);
	stage->fd = -1;
	show(stage);
	return stage;
}

void stage_set_brief(struct stage *stage)
{
	stage->is_brief = true;
}

void stage_set_removal(struct stage *stage, struct removal *removal)
{
	atomic_store(&stage->removal, removal);
}

bool stage_has_removal(const struct stage *stage)
{
	return atomic_load(&stage->removal) != NULL;
}

struct removal *stage_take_removal(struct stage *stage)
{
	return atomic_exchange(&stage->removal, NULL);
}

static void forget_origin(struct stage *stage)
{
	content_unref(stage->origin.content);
	stage->origin = (struct origin){ 0 };
	stage->adopted = false;
}

void stage_set_trace(struct stage *stage, struct write_source *trace)
{
	struct write_source *before;

	pthread_mutex_lock(&stage->show_lock);
	before = stage->trace;
	stage->trace = trace;
	pthread_mutex_unlock(&stage->show_lock);
	write_source_unref(before);
}

struct write_source *stage_trace(struct stage *stage)
{
	struct write_source *trace;

	pthread_mutex_lock(&stage->show_lock);
	trace = write_source_ref(stage->trace);
	pthread_mutex_unlock(&stage->show_lock);
	return trace;
}

static void close_file(struct layer *layer, int fd, bool in_memory)
{
	if (in_memory)
		layer_close_in_memory(layer, fd);
	else
		close(fd);
}

/* Release the seal. A small file may have no name on the disk. */
static void unseal(struct stage *stage)
{
	if (!stage->sealed)
		return;
	layer_seal_release(stage->layer, &stage->seal);
	stage->sealed = false;
}

static void discard(struct stage *stage)
{
	stage_set_trace(stage, NULL);
	forget_origin(stage);
	view_unref(stage->content);
	stage->content = NULL;
	if (stage->fd >= 0) {
		close_file(stage->layer, stage->fd, stage->in_memory);
		if (!stage->in_memory || stage->sealed)
			layer_unstage(stage->layer, stage->number);
	}
	unseal(stage);
	stage->fd = -1;
	stage->size = 0;
	stage->failed = 0;
}

void stage_free(struct stage *stage)
{
	if (!stage)
		return;
	discard(stage);
	removal_free(stage_take_removal(stage));
	pthread_mutex_destroy(&stage->lock);
	pthread_mutex_destroy(&stage->show_lock);
	free(stage);
}

void stage_open(struct stage *stage)
{
	/* Without the lock: a thread that answers other requests must not wait for the disk. */
	atomic_fetch_add(&stage->opens, 1);
}

void stage_close(struct stage *stage)
{
	const bool last = atomic_fetch_sub(&stage->opens, 1) == 1;

	pthread_mutex_lock(&stage->lock);
	if (last && atomic_load(&stage->opens) == 0)
		discard(stage);
	pthread_mutex_unlock(&stage->lock);
}

unsigned stage_opens(struct stage *stage)
{
	return atomic_load(&stage->opens);
}

void stage_set_ended(struct stage *stage)
{
	atomic_store(&stage->ended, true);
}

bool stage_has_ended(const struct stage *stage)
{
	return atomic_load(&stage->ended);
}

void stage_add_writer(struct stage *stage)
{
	atomic_fetch_add(&stage->busy, 1);
}

unsigned stage_remove_writer(struct stage *stage)
{
	return atomic_fetch_sub(&stage->busy, 1) - 1;
}

unsigned stage_writers(struct stage *stage)
{
	return atomic_load(&stage->busy);
}

static int copy_small(const struct stage *stage, int to)
{
	char *bytes = malloc(stage->size + 1);
	ssize_t n = bytes ? io_read(stage->fd, bytes, stage->size, 0) : -ENOMEM;

	if (n >= 0)
		n = (uint64_t)n == stage->size ? io_write(to, bytes, (size_t)n, 0) : -EIO;
	free(bytes);
	return (int)n;
}

/* Move the first keep bytes of the stage into a new file, with the lock held. */
static int take_file(struct stage *stage, uint64_t keep, bool in_memory)
{
	uint64_t number;
	int fd = in_memory ? layer_stage_in_memory(stage->layer, &number) : -1, rc = 0;

	/* Fall back to a file if no memfd is available. */
	in_memory = fd >= 0;
	if (fd < 0)
		fd = layer_stage(stage->layer, &number);
	if (fd < 0)
		return fd;
	if (stage->fd >= 0)
		rc = copy_small(stage, fd);
	else if (keep)
		rc = layer_copy_view(fd, 0, stage->content, keep);
	if (rc < 0) {
		close_file(stage->layer, fd, in_memory);
		layer_unstage(stage->layer, number);
		return rc;
	}
	if (stage->fd >= 0)
		close_file(stage->layer, stage->fd, stage->in_memory);
	else
		stage->size = keep;
	if (stage->sealed)
		layer_unstage(stage->layer, stage->number);
	unseal(stage);
	view_unref(stage->content);
	stage->content = NULL;
	forget_origin(stage);
	stage->fd = fd;
	stage->in_memory = in_memory;
	stage->number = number;
	return 0;
}

/* Make sure that the stage has a file with the first keep bytes of the content and space for room
 * bytes, with the lock held. */
static int open_stage_file(struct stage *stage, uint64_t keep, uint64_t room)
{
	if (stage->fd >= 0 && (!stage->in_memory || room <= LAYER_SMALL))
		return 0;
	if (keep > content_size(stage))
		keep = content_size(stage);
	return take_file(stage, keep,
			 stage->is_brief && keep <= LAYER_SMALL && room <= LAYER_SMALL);
}

bool stage_adopt(struct stage *stage, struct view *view, const struct origin *origin)
{
	bool empty;

	pthread_mutex_lock(&stage->lock);
	empty = stage->fd < 0 && !stage->failed && content_size(stage) == 0;
	if (empty) {
		discard(stage);
		stage->content = view_ref(view);
		stage->adopted = true;
		stage->origin = *origin;
		if (origin->content)
			content_ref(origin->content);
		stage->written = stage->unflushed = true;
	}
	show(stage);
	pthread_mutex_unlock(&stage->lock);
	return empty;
}

bool stage_adopted(struct stage *stage, const struct view *view)
{
	bool adopted;

	pthread_mutex_lock(&stage->lock);
	adopted = stage->adopted && stage->content == view;
	pthread_mutex_unlock(&stage->lock);
	return adopted;
}

bool stage_origin(struct stage *stage, struct origin *origin)
{
	bool adopted;

	pthread_mutex_lock(&stage->lock);
	adopted = stage->adopted;
	*origin = stage->origin;
	if (origin->content)
		content_ref(origin->content);
	pthread_mutex_unlock(&stage->lock);
	return adopted;
}

void stage_set_outcome(struct stage *stage, const struct origin *origin, bool in_force)
{
	const struct origin *now = &stage->origin;

	pthread_mutex_lock(&stage->lock);
	if (stage->adopted && now->model == origin->model && now->slot == origin->slot &&
	    now->content == origin->content) {
		stage->unflushed = false;
		if (in_force)
			stage->written = false;
	}
	pthread_mutex_unlock(&stage->lock);
}

int stage_write(struct stage *stage, const void *bytes, size_t n, uint64_t offset)
{
	int rc;

	if (offset > INT64_MAX - n)
		return -EFBIG;
	pthread_mutex_lock(&stage->lock);
	rc = open_stage_file(stage, UINT64_MAX, offset + n);
	if (rc == 0)
		rc = io_write(stage->fd, bytes, n, offset);
	if (rc == 0) {
		stage->written = stage->unflushed = true;
		if (offset + n > stage->size)
			stage->size = offset + n;
	} else {
		stage->failed = rc;
	}
	show(stage);
	pthread_mutex_unlock(&stage->lock);
	return rc;
}

ssize_t stage_read(struct stage *stage, void *bytes, size_t n, uint64_t offset)
{
	ssize_t got = 0;

	pthread_mutex_lock(&stage->lock);
	if (stage->fd >= 0)
		got = io_read(stage->fd, bytes, n, offset);
	else if (stage->content)
		got = view_read(stage->content, bytes, n, offset);
	pthread_mutex_unlock(&stage->lock);
	return got;
}

int stage_truncate(struct stage *stage, uint64_t size)
{
	int rc = 0;

	pthread_mutex_lock(&stage->lock);
	if (size == 0) {
		discard(stage);
	} else if (size != content_size(stage)) {
		rc = open_stage_file(stage, size, size);
		if (rc == 0 && ftruncate(stage->fd, (off_t)size) < 0)
			rc = -errno;
		if (rc == 0) {
			stage->size = size;
			stage->written = stage->unflushed = true;
		}
	}
	show(stage);
	pthread_mutex_unlock(&stage->lock);
	return rc;
}

int stage_sync(struct stage *stage)
{
	int rc = 0;

	pthread_mutex_lock(&stage->lock);
	/* Fail for good: a later fsync() may succeed although this one has lost data. */
	if (stage->fd >= 0 && fsync(stage->fd) < 0)
		stage->failed = rc = -errno;
	pthread_mutex_unlock(&stage->lock);
	return rc;
}

struct stage_shown stage_shown(struct stage *stage)
{
	struct stage_shown shown;

	pthread_mutex_lock(&stage->show_lock);
	shown = stage->shown;
	pthread_mutex_unlock(&stage->show_lock);
	return shown;
}

void stage_set_mtime(struct stage *stage, const struct timespec *mtime)
{
	pthread_mutex_lock(&stage->show_lock);
	stage->shown.mtime = *mtime;
	stage->shown.has_mtime = true;
	pthread_mutex_unlock(&stage->show_lock);
}

void stage_set_type(struct stage *stage, enum stage_type how, struct value_type type)
{
	pthread_mutex_lock(&stage->show_lock);
	stage->shown.typed = how;
	stage->shown.type = type;
	pthread_mutex_unlock(&stage->show_lock);
}

static bool read_flag(struct stage *stage, const bool *flag)
{
	bool is;

	pthread_mutex_lock(&stage->lock);
	is = *flag;
	pthread_mutex_unlock(&stage->lock);
	return is;
}

bool stage_written(struct stage *stage)
{
	return read_flag(stage, &stage->written);
}

bool stage_unflushed(struct stage *stage)
{
	return read_flag(stage, &stage->unflushed);
}

bool stage_failed(struct stage *stage)
{
	bool failed;

	pthread_mutex_lock(&stage->lock);
	failed = stage->failed != 0;
	pthread_mutex_unlock(&stage->lock);
	return failed;
}

void stage_fail(struct stage *stage, int rc)
{
	pthread_mutex_lock(&stage->lock);
	stage->failed = rc;
	stage->written = stage->unflushed = true;
	pthread_mutex_unlock(&stage->lock);
}

static int source_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	const struct stage *stage = context;
	const ssize_t got = io_read(stage->fd, bytes, n, offset);

	return got >= 0 && (size_t)got == n ? 0 : -EIO;
}

int stage_commit_begin(struct stage *stage, struct source *staged)
{
	int rc;

	pthread_mutex_lock(&stage->lock);
	stage->unflushed = false;
	rc = stage->failed ? stage->failed : open_stage_file(stage, UINT64_MAX, 0);
	*staged = (struct source){ source_read_at, stage, stage->size };
	return rc;
}

int stage_seal(struct stage *stage, struct layer_seal **seal)
{
	int rc;

	unseal(stage);
	stage->sealed = true;
	*seal = &stage->seal;
	rc = layer_seal_stage(stage->layer, stage->number, stage->fd, stage->in_memory,
			      &stage->seal);
	/* Fail for good: the next fsync() does not report the data that this one has lost. */
	if (rc < 0 && rc != -ENOMEM)
		stage->failed = rc;
	return rc;
}

int stage_commit_end(struct stage *stage, int rc, struct view *now)
{
	if (rc == 0) {
		close_file(stage->layer, stage->fd, stage->in_memory);
		/* Remove the staged file unless the layer has taken over that very file. */
		if (!stage->in_memory &&
		    (!stage->sealed || stage->seal.compressed || stage->seal.bytes))
			layer_unstage(stage->layer, stage->number);
		unseal(stage);
		stage->fd = -1;
		stage->content = now;
		stage->written = false;
		/* Without a view the bytes cannot be modified either. */
		stage->failed = now ? 0 : -ENOMEM;
		stage_set_trace(stage, NULL);
	}
	show(stage);
	pthread_mutex_unlock(&stage->lock);
	return rc;
}

int stage_commit_keep(struct stage *stage, int rc)
{
	if (rc == 0)
		stage->written = false;
	show(stage);
	pthread_mutex_unlock(&stage->lock);
	return rc;
}
