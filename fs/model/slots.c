/* SPDX-License-Identifier: MIT */
/* slots.c - see slots.h. */
#include "fs/model/slots.h"
#include "fs/base/donor.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/merge_force.h"
#include "fs/storage/backing.h"
#include "fs/tensor/lora_merge.h"
#include "fs/util/array_grown.h"
#include "gguf/anatomy.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slots {
	pthread_mutex_t lock; /* protects the fields below */
	_Atomic uint64_t generation;
	_Atomic uint32_t n, links; /* these and generation may be read without the lock */
	uint32_t base, grafts;
	size_t room;
	struct content **now;	  /* own contents */
	struct content **merged;  /* contents shown instead, or NULL */
	struct content **beneath; /* contents without a graft */
	struct slot_type *types;
	slots_listener *follower;
	void *context; /* argument of follower */
};

void content_fill(struct content *content, uint64_t ino, const struct organ *organ,
		  struct backing *file)
{
	content->kind = CONTENT_COPY;
	content->ino = ino;
	content->organ = *organ;
	content->file = file;
	content->offset = organ->header_size;
	content->mtime = backing_stat(file)->st_mtim;
}

struct content *content_new(uint64_t ino, const struct organ *organ, struct backing *file)
{
	struct content *content = content_new_whiteout();

	if (!content) {
		free((char *)organ->name);
		backing_unref(file);
		return NULL;
	}
	content_fill(content, ino, organ, file);
	return content;
}

/* Is the organ in a GGUF, not in an organ file? Its data then begin behind the end of an organ
 * header. A broken link counts as one to an organ file. */
static bool is_of_gguf(enum content_kind kind, const struct organ *organ, uint64_t offset)
{
	return kind == CONTENT_REFERENCE || offset > organ->header_size;
}

/* New content whose data is in a file outside the layer. */
static struct content *content_new_external(enum content_kind kind, uint64_t ino,
					    const struct organ *organ, struct backing *file,
					    uint64_t offset)
{
	struct content *content = calloc(1, sizeof(*content));
	char *name = malloc(organ->name_length + 1u);

	if (!content || !name) {
		free(content);
		free(name);
		return NULL;
	}
	memcpy(name, organ->name, organ->name_length);
	name[organ->name_length] = '\0';
	atomic_init(&content->refs, 1);
	content->kind = kind;
	content->ino = ino;
	content->organ = *organ;
	content->organ.name = name;
	content->file = backing_ref(file);
	content->offset = offset;
	/* A link to an adapter has no tensor's name; its file is no donor. */
	if (organ->name_length)
		backing_announce(file, FILE_USE_DONOR);
	/* If out of memory, the donor stays unknown. */
	content->donor =
		donor_from_backing(file, is_of_gguf(kind, organ, offset) ? organ->name : NULL,
				   organ->name_length);
	clock_gettime(CLOCK_REALTIME, &content->mtime);
	return content;
}

struct content *content_new_reference(uint64_t ino, const struct organ *organ, struct backing *file,
				      uint64_t offset, const char *fingerprint)
{
	struct content *content = content_new_external(CONTENT_REFERENCE, ino, organ, file, offset);

	if (content)
		snprintf(content->fingerprint, sizeof(content->fingerprint), "%s", fingerprint);
	return content;
}

struct content *content_new_link(uint64_t ino, const struct organ *organ, struct backing *file,
				 uint64_t offset, const char *target)
{
	struct content *content = content_new_external(CONTENT_LINK, ino, organ, file, offset);

	if (content && !(content->target = strdup(target))) {
		content_unref(content);
		return NULL;
	}
	return content;
}

void content_set_seen(struct content *content, const char *seen)
{
	free(content->seen);
	content->seen = seen ? strdup(seen) : NULL;
}

struct content *content_new_merged(uint64_t ino, const struct organ *organ, struct backing *file,
				   const struct lora_merge *merge, struct content *own)
{
	struct content *content =
		content_new_external(CONTENT_MERGED, ino, organ, file, organ->header_size);

	backing_unref(file);
	if (!content)
		return NULL;
	content->offset = 0;
	content->merge = merge;
	content->own = own ? content_ref(own) : NULL;
	return content;
}

struct content *content_new_blend(uint64_t ino, const struct organ *organ, struct backing *file,
				  uint64_t offset)
{
	struct content *content = content_new_external(CONTENT_BLEND, ino, organ, file, offset);

	if (!content)
		return NULL;
	content->beneath = true;
	content->block = anatomy_block(organ->name, organ->name_length);
	content_set_donor(content, NULL);
	return content;
}

