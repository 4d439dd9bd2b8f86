/* SPDX-License-Identifier: MIT */
/* finish.c - see finish.h. A thread works, and this one waits for it and for signals. */
#include "fs/mount/unmount.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often the status is brought up to date. */
#define TICK_NS 100000000

/* Tells the waiting thread that the work is done. */
#define DONE_SIGNAL SIGUSR1

struct work {
	struct fs *fs;
	struct status *status;
	bool write;
	pthread_t waiter;
	atomic_uint_fast32_t model; /* that is being written */
	atomic_bool done;
	int rc; /* the worker's, until it is done */
};

static void fill_signals(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGHUP);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
}

void finish_block_signals(void)
{
	sigset_t signals;

	fill_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static void say_outcome(struct status *status, const char *word, struct mounted *mounted,
			const char *more, const char *path)
{
	size_t size;
	char *text = assembly_text(mounted->assembly, &size), *line;

	if (text && asprintf(&line, "%.*s%s%s", (int)strcspn(text, "\n"), text, more, path) >= 0) {
		status_say(status, word, line);
		free(line);
	}
	free(text);
}

static void say_failure(struct status *status, struct mounted *mounted, const char *what,
			const char *path)
{
	char text[PATH_MAX + 400];

	snprintf(text, sizeof(text), "failed: %s: %s; the grafts are kept in %s",
		 mounted->model->name, what, path);
	status_say(status, "failed", text);
}

/* Write down what was grafted, and let go of what is written down. */
static int finish_model(struct work *work, struct mounted *mounted)
{
	struct model *model = mounted->model;
	const uint64_t before = assembly_stamp(mounted->assembly);
	char path[PATH_MAX];
	int rc;

	snprintf(path, sizeof(path), "%s", layer_path(model->layer));
	/* A model without some of its grafts is not what was promised. */
	rc = model->left_alone ? -EIO : assembly_finish(mounted->assembly);
	if (model->left_alone) {
		say_failure(work->status, mounted, "some of its grafts could not be taken up",
			    path);
	} else if (rc < 0) {
		say_outcome(work->status, "failed", mounted, "; the grafts are kept in ", path);
	} else {
		if (assembly_stamp(mounted->assembly) != before)
			say_outcome(work->status, "done", mounted, "", "");
		rc = layer_drop(model->layer);
		if (rc < 0)
			say_failure(work->status, mounted, strerror(-rc), path);
		else
			status_say(work->status, "drop", path);
	}
	if (rc < 0)
		log_add(model->log,
			"%s: the grafts are kept in %s for the next mount of this model",
			model->name, path);
	return rc;
}

/* For whoever sees the daemon killed. */
static void say_kept(struct work *work, const struct mounted *mounted)
{
	struct snapshot snapshot;

	if (model_snapshot(mounted->model, &snapshot) < 0)
		return;
	if (snapshot.grafts)
		status_say(work->status, "keep", layer_path(mounted->model->layer));
	snapshot_release(&snapshot);
}

static void *do_work(void *argument)
{
	struct work *work = argument;
	struct fs *fs = work->fs;

	fs_settle(fs);
	/* What is written is what a look would show, whether there was one or not. */
	if (work->write)
		links_refresh_last(fs->links);
	for (uint32_t i = 0; i < fs->collection->n; i++)
		say_kept(work, fs_now(fs, i));
	for (uint32_t i = 0; work->write && i < fs->collection->n; i++) {
		struct mounted *mounted = fs_now(fs, i);

		/* Nothing was grafted before all shards were there. */
		if (!mounted->model->whole)
			continue;
		atomic_store(&work->model, i);
		status_say(work->status, "begin", mounted->model->name);
		if (finish_model(work, mounted) < 0)
			work->rc = -EIO;
	}
	atomic_store(&work->done, true);
	pthread_kill(work->waiter, DONE_SIGNAL);
	return NULL;
}

static void show_progress(struct work *work)
{
	struct assembly_progress progress;
	struct mounted *mounted = fs_now(work->fs, (uint32_t)atomic_load(&work->model));

	if (assembly_progress(mounted->assembly, &progress))
		status_progress(work->status, progress.done, progress.total,
				(uint64_t)(progress.seconds * 1e3));
	else
		status_progress(work->status, 0, 0, 0);
}

static void wait_for(struct work *work)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	sigset_t signals;

	fill_signals(&signals);
	sigaddset(&signals, DONE_SIGNAL);
	while (!atomic_load(&work->done)) {
		const int number = sigtimedwait(&signals, NULL, &tick);

		/* Somebody who wanted shards to be looked for, or a session that ends: they are
		 * no reason to give up. */
		if (number > 0 && number != DONE_SIGNAL && number != SIGHUP) {
			log_add(work->fs->log, "%s: what is not yet written is given up",
				strsignal(number));
			for (uint32_t i = 0; i < work->fs->n_mounted; i++)
				assembly_cancel(work->fs->mounted[i].assembly);
		}
		show_progress(work);
	}
}

int finish(struct fs *fs, bool write, struct status *status)
{
	struct work work = { .fs = fs, .status = status, .write = write, .waiter = pthread_self() };
	sigset_t signals;
	pthread_t worker;

	sigemptyset(&signals);
	sigaddset(&signals, DONE_SIGNAL);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	status_progress(status, 0, 0, 0);
	if (pthread_create(&worker, NULL, do_work, &work) == 0) {
		wait_for(&work);
		pthread_join(worker, NULL);
	} else {
		do_work(&work);
	}
	return work.rc;
}
