/* SPDX-License-Identifier: MIT */
/* merge_edit.c - see merge_edit.h. */
#include "fs/edit/merge_edit.h"
#include "fs/base/shards.h"
#include "fs/edit/graft_internal.h"
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "fs/edit/symlinks.h"
#include "fs/layer/layer_records.h"
#include "fs/merge/merge_config.h"
#include "fs/merge/merge_models.h"
#include "fs/merge/merge_note.h"
#include "fs/merge/merge_plan.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/model/merge_force.h"
#include "fs/storage/backing.h"
#include "fs/util/credentials.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/plural.h"
#include "fs/util/time_order.h"
#include "fs/util/url.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Models of an earlier mount's merge are opened once this one is there. */
#define NOT_YET "its models were not opened yet"

/* To try again for longer is too long for every lookup. */
#define LONG_MS 100

/* A merge on its way into force. */
struct merging {
	struct model *model;
	const struct merge_request *request;
	const struct merge_state *again; /* whose models are where it says; NULL: a new merge */
	struct model *const *models;	 /* of the mount, n_models of them */
	uint32_t n_models;
	struct merge_request_state of; /* the text, and whose it is */
	bool hurried;
	bool silent; /* there was no answer from a model */
	struct merge_config config;
	struct merge_plan *plan;
	struct error err;
};

static void say(const struct merging *merging, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const struct merging *merging, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_vadd(merging->model->log, merging->request->report, format, args);
	va_end(args);
}

/* Opening the models. All below return 0 or -errno with err set. */

static int out_of_memory(struct error *err)
{
	return error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* With the rights of the user. */
static int open_as(const struct merging *merging, const char *path, struct base *base, char **found,
		   struct error *err)
{
	struct credentials before;
	int rc = credentials_assume(merging->of.uid, merging->of.gid, &before);

	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET,
				 "the rights of the user cannot be assumed");
	rc = merge_open_by_path("/", path, merging->model->remote, base, found, err);
	credentials_restore(&before);
	return rc;
}

/* What is at the absolute path, which may never answer, and may be in this mount. */
static int probe(struct merging *merging, const char *path, struct base *base, struct error *err)
{
	const int rc =
		symlinks_gguf(merging->model, path, merging->of.uid, merging->of.gid,
			      merging->hurried || merging->silent, &base->file, &base->gguf, err);

	merging->silent |= rc == -ETIMEDOUT;
	return rc;
}

/* The GGUF at the path, or with ".gguf", or the split model that it means. -ENOENT: there is
 * none. */
static int open_path(struct merging *merging, const char *path, struct base *base, char **found,
		     struct error *err)
{
	char *longer = NULL;
	struct error why = { 0 };
	const char *at = path;
	int rc;

	if (asprintf(&longer, "%s.gguf", path) < 0)
		return out_of_memory(err);
	rc = probe(merging, path, base, &why);
	if (rc == -ENOENT) {
		at = longer;
		rc = probe(merging, at, base, &why);
	}
	if (rc == 0 && paths_shard_prefix(basename(at)) == 0) {
		*found = strdup(at);
		rc = *found ? 0 : out_of_memory(err);
	} else if (rc == 0 || rc == -ENOENT) {
		/* Directories of what has answered are looked into. */
		base_close(base);
		*base = (struct base){ .file = NULL };
		rc = open_as(merging, path, base, found, err);
	} else {
		char text[200];

		error_set(err, -rc, ERROR_NO_OFFSET, "\"%.120s\" cannot be read: %s", path,
			  error_describe(&why, text, sizeof(text)));
	}
	free(longer);
	return rc;
}

/* What the mount has open of the base of a model, which its users may read through that. By now
 * another file may have the path, or the path may lead into this mount, whose threads answer
 * nothing before it is there. What is merged into is known to the plan: it is not parsed again. */
static int open_mounted(const struct merging *merging, const struct model *model, struct base *base,
			char **path, struct error *err)
{
	struct source source;

	*path = strdup(backing_path(model->base));
	if (!*path)
		return out_of_memory(err);
	if (model != merging->model && model->shards)
		return base_open_shards(base, model->shards, err);
	base->file = backing_ref(model->base);
	base->shards = model->shards ? shards_ref(model->shards) : NULL;
	if (model == merging->model)
		return 0;
	source = backing_source(base->file);
	base->gguf = gguf_read(&source, err);
	return base->gguf ? 0 : -err->code;
}

