/* SPDX-License-Identifier: MIT */
/* undo.c - see undo.h. */
#include "fs/edit/undo.h"
#include "fs/edit/adapter_edit.h"
#include "fs/edit/block_order_edit.h"
#include "fs/edit/journal.h"
#include "fs/edit/merge_edit.h"
#include "fs/edit/type_edit.h"
#include "fs/model/model.h"
#include "fs/layer/layer.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/merge_force.h"
#include "fs/model/slots.h"
#include "fs/util/array_grown.h"
#include "fs/util/log.h"
#include "fs/util/text_escape.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void undo_list_add(struct undo_list *list, enum layer_item item, enum organ_class klass,
		   const char *name)
{
	struct layer_undone *items = array_grown(list->items, list->n, &list->room, sizeof(*items));

	if (items)
		list->items = items;
	if (!items || !(name = strdup(name))) {
		list->is_short = true;
		return;
	}
	items[list->n++] = (struct layer_undone){ item, klass, name, false };
}

void undo_list_release(struct undo_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free((char *)list->items[i].name);
	free(list->items);
	*list = (struct undo_list){ .items = NULL };
}

struct undoing {
	struct model *model;
	struct undo_list list;
	size_t named; /* items at the start of the list named one by one; SIZE_MAX: all so far */
	uint32_t n;   /* changes in the list, which also has dependent settings */
	unsigned classes; /* bit mask of whole classes */
	bool keys;	  /* all keys */
	bool order;	  /* the order of the blocks (block_order_edit.h) */
};

/* Was the change already named by a word of its own? */
static bool is_named_before(const struct undoing *undoing, const struct layer_undone *change)
{
	const struct undo_list *list = &undoing->list;
	const size_t n = undoing->named < list->n ? undoing->named : list->n;

	for (size_t i = 0; i < n; i++)
		if (list->items[i].item == change->item && list->items[i].klass == change->klass &&
		    strcmp(list->items[i].name, change->name) == 0)
			return true;
	return false;
}

/* Add a change, once even if two words name it. */
static void add(struct undoing *undoing, enum layer_item item, enum organ_class klass,
		const char *name)
{
	const struct layer_undone change = { item, klass, name, false };

	if (is_named_before(undoing, &change))
		return;
	undo_list_add(&undoing->list, item, klass, name);
	undoing->n++;
}

static void add_slot(struct undoing *undoing, uint32_t i)
{
	const struct model *model = undoing->model;
	const struct organ_place *place = &model->places[i];
	struct content *own = slots_get_own(model->slots, i);

	if (slots_is_changed(model->slots, i, own) || slots_type(model->slots, i).is_set)
		add(undoing, LAYER_TYPED_SLOT, place->klass, place->name);
	content_unref(own);
}

static void add_key(struct undoing *undoing, uint32_t i)
{
	const struct metadata_key key = metadata_key(undoing->model->metadata, i);

	if (key.edited)
		add(undoing, LAYER_KEY, 0, key.name);
}

/* Add a link together with its scale, or a setting. */
static void add_adapter(struct undoing *undoing, const char *file, const struct adapter_attr *shown)
{
	char scale[NAME_MAX + 8];
	if (!shown->set)
		return;
	add(undoing, LAYER_ADAPTER, 0, file);
	if (shown->kind != ADAPTER_GGUF || adapters_is_importance(file))
		return;
	snprintf(scale, sizeof(scale), "%.*s.scale", (int)(strlen(file) - strlen(".gguf")), file);
	if (strlen(scale) > NAME_MAX)
		return;
	/* A scale that is set counts as a change of its own. */
	undo_list_add(&undoing->list, LAYER_ADAPTER, 0, scale);
}

/* Add all changes of the named classes. */
static void add_classes(struct undoing *undoing)
{
	struct model *model = undoing->model;
	const uint32_t slots = slots_count(model->slots), keys = metadata_count(model->metadata);
	struct adapter_attr shown;
	char file[NAME_MAX + 1];

	undoing->named = undoing->list.n;
	for (uint32_t i = 0; undoing->classes && i < slots; i++)
		if (undoing->classes & 1u << model->places[i].klass)
			add_slot(undoing, i);
	for (uint32_t i = 0; undoing->keys && i < keys; i++)
		add_key(undoing, i);
	if (!(undoing->classes & 1u << CLASS_ADAPTERS))
		return;
	for (uint64_t place = 0; adapters_next(model, &place, file, &shown); place++) {
		add_adapter(undoing, file, &shown);
		content_unref(shown.link);
	}
}

/* Parse the name of a class, "metadata" or "all". */
static bool find_classes(struct undoing *undoing, const char *word)
{
	const bool all = strcmp(word, "all") == 0, keys = all || strcmp(word, "metadata") == 0;
	enum organ_class klass;

	undoing->keys |= keys;
	if (all) {
		undoing->order = block_order_edit_is_in_force(undoing->model);
		undoing->classes = (1u << CLASSES) - 1;
	} else if (class_find(word, strlen(word), &klass)) {
		undoing->classes |= 1u << klass;
	} else {
		return keys;
	}
	return true;
}

