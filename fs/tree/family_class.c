/* SPDX-License-Identifier: MIT */
/* family_class.c - the directories of classes: organs and their θ files, links and settings of
 * adapters, and scratch files. */
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/tree/generated.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static enum generated_kind table_of(const struct inode *directory)
{
	return GENERATED_CLASS_THETA + directory->index;
}

struct inode *tree_find_adapter(const struct tree *tree, const struct inode *directory,
				const char *name, int *rc)
{
	struct model *model = directory->model;
	struct inode made = { .family = FAMILY_ADAPTER, .model = model };
	struct adapter_attr shown;

	if (!adapters_lookup(model, name, &shown))
		return NULL;
	*rc = -ENOMEM;
	made.ino = shown.ino;
	made.index = shown.number;
	made.content = shown.link;
	made.mtime = shown.mtime;
	if (shown.kind != ADAPTER_GGUF) {
		char *text = strdup(shown.text);

		made.family = FAMILY_SETTING;
		made.view = view_of_text(text, strlen(shown.text));
		if (!made.view)
			return NULL;
	}
	return inodes_add(tree->inodes, &made);
}

/* Find NAME.bin, NAME.theta or .theta of the model, or an adapter's file. */
static struct inode *find_slot(const struct tree *tree, const struct inode *directory,
			       const char *name, int *rc)
{
	struct model *model = directory->model;
	const char *ending = strrchr(name, '.');
	struct inode *inode;
	uint32_t tensor;
	bool theta;

	if (!ending)
		return NULL;
	if (tree_is_adapter_name(directory->ino, name))
		return tree_find_adapter(tree, directory, name, rc);
	theta = strcmp(ending, ".theta") == 0;
	if (!theta && strcmp(ending, ".bin") != 0)
		return NULL;
	if (ending == name && theta)
		return generated_inode(tree_generated(tree, directory), table_of(directory), rc);
	if (!model_find_slot(model, directory->index, name, (size_t)(ending - name), &tensor))
		return NULL;
	inode = inodes_organ(tree->inodes, theta ? FAMILY_THETA : FAMILY_ORGAN, model, tensor, rc);
	/* `rm *` removes an organ first and must still find its θ file. */
	if (!inode && *rc == -ENOENT && theta && tree_can_graft(tree, model))
		inode = tree_make_sink(tree, model);
	return inode;
}

/* The model's files hide a process's scratch file of the same name. */
static struct inode *class_lookup(const struct tree *tree, const struct inode *directory,
				  const char *name, int *rc)
{
	struct inode *scratch = NULL, *slot = NULL;
	const enum scratch_kind kind =
		scratch_files_find(tree->scratches, directory->ino, name, &scratch);

	if (kind != SCRATCH_HIDDEN)
		slot = find_slot(tree, directory, name, rc);
	if (!slot)
		return scratch;
	inodes_put(tree->inodes, scratch);
	return slot;
}

static bool class_may_block(const struct tree *tree, const struct inode *directory,
			    const char *name)
{
	return strcmp(name, generated_name(table_of(directory))) == 0 &&
	       generated_may_block(tree_generated(tree, directory), table_of(directory));
}

/* Is it a θ file that was removed? */
static bool is_hidden(const struct tree *tree, const struct inode *directory, const char *name)
{
	return scratch_files_find(tree->scratches, directory->ino, name, NULL) == SCRATCH_HIDDEN;
}

/* An empty slot has no file but the one with which a process is filling it. */
static bool is_empty_slot(const struct model *model, uint32_t tensor)
{
	struct content *content = slots_get(model->slots, tensor);
	const bool empty = content_is_whiteout(content);

	content_unref(content);
	return empty;
}

/* Is a slot of that name listed before the scratch files? */
static bool is_listed(const struct inode *directory, const char *name)
{
	struct model *model = directory->model;
	const size_t n = tree_slot_name(name);
	struct adapter_attr shown = { .link = NULL };
	uint32_t i;
	bool there;

	if (!tree_is_adapter_name(directory->ino, name))
		return n && model_find_slot(model, directory->index, name, n, &i) &&
		       !is_empty_slot(model, i);
	there = adapters_lookup(model, name, &shown);
	content_unref(shown.link);
	return there;
}

