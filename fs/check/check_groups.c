/* SPDX-License-Identifier: MIT */
/* check_groups.c - see check_groups.h. */
#include "fs/check/check_groups.h"
#include "fs/assemble/model_view.h"
#include "fs/base/donor.h"
#include "fs/base/shards.h"
#include "fs/check/check_traits.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/merge_force.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/view.h"
#include "fs/util/array_grown.h"
#include "fs/util/paths.h"
#include "gguf/anatomy.h"
#include "gguf/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_title(struct check_group *group)
{
	const char *path = group->donor ? donor_path(group->donor) : "donor";
	char *organs = NULL, *stem = NULL;
	size_t n = 0;

	if (group->kind == GROUP_SELF || group->kind >= GROUP_ORGANS) {
		snprintf(group->title, sizeof(group->title), "%s",
			 group->kind == GROUP_SELF     ? "this model"
			 : group->kind == GROUP_ORGANS ? "organ files"
						       : "copies");
		return;
	}
	/* A directory of organ files is known by its own name. */
	if (path[0] == '/' && strcmp(basename(path), HEADER_FILE) == 0)
		organs = paths_directory(path);
	stem = paths_stem(basename(organs ? organs : path));
	for (const char *c = stem ? stem : "donor"; *c && n < sizeof(group->title) - 1; c++)
		group->title[n++] = *c > ' ' && *c <= '~' ? *c : '?';
	group->title[n] = '\0';
	if (n == sizeof(group->title) - 1)
		strcpy(group->title + n - 3, "...");
	free(stem);
	free(organs);
}

static unsigned concern_of(const struct organ_place *place)
{
	static const char eh_proj[] = "blk.0.nextn.eh_proj";

	switch (place->klass) {
	case CLASS_SKELETON:
		return CONCERN_ATTENTION;
	case CLASS_ORGANS:
		return CONCERN_FFN;
	case CLASS_EMBED:
		/* The projection of a nextn block has no entries for tokens. */
		if (anatomy_same_role(place->tensor, place->tensor_length, eh_proj,
				      sizeof(eh_proj) - 1))
			return 0;
		return anatomy_kind(place->tensor, place->tensor_length) == KIND_EMBEDDING
			       ? CONCERN_TOKENS
			       : 0;
	default:
		return 0;
	}
}

/* Whether a donor belongs to the group. A link has no fingerprint, and a copy taken up from a layer
 * has nothing else; the bytes show later whether both are one file. */
static bool is_group_of(const struct check_group *group, enum group_kind kind,
			const struct donor *donor)
{
	return group->kind == kind &&
	       (kind != GROUP_MODEL || donor_may_be_same_file(group->donor, donor));
}

static bool put(struct check_groups *groups, uint32_t slot, enum group_kind kind,
		const struct donor *donor)
{
	uint32_t i = 0, *slots;
	struct check_group *group;

	while (i < groups->n && !is_group_of(&groups->groups[i], kind, donor))
		i++;
	if (i == groups->n) {
		struct check_group *more =
			array_grown(groups->groups, groups->n, &groups->room, sizeof(*more));

		if (!more)
			return false;
		groups->groups = more;
		groups->groups[groups->n++] = (struct check_group){ .kind = kind, .donor = donor };
		print_title(&groups->groups[i]);
	}
	group = &groups->groups[i];
	slots = array_grown(group->slots, group->n, &group->room, sizeof(*slots));
	if (!slots)
		return false;
	group->slots = slots;
	group->slots[group->n++] = slot;
	group->concerns |= concern_of(&groups->model->places[slot]);
	return true;
}

static enum group_kind kind_of(const struct donor *donor, const struct donor *self)
{
	size_t n;

	if (!donor)
		return GROUP_UNKNOWN;
	if (!donor_tensor(donor, &n))
		return GROUP_ORGANS;
	return donor_same_file(donor, self) ? GROUP_SELF : GROUP_MODEL;
}

static bool fill(struct check_groups *groups, const struct donor *self)
{
	/* Groups of known donors come first. */
	for (unsigned unknown = 0; unknown < 2; unknown++) {
		for (uint32_t i = 0; i < groups->n_slots; i++) {
			const struct content *content = groups->content[i];
			enum group_kind kind;

			if (!content_is_graft(content) || content_is_whiteout(content))
				continue;
			kind = kind_of(content->donor, self);
			if ((kind >= GROUP_ORGANS) != unknown)
				continue;
			groups->grafts++;
			if (!put(groups, i, kind, content->donor))
				return false;
		}
	}
	for (uint32_t i = 0; i < groups->n_slots; i++)
		groups->removed += content_is_whiteout(groups->content[i]) &&
				   slots_is_changed(groups->model->slots, i, groups->content[i]);
	return true;
}