struct content *content_new_blend_whiteout(void)
{
	struct content *content = content_new_whiteout();

	if (content)
		content->beneath = true;
	return content;
}

struct content *content_new_whiteout(void)
{
	struct content *content = calloc(1, sizeof(*content));

	if (content) {
		atomic_init(&content->refs, 1);
		content->kind = CONTENT_WHITEOUT;
	}
	return content;
}

struct content *content_ref(struct content *content)
{
	atomic_fetch_add(&content->refs, 1);
	return content;
}

void content_unref(struct content *content)
{
	if (!content || atomic_fetch_sub(&content->refs, 1) != 1)
		return;
	free((char *)content->organ.name);
	backing_unref(content->file);
	free(content->broken);
	donor_unref(content->donor);
	free(atomic_load(&content->losses));
	if (content->kind == CONTENT_LINK) {
		free(content->target);
		free(content->seen);
	} else if (content->kind == CONTENT_MERGED) {
		content_unref(content->own);
	}
	free(content);
}

void content_set_donor(struct content *content, struct donor *donor)
{
	donor_unref(content->donor);
	content->donor = donor;
}

void content_set_broken(struct content *content, const char *why)
{
	content->broken = strdup(why);
}

bool content_is_retyped(const struct content *content)
{
	return content && content->kind == CONTENT_MERGED && content->merge &&
	       content->merge->n == 0;
}

const char *content_kind_name(const struct content *content)
{
	static const char *const names[] = {
		[CONTENT_COPY] = "copy",     [CONTENT_REFERENCE] = "reference",
		[CONTENT_LINK] = "link",     [CONTENT_WHITEOUT] = "removed",
		[CONTENT_MERGED] = "merged", [CONTENT_BLEND] = "blend"
	};
	static const char *const broken[] = {
		[CONTENT_COPY] = "broken copy",	    [CONTENT_REFERENCE] = "broken reference",
		[CONTENT_LINK] = "broken link",	    [CONTENT_WHITEOUT] = "removed",
		[CONTENT_MERGED] = "broken merged", [CONTENT_BLEND] = "broken blend"
	};

	if (content_is_retyped(content))
		return content->broken ? "broken retyped" : "retyped";
	return (content->broken ? broken : names)[content->kind];
}

enum role_match content_role(const struct content *content, const char *slot, size_t length)
{
	if (!content || content_is_whiteout(content) || content->broken)
		return ROLE_SAME;
	return role_match(slot, length, content->organ.name, content->organ.name_length);
}

struct slots *slots_new(uint32_t n)
{
	struct slots *slots = calloc(1, sizeof(*slots));

	if (!slots)
		return NULL;
	pthread_mutex_init(&slots->lock, NULL);
	slots->now = calloc(n + 1u, sizeof(*slots->now));
	slots->merged = calloc(n + 1u, sizeof(*slots->merged));
	slots->beneath = calloc(n + 1u, sizeof(*slots->beneath));
	slots->types = calloc(n + 1u, sizeof(*slots->types));
	if (!slots->now || !slots->merged || !slots->beneath || !slots->types) {
		slots_free(slots);
		return NULL;
	}
	slots->base = n;
	atomic_init(&slots->n, n);
	slots->room = n + 1u;
	return slots;
}

void slots_free(struct slots *slots)
{
	if (!slots)
		return;
	for (uint32_t i = 0; i < slots->n; i++) {
		content_unref(slots->now[i]);
		content_unref(slots->merged[i]);
		content_unref(slots->beneath[i]);
	}
	pthread_mutex_destroy(&slots->lock);
	free(slots->now);
	free(slots->merged);
	free(slots->beneath);
	free(slots->types);
	free(slots);
}

static struct content *shown(const struct slots *slots, uint32_t i)
{
	return slots->merged[i] ? slots->merged[i] : slots->now[i];
}

/* Does the slot show anything but the base's content? */
static bool is_graft(const struct slots *slots, uint32_t i)
{
	const struct content *content = shown(slots, i);

	return i < slots->base ? content != NULL : !content_is_whiteout(content);
}

/* Like content_ref(), also for NULL. */
static struct content *hold(struct content *content)
{
	return content ? content_ref(content) : NULL;
}

struct content *slots_get(struct slots *slots, uint32_t i)
{
	struct content *content;

