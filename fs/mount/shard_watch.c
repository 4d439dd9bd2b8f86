/* SPDX-License-Identifier: MIT */
/* arrivals.c - see arrivals.h. */
#include "fs/mount/shard_watch.h"
#include "fs/mount/announce.h"
#include "fs/mount/mount.h"

#include <time.h>

/* A model that was made of other shards than the one before it comes into its place. */
static void take_place(struct fs *fs, struct mounted *old, struct model *model,
		       struct shards *shards)
{
	struct mounted *mounted = &fs->mounted[model->number];

	if (fs_mount_model(fs, mounted, model) < 0) {
		mounted_release(mounted);
		log_add(model->log, "%s: out of memory to look at its shards", model->name);
		collection_forget(fs->collection, model);
		return;
	}
	readings_inherit(mounted->readings, old->readings);
	digests_inherit(mounted->digests, old->digests);
	assembly_mounted(mounted->assembly, fs->device);
	atomic_store(&fs->n_mounted, fs->collection->n_all);
	nodes_renewed(fs->nodes, fs->collection->n_all);
	atomic_store(&model->first->latest, model);
	shards_end_gone(shards);
	announce_grafts(model, fs->options);
	/* Its layer may have grafts by link, at which nobody has looked yet. */
	links_refresh(fs->links, model);
}

static void look(struct fs *fs, struct mounted *old, bool again)
{
	struct shards *shards = shards_look(old->model->shards);
	struct error err = { 0 };
	struct model *model;
	char text[320];
	bool known;

	if (!shards)
		return;
	known = old->refused && shards_alike(shards, old->refused);
	if (known && !again) {
		shards_unref(shards);
		return;
	}
	if (!known)
		shards_tell(shards, old->model->shards, old->model->log);
	model = collection_renew(fs->collection, old->model, shards, &err);
	if (model) {
		take_place(fs, old, model, shards);
		shards_unref(shards);
		return;
	}
	log_add(old->model->log, "%s: its new shards cannot be used: %s", old->model->name,
		error_describe(&err, text, sizeof(text)));
	shards_unref(old->refused);
	old->refused = shards;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

void arrivals_look(struct fs *fs, bool again)
{
	struct timespec asked;

	clock_gettime(CLOCK_MONOTONIC, &asked);
	pthread_mutex_lock(&fs->looking);
	/* Of those who waited for their turn together, the first one looks for all. */
	if (!again && is_before(&asked, &fs->looked)) {
		pthread_mutex_unlock(&fs->looking);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &fs->looked);
	for (uint32_t i = 0; i < fs->collection->n; i++) {
		struct mounted *mounted = fs_now(fs, i);

		if (!mounted->model->whole)
			look(fs, mounted, again);
	}
	pthread_mutex_unlock(&fs->looking);
}