/* Content of a slot for the checks, with a reference; NULL for the base's. Unreadable contents
 * count, but neither changes by adapters nor the adapters' halves do. False: out of memory. */
static bool take(const struct check_groups *groups, uint32_t slot, struct content *shown,
		 struct content **taken)
{
	struct content *content = shown && !shown->broken ? content_own(shown) : shown;

	if (content && !content->broken && adapters_is_half(groups->model, slot))
		*taken = content_new_whiteout();
	else
		*taken = content ? content_ref(content) : NULL;
	return *taken || !content;
}

static void count_adapters(struct check_groups *groups, const struct adapter_list *list)
{
	struct adapted *adapted = &groups->adapted;

	for (uint32_t i = 0; list && i < list->n; i++) {
		if (adapters_is_importance(list->lines[i].name))
			continue;
		adapted->adapters++;
		adapted->broken += list->lines[i].broken != NULL;
		adapted->touched += list->lines[i].touched;
		adapted->halves += list->lines[i].halves;
	}
}

struct check_groups *check_groups_new(struct model *model, const struct snapshot *snapshot)
{
	struct check_groups *groups = calloc(1, sizeof(*groups));
	struct donor *self;
	bool well;

	if (!groups)
		return NULL;
	groups->model = model;
	groups->content = calloc(snapshot->n + 1u, sizeof(*groups->content));
	groups->foreign = calloc(snapshot->n + 1u, sizeof(*groups->foreign));
	groups->merge = merge_force_get(model);
	groups->edits = metadata_edits_ref(snapshot->edits);
	self = donor_from_backing(model->base, "", 0);
	well = groups->content && groups->foreign && self;
	count_adapters(groups, snapshot->adapters);
	groups->types = model_types_find(model, snapshot);
	for (uint32_t i = 0; well && i < snapshot->n; i++) {
		groups->n_slots = i + 1;
		well = take(groups, i, snapshot->content[i], &groups->content[i]);
		groups->foreign[i] = groups->content[i] && groups->content[i]->found;
	}
	if (well) {
		groups->n_slots = snapshot->n;
		well = fill(groups, self);
	}
	donor_unref(self);
	if (well)
		return groups;
	check_groups_free(groups);
	return NULL;
}

void check_groups_free(struct check_groups *groups)
{
	if (!groups)
		return;
	for (uint32_t i = 0; i < groups->n_slots; i++)
		content_unref(groups->content[i]);
	for (uint32_t i = 0; i < groups->n; i++)
		free(groups->groups[i].slots);
	merge_state_unref(groups->merge);
	metadata_edits_unref(groups->edits);
	free(groups->groups);
	free(groups->content);
	free(groups->foreign);
	free(groups);
}

struct gguf *check_groups_read_header(const struct check_groups *groups, struct view **view,
				      struct source *source)
{
	const struct snapshot snapshot = { .n = groups->n_slots,
					   .grafts = groups->grafts + groups->removed +
						     (groups->merge != NULL),
					   .edits = groups->edits,
					   .content = groups->content };
	struct gguf *gguf;

	*view = model_view_without_lineage(groups->model, &snapshot, NULL);
	if (!*view)
		return NULL;
	*source = view_source(*view);
	gguf = gguf_read(source, NULL);
	if (gguf)
		return gguf;
	view_unref(*view);
	*view = NULL;
	return NULL;
}

const struct gguf_tensor *check_groups_tensor(const struct check_groups *groups, uint32_t slot)
{
	const struct model *model = groups->model;
	const struct gguf_tensor *tensor = &model->gguf->tensors[slot], *listed = NULL;

	if (groups->foreign[slot] && model->shards)
		listed = shards_listed(model->shards, tensor->name, tensor->name_length);
	return listed ? listed : tensor;
}

/* Name of the tensor that the organ in a slot was, as far as known. */
static const char *tensor_of(const struct check_groups *groups, uint32_t slot, size_t *n)
{
	const struct content *content = groups->content[slot];
	const char *tensor = content->donor ? donor_tensor(content->donor, n) : NULL;

	if (tensor)
		return tensor;
	*n = content->organ.name_length;
	return content->organ.name;
}

int32_t check_groups_donor_block(const struct check_groups *groups, uint32_t slot)
{
	size_t n;
	const char *tensor = tensor_of(groups, slot, &n);

	return anatomy_block(tensor, n);
}

bool check_groups_in_place(const struct check_groups *groups, uint32_t slot)
{
	const struct organ_place *place = &groups->model->places[slot];
	size_t n;
	const char *tensor = tensor_of(groups, slot, &n);

	return n == place->tensor_length && memcmp(tensor, place->tensor, n) == 0;
}

/* Text cut at its size. */
struct cut {
	char *text;
	size_t size, used;
};