	pthread_mutex_lock(&slots->lock);
	content = hold(shown(slots, i));
	pthread_mutex_unlock(&slots->lock);
	return content;
}

struct content *slots_get_own(struct slots *slots, uint32_t i)
{
	struct content *content;

	pthread_mutex_lock(&slots->lock);
	content = hold(slots->now[i]);
	pthread_mutex_unlock(&slots->lock);
	return content;
}

struct content *slots_get_beneath(struct slots *slots, uint32_t i)
{
	struct content *content;

	pthread_mutex_lock(&slots->lock);
	content = hold(slots->beneath[i]);
	pthread_mutex_unlock(&slots->lock);
	return content;
}

void slots_set_listener(struct slots *slots, slots_listener *follower, void *context)
{
	slots->follower = follower;
	slots->context = context;
}

/* Put content into one of the places of slot i, with the lock held. Returns the content before, to
 * be released without the lock. */
static struct content *exchange(struct slots *slots, struct content **place, uint32_t i,
				struct content *content)
{
	struct content *before = place[i];

	slots->grafts -= is_graft(slots, i);
	place[i] = content;
	slots->grafts += is_graft(slots, i);
	return before;
}

/* Show the contents in showings, with the lock held. Afterwards showings has those shown before. */
static void show(struct slots *slots, struct slot_content *showings, size_t n)
{
	for (size_t k = 0; k < n; k++)
		showings[k].content =
			exchange(slots, slots->merged, showings[k].slot, showings[k].content);
}

/* Call without the lock: the release may close files. */
static void release_shown(const struct slot_content *showings, size_t n)
{
	for (size_t k = 0; k < n; k++)
		content_unref(showings[k].content);
}

/* The caller holds the lock. A removed slot that was added counts as unchanged, unless a merge has
 * a tensor there. */
static bool is_changed(const struct slots *slots, uint32_t i, const struct content *own)
{
	const struct content *beneath = slots->beneath[i];

	return content_is_graft(own) && !(i >= slots->base && content_is_whiteout(own) &&
					  (!beneath || content_is_whiteout(beneath)));
}

void slots_set(struct slots *slots, uint32_t i, struct content *content)
{
	struct content *before, *merged;
	struct slot_content showing;
	bool follows;

	if (!content)
		content = slots_get_beneath(slots, i);
	follows = slots->follower && slots->follower(slots->context, i, content, &showing);
	pthread_mutex_lock(&slots->lock);
	merged = exchange(slots, slots->merged, i, NULL);
	before = exchange(slots, slots->now, i, content);
	/* A removal of an added slot removes its chosen type too. */
	if (i >= slots->base && content_is_whiteout(content) && !is_changed(slots, i, content))
		slots->types[i] = (struct slot_type){ 0 };
	show(slots, &showing, follows);
	slots->links += content_is_link(content);
	slots->links -= content_is_link(before);
	slots->generation++;
	pthread_mutex_unlock(&slots->lock);
	content_unref(before);
	content_unref(merged);
	release_shown(&showing, follows);
}

void slots_set_all(struct slots *slots, struct slot_content *puts, size_t n)
{
	pthread_mutex_lock(&slots->lock);
	for (size_t k = 0; k < n; k++) {
		if (!puts[k].content)
			puts[k].content = hold(slots->beneath[puts[k].slot]);
		slots->links += content_is_link(puts[k].content);
		puts[k].content = exchange(slots, slots->now, puts[k].slot, puts[k].content);
		slots->links -= content_is_link(puts[k].content);
	}
	slots->generation++;
	pthread_mutex_unlock(&slots->lock);
	release_shown(puts, n);
}

bool slots_has_beneath(struct slots *slots, uint32_t i)
{
	struct content *beneath = slots_get_beneath(slots, i);

	content_unref(beneath);
	return beneath;
}

bool slots_is_changed(struct slots *slots, uint32_t i, const struct content *own)
{
	bool changed;

	pthread_mutex_lock(&slots->lock);
	changed = is_changed(slots, i, own);
	pthread_mutex_unlock(&slots->lock);
	return changed;
}

void slots_set_beneath(struct slots *slots, struct slot_content *puts, size_t n)
{
	pthread_mutex_lock(&slots->lock);
	for (size_t k = 0; k < n; k++) {
		const uint32_t i = puts[k].slot;
		struct content *before = slots->beneath[i];
		const bool holds = !is_changed(slots, i, slots->now[i]);

		slots->beneath[i] = puts[k].content;
		puts[k].content = before;
		/* No file is closed under the lock: puts still has a reference of the content
		 * before. */
		if (holds)
			content_unref(exchange(slots, slots->now, i, hold(slots->beneath[i])));
	}
	slots->generation++;
	pthread_mutex_unlock(&slots->lock);
	release_shown(puts, n);
}

