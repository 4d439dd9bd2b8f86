/* SPDX-License-Identifier: MIT */
/* family_scratch.c - names outside of slots and keys (scratch_files.h): private files and symbolic
 * links. */
#include "fs/edit/adapter_edit.h"
#include "fs/edit/graft.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/tree/name_locks.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"
#include "fs/util/temporary_name.h"
#include "gguf/error.h"
#include "gguf/organ.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_theta_name(const char *name)
{
	const size_t n = strlen(name);

	return n >= 6 && strcmp(name + n - 6, ".theta") == 0;
}

bool tree_is_dropped(const struct tree *tree, const struct inode *directory, const char *name)
{
	struct inode *there;
	bool drops;
	int rc;

	if (!is_theta_name(name))
		return false;
	if (scratch_files_find(tree->scratches, directory->ino, name, NULL) == SCRATCH_HIDDEN)
		scratch_files_remove(tree->scratches, directory->ino, name);
	there = tree_find(tree, directory, name, &rc);
	drops = there && family_of(there)->write == WRITE_DROPPED;
	inodes_put(tree->inodes, there);
	return drops;
}

/* Add an inode, entered under its name. Without a name, or with one whose writes are dropped, it
 * has no entry. */
static struct inode *add_scratch(const struct tree *tree, const struct inode *directory,
				 const char *name, const struct inode *made, int *rc)
{
	struct inode *inode = inodes_add(tree->inodes, made);

	*rc = inode ? 0 : -ENOMEM;
	if (inode && name && !tree_is_dropped(tree, directory, name)) {
		scratch_files_remove(tree->scratches, directory->ino, name);
		*rc = scratch_files_add(tree->scratches, directory->ino, name, inode);
	}
	if (*rc == 0)
		return inode;
	inodes_put(tree->inodes, inode);
	return NULL;
}

struct inode *tree_make_scratch(const struct tree *tree, const struct inode *directory,
				const char *name, struct view *view, int *rc)
{
	struct model *model = directory->model;
	struct inode made = { .ino = inode_new(model), .family = FAMILY_SCRATCH, .model = model };

	*rc = -ENOMEM;
	if (view)
		made.stage = stage_new(model->layer, view);
	view_unref(view);
	return made.stage ? add_scratch(tree, directory, name, &made, rc) : NULL;
}

struct inode *tree_keep_as_scratch(const struct tree *tree, const struct inode *directory,
				   const char *name, const struct inode *organ, int *rc)
{
	const struct origin origin = { organ->model, organ->index, organ->content };
	struct view *view;
	struct inode *inode = NULL;

	if (content_is_link(organ->content))
		return tree_make_link(tree, directory, name, content_ref(organ->content), rc);
	view = organ_file_view(organ->model, organ->index, organ->content);
	*rc = -ENOMEM;
	if (view)
		inode = tree_make_scratch(tree, directory, name, view_new(NULL, 0, NULL), rc);
	if (inode)
		stage_adopt(inode->stage, view, &origin);
	view_unref(view);
	return inode;
}

struct inode *tree_make_link(const struct tree *tree, const struct inode *directory,
			     const char *name, struct content *content, int *rc)
{
	const struct inode made = { .ino = inode_new(directory->model),
				    .family = FAMILY_SCRATCH_LINK,
				    .model = directory->model,
				    .content = content,
				    .mtime = content->mtime };

	return add_scratch(tree, directory, name, &made, rc);
}

/* Places of scratch files in a listing: after all possible slots. */
#define SCRATCH_PLACES ((uint64_t)1 << 40)

bool tree_list_scratch(const struct tree *tree, const struct inode *directory,
		       bool (*is_listed)(const struct inode *directory, const char *name),
		       uint64_t *place, struct listed *entry)
{
	uint64_t number = *place > SCRATCH_PLACES ? *place - SCRATCH_PLACES : 0;

	entry->type = S_IFREG;
	for (;
	     scratch_files_next(tree->scratches, directory->ino, &number, entry->name, &entry->ino);
	     number++) {
		*place = SCRATCH_PLACES + number;
		if (!is_listed(directory, entry->name))
			return true;
	}
	return false;
}

int tree_fill(const struct inode *inode, uint64_t directory, const char *name)
{
	const enum organ_class klass = (enum organ_class)inode_index(directory);
	const struct content *link = inode->content;
	struct model *model = inode->model;
	char slot[NAME_MAX + 1];

	if (tree_is_metadata(directory))
		return metadata_edit_fill(model, name, inode->stage);
	if (tree_is_adapter_name(directory, name))
		return link ? adapter_edit_link(model, name, link->target, link->uid, link->gid)
			    : adapter_edit_write(model, name, inode->stage);
	snprintf(slot, sizeof(slot), "%.*s", (int)tree_slot_name(name), name);
	return link ? graft_symlink(model, klass, slot, link->target, link->uid, link->gid)
		    : graft_fill_name(model, klass, slot, inode->stage);
}