bool tree_list_organ(struct model *model, bool theta, uint32_t tensor, struct listed *entry)
{
	struct content *content = slots_get(model->slots, tensor);
	const bool there = !content_is_whiteout(content);

	snprintf(entry->name, sizeof(entry->name), "%s.%s", model->places[tensor].name,
		 theta ? "theta" : "bin");
	entry->family = theta ? FAMILY_THETA : FAMILY_ORGAN;
	if (there)
		entry->ino = inodes_organ_ino(model, entry->family, tensor, content);
	entry->type = !theta && content_is_link(content) ? S_IFLNK : S_IFREG;
	entry->known = true;
	entry->model = model;
	entry->tensor = tensor;
	content_unref(content);
	return there;
}

/* Places of adapters: after all possible slots, before scratch files. */
#define ADAPTER_PLACES ((uint64_t)1 << 39)

/* Entry of a link or setting, listed after the organs of adapters. */
static bool list_adapter(const struct inode *directory, uint64_t *place, struct listed *entry)
{
	uint64_t number = *place > ADAPTER_PLACES ? *place - ADAPTER_PLACES : 0;
	struct adapter_attr shown;

	if (directory->index != CLASS_ADAPTERS || *place >= 2 * ADAPTER_PLACES ||
	    !adapters_next(directory->model, &number, entry->name, &shown))
		return false;
	if (adapters_is_importance(entry->name)) {
		content_unref(shown.link);
		number++;
		if (!adapters_next(directory->model, &number, entry->name, &shown))
			return false;
	}
	*place = ADAPTER_PLACES + number;
	entry->ino = shown.ino;
	entry->type = shown.link ? S_IFLNK : S_IFREG;
	content_unref(shown.link);
	return true;
}

/* List a class: its table, then each organ with its θ file, then scratch files. Places of missing
 * files are skipped. */
static bool class_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
		       struct listed *entry)
{
	struct model *model = directory->model;
	uint32_t tensor;

	if (*place == 0) {
		snprintf(entry->name, sizeof(entry->name), "%s",
			 generated_name(table_of(directory)));
		entry->ino = generated_ino(tree_generated(tree, directory), table_of(directory));
		entry->type = S_IFREG;
		if (!is_hidden(tree, directory, entry->name))
			return true;
		++*place;
	}
	for (;; ++*place) {
		const uint64_t k = *place - 1;

		if (k / 2 > UINT32_MAX ||
		    !model_class_slot(model, directory->index, (uint32_t)(k / 2), &tensor))
			return list_adapter(directory, place, entry) ||
			       tree_list_scratch(tree, directory, is_listed, place, entry);
		if (tree_list_organ(model, k % 2, tensor, entry) &&
		    !(k % 2 && is_hidden(tree, directory, entry->name)))
			return true;
	}
}

static int class_check_name(const struct inode *directory, const char *name)
{
	enum adapter_file kind;
	size_t length;

	if (directory->index != CLASS_ADAPTERS || !adapters_parse(name, &kind, &length) ||
	    kind != ADAPTER_GGUF)
		return 0;
	log_add(directory->model->log,
		"adapters/%s: refused: an adapter's file cannot be copied here: link it with ln -s",
		name);
	return -EPERM;
}

static uint64_t class_generation(const struct inode *directory)
{
	return atomic_load(&directory->model->removed[directory->index]);
}

/* Has the class directory nothing but its table? */
static bool is_empty(const struct tree *tree, struct model *model, enum organ_class klass)
{
	uint64_t number = 0, ino;
	char name[NAME_MAX + 1];
	uint32_t tensor;
	bool nothing = true;

	for (uint32_t k = 0; nothing && model_class_slot(model, klass, k, &tensor); k++) {
		struct content *content = slots_get_own(model->slots, tensor);

		nothing = content_is_whiteout(content);
		content_unref(content);
	}
	return nothing && (klass != CLASS_ADAPTERS || !adapters_any(model)) &&
	       !scratch_files_next(tree->scratches, inode_of_directory(model, INODE_CLASS, klass),
				   &number, name, &ino);
}

/* Remove an empty class directory. It exists again at once, with another generation, because the
 * kernel marks the removed one as dead. */
static int remove_class(const struct tree *tree, const struct inode *directory)
{
	if (!is_empty(tree, directory->model, (enum organ_class)directory->index))
		return -ENOTEMPTY;
	atomic_fetch_add(&directory->model->removed[directory->index], 1);
	scratch_files_unhide(tree->scratches, directory->ino);
	return 0;
}

const struct family family_class = {
	.path = "C",
	.mode = S_IFDIR | 0777,
	.lifetime = NAME_FOREVER,
	.links = LINKS_OPENED,
	.grafts = true,
	.takes_links = true,
	.lookup = class_lookup,
	.may_block = class_may_block,
	.list = class_list,
	.check_name = class_check_name,
	.generation = class_generation,
	.remove_directory = remove_class,
};