/* Length of NAME in NAME.bin; 0: another ending. */
static size_t slot_name(const char *file)
{
	const size_t n = strlen(file);

	return n > 4 && strcmp(file + n - 4, ".bin") == 0 ? n - 4 : 0;
}

static void add_copied(struct undoing *undoing)
{
	static const char *const settings[] = { ADAPTERS_COPIED ".alpha",
						ADAPTERS_COPIED ".scale" };
	struct model *model = undoing->model;
	struct adapter_attr shown;
	uint32_t slot;

	for (uint32_t k = 0; model_class_slot(model, CLASS_ADAPTERS, k, &slot); k++)
		if (adapters_is_half(model, slot))
			add_slot(undoing, slot);
	for (size_t i = 0; i < 2; i++) {
		if (!adapters_lookup(model, settings[i], &shown))
			continue;
		add_adapter(undoing, settings[i], &shown);
		content_unref(shown.link);
	}
}

/* Parse FILE of adapters/FILE, percent-encoded, or "lora". */
static bool find_adapter(struct undoing *undoing, const char *word)
{
	struct adapter_attr shown;
	char *file = strdup(word);
	bool found = false;

	if (strcmp(word, ADAPTERS_COPIED) == 0 && adapters_has_copied(undoing->model)) {
		add_copied(undoing);
		free(file);
		return true;
	}
	if (file && text_unescape(file) == strlen(file))
		found = adapters_lookup(undoing->model, file, &shown);
	if (found) {
		add_adapter(undoing, file, &shown);
		content_unref(shown.link);
	}
	free(file);
	return found;
}

/* Parse DIRECTORY/FILE; DIRECTORY has n bytes. */
static bool find_file(struct undoing *undoing, const char *word, size_t n)
{
	struct model *model = undoing->model;
	const char *file = word + n + 1;
	enum organ_class klass;
	uint32_t i;

	if (n == strlen("metadata") && memcmp(word, "metadata", n) == 0) {
		if (!metadata_find(model->metadata, file, &i))
			return false;
		add_key(undoing, i);
		return true;
	}
	if (!class_find(word, n, &klass))
		return false;
	if (!model_find_slot(model, klass, file, slot_name(file), &i))
		return klass == CLASS_ADAPTERS && find_adapter(undoing, file);
	add_slot(undoing, i);
	return true;
}

/* Parse NAME or NAME.bin, if only one class has it. */
static bool find_name(struct undoing *undoing, const char *word)
{
	const size_t n = slot_name(word) ? slot_name(word) : strlen(word);
	unsigned found = 0;
	uint32_t i, last = 0;

	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		if (!model_find_slot(undoing->model, klass, word, n, &i))
			continue;
		last = i;
		found++;
	}
	if (found == 1)
		add_slot(undoing, last);
	return found == 1;
}

/* Add the changes that a word names. False: it names nothing. */
static bool find(struct undoing *undoing, char *word)
{
	size_t n = strlen(word);
	const char *slash;

	/* Shells complete the name of a directory with a slash. */
	if (n > 1 && word[n - 1] == '/')
		word[--n] = '\0';
	if (strcmp(word, ADAPTERS_IMPORTANCE) == 0)
		return find_adapter(undoing, word);
	if (strcmp(word, BLOCK_ORDER_NAME) == 0) {
		undoing->order = block_order_edit_is_in_force(undoing->model);
		return true;
	}
	slash = strchr(word, '/');
	if (slash)
		return find_file(undoing, word, (size_t)(slash - word));
	return find_classes(undoing, word) || find_name(undoing, word);
}

static int find_all(struct undoing *undoing, char *words)
{
	char *word;

	while ((word = strsep(&words, "\n"))) {
		/* The text after a tab is a description, also in lines of .grafts. */
		size_t n = strcspn(word, "\t");

		word[n] = '\0';
		while (n && (word[n - 1] == ' ' || word[n - 1] == '\r'))
			word[--n] = '\0';
		if (n == 0 || find(undoing, word))
			continue;
		log_add(undoing->model->log,
			".undo: refused: \"%.200s\" is neither a word listed in .undo nor the name "
			"of a present or former file; nothing is undone",
			word);
		return -EINVAL;
	}
	return 0;
}

struct undo_ready {
	const struct undo_list *list; /* borrowed */
	struct slot_content *puts;
	struct content **nothing; /* for added slots */
	size_t n, n_nothing;
	bool halves;
};

void undo_ready_free(struct undo_ready *ready)
{
	if (!ready)
		return;
	while (ready->n_nothing)
		content_unref(ready->nothing[--ready->n_nothing]);
	free(ready->nothing);
	free(ready->puts);
	free(ready);
}

struct undo_ready *undo_ready_new(const struct undo_list *list)
{
	struct undo_ready *ready = list->is_short ? NULL : calloc(1, sizeof(*ready));