bool tree_holds_anything(uint64_t directory, const char *name)
{
	return tree_is_metadata(directory) || temporary_name(name) || is_theta_name(name);
}

int tree_check_private(const struct inode *inode, uint64_t directory, const char *name)
{
	struct organ organ = { .name = NULL };
	struct stage *stage = inode->stage;
	struct error err = { .code = 0 };
	struct source staged;
	struct origin from;
	char text[320];
	int rc;

	if (!stage || tree_holds_anything(directory, name))
		return 0;
	/* An adopted organ needs no check. */
	if (stage_origin(stage, &from)) {
		stage_set_outcome(stage, &from, true);
		content_unref(from.content);
		return 0;
	}
	rc = stage_commit_begin(stage, &staged);
	if (rc == 0 && staged.size > 0)
		rc = organ_parse(&staged, &organ, &err);
	free((char *)organ.name);
	if (rc < 0) {
		rc = rc == -EBADMSG ? -EINVAL : rc;
		snprintf(text, sizeof(text), "%s", strerror(-rc));
		if (err.code)
			error_describe(&err, text, sizeof(text));
		log_add(inode->model->log,
			"%s/%s: refused: %s; a file that is no organ is lost at the unmount: keep "
			"it elsewhere",
			tree_title(directory), name, text);
	}
	return stage_commit_keep(stage, rc);
}

bool tree_next_private(const struct tree *tree, uint64_t directory, uint64_t *number,
		       char name[NAME_MAX + 1])
{
	bool lost = false;
	uint64_t ino;

	for (; !lost && scratch_files_next(tree->scratches, directory, number, name, &ino);
	     ++*number) {
		struct inode *inode = inodes_get(tree->inodes, ino);

		lost = inode && !is_theta_name(name) &&
		       !(inode->stage && stage_shown(inode->stage).size == 0);
		inodes_put(tree->inodes, inode);
	}
	return lost;
}

/* Lock the inode's current name, copied to text. False: it has none, and nothing is locked. */
static bool take_name(const struct tree *tree, const struct inode *inode, struct name_lock *lock,
		      char text[NAME_MAX + 1])
{
	struct file_name *name = &lock->names[0];
	char now[NAME_MAX + 1];
	uint64_t directory;

	*lock = (struct name_lock){ .names = { { .name = text } } };
	while (scratch_files_name(tree->scratches, inode, &name->directory, text)) {
		name_locks_take(tree->names, lock);
		/* Another thread may have renamed it meanwhile. */
		if (scratch_files_name(tree->scratches, inode, &directory, now) &&
		    file_name_is(name, &(struct file_name){ directory, now }))
			return true;
		name_locks_release(tree->names, lock);
	}
	return false;
}

static int scratch_commit(const struct tree *tree, struct inode *inode)
{
	char text[NAME_MAX + 1];
	struct name_lock lock;
	const struct file_name *name = &lock.names[0];
	int rc = 0;

	if (!take_name(tree, inode, &lock, text))
		return 0;
	/* An earlier rename() may have committed the file. An empty file is refused if its slot was
	 * removed for it, so that the slot gets its content back. */
	if ((stage_written(inode->stage) || stage_has_removal(inode->stage)) &&
	    tree_is_named(inode->model, name->directory, text)) {
		rc = tree_fill(inode, name->directory, text);
		if (rc == 0)
			scratch_files_place(tree->scratches, inode, name, name);
	} else if (stage_written(inode->stage)) {
		rc = tree_check_private(inode, name->directory, text);
	}
	name_locks_release(tree->names, &lock);
	return rc;
}

static void scratch_name(const struct tree *tree, const struct inode *inode, char text[TITLE_MAX])
{
	char name[NAME_MAX + 1];
	uint64_t directory;

	if (scratch_files_name(tree->scratches, inode, &directory, name))
		snprintf(text, TITLE_MAX, "%s/%s", tree_title(directory), name);
	else
		snprintf(text, TITLE_MAX, "a file without a name");
}

static bool scratch_type(const struct inode *inode, struct value_type *type)
{
	const struct stage_shown shown = stage_shown(inode->stage);

	*type = shown.type;
	return shown.typed != STAGE_UNTYPED;
}

static int scratch_attribute(const struct inode *inode, const char *name, char *text, size_t n)
{
	char type_text[VALUE_TYPE_TEXT];
	struct value_type type;

	if (strcmp(name, "type") != 0 || !scratch_type(inode, &type))
		return -ENODATA;
	return snprintf(text, n, "%s", value_type_text(type, type_text));
}

static const char *const attributes[] = { "type", NULL };

const struct family family_scratch = {
	.mode = S_IFREG | 0666,
	.scratch = true,
	.attributes = attributes,
	.commit = scratch_commit,
	.title = scratch_name,
	.attribute = scratch_attribute,
	.type = scratch_type,
};

const struct family family_scratch_link = {
	.mode = S_IFLNK | 0777,
	.scratch = true,
};