/* The model of the mount that is called so. */
static const struct model *find_mounted(const struct merging *merging, const char *written)
{
	for (uint32_t i = 0; i < merging->n_models; i++) {
		const struct model *model = model_latest(merging->models[i]);

		if (strcmp(model->shown ? model->shown : model->name, written) == 0)
			return model;
	}
	return NULL;
}

/* The same at a later mount, where its base lies at the same place and only the mount may be able
 * to open it: a directory of organ files, or what lies on a server, which may want a password. */
static const struct model *find_mounted_again(const struct merging *merging, const char *written,
					      const char *was)
{
	const struct model *model = find_mounted(merging, written);

	if (!model || strcmp(backing_path(model->base), was) != 0)
		return NULL;
	return url_is_remote(was) || (model->shards && shards_are_organs(model->shards)) ? model
											 : NULL;
}

static int open_beside(struct merging *merging, const char *directory, const char *written,
		       struct base *base, char **path, struct error *err)
{
	char *named;
	int rc;

	if (asprintf(&named, "%s/%s", directory, written) < 0)
		return out_of_memory(err);
	rc = open_path(merging, named, base, path, err);
	free(named);
	return rc;
}

static int open_file_url(struct merging *merging, const char *url, struct base *base, char **path,
			 struct error *err)
{
	char *named = url_file_path(url);
	int rc;

	if (!named)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "\"%.120s\" names no file of this machine", url);
	rc = open_path(merging, named, base, path, err);
	free(named);
	return rc;
}

static int open_written(struct merging *merging, const char *written, struct base *base,
			char **path, struct error *err)
{
	const struct merge_request *request = merging->request;
	const struct model *mounted;
	int rc = -ENOENT;

	for (size_t i = 0; i < request->n_found; i++) {
		const struct merge_found *found = &request->found[i];

		if (strcmp(found->written, written) == 0)
			return found->model ? open_mounted(merging, found->model, base, path, err)
					    : open_path(merging, found->path, base, path, err);
	}
	mounted = find_mounted(merging, written);
	if (mounted)
		return open_mounted(merging, mounted, base, path, err);
	if (url_is_remote(written))
		return open_as(merging, written, base, path, err);
	if (url_is_file(written))
		return open_file_url(merging, written, base, path, err);
	if (written[0] == '/')
		return open_path(merging, written, base, path, err);
	for (size_t i = 0; rc == -ENOENT && i < 2; i++)
		if (request->directories[i])
			rc = open_beside(merging, request->directories[i], written, base, path,
					 err);
	if (rc == -ENOENT && merge_looks_like_hub_id(written))
		error_set(err, ENOENT, ERROR_NO_OFFSET,
			  "there is no file \"%.80s\"; of Hugging Face nothing is downloaded here: "
			  "the path of a GGUF is needed",
			  written);
	else if (rc == -ENOENT)
		error_set(err, ENOENT, ERROR_NO_OFFSET,
			  "there is no file \"%.80s\", with \".gguf\" or without, from %s%.120s",
			  written,
			  request->directories[0] ? "the directory " : "no directory that is known",
			  request->directories[0] ? request->directories[0] : "");
	return rc;
}

/* Where it was when the merge was put in force; without a path it was the base. */
static int open_again(struct merging *merging, const char *written, struct base *base, char **path,
		      struct error *err)
{
	const struct merge_state *again = merging->again;
	const struct model *model = merging->model;

	for (size_t i = 0; i < again->n_models; i++) {
		const char *was = again->models[i].path;
		const struct model *mounted = model;

		if (strcmp(again->models[i].written, written) != 0)
			continue;
		if (*was && strcmp(was, backing_path(model->base)) != 0)
			mounted = find_mounted_again(merging, written, was);
		if (mounted)
			return open_mounted(merging, mounted, base, path, err);
		/* Where a URL led is kept without what grants access. */
		if (url_is_remote(written) || url_is_remote(was))
			return open_as(merging, url_is_remote(written) ? written : was, base, path,
				       err);
		return open_path(merging, was, base, path, err);
	}
	return error_set(err, EINVAL, ERROR_NO_OFFSET, "where it was found is not noted");
}

