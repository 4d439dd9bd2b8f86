/* SPDX-License-Identifier: MIT */
/* journal.c - see journal.h. */
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "fs/layer/layer.h"
#include "fs/layer/layer_records.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/slots.h"

#include <errno.h>
#include <string.h>

void journal_begin(struct model *model)
{
	struct journal *journal = &model->journal;

	pthread_mutex_lock(&journal->commit);
	journal->exclusive++;
	while (journal->waiting)
		pthread_cond_wait(&journal->moved, &journal->commit);
	/* Wake the grafts that gave way to this thread. */
	if (--journal->exclusive == 0)
		pthread_cond_broadcast(&journal->moved);
}

void journal_end(struct model *model)
{
	const struct model_listener *listener = model->listener;

	pthread_mutex_unlock(&model->journal.commit);
	if (listener && listener->changed)
		listener->changed(listener->context, model);
}

/* Is a graft of that slot waiting for the disk? With commit held. */
static bool is_waiting(const struct journal *journal, enum organ_class klass, const char *name)
{
	const struct journal_graft *graft = journal->waiting;

	while (graft && (graft->klass != klass || strcmp(graft->name, name) != 0))
		graft = graft->next;
	return graft != NULL;
}

void journal_begin_graft(struct model *model, struct journal_graft *graft, enum organ_class klass,
			 const char *name)
{
	struct journal *journal = &model->journal;

	*graft = (struct journal_graft){ .klass = klass, .name = name };
	pthread_mutex_lock(&journal->commit);
	while (journal->exclusive || is_waiting(journal, klass, name))
		pthread_cond_wait(&journal->moved, &journal->commit);
}

void journal_wait(struct model *model, struct journal_graft *graft)
{
	struct journal *journal = &model->journal;

	graft->next = journal->waiting;
	journal->waiting = graft;
	pthread_mutex_unlock(&journal->commit);
}

void journal_resume(struct model *model, struct journal_graft *graft)
{
	struct journal *journal = &model->journal;
	struct journal_graft **at = &journal->waiting;

	pthread_mutex_lock(&journal->commit);
	while (*at != graft)
		at = &(*at)->next;
	*at = graft->next;
	pthread_cond_broadcast(&journal->moved);
}

int journal_check(const struct model *model)
{
	const struct journal *journal = &model->journal;

	return journal->replaying && !pthread_equal(journal->replayer, pthread_self()) ? -EBUSY : 0;
}

int journal_begin_replay(struct model *model)
{
	const int rc = journal_check(model);

	if (rc == 0) {
		model->journal.replaying = true;
		model->journal.replayer = pthread_self();
	}
	return rc;
}

void journal_end_replay(struct model *model)
{
	model->journal.replaying = false;
}

void journal_begin_publish(struct model *model)
{
	atomic_fetch_add(&model->journal.publishing, 1);
}

void journal_end_publish(struct model *model)
{
	atomic_fetch_add(&model->journal.publications, 1);
	atomic_fetch_sub(&model->journal.publishing, 1);
	pthread_cond_broadcast(&model->journal.moved);
}

void journal_refresh(struct model *model)
{
	journal_begin_publish(model);
	adapters_refresh(model);
	journal_end_publish(model);
}

static void wait_for_publication(struct journal *journal)
{
	pthread_mutex_lock(&journal->commit);
	while (atomic_load(&journal->publishing))
		pthread_cond_wait(&journal->moved, &journal->commit);
	pthread_mutex_unlock(&journal->commit);
}

/* Without a publication, commit is not locked, because a thread that holds commit may wait for a
 * disk. */
int journal_snapshot(struct model *model, struct snapshot *snapshot)
{
	struct journal *journal = &model->journal;

	for (;;) {
		const unsigned before = atomic_load(&journal->publications);
		int rc;

		if (atomic_load(&journal->publishing)) {
			wait_for_publication(journal);
			continue;
		}
		rc = model_snapshot(model, snapshot);
		if (rc < 0 || (!atomic_load(&journal->publishing) &&
			       atomic_load(&journal->publications) == before))
			return rc;
		snapshot_release(snapshot);
	}
}

bool journal_needs_whiteout(struct model *model, uint32_t slot)
{
	struct content *beneath = slots_get_beneath(model->slots, slot);
	const bool blended = beneath && !content_is_whiteout(beneath);

	content_unref(beneath);
	return blended || slot < model->gguf->n_tensors;
}

struct layer_undone journal_emptied(struct model *model, uint32_t slot)
{
	const struct organ_place *place = &model->places[slot];
	const bool removed = journal_needs_whiteout(model, slot);

	return (struct layer_undone){ removed ? LAYER_SLOT : LAYER_TYPED_SLOT, place->klass,
				      place->name, removed };
}

int journal_empty_slot(struct model *model, uint32_t slot)
{
	const struct layer_undone undone = journal_emptied(model, slot);

	return layer_undo(model->layer, &undone, 1);
}

int journal_empty_key(struct model *model, uint32_t i)
{
	const struct metadata_key key = metadata_key(model->metadata, i);
	const struct layer_undone undone = { LAYER_KEY, .name = key.name,
					     .removed = i < model->gguf->n_kv };

	return layer_undo(model->layer, &undone, 1);
}
