/* SPDX-License-Identifier: MIT */
/* unmount.c - see unmount.h. A worker thread assembles; the calling thread waits for the worker and
 * for signals. */
#include "fs/mount/unmount.h"
#include "fs/edit/symlinks.h"
#include "fs/files/assembly.h"
#include "fs/layer/layer.h"
#include "fs/model/inode.h"
#include "fs/model/slots.h"
#include "fs/mount/mount.h"
#include "fs/mount/unmount_status.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"
#include "fs/util/plural.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Interval between updates of the status. */
#define TICK_NS 100000000

/* Tells the waiting thread that the work is done. */
#define DONE_SIGNAL SIGUSR1

struct work {
	struct mount *fs;
	struct unmount_status *status;
	bool write;
	pthread_t waiter;
	atomic_uint_fast32_t model; /* number of the model being written */
	atomic_bool done;
	int rc; /* owned by the worker until done is set */
};

static void fill_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
}

void unmount_block_signals(void)
{
	sigset_t signals;

	fill_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static void report_outcome(struct unmount_status *status, const char *word,
			   struct model_files *model_files, const char *more, const char *path)
{
	size_t size;
	char *text = assembly_status(model_files->assembly, &size), *line;

	if (text && asprintf(&line, "%.*s%s%s", (int)strcspn(text, "\n"), text, more, path) >= 0) {
		unmount_status_add(status, word, line);
		free(line);
	}
	free(text);
}

static void report_failure(struct unmount_status *status, struct model_files *model_files,
			   const char *what, const char *path)
{
	char text[PATH_MAX + 400];

	snprintf(text, sizeof(text), "failed: %s: %s; the grafts are kept in %s",
		 model_files->model->name, what, path);
	unmount_status_add(status, "failed", text);
}

/* Put the verdict into the status, which umount prints for the user. */
static void report_impossible(struct unmount_status *status, struct model_files *model_files)
{
	char *text = assembly_impossible(model_files->assembly);

	if (text)
		unmount_status_add(status, "impossible", text);
	free(text);
}

/* Assemble a model, and delete its layer after success. Returns as unmount_finish(). */
static int finish_model(struct work *work, struct model_files *model_files)
{
	struct model *model = model_files->model;
	const uint64_t before = assembly_status_generation(model_files->assembly);
	char path[PATH_MAX];
	bool impossible;
	int rc;

	snprintf(path, sizeof(path), "%s", layer_path(model->layer));
	/* Assemble nothing if some grafts could not be taken up: the model would lack them. */
	rc = model->left_alone ? -EIO : assembly_run_at_unmount(model_files->assembly);
	impossible = rc > 0;
	if (model->left_alone) {
		report_failure(work->status, model_files,
			       "some of its grafts could not be taken up", path);
	} else if (rc < 0) {
		report_outcome(work->status, "failed", model_files,
			       rc == -ENOSPC || rc == -EDQUOT || rc == -EROFS || rc == -EACCES
				       ? "; mount the model again with -o output=FILE in another "
					 "place, and unmount it: the grafts are kept in "
				       : "; the grafts are kept in ",
			       path);
	} else {
		if (assembly_status_generation(model_files->assembly) != before)
			report_outcome(work->status, "done", model_files, "", "");
		if (impossible)
			report_impossible(work->status, model_files);
		rc = layer_delete(model->layer);
		if (rc < 0)
			report_failure(work->status, model_files, strerror(-rc), path);
		else
			unmount_status_add(work->status, "drop", path);
	}
	if (rc < 0)
		log_add(model->log,
			"%s: the grafts are kept in %s for the next mount of this model",
			model->name, path);
	return rc == 0 && impossible ? 1 : rc;
}

/* Put the layer's path into the status, for the case that the daemon is killed. */
static void report_kept(struct work *work, const struct model_files *model_files)
{
	struct snapshot snapshot;

	/* Without a layer a merge may be in force, but nothing is kept. */
	if (!model_files->model->layer || model_snapshot(model_files->model, &snapshot) < 0)
		return;
	if (snapshot.grafts)
		unmount_status_add(work->status, "keep", layer_path(model_files->model->layer));
	snapshot_release(&snapshot);
}

/* Report the private files, whose content ends with the mount. */
static void report_private(struct work *work, const struct model *model)
{
	struct mount *fs = work->fs;
	char name[NAME_MAX + 1], first[NAME_MAX + 32] = "", text[NAME_MAX + 400];
	uint64_t n = 0, number;

	for (unsigned klass = 0; klass <= CLASSES; klass++) {
		const uint64_t directory = klass < CLASSES
						   ? inode_of_directory(model, INODE_CLASS, klass)
						   : inode_of_directory(model, INODE_METADATA, 0);

		for (number = 0; tree_next_private(&fs->tree, directory, &number, name); n++) {
			log_add(model->log, "%s/%s: a private file, gone with the mount",
				tree_title(directory), name);
			if (n == 0)
				snprintf(first, sizeof(first), "%s/%s", tree_title(directory),
					 name);
		}
	}
	if (n == 0)
		return;
	snprintf(text, sizeof(text),
		 "%.100s: %" PRIu64 " private file%s gone with the mount, the first %s; "
		 "copy such files out before an unmount",
		 model->name, n, plural(n), first);
	unmount_status_add(work->status, "gone", text);
}

static void *do_work(void *argument)
{
	struct work *work = argument;
	struct mount *fs = work->fs;

	mount_drain(fs);
	for (uint32_t i = 0; i < fs->models->n; i++)
		report_private(work, mount_model_files_at(fs, i)->model);
	/* Resolve the links again, so that the assembled model equals the one that a reader of the
	 * mount would have seen. */
	if (work->write)
		symlinks_refresh_last(fs->links);
	for (uint32_t i = 0; i < fs->models->n; i++)
		report_kept(work, mount_model_files_at(fs, i));
	for (uint32_t i = 0; work->write && i < fs->models->n; i++) {
		struct model_files *model_files = mount_model_files_at(fs, i);
		int rc;

		/* A model without all its shards takes no grafts. */
		if (!model_files->model->whole)
			continue;
		atomic_store(&work->model, i);
		unmount_status_add(work->status, "begin", model_files->model->name);
		rc = finish_model(work, model_files);
		if (rc < 0)
			work->rc = -EIO;
		else if (rc > 0 && work->rc == 0)
			work->rc = rc;
	}
	atomic_store(&work->done, true);
	pthread_kill(work->waiter, DONE_SIGNAL);
	return NULL;
}

static void show_progress(struct work *work)
{
	struct assembly_progress progress;
	struct model_files *model_files =
		mount_model_files_at(work->fs, (uint32_t)atomic_load(&work->model));

	if (assembly_progress(model_files->assembly, &progress))
		unmount_status_progress(work->status, progress.done, progress.total,
					(uint64_t)(progress.seconds * 1e3));
	else
		unmount_status_progress(work->status, 0, 0, 0);
}

static void wait_for(struct work *work)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	sigset_t signals;

	fill_signals(&signals);
	sigaddset(&signals, DONE_SIGNAL);
	while (!atomic_load(&work->done)) {
		const int number = sigtimedwait(&signals, NULL, &tick);

		/* SIGHUP asks for a check of the shards, or comes at the end of a login session:
		 * neither cancels the assembly. */
		if (number > 0 && number != DONE_SIGNAL && number != SIGHUP) {
			log_add(work->fs->log,
				"%s: assembly cancelled; the grafts not yet written are kept",
				strsignal(number));
			for (uint32_t i = 0; i < work->fs->n_model_files; i++)
				assembly_cancel(work->fs->model_files[i].assembly);
		}
		show_progress(work);
	}
}

int unmount_finish(struct mount *fs, bool write, struct unmount_status *status)
{
	struct work work = { .fs = fs, .status = status, .write = write, .waiter = pthread_self() };
	sigset_t signals;
	pthread_t worker;

	sigemptyset(&signals);
	sigaddset(&signals, DONE_SIGNAL);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	unmount_status_progress(status, 0, 0, 0);
	if (pthread_create(&worker, NULL, do_work, &work) == 0) {
		wait_for(&work);
		pthread_join(worker, NULL);
	} else {
		do_work(&work);
	}
	return work.rc;
}
