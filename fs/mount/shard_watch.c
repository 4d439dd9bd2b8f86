/* SPDX-License-Identifier: MIT */
/* shard_watch.c - see shard_watch.h. */
#include "fs/mount/shard_watch.h"
#include "fs/base/shards.h"
#include "fs/edit/symlinks.h"
#include "fs/files/assembly.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_hashes.h"
#include "fs/lazy/tensor_losses.h"
#include "fs/model/slots.h"
#include "fs/mount/mount.h"
#include "fs/util/log.h"
#include "fs/util/time_order.h"
#include "gguf/error.h"

#include <time.h>

/* Put a model of the new shards in the place of the old one. */
static void take_place(struct mount *fs, struct model_files *old, struct model *model,
		       struct shards *shards)
{
	struct model_files *model_files = &fs->model_files[model->number];

	if (mount_add_model(fs, model_files, model) < 0) {
		model_files_release(model_files);
		log_add(model->log, "%s: out of memory; its new shards are not used", model->name);
		models_discard(fs->models, model);
		return;
	}
	memo_inherit(model_files->measures, old->measures);
	for (enum hash_kind kind = 0; kind < HASH_KINDS; kind++)
		memo_inherit(model_files->hashes->kinds[kind], old->hashes->kinds[kind]);
	for (uint32_t i = 0; i < ORGAN_VIEW_TYPE_COUNT; i++)
		memo_inherit(model_files->losses->types[i], old->losses->types[i]);
	assembly_set_mount(model_files->assembly, fs->device, fs->models->models, fs->models->n);
	atomic_store(&fs->n_model_files, fs->models->n_all);
	inodes_set_models(fs->inodes, fs->models->n_all);
	atomic_store(&model->first->latest, model);
	shards_revoke_gone(shards);
	models_announce_grafts(model, fs->options);
	/* The layer may have grafts by link, which are still to be resolved. */
	symlinks_refresh(fs->links, model);
	/* Processes may wait for a change of .grafts, and the new model has another one. */
	if (fs->listener.changed)
		fs->listener.changed(fs->listener.context, model);
}

static void look(struct mount *fs, struct model_files *old, bool again)
{
	struct shards *shards = shards_rescan(old->model->shards);
	struct error err = { 0 };
	struct model *model;
	char text[320];
	bool known;

	if (!shards)
		return;
	known = old->refused && shards_same(shards, old->refused);
	if (known && !again) {
		shards_unref(shards);
		return;
	}
	if (!known)
		shards_log(shards, old->model->shards, old->model->log);
	model = models_open_replacement(fs->models, old->model, shards, &err);
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

void shard_watch_check(struct mount *fs, bool again)
{
	struct timespec asked;

	clock_gettime(CLOCK_MONOTONIC, &asked);
	pthread_mutex_lock(&fs->shards_lock);
	/* If several threads waited for the lock, the first one's check serves all of them. */
	if (!again && is_earlier(&asked, &fs->shards_checked)) {
		pthread_mutex_unlock(&fs->shards_lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &fs->shards_checked);
	for (uint32_t i = 0; i < fs->models->n; i++) {
		struct model_files *model_files = mount_model_files_at(fs, i);

		if (!model_files->model->whole)
			look(fs, model_files, again);
	}
	pthread_mutex_unlock(&fs->shards_lock);
}
