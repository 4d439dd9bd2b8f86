/* SPDX-License-Identifier: MIT */
/* offline_tree.c - see offline_tree.h. */
#include "fs/commands/offline_tree.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/terminal_progress.h"
#include "fs/edit/symlinks.h"
#include "fs/lazy/memo.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/mount/merge_option.h"
#include "fs/mount/mount.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/util/log.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_model(struct offline_tree *tree)
{
	const char *given = tree->options.models[0], *culprit = NULL;
	struct error err = { 0 };
	char text[320];

	if (models_open(&tree->collection, &tree->options, tree->log, &culprit, &err) < 0)
		return offline_models_report("%s: %s", culprit,
					     error_describe(&err, text, sizeof(text)));
	if (tree->collection.n != 1)
		return offline_models_report("%s: it holds %u models; name one of them", given,
					     (unsigned)tree->collection.n);
	tree->model = tree->collection.models[0];
	return 0;
}

int offline_tree_open(struct offline_tree *tree, const struct options *options)
{
	*tree = (struct offline_tree){ .options = *options, .log = log_new(true) };
	tree->options.n_models = 1;
	if (!tree->log)
		return offline_models_fail(options_name(options, 0), -ENOMEM);
	/* A mount makes a layer that is missing; here the name is mistaken. */
	if (options->layer && access(options->layer, F_OK) < 0)
		return offline_models_fail(options->layer, -errno);
	if (open_model(tree) < 0)
		return -1;
	tree->fs = mount_new(&tree->collection);
	if (!tree->fs)
		return offline_models_fail(options_name(options, 0), -ENOMEM);
	if (merge_option_run(tree->fs) < 0)
		return -1;
	symlinks_refresh(tree->fs->links, NULL);
	return 0;
}

void offline_tree_close(struct offline_tree *tree)
{
	if (!tree->log)
		return;
	mount_free(tree->fs);
	models_close(&tree->collection);
	log_free(tree->log);
}

struct inode *offline_tree_find(const struct offline_tree *tree, const char *path, int *rc)
{
	struct inodes *inodes = tree->fs->inodes;
	struct inode *inode = inodes_get(inodes, inodes_root_ino(inodes, tree->model));
	char name[NAME_MAX + 1];

	*rc = inode ? 0 : -ENOENT;
	while (inode && *path) {
		const size_t n = strcspn(path, "/");
		struct inode *next = NULL;

		*rc = n < sizeof(name) ? 0 : -ENAMETOOLONG;
		if (*rc == 0) {
			memcpy(name, path, n);
			name[n] = '\0';
			next = tree_find(&tree->fs->tree, inode, name, rc);
		}
		inodes_put(inodes, inode);
		inode = next;
		path += n + (path[n] == '/');
	}
	return inode;
}

/* NULL with *rc set. */
static struct view *open_file(const struct offline_tree *tree, const struct inode *inode, int *rc)
{
	const struct family *family = family_of(inode);
	const bool link = family->slot && S_ISLNK(family->mode);

	*rc = S_ISDIR(family->mode) ? -EISDIR : -ENOMEM;
	if (link)
		family = &family_organ;
	if (link && inode->content->broken)
		*rc = -ENOENT;
	else if (family->open)
		return family->open(&tree->fs->tree, inode, rc);
	else if (inode->view)
		return view_ref(inode->view);
	return NULL;
}

struct view *offline_tree_view(const struct offline_tree *tree, const char *path)
{
	int rc;
	struct inode *inode = offline_tree_find(tree, path, &rc);
	struct view *view = inode ? open_file(tree, inode, &rc) : NULL;

	inodes_put(tree->fs->inodes, inode);
	if (!view)
		offline_models_fail(path, rc);
	return view;
}

static bool look(void *context, uint64_t *done, uint64_t *total)
{
	const struct offline_tree *tree = context;

	*done = memo_count(tree->fs->model_files[tree->model->number].measures);
	*total = slots_count(tree->model->slots);
	return *done != 0;
}

char *offline_tree_text(struct offline_tree *tree, const char *path, size_t *size)
{
	struct view *view = offline_tree_view(tree, path);
	struct terminal_progress *progress;
	char *text = NULL;
	ssize_t got = -ENOMEM;

	if (!view)
		return NULL;
	*size = (size_t)view_size(view);
	text = calloc(1, *size + 1);
	progress = terminal_progress_begin(tree->model->name, "tensors", look, tree, tree->log);
	if (text)
		got = view_read(view, text, *size, 0);
	terminal_progress_end(progress);
	view_unref(view);
	if (got >= 0)
		return text;
	offline_models_fail(path, (int)got);
	free(text);
	return NULL;
}
