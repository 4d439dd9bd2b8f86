/* SPDX-License-Identifier: MIT */
/* family_generated.c - files generated from the state of a model (generated.h), θ files, and empty
 * files. Most of them drop writes. */
#include "fs/edit/merge_edit.h"
#include "fs/edit/type_edit.h"
#include "fs/edit/undo.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/theta_text.h"
#include "fs/merge/merge_config.h"
#include "fs/model/inode.h"
#include "fs/model/merge_force.h"
#include "fs/recipe/recipe.h"
#include "fs/recipe/recipe_replay.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/tree/generated.h"
#include "fs/tree/tree.h"
#include "fs/tree/written_words.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse_lacking(const struct inode *inode)
{
	char *lacks = model_missing_shards(inode->model);

	log_add(inode->model->log, "%s: cannot be opened: %s", generated_name(GENERATED_MODEL),
		lacks ? lacks : "out of memory");
	free(lacks);
	return -ENODATA;
}

static struct view *model_file_open(const struct tree *tree, const struct inode *inode, int *rc)
{
	(void)tree;
	if (inode->model->whole)
		return view_ref(inode->view);
	*rc = refuse_lacking(inode);
	return NULL;
}

/* Extent of model.gguf, if it is one file: the base or an assembled one. */
static int model_file_extent(const struct inode *inode, const char *name, char *text, size_t n)
{
	struct extent extent;

	if (strcmp(name, "extent") != 0 || !view_extent(inode->view, 0, &extent) ||
	    !extent.backing || extent.length != view_size(inode->view))
		return -ENODATA;
	return snprintf(text, n, "%s:%" PRIu64 ":%" PRIu64, backing_path(extent.backing),
			extent.offset, extent.length);
}

const struct family family_generated = {
	.mode = S_IFREG | 0666,
	.write = WRITE_DROPPED,
};

const struct family family_generated_fixed = {
	.mode = S_IFREG | 0444,
};

static uint64_t own_number(const struct inode *inode)
{
	return inode->ino;
}

/* New inode of the same file for a writer. Dropped writes need no stage, but while the kernel reads
 * model.gguf by passthrough (read_modes.h), no process can open the same inode number through the
 * daemon. */
static struct inode *model_file_again(const struct tree *tree, const struct inode *inode)
{
	struct inode made = { .ino = inode_new(inode->model),
			      .family = inode->family,
			      .index = inode->index,
			      .model = inode->model,
			      .view = view_ref(inode->view),
			      .mtime = inode->mtime };

	return inodes_add(tree->inodes, &made);
}

/* A copy of model.gguf is no part of another file, so its extent is not listed. */
const struct family family_model_file = {
	.mode = S_IFREG | 0666,
	.write = WRITE_DROPPED,
	.is_copy = true,
	.drops = "the file is the model with its grafts; mount another model by itself",
	.number = own_number,
	.stage = model_file_again,
	.open = model_file_open,
	.attribute = model_file_extent,
};

/* The log grows in a read-only mount too. */
const struct family family_log = {
	.mode = S_IFREG | 0666,
	.lifetime = NAME_NEVER,
	.write = WRITE_DROPPED,
	.polled = true,
};

const struct family family_grafts = {
	.mode = S_IFREG | 0666,
	.write = WRITE_DROPPED,
	.polled = true,
};

const struct family family_assemble = {
	.mode = S_IFREG | 0666,
	.write = WRITE_ASSEMBLES,
};

static int undo_obey(const struct tree *tree, const struct inode *inode, struct family_words *words)
{
	(void)tree;
	return undo(inode->model, words->text);
}

/* Check lines, without those that begin with '#'. */
static int judge_lines(const struct inode *inode, const char *lines, size_t n,
		       int (*judge)(struct model *model, char *words))
{
	char *words = malloc(n + 1), *end = words;
	int rc;

	if (!words)
		return -ENOMEM;
	for (const char *line = lines, *next; line < lines + n; line = next) {
		next = (const char *)memchr(line, '\n', (size_t)(lines + n - line)) + 1;
		if (line[0] != '#')
			end = mempcpy(end, line, (size_t)(next - line));
	}
	*end = '\0';
	rc = judge(inode->model, words);
	free(words);
	return rc;
}

static int undo_judge_lines(const struct inode *inode, const char *lines, size_t n)
{
	return judge_lines(inode, lines, n, undo_judge);
}

const struct family family_undo = {
	.mode = S_IFREG | 0666,
	.write = WRITE_OBEYED,
	.lines = true,
	.most = WRITTEN_WORDS_MAX,
	.judge = undo_judge_lines,
	.obey = undo_obey,
};