void slots_set_shown(struct slots *slots, struct slot_content *showings, size_t n)
{
	pthread_mutex_lock(&slots->lock);
	show(slots, showings, n);
	slots->generation++;
	pthread_mutex_unlock(&slots->lock);
	release_shown(showings, n);
}

struct slot_type slots_type(struct slots *slots, uint32_t i)
{
	struct slot_type type;

	pthread_mutex_lock(&slots->lock);
	type = slots->types[i];
	pthread_mutex_unlock(&slots->lock);
	return type;
}

void slots_set_type(struct slots *slots, uint32_t i, const struct slot_type *type)
{
	pthread_mutex_lock(&slots->lock);
	slots->types[i] = *type;
	pthread_mutex_unlock(&slots->lock);
}

/* The caller holds the lock. */
static bool make_room(struct slots *slots)
{
	size_t room = slots->room, of_merged = room, of_beneath = room, of_types = room;
	struct content **more = array_grown(slots->now, slots->n, &room, sizeof(*more));
	struct slot_type *types;

	if (!more)
		return false;
	slots->now = more;
	more = array_grown(slots->merged, slots->n, &of_merged, sizeof(*more));
	if (!more)
		return false;
	slots->merged = more;
	more = array_grown(slots->beneath, slots->n, &of_beneath, sizeof(*more));
	if (!more)
		return false;
	slots->beneath = more;
	types = array_grown(slots->types, slots->n, &of_types, sizeof(*types));
	if (!types)
		return false;
	slots->types = types;
	slots->room = room;
	return true;
}

int slots_add(struct slots *slots, struct content *content, uint32_t *i)
{
	int rc = -ENOMEM;

	pthread_mutex_lock(&slots->lock);
	if (make_room(slots)) {
		*i = slots->n++;
		slots->now[*i] = content;
		slots->merged[*i] = slots->beneath[*i] = NULL;
		slots->types[*i] = (struct slot_type){ 0 };
		slots->grafts += is_graft(slots, *i);
		slots->links += content_is_link(content);
		slots->generation++;
		rc = 0;
	}
	pthread_mutex_unlock(&slots->lock);
	if (rc < 0)
		content_unref(content);
	return rc;
}

uint64_t slots_generation(struct slots *slots)
{
	return atomic_load(&slots->generation);
}

uint32_t slots_links(struct slots *slots)
{
	return atomic_load(&slots->links);
}

uint32_t slots_count(struct slots *slots)
{
	return atomic_load(&slots->n);
}

int slots_snapshot(struct slots *slots, struct snapshot *snapshot)
{
	pthread_mutex_lock(&slots->lock);
	*snapshot = (struct snapshot){ .generation = slots->generation, .grafts = slots->grafts };
	snapshot->content = calloc(slots->n + 1u, sizeof(*snapshot->content));
	snapshot->types = calloc(slots->n + 1u, sizeof(*snapshot->types));
	snapshot->n = snapshot->content && snapshot->types ? slots->n : 0;
	for (uint32_t i = 0; i < snapshot->n; i++) {
		snapshot->types[i] = slots->types[i];
		if (shown(slots, i))
			snapshot->content[i] = content_ref(shown(slots, i));
	}
	pthread_mutex_unlock(&slots->lock);
	if (snapshot->content && snapshot->types)
		return 0;
	snapshot_release(snapshot);
	return -ENOMEM;
}

uint32_t snapshot_merge_grafts(const struct snapshot *snapshot, uint32_t base)
{
	uint32_t merged = merge_state_template(snapshot->merge) != NULL;

	for (uint32_t i = 0; i < snapshot->n; i++) {
		const struct content *own = content_own(snapshot->content[i]);

		merged += own && own->beneath && (i < base || !content_is_whiteout(own));
	}
	return merged;
}

void snapshot_release(struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->n; i++)
		content_unref(snapshot->content[i]);
	metadata_edits_unref(snapshot->edits);
	adapter_list_free(snapshot->adapters);
	merge_state_unref(snapshot->merge);
	free(snapshot->content);
	free(snapshot->types);
	*snapshot = (struct snapshot){ 0 };
}