/* Is it a file that a model of the mount has open? Its log is that model's. */
static bool is_mounted(const struct merging *merging, const struct backing *file)
{
	bool mounted = file == merging->model->base;

	for (uint32_t i = 0; i < merging->n_models; i++)
		mounted |= file == model_latest(merging->models[i])->base;
	return mounted;
}

static int open_model(void *context, const char *written, struct base *base, char **path,
		      struct error *err)
{
	struct merging *merging = context;
	int rc;

	*base = (struct base){ .file = NULL };
	*path = NULL;
	rc = merging->again ? open_again(merging, written, base, path, err)
			    : open_written(merging, written, base, path, err);
	if (rc == 0 && base->file)
		backing_announce(base->file, FILE_USE_DONOR);
	if (rc == 0 && base->file && !is_mounted(merging, base->file))
		backing_set_log(base->file, merging->model->log);
	return rc;
}

/* With the commit lock held: what was merged is what is merged again, in the order of the
 * configuration; by now it may lie at the base's place. */
static int check_again(struct merging *merging)
{
	const struct merge_state *again = merging->again;
	const struct merge_plan *plan = merging->plan;

	for (size_t i = 0; again && i < again->n_models && i < plan->n_models; i++) {
		const struct merge_note_model *was = &again->models[i];
		const struct merge_model *is = &plan->models[i];
		const char *print =
			is->is_form ? model_fingerprint(merging->model) : is->fingerprint;

		if (was->fingerprint[0] && strcmp(print, was->fingerprint) != 0)
			return error_set(&merging->err, ESTALE, ERROR_NO_OFFSET,
					 "%.120s is another model now, or was changed; to merge "
					 "that write the configuration once more",
					 was->path);
	}
	return 0;
}

/* Read and planned: nothing is changed yet. */
static int plan(struct merging *merging)
{
	struct model *model = merging->model;
	const struct merge_plan_params params = { .form = model->base,
						  .gguf = model->gguf,
						  .open = open_model,
						  .context = merging,
						  .choice = model->merged,
						  .stop = merging->request ? merging->request->stop
									   : NULL };
	int rc = merge_config_read(merging->of.text, merging->of.size, &merging->config,
				   &merging->err);

	if (rc < 0)
		return rc;
	merging->plan = merge_plan_new(&merging->config, &params, &merging->err);
	return merging->plan ? 0 : -merging->err.code;
}

/* With the commit lock held: the layer has the note of what is about to be in force. */
static int keep(struct merging *merging, const struct merge_ready *ready)
{
	const struct layer_merge merge = { (char *)merge_ready_note(ready), merging->of.uid,
					   merging->of.gid, merging->of.mtime };
	const int rc = merge.text ? layer_write_merge(merging->model->layer, &merge) : 0;

	if (rc == -EFBIG)
		error_set(&merging->err, EFBIG, ERROR_NO_OFFSET,
			  "what is to be kept of it for the next mount is longer than %" PRIu64
			  " MiB",
			  LAYER_MERGE_MAX >> 20);
	return rc;
}

/* With the commit lock held: between the two, adapters are not in what slots show. */
static void publish(struct model *model, struct merge_ready *ready)
{
	journal_begin_publish(model);
	merge_force_publish(model, ready);
	adapters_refresh(model);
	journal_end_publish(model);
}

/* With the commit lock held: removals by users of slots that only the merge had which was in force
 * say nothing without it, and a merge to come shows its own there. What the disk refuses is left:
 * the next mount says so. */
static void forget_removals(struct model *model)
{
	const uint32_t n = slots_count(model->slots);

	for (uint32_t i = model->gguf->n_tensors; i < n; i++) {
		const struct organ_place *place = &model->places[i];
		struct content *own = slots_own(model->slots, i);
		struct content *beneath = slots_beneath(model->slots, i);

		if (content_is_whiteout(beneath) && content_is_graft(own) &&
		    content_is_whiteout(own))
			layer_revert(model->layer, place->klass, place->name, NULL);
		content_unref(beneath);
		content_unref(own);
	}
}