static void cut_add(struct cut *cut, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void cut_add(struct cut *cut, const char *format, ...)
{
	const size_t room = cut->size - cut->used;
	va_list values;
	int n;

	va_start(values, format);
	n = vsnprintf(cut->text + cut->used, room, format, values);
	va_end(values);
	if (n >= 0 && (size_t)n < room) {
		cut->used += (size_t)n;
		return;
	}
	cut->used = cut->size - 1;
	if (cut->size > 4)
		strcpy(cut->text + cut->size - 4, "...");
}

const char *check_groups_numbers(const bool *marked, uint32_t n, char *text, size_t size)
{
	struct cut cut = { text, size, 0 };

	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		uint32_t last = i;

		if (!marked[i])
			continue;
		while (last + 1 < n && marked[last + 1])
			last++;
		cut_add(&cut, "%s%" PRIu32, cut.used ? ", " : "", i);
		if (last > i)
			cut_add(&cut, "-%" PRIu32, last);
		i = last;
	}
	return text;
}

#define ROLES_SHOWN 64

/* Print roles in short: those with the same first word as "word_*". */
static void print_roles(char roles[][ANATOMY_NAME_MAX + 1], uint32_t n, struct cut *cut)
{
	bool first = true;

	for (uint32_t i = 0; i < n; i++) {
		const size_t prefix = strcspn(roles[i], "_");
		bool seen = false, more = false;

		for (uint32_t k = 0; k < n; k++) {
			const bool alike =
				roles[i][prefix] && strncmp(roles[i], roles[k], prefix + 1) == 0;

			seen |= alike && k < i;
			more |= alike && k > i;
		}
		if (seen)
			continue;
		cut_add(cut, "%s%.*s%s", first ? "" : ", ",
			more ? (int)prefix + 1 : ANATOMY_NAME_MAX, roles[i], more ? "*" : "");
		first = false;
	}
}

/* Add a role unless it is in the list; n counts them. */
static void add_role(char roles[][ANATOMY_NAME_MAX + 1], uint32_t *n,
		     const struct organ_place *place)
{
	char role[ANATOMY_NAME_MAX + 1];
	uint32_t k = 0;

	anatomy_role(place->tensor, place->tensor_length, role);
	while (k < *n && strcmp(roles[k], role) != 0)
		k++;
	if (k == *n && *n < ROLES_SHOWN)
		strcpy(roles[(*n)++], role);
}

/* Print the slots that are in blocks, or those that are not. */
static void print_slots(const struct check_groups *groups, const uint32_t *slots, uint32_t n,
			bool blocks, struct cut *cut, bool *marked)
{
	char(*roles)[ANATOMY_NAME_MAX + 1] = calloc(ROLES_SHOWN, sizeof(*roles));
	char numbers[64];
	uint32_t n_roles = 0, highest = 0, count = 0;

	for (uint32_t i = 0; roles && i < n; i++) {
		const struct organ_place *place = &groups->model->places[slots[i]];

		if ((place->block >= 0 && place->block < BLOCKS_MAX) != blocks)
			continue;
		count++;
		if (blocks) {
			marked[place->block] = true;
			if ((uint32_t)place->block >= highest)
				highest = (uint32_t)place->block + 1;
		}
		add_role(roles, &n_roles, place);
	}
	if (count && cut->used)
		cut_add(cut, ", ");
	if (count && blocks)
		cut_add(cut, "blk %s ",
			check_groups_numbers(marked, highest, numbers, sizeof(numbers)));
	if (count)
		print_roles(roles, n_roles, cut);
	free(roles);
}

const char *check_groups_slots(const struct check_groups *groups, const uint32_t *slots, uint32_t n,
			       char *text, size_t size)
{
	struct cut cut = { text, size, 0 };
	bool *marked = calloc(BLOCKS_MAX, sizeof(*marked));

	text[0] = '\0';
	if (marked) {
		print_slots(groups, slots, n, true, &cut, marked);
		print_slots(groups, slots, n, false, &cut, marked);
	}
	free(marked);
	return text;
}

const char *check_groups_roles(const struct check_groups *groups, const uint32_t *slots, uint32_t n,
			       char *text, size_t size)
{
	char(*roles)[ANATOMY_NAME_MAX + 1] = calloc(ROLES_SHOWN, sizeof(*roles));
	struct cut cut = { text, size, 0 };
	uint32_t n_roles = 0;

	text[0] = '\0';
	for (uint32_t i = 0; roles && i < n; i++)
		add_role(roles, &n_roles, &groups->model->places[slots[i]]);
	for (uint32_t k = 0; k < n_roles; k++)
		cut_add(&cut, "%s%s", k ? ", " : "", roles[k]);
	if (cut.used == size - 1) {
		cut = (struct cut){ text, size, 0 };
		print_roles(roles, n_roles, &cut);
	}
	free(roles);
	return text;
}
