/* SPDX-License-Identifier: MIT */
/* merge_edit.c - see merge_edit.h. */
#include "fs/edit/merge_edit.h"
#include "fs/edit/journal.h"
#include "fs/edit/merge_lookup.h"
#include "fs/layer/layer.h"
#include "fs/layer/layer_records.h"
#include "fs/merge/merge_config.h"
#include "fs/merge/merge_note.h"
#include "fs/merge/merge_plan.h"
#include "fs/model/adapters.h"
#include "fs/model/merge_force.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/util/clock.h"
#include "fs/util/log.h"
#include "fs/util/plural.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An attempt that takes longer is too slow to repeat at every lookup. */
#define LONG_MS 100

/* A merge on its way into force. */
struct merging {
	struct merge_lookup lookup;
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
	log_vadd(merging->lookup.model->log, merging->lookup.request->report, format, args);
	va_end(args);
}

/* Check, with the commit lock held, that the models, in the order of the configuration, have the
 * fingerprints that they had; one may be the base by now. */
static int check_again(struct merging *merging)
{
	const struct merge_state *again = merging->lookup.again;
	const struct merge_plan *plan = merging->plan;

	for (size_t i = 0; again && i < again->n_models && i < plan->n_files; i++) {
		const struct merge_note_model *was = &again->models[i];
		const struct merge_model *is = plan->files[i];
		const char *print =
			is->is_host ? model_fingerprint(merging->lookup.model) : is->fingerprint;

		if (was->fingerprint[0] && strcmp(print, was->fingerprint) != 0)
			return error_set(&merging->err, ESTALE, ERROR_NO_OFFSET,
					 "%.120s is another model now, or was changed; to merge "
					 "it, write the configuration again",
					 was->path);
	}
	return 0;
}

/* Read the configuration and plan the merge; changes nothing. */
static int plan(struct merging *merging)
{
	struct model *model = merging->lookup.model;
	const struct merge_plan_params params = { .host = model->base,
						  .gguf = model->gguf,
						  .open = merge_lookup_open,
						  .context = &merging->lookup,
						  .choice = model->merged,
						  .stop = merging->lookup.request
								  ? merging->lookup.request->stop
								  : NULL };
	int rc = merge_config_read(merging->lookup.of.text, merging->lookup.of.size,
				   &merging->config, &merging->err);

	if (rc < 0)
		return rc;
	merging->plan = merge_plan_new(&merging->config, &params, &merging->err);
	return merging->plan ? 0 : -merging->err.code;
}

/* Write the note of the prepared merge to the layer, with the commit lock held. */
static int keep(struct merging *merging, const struct merge_ready *ready)
{
	const struct layer_merge merge = { (char *)merge_ready_note(ready), merging->lookup.of.uid,
					   merging->lookup.of.gid, merging->lookup.of.mtime };
	const int rc = merge.text ? layer_write_merge(merging->lookup.model->layer, &merge) : 0;

	if (rc == -EFBIG)
		error_set(&merging->err, EFBIG, ERROR_NO_OFFSET,
			  "its note for the next mount would be longer than %" PRIu64 " MiB",
			  LAYER_MERGE_MAX >> 20);
	return rc;
}

/* Publish a merge with the commit lock held. journal_snapshot() waits meanwhile, because the
 * results of adapters are stale between the two steps. */
static void publish(struct model *model, struct merge_ready *ready)
{
	journal_begin_publish(model);
	merge_force_publish(model, ready);
	adapters_refresh(model);
	journal_end_publish(model);
}

/* Delete removals of slots that only the previous merge had, and types chosen for them, with the
 * commit lock held: without that merge they mean nothing, and a later merge shows its own tensors
 * there. Deletions that fail are reported by the next mount. */