/* With the commit lock held. */
static int put(struct merging *merging)
{
	struct model *model = merging->model;
	struct merge_ready *ready;
	bool kept;
	int rc = merging->again ? 0 : journal_check(model);

	if (rc < 0)
		return rc;
	ready = merge_ready_new(model, merging->plan, merging->config.method, &merging->of,
				&merging->err);
	if (!ready)
		return -merging->err.code;
	/* The layer has the note of one whose models are opened again. */
	kept = !merging->again && !merging->request->passing;
	if (kept)
		rc = keep(merging, ready);
	if (rc < 0) {
		merge_ready_free(ready);
		return rc;
	}
	publish(model, ready);
	if (kept)
		forget_removals(model);
	return 0;
}

static void release(struct merging *merging)
{
	merge_plan_free(merging->plan);
	merge_config_release(&merging->config);
}

static void report_done(const struct merging *merging)
{
	struct merge_state *state = merge_force_get(merging->model);

	if (!state)
		return;
	say(merging,
	    ".merge: %s of %zu model%s is in force: %" PRIu32 " tensor%s %s made as they are "
	    "read, %" PRIu32 " of them in another type than the base's; %" PRIu32
	    " %s one model's as they are",
	    state->method, state->n_models, plural(state->n_models), state->made,
	    plural(state->made), state->made == 1 ? "is" : "are", state->converted, state->passed,
	    state->passed == 1 ? "is" : "are");
	if (state->tokenizer)
		say(merging,
		    ".merge: the tokenizer of %.200s is another than the base's: the same token "
		    "may mean something else to it",
		    state->tokenizer);
	merge_state_unref(state);
}

/* What the configuration is not to blame for. */
static bool is_of_machine(int rc)
{
	return rc == -ENOMEM || rc == -ENOSPC || rc == -EFBIG || rc == -EINTR;
}

/* What the disk said has no sentence yet. What is wrong with the configuration, and with its
 * models, is an invalid argument to the process that closed it. */
static int refuse(const struct merging *merging, int rc)
{
	char text[320];

	say(merging, ".merge: refused: %s; nothing is changed",
	    merging->err.code ? error_describe(&merging->err, text, sizeof(text)) : strerror(-rc));
	return merging->err.code && !is_of_machine(rc) ? -EINVAL : rc;
}

int merge_edit_write(struct model *model, const struct merge_request *request)
{
	struct merging merging = { .model = model,
				   .request = request,
				   .of = { .text = request->text,
					   .size = request->size,
					   .uid = request->uid,
					   .gid = request->gid },
				   .models = request->models,
				   .n_models = request->n_models };
	int rc = plan(&merging);

	clock_gettime(CLOCK_REALTIME, &merging.of.mtime);
	if (rc == 0) {
		/* A thread that changes an expert would put back what its stack held before. */
		pthread_mutex_lock(&model->experts_lock);
		journal_begin(model);
		rc = put(&merging);
		journal_end(model);
		pthread_mutex_unlock(&model->experts_lock);
	}
	if (rc == 0)
		report_done(&merging);
	else
		rc = refuse(&merging, rc);
	release(&merging);
	return rc;
}

/* With the commit lock held. is_kept: the layer has it. */
static int end(struct model *model, bool is_kept)
{
	struct error err = { 0 };
	struct merge_state *now = merge_force_get(model);
	struct merge_ready *ready = NULL;
	int rc = now ? journal_check(model) : -ENOENT;

	if (rc == 0 && !(ready = merge_ready_new_none(model, &err)))
		rc = -err.code;
	if (rc == 0 && is_kept)
		rc = layer_drop_merge(model->layer);
	if (rc == 0) {
		publish(model, ready);
		if (is_kept)
			forget_removals(model);
		ready = NULL;
	}
	merge_ready_free(ready);
	merge_state_unref(now);
	return rc;
}

static int end_alone(struct model *model, bool is_kept)
{
	int rc;

	pthread_mutex_lock(&model->experts_lock);
	journal_begin(model);
	rc = end(model, is_kept);
	journal_end(model);
	pthread_mutex_unlock(&model->experts_lock);
	return rc;
}

int merge_edit_take_back(struct model *model)
{
	return end_alone(model, false);
}

