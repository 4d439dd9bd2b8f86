/* SPDX-License-Identifier: MIT */
/* family_diff.c - .diff: the files of diffs.h for each other model: the base, the models of the
 * same mount, and the targets of symbolic links NAME.gguf. The links are scratch files of the
 * directory (scratch_files.h). */
#include "fs/model/inode.h"
#include "fs/tree/diffs.h"
#include "fs/tree/family.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BASE_NAME   "base"
#define LINK_ENDING ".gguf"

static struct diffs *diffs_of(const struct tree *tree, const struct inode *directory)
{
	return tree->model_files[directory->model->number].diffs;
}

/* Current model number i of the mount. NULL: it is the directory's own, or named "base". */
static struct model *model_beside(const struct tree *tree, const struct inode *directory,
				  uint32_t i)
{
	struct model *model = model_files_current(tree->model_files, i)->model;

	return model->first == directory->model->first || strcmp(model->shown, BASE_NAME) == 0
		       ? NULL
		       : model;
}

/* Find the other model of that name, the base or a model of the mount. False: there is none. */
static bool find_beside(const struct tree *tree, const struct inode *directory, const char *name,
			struct diffs_other *other)
{
	*other = (struct diffs_other){ .name = name };
	if (strcmp(name, BASE_NAME) == 0)
		return true;
	for (uint32_t i = 0; !other->model && i < tree->n_models; i++) {
		struct model *model = model_beside(tree, directory, i);

		if (model && strcmp(model->shown, name) == 0)
			other->model = model;
	}
	return other->model != NULL;
}

/* Link to a model of that name: its inode, to release. NULL: there is none. */
static struct inode *find_link(const struct tree *tree, const struct inode *directory,
			       const char *name)
{
	char file[NAME_MAX + sizeof(LINK_ENDING)];
	struct inode *inode = NULL;

	snprintf(file, sizeof(file), "%s" LINK_ENDING, name);
	scratch_files_find(tree->scratches, directory->ino, file, &inode);
	return inode;
}

struct diff_name {
	char stem[NAME_MAX + 1];
	diffs_form form;
	struct diffs_other other; /* its name is stem */
	struct inode *link;	  /* to release; NULL: no link */
};

static bool parse_as(const struct tree *tree, const struct inode *directory, const char *name,
		     diffs_form form, struct diff_name *parsed)
{
	char ending[DIFFS_ENDING_MAX];
	const size_t n = strlen(name), m = strlen(diffs_ending(form, ending));

	if (n <= m || n > NAME_MAX || strcmp(name + n - m, ending) != 0)
		return false;
	memcpy(parsed->stem, name, n - m);
	parsed->stem[n - m] = '\0';
	parsed->form = form;
	parsed->link = NULL;
	if (find_beside(tree, directory, parsed->stem, &parsed->other))
		return true;
	parsed->link = find_link(tree, directory, parsed->stem);
	parsed->other.link = parsed->link ? parsed->link->content : NULL;
	return parsed->link != NULL;
}

/* Rank in a name that ends in ".lora-RANK" and an ending. 0: no such name. */
static unsigned rank_in(const char *name)
{
	static const char words[] = ".lora-";
	const char *at = NULL;
	unsigned rank = 0;

	for (const char *next = name; (next = strstr(next, words)); next++)
		at = next + strlen(words);
	if (!at || *at == '0')
		return 0;
	for (; *at >= '0' && *at <= '9' && rank <= DIFF_RANK_MOST; at++)
		rank = 10 * rank + (unsigned)(*at - '0');
	return rank <= DIFF_RANK_MOST ? rank : 0;
}

/* Parse a file name. A model whose name looks like that of another model's adapter goes first.
 * False: no such file. */
static bool parse(const struct tree *tree, const struct inode *directory, const char *name,
		  struct diff_name *parsed)
{
	const unsigned rank = rank_in(name);

	for (diffs_form form = 0; form < DIFFS_LISTED; form++)
		if (parse_as(tree, directory, name, form, parsed))
			return true;
	return rank && (parse_as(tree, directory, name, DIFFS_ADAPTER(rank), parsed) ||
			parse_as(tree, directory, name, DIFFS_ADAPTER_TABLE(rank), parsed));
}

static struct inode *diffs_lookup(const struct tree *tree, const struct inode *directory,
				  const char *name, int *rc)
{
	struct inode *inode = NULL;
	struct diff_name parsed;

	scratch_files_find(tree->scratches, directory->ino, name, &inode);
	if (!inode && parse(tree, directory, name, &parsed)) {
		inode = diffs_inode(diffs_of(tree, directory), &parsed.other, parsed.form, rc);
		inodes_put(tree->inodes, parsed.link);
	}
	return inode;
}