static void forget_removals(struct model *model)
{
	const uint32_t n = slots_count(model->slots);

	for (uint32_t i = model->gguf->n_tensors; i < n; i++) {
		const struct organ_place *place = &model->places[i];
		const struct layer_undone undone = { LAYER_TYPED_SLOT, place->klass, place->name,
						     false };
		const struct slot_type none = { .is_set = false };
		struct content *own = slots_get_own(model->slots, i);
		struct content *beneath = slots_get_beneath(model->slots, i);

		if (content_is_whiteout(beneath) && content_is_whiteout(own) &&
		    (content_is_graft(own) || slots_type(model->slots, i).is_set)) {
			layer_undo(model->layer, &undone, 1);
			slots_set_type(model->slots, i, &none);
		}
		content_unref(beneath);
		content_unref(own);
	}
}

/* The caller holds the commit lock. */
static int put(struct merging *merging)
{
	struct model *model = merging->lookup.model;
	struct merge_ready *ready;
	bool kept;
	const struct merge_request *request = merging->lookup.request;
	int rc = merging->lookup.again ? 0 : journal_check(model);

	if (rc == 0 && request && request->check)
		rc = request->check(request->context, &merging->err);
	if (rc < 0)
		return rc;
	ready = merge_ready_new(model, merging->plan, merging->config.method, &merging->lookup.of,
				&merging->err);
	if (!ready)
		return -merging->err.code;
	/* If the models were opened again, the layer has the note already. */
	kept = !merging->lookup.again && !merging->lookup.request->temporary;
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
	struct merge_state *state = merge_force_get(merging->lookup.model);

	if (!state)
		return;
	say(merging,
	    ".merge: %s of %zu model%s is in force: %" PRIu32 " tensor%s %s computed at each "
	    "read, %" PRIu32 " in another type than the base's; %" PRIu32
	    " %s taken unchanged from one model",
	    state->method, state->n_models, plural(state->n_models), state->made,
	    plural(state->made), state->made == 1 ? "is" : "are", state->converted, state->passed,
	    state->passed == 1 ? "is" : "are");
	if (state->tokenizer)
		say(merging,
		    ".merge: the tokenizer of %.200s differs from the base's: one token may have "
		    "two meanings",
		    state->tokenizer);
	merge_state_unref(state);
}

/* Is the failure the machine's, not the configuration's? */
static bool is_of_machine(int rc)
{
	return rc == -ENOMEM || rc == -ENOSPC || rc == -EFBIG || rc == -EINTR;
}

/* Log a refusal: err, or without one the error code. An error of the configuration or its models is
 * EINVAL to the process that closed the file. */
static int refuse(const struct merging *merging, int rc)
{
	char text[LAYER_WHY];

	say(merging, ".merge: refused: %s; nothing is changed",
	    layer_why(merging->lookup.model->layer, &merging->err, rc, text));
	return merging->err.code && !is_of_machine(rc) ? -EINVAL : rc;
}

int merge_edit_write(struct model *model, const struct merge_request *request)
{
	struct merging merging = { .lookup = { .model = model,
					       .request = request,
					       .models = request->models,
					       .n_models = request->n_models,
					       .of = { .text = request->text,
						       .size = request->size,
						       .uid = request->uid,
						       .gid = request->gid } } };
	int rc = plan(&merging);

	clock_gettime(CLOCK_REALTIME, &merging.lookup.of.mtime);
	if (rc == 0) {
		journal_begin(model);
		rc = put(&merging);
		journal_end(model);
	}
	if (rc == 0)
		report_done(&merging);
	else
		rc = refuse(&merging, rc);
	release(&merging);
	return rc;
}

void merge_edit_publish_end(struct model *model, struct merge_ready *none)
{
	publish(model, none);
	forget_removals(model);
}

/* End the merge in force. is_kept: the layer records the merge. */
static int end(struct model *model, bool is_kept)
{
	struct error err = { 0 };
	struct merge_state *now;
	struct merge_ready *ready = NULL;
	int rc;

	journal_begin(model);
	now = merge_force_get(model);
	rc = now ? journal_check(model) : -ENOENT;
	if (rc == 0 && !(ready = merge_ready_new_none(model, &err)))
		rc = -err.code;
	if (rc == 0 && is_kept)
		rc = layer_undo(model->layer, &(struct layer_undone){ .item = LAYER_MERGE }, 1);
	if (rc == 0) {
		publish(model, ready);
		if (is_kept)
			forget_removals(model);
		ready = NULL;
	}
	merge_ready_free(ready);
	merge_state_unref(now);
	journal_end(model);
	return rc;
}