int merge_edit_end(struct model *model)
{
	const int rc = end_alone(model, true);

	if (rc == 0)
		log_add(model->log, ".merge: no merge is in force any more");
	else if (rc != -ENOENT)
		log_add(model->log, ".merge: cannot be removed: %s", strerror(-rc));
	return rc;
}

/* The text becomes the merge's. */
static int recover_merge(struct model *model, const struct layer_merge *merge, struct error *err)
{
	const struct merge_request_state of = { .mtime = merge->mtime,
						.uid = merge->uid,
						.gid = merge->gid };
	struct merge_ready *ready = merge_ready_new_broken(model, merge->text, NOT_YET, &of, err);

	if (!ready)
		return -err->code;
	publish(model, ready);
	return 0;
}

int merge_edit_recover(struct model *model, struct error *err)
{
	struct error why = { 0 };
	struct layer_merge merge;
	char text[200];
	int rc = layer_read_merge(model->layer, &merge);

	if (rc > 0)
		rc = recover_merge(model, &merge, &why);
	if (rc == 0)
		return 0;
	if (rc == -ENOMEM)
		return out_of_memory(err);
	return error_set(err, -rc, ERROR_NO_OFFSET,
			 "the merge in its layer cannot be read: %.100s; to go on without it: "
			 "sqlite3 %s/layer.db 'DELETE FROM merge'",
			 why.code	  ? error_describe(&why, text, sizeof(text))
			 : rc == -EBADMSG ? "this is no text"
					  : strerror(-rc),
			 layer_path(model->layer));
}

/* With the commit lock held: it stays broken, for another reason. */
static void renew_reason(struct merging *merging, const char *why)
{
	struct model *model = merging->model;
	struct error err = { 0 };
	char *note = strdup(merging->again->note);
	struct merge_ready *ready =
		note ? merge_ready_new_broken(model, note, why, &merging->of, &err) : NULL;

	if (ready)
		publish(model, ready);
}

/* With the commit lock held: unless another merge is in force by now. Returns what came of it. */
static int renew(struct merging *merging, int rc)
{
	struct model *model = merging->model;
	struct merge_state *now = merge_force_get(model);
	char why[320];

	if (now == merging->again && rc == 0)
		rc = check_again(merging);
	if (now == merging->again && rc == 0)
		rc = put(merging);
	if (now == merging->again && rc < 0) {
		if (merging->err.code)
			error_describe(&merging->err, why, sizeof(why));
		else
			snprintf(why, sizeof(why), "%s", strerror(-rc));
		if (strcmp(now->broken, why) != 0) {
			log_add(model->log, ".merge: its tensors cannot be read: %s", why);
			renew_reason(merging, why);
		}
	}
	merge_state_unref(now);
	return rc;
}

/* Every lookup of a name tries again: what took long is left alone for ten times as long, and what
 * was read for nothing, as it is another model, for a second. A probe that gets no answer is in no
 * need of that, for the next ones are hurried. */
static void put_off(const struct merging *merging, const struct timespec *begun,
		    const struct timespec *done)
{
	struct timespec *again = &merging->model->merge_again;
	const int64_t took =
		(done->tv_sec - begun->tv_sec) * 1000 + (done->tv_nsec - begun->tv_nsec) / 1000000;

	*again = *done;
	if (took > LONG_MS && !merging->silent)
		again->tv_sec += took / 100 + 1;
	else if (merging->err.code == ESTALE)
		again->tv_sec++;
}

bool merge_edit_refresh(struct model *model, struct model *const *models, uint32_t n, bool hurried)
{
	struct merging merging = {
		.model = model, .hurried = hurried, .models = models, .n_models = n
	};
	struct merge_state *state = merge_force_get(model);
	struct timespec begun, done;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	if (state && state->broken && !is_earlier(&begun, &model->merge_again)) {
		merging.again = state;
		merging.of = (struct merge_request_state){ state->text, state->size, state->mtime,
							   state->uid, state->gid };
		rc = plan(&merging);
		clock_gettime(CLOCK_MONOTONIC, &done);
		journal_begin(model);
		rc = renew(&merging, rc);
		journal_end(model);
		if (rc < 0)
			put_off(&merging, &begun, &done);
		release(&merging);
	}
	merge_state_unref(state);
	return merging.silent;
}