static int types_obey(const struct tree *tree, const struct inode *inode,
		      struct family_words *words)
{
	(void)tree;
	return type_edit_write(inode->model, TYPE_EDIT_FILE, words->text);
}

static int types_judge_lines(const struct inode *inode, const char *lines, size_t n)
{
	return judge_lines(inode, lines, n, type_edit_judge);
}

const struct family family_types_list = {
	.mode = S_IFREG | 0666,
	.write = WRITE_OBEYED,
	.lines = true,
	.most = WRITTEN_WORDS_MAX,
	.judge = types_judge_lines,
	.obey = types_obey,
};

static int recipe_obey(const struct tree *tree, const struct inode *inode,
		       struct family_words *words)
{
	const struct recipe_places places = { .beside = words->source,
					      .donors = tree->donors,
					      .n_models = tree->n_models,
					      .device = tree->device,
					      .stop = words->stop };
	struct recipe_request request = { .text = words->text,
					  .size = words->n,
					  .places = places,
					  .ancestry =
						  &tree->model_files[inode->model->number].ancestry,
					  .uid = words->uid,
					  .gid = words->gid };
	struct model **models = calloc(tree->n_models, sizeof(*models));
	int rc;

	if (!models)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->n_models; i++)
		models[i] = model_files_current(tree->model_files, i)->model;
	request.places.models = models;
	rc = recipe_replay(inode->model, &request);
	free(models);
	return rc;
}

const struct family family_recipe = {
	.mode = S_IFREG | 0666,
	.write = WRITE_OBEYED,
	.traced = true,
	.most = RECIPE_MAX,
	.obey = recipe_obey,
};

static int merge_obey(const struct tree *tree, const struct inode *inode,
		      struct family_words *words)
{
	char *beside = words->source ? paths_directory(words->source) : NULL;
	struct merge_request request = { .text = words->text,
					 .size = words->n,
					 .directories = { words->cwd ? words->cwd : beside,
							  words->cwd ? beside : NULL },
					 .n_models = tree->n_models,
					 .uid = words->uid,
					 .gid = words->gid,
					 .stop = words->stop };
	struct model **models = calloc(tree->n_models, sizeof(*models));
	int rc = models ? 0 : -ENOMEM;

	for (uint32_t i = 0; models && i < tree->n_models; i++)
		models[i] = model_files_current(tree->model_files, i)->model;
	request.models = models;
	if (rc == 0)
		rc = merge_edit_write(inode->model, &request);
	free(models);
	free(beside);
	return rc;
}

static int merge_remove(const struct inode *inode, pid_t process)
{
	(void)process;
	return merge_edit_end(inode->model);
}

/* The configuration is shown as written, and a URL in it may contain a password. */
static bool merge_is_owner_only(const struct inode *inode)
{
	struct merge_state *merge = merge_force_get(inode->model);
	const bool is = merge && memmem(merge->text, merge->size, "://", 3) != NULL;

	merge_state_unref(merge);
	return is;
}

const struct family family_merge = {
	.mode = S_IFREG | 0666,
	.write = WRITE_OBEYED,
	.traced = true,
	.most = MERGE_CONFIG_MAX,
	.is_owner_only = merge_is_owner_only,
	.obey = merge_obey,
	.remove = merge_remove,
};

static uint64_t theta_size(const struct inode *inode)
{
	(void)inode;
	return THETA_FILE_SIZE;
}

static struct view *theta_open(const struct tree *tree, const struct inode *inode, int *rc)
{
	const struct subject subject = { inode->index, inode->content };

	*rc = -ENOMEM;
	return theta_file(tree->model_files[inode->model->number].measures, &subject);
}

const struct family family_theta = {
	.mode = S_IFREG | 0666,
	.in_block = true,
	.write = WRITE_DROPPED,
	.computed = true,
	.title = family_organ_name,
	.size = theta_size,
	.open = theta_open,
};

/* Empty files that drop writes, so that whole trees can be copied in and removed. */
struct inode *tree_make_sink(const struct tree *tree, struct model *model)
{
	struct inode made = { .ino = inode_new(model), .family = FAMILY_SINK, .model = model };

	made.mtime = model_time(model);
	made.view = view_new(NULL, 0, NULL);
	return made.view ? inodes_add(tree->inodes, &made) : NULL;
}

const struct family family_sink = {
	.mode = S_IFREG | 0666,
	.write = WRITE_DROPPED,
	.discarded = true,
};