int merge_edit_take_back(struct model *model)
{
	return end(model, false);
}

int merge_edit_end(struct model *model)
{
	const int rc = end(model, true);

	if (rc == 0)
		log_add(model->log, ".merge: the merge has ended");
	else if (rc != -ENOENT)
		log_add(model->log, ".merge: cannot end the merge: %s; it stays in force",
			strerror(-rc));
	return rc;
}

/* Take up a merge; its text is used up. */
static int recover_merge(struct model *model, const struct layer_merge *merge, struct error *err)
{
	const struct merge_request_state of = { .mtime = merge->mtime,
						.uid = merge->uid,
						.gid = merge->gid };
	/* Its models are opened once this mount is there. */
	struct merge_ready *ready =
		merge_ready_new_broken(model, merge->text, "its models were not opened yet", &of,
				       err);

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
		return error_errno(err, ENOMEM);
	return error_set(err, -rc, ERROR_NO_OFFSET,
			 "the merge in its layer cannot be read: %.100s; to go on without it: "
			 "sqlite3 %s/layer.db 'DELETE FROM merge'",
			 why.code	  ? error_describe(&why, text, sizeof(text))
			 : rc == -EBADMSG ? "not text"
					  : strerror(-rc),
			 layer_path(model->layer));
}

/* Record a new reason why the merge is broken, with the commit lock held. */
static void renew_reason(struct merging *merging, const char *why)
{
	struct model *model = merging->lookup.model;
	struct error err = { 0 };
	char *note = strdup(merging->lookup.again->note);
	struct merge_ready *ready =
		note ? merge_ready_new_broken(model, note, why, &merging->lookup.of, &err) : NULL;

	if (ready)
		publish(model, ready);
}

/* Publish the repaired merge, or the new reason, unless another merge is in force by now. The
 * caller holds the commit lock. Returns 0 or -errno. */
static int renew(struct merging *merging, int rc)
{
	struct model *model = merging->lookup.model;
	struct merge_state *now = merge_force_get(model);
	char why[320];

	if (now == merging->lookup.again && rc == 0)
		rc = check_again(merging);
	if (now == merging->lookup.again && rc == 0)
		rc = put(merging);
	if (now == merging->lookup.again && rc < 0) {
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

/* Set the back-off of the next attempt, because every lookup of a name makes one: ten times the
 * duration of a slow attempt, one second after reading another model in vain. A probe without an
 * answer needs none, since the next probes are hurried. */
static void put_off(const struct merging *merging, int64_t begun, int64_t done)
{
	int64_t pause = 0;

	if (done - begun > LONG_MS && !merging->lookup.silent)
		pause = 10 * (done - begun) + 1000;
	else if (merging->err.code == ESTALE)
		pause = 1000;
	merging->lookup.model->merge_again = done + pause;
}

bool merge_edit_refresh(struct model *model, struct model *const *models, uint32_t n, bool hurried)
{
	struct merging merging = {
		.lookup = { .model = model, .models = models, .n_models = n, .hurried = hurried }
	};
	struct merge_state *state = merge_force_get(model);
	const int64_t begun = clock_ms();
	int64_t done;
	int rc;

	if (state && state->broken && begun >= model->merge_again) {
		merging.lookup.again = state;
		merging.lookup.of =
			(struct merge_request_state){ state->text, state->size, state->mtime,
						      state->uid, state->gid };
		rc = plan(&merging);
		done = clock_ms();
		journal_begin(model);
		rc = renew(&merging, rc);
		journal_end(model);
		if (rc < 0)
			put_off(&merging, begun, done);
		release(&merging);
	}
	merge_state_unref(state);
	return merging.lookup.silent;
}