	if (!ready)
		return NULL;
	ready->list = list;
	ready->puts = calloc(list->n + 1, sizeof(*ready->puts));
	ready->nothing = calloc(list->n + 1, sizeof(struct content *));
	if (!ready->puts || !ready->nothing)
		goto fail;
	for (; ready->n_nothing < list->n; ready->n_nothing++) {
		ready->nothing[ready->n_nothing] = content_new_whiteout();
		if (!ready->nothing[ready->n_nothing])
			goto fail;
	}
	return ready;

fail:
	undo_ready_free(ready);
	return NULL;
}

static void restore_slot(struct model *model, struct undo_ready *ready,
			 const struct layer_undone *undone)
{
	const struct slot_type own = { .is_set = false };
	struct content *nothing = NULL;
	uint32_t i;

	if (undone->item != LAYER_TYPED_SLOT ||
	    !model_find_slot(model, undone->klass, undone->name, strlen(undone->name), &i))
		return;
	slots_set_type(model->slots, i, &own);
	if (i >= model->gguf->n_tensors && !slots_has_beneath(model->slots, i))
		nothing = ready->nothing[--ready->n_nothing];
	ready->halves |= undone->klass == CLASS_ADAPTERS;
	ready->puts[ready->n++] = (struct slot_content){ i, nothing };
}

static void restore_other(struct model *model, const struct layer_undone *undone)
{
	const struct timespec never = { 0 };
	struct adapter_attr shown;
	enum adapter_file kind;
	size_t length;
	uint32_t i;

	if (undone->item == LAYER_KEY) {
		if (!metadata_find(model->metadata, undone->name, &i))
			return;
		metadata_set_type(model->metadata, i, NULL);
		metadata_reset(model->metadata, i);
	} else if (undone->item == LAYER_ADAPTER && adapters_parse(undone->name, &kind, &length) &&
		   adapters_lookup(model, undone->name, &shown)) {
		content_unref(shown.link);
		if (kind == ADAPTER_GGUF)
			adapters_set_link(model, undone->name, length, NULL, NULL);
		else
			adapters_set_value(model, undone->name, length, kind, NULL, &never);
	}
}

void undo_take_back(struct model *model, struct undo_ready *ready)
{
	const struct undo_list *list = ready->list;

	for (size_t i = 0; i < list->n; i++)
		restore_slot(model, ready, &list->items[i]);
	slots_set_all(model->slots, ready->puts, ready->n);
	for (size_t i = 0; i < list->n; i++)
		restore_other(model, &list->items[i]);
	journal_refresh(model);
}

/* Undo the listed changes in one transaction, then in the model, with memory allocated before. The
 * caller holds the commit lock. */
static int undo_listed(struct undoing *undoing)
{
	struct model *model = undoing->model;
	struct undo_ready *ready = undo_ready_new(&undoing->list);
	struct error err = { 0 };
	struct merge_ready *none = undoing->order ? merge_ready_new_none(model, &err) : NULL;
	int rc = ready && (none || !undoing->order)
			 ? layer_undo(model->layer, undoing->list.items, undoing->list.n)
			 : -ENOMEM;

	if (rc == 0) {
		undo_take_back(model, ready);
		if (undoing->order)
			merge_edit_publish_end(model, none);
		if (ready->halves)
			adapter_edit_forget_copied(model);
		log_add(model->log, ".undo: %" PRIu32 " change%s undone", undoing->n,
			undoing->n == 1 ? " is" : "s are");
	}
	if (rc < 0)
		merge_ready_free(none);
	undo_ready_free(ready);
	return rc;
}

/* Check that no chosen type still needs an importance matrix that would be undone. Returns 0, or
 * -EINVAL with a line in the log. */
static int check_importance(const struct undoing *undoing)
{
	const struct undo_list *list = &undoing->list;
	struct error err;

	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].item != LAYER_ADAPTER ||
		    !adapters_is_importance(list->items[i].name) ||
		    type_edit_check_importance(undoing->model, NULL, list, &err) == 0)
			continue;
		log_add(undoing->model->log, ".undo: refused: %s: %s; nothing is undone",
			list->items[i].name, err.text);
		return -EINVAL;
	}
	return 0;
}

/* The caller holds the commit lock. */
static int undo_each_line(struct undoing *undoing, char *words)
{
	int rc = journal_check(undoing->model);

	if (rc == 0)
		rc = find_all(undoing, words);
	if (rc == 0) {
		add_classes(undoing);
		if (undoing->order)
			add(undoing, LAYER_MERGE, 0, "");
		rc = check_importance(undoing);
	}
	if (rc == 0 && undoing->n)
		rc = undo_listed(undoing);
	undo_list_release(&undoing->list);
	return rc;
}

int undo_judge(struct model *model, char *words)
{
	struct undoing undoing = { .model = model, .named = SIZE_MAX };
	const int rc = find_all(&undoing, words);

	undo_list_release(&undoing.list);
	return rc;
}

int undo(struct model *model, char *words)
{
	struct undoing undoing = { .model = model, .named = SIZE_MAX };
	char text[LAYER_WHY];
	int rc;

	journal_begin(model);
	rc = undo_each_line(&undoing, words);
	journal_end(model);
	if (rc < 0 && rc != -EINVAL)
		log_add(model->log, ".undo: refused: %s; nothing is undone",
			layer_why(model->layer, NULL, rc, text));
	return rc;
}