static bool diffs_block(const struct tree *tree, const struct inode *directory, const char *name)
{
	struct diff_name parsed;
	bool blocks;

	if (!parse(tree, directory, name, &parsed))
		return false;
	blocks = diffs_may_block(diffs_of(tree, directory), &parsed.other, parsed.form);
	inodes_put(tree->inodes, parsed.link);
	return blocks;
}

/* Entry of a file of the model with that name. False: the file name would be too long. */
static bool list_form(const struct tree *tree, const struct inode *directory, const char *name,
		      diffs_form form, struct listed *entry)
{
	char ending[DIFFS_ENDING_MAX];
	const int n = snprintf(entry->name, sizeof(entry->name), "%s%s", name,
			       diffs_ending(form, ending));

	entry->type = S_IFREG;
	entry->ino = diffs_ino(diffs_of(tree, directory), name, form);
	if (entry->ino == 0)
		entry->ino = inode_new(directory->model);
	return n > 0 && (size_t)n < sizeof(entry->name);
}

/* Places of links, after all possible models: each link, then its files. */
#define LINK_PLACES ((uint64_t)1 << 40)
#define LINK_NAMES  (DIFFS_LISTED + 1u)

static bool list_link(const struct tree *tree, const struct inode *directory, uint64_t *place,
		      struct listed *entry)
{
	char file[NAME_MAX + 1];
	uint64_t at = *place > LINK_PLACES ? *place - LINK_PLACES : 0;

	for (;; at++) {
		const uint64_t asked = at / LINK_NAMES;
		uint64_t number = asked;

		entry->type = S_IFLNK;
		if (!scratch_files_next(tree->scratches, directory->ino, &number, file,
					&entry->ino))
			return false;
		if (number != asked)
			at = number * LINK_NAMES;
		*place = LINK_PLACES + at;
		snprintf(entry->name, sizeof(entry->name), "%s", file);
		if (at % LINK_NAMES == 0)
			return true;
		file[strlen(file) - strlen(LINK_ENDING)] = '\0';
		if (list_form(tree, directory, file, (diffs_form)(at % LINK_NAMES - 1), entry))
			return true;
	}
}

static bool diffs_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
		       struct listed *entry)
{
	for (; *place < (uint64_t)DIFFS_LISTED * (1 + (uint64_t)tree->n_models); ++*place) {
		const uint64_t i = *place / DIFFS_LISTED;
		const struct model *model =
			i ? model_beside(tree, directory, (uint32_t)(i - 1)) : NULL;

		if ((!i || model) && list_form(tree, directory, i ? model->shown : BASE_NAME,
					       (diffs_form)(*place % DIFFS_LISTED), entry))
			return true;
	}
	return list_link(tree, directory, place, entry);
}

/* Length of the model's name in a link's name; 0: no link's name. */
static size_t stem_length(const char *name)
{
	const size_t n = strlen(name), m = strlen(LINK_ENDING);

	return n > m && strcmp(name + n - m, LINK_ENDING) == 0 ? n - m : 0;
}

static int diffs_check_link(const struct tree *tree, const struct inode *directory,
			    const char *name)
{
	const size_t n = stem_length(name);
	char stem[NAME_MAX + 1];
	struct diff_name taken;

	if (n == 0) {
		log_add(directory->model->log,
			".diff/%s: refused: a link to another model must be named NAME" LINK_ENDING
			": ln -s /PATH/TO/FILE-OR-MOUNT .diff/NAME" LINK_ENDING,
			name);
		return -EPERM;
	}
	snprintf(stem, sizeof(stem), "%.*s", (int)n, name);
	if (!parse(tree, directory, stem, &taken)) {
		if (!parse(tree, directory, name, &taken))
			return 0;
		snprintf(stem, sizeof(stem), "%s", taken.stem);
	}
	inodes_put(tree->inodes, taken.link);
	log_add(directory->model->log,
		".diff/%s: refused: there is another model called %s; choose another name", name,
		stem);
	return -EEXIST;
}

static void diffs_link_removed(const struct tree *tree, const struct inode *directory,
			       const char *name)
{
	char stem[NAME_MAX + 1];

	snprintf(stem, sizeof(stem), "%.*s", (int)stem_length(name), name);
	diffs_remove(diffs_of(tree, directory), stem);
}

static const char *diffs_advice(const char *name)
{
	(void)name;
	return "link another model: ln -s /PATH/TO/FILE-OR-MOUNT .diff/NAME" LINK_ENDING;
}

const struct family family_diffs = {
	.path = ".diff",
	.mode = S_IFDIR | 0777,
	.lifetime = NAME_FOREVER,
	.links = LINKS_YES,
	.takes_links = true,
	.lookup = diffs_lookup,
	.may_block = diffs_block,
	.list = diffs_list,
	.check_link = diffs_check_link,
	.link_removed = diffs_link_removed,
	.advice = diffs_advice,
};

const struct family family_diff_file = {
	.mode = S_IFREG | 0444,
	.lifetime = NAME_NEVER,
};
