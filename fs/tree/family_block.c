/* SPDX-License-Identifier: MIT */
/* family_block.c - blocks: a directory per block, in which the names of the block's organs lack its
 * number; and the order of blocks.
 *
 * A name in blocks/7 is another name of a file in a class directory: each request that names one
 * calls tree_place(), so that all other code knows class directories alone. A block's directory
 * exists while a slot of the block holds a tensor, and after mkdir(2), or the removal of a name in
 * it, until rmdir(2). `cp -r DONOR/blocks/5 blocks/7` makes a directory 5 in an existing blocks/7,
 * which has the files of blocks/7 once more. */
#include "fs/edit/block_order_edit.h"
#include "fs/merge/merge_config.h"
#include "fs/model/block_names.h"
#include "fs/model/inode.h"
#include "fs/model/slots.h"
#include "fs/tree/family.h"
#include "fs/tree/generated.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "fs/util/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(const char *name, uint32_t *number)
{
	const size_t n = strlen(name);

	if (n == 0 || n > 6 || strspn(name, "0123456789") != n || (name[0] == '0' && n > 1))
		return false;
	*number = (uint32_t)strtoul(name, NULL, 10);
	return *number <= INODE_BLOCK_NUMBER;
}

/* Directories made by mkdir(2) are entered as hidden names. */
static bool is_made(const struct tree *tree, uint64_t directory, const char *name)
{
	return scratch_files_find(tree->scratches, directory, name, NULL) == SCRATCH_HIDDEN;
}

static void set_made(const struct tree *tree, uint64_t directory, const char *name)
{
	scratch_files_add(tree->scratches, directory, name, NULL);
}

/* Entry of a block's directory that is new, until a name in it is removed. θ files of empty slots
 * do not exist in a new directory; afterwards they do, so that `rm -r` finds each name that it has
 * listed. */
#define NEW "/"

/* Enter a directory of that name. Forgets the names made in a removed directory of the same number.
 * NULL: out of memory. */
static struct inode *make(const struct tree *tree, const struct inode *above, const char *name,
			  uint64_t number)
{
	scratch_files_unhide(tree->scratches, number);
	set_made(tree, above->ino, name);
	set_made(tree, number, NEW);
	return inodes_get(tree->inodes, number);
}

static bool is_block(uint64_t directory)
{
	return inode_kind(directory) == INODE_BASE && (inode_index(directory) & INODE_BLOCK);
}

bool tree_place(const struct tree *tree, struct tree_name *place)
{
	struct inode *block;
	enum organ_class klass;
	bool fits = true;

	if (!is_block(place->directory))
		return true;
	block = inodes_get(tree->inodes, place->directory);
	if (block) {
		fits = block_class_name(block->model, block->index, place->name, &klass,
					place->text);
		place->directory = inode_of_directory(block->model, INODE_CLASS, klass);
		place->name = place->text;
	}
	inodes_put(tree->inodes, block);
	return fits;
}

void tree_keep_block(const struct tree *tree, uint64_t directory)
{
	struct inode *block = is_block(directory) ? inodes_get(tree->inodes, directory) : NULL;
	char name[16];

	if (block) {
		snprintf(name, sizeof(name), "%" PRIu32, block->index);
		set_made(tree, inode_of_directory(block->model, INODE_BASE, INODE_BLOCKS), name);
		scratch_files_remove(tree->scratches, directory, NEW);
	}
	inodes_put(tree->inodes, block);
}

/* The directory blocks. */

static struct inode *blocks_lookup(const struct tree *tree, const struct inode *directory,
				   const char *name, int *rc)
{
	struct model *model = directory->model;
	uint32_t block;

	if (strcmp(name, generated_name(GENERATED_ORDER)) == 0)
		return generated_inode(tree_generated(tree, directory), GENERATED_ORDER, rc);
	if (!is_number(name, &block) ||
	    (!block_is_there(model, block) && !is_made(tree, directory->ino, name)))
		return NULL;
	return inodes_get(tree->inodes, inode_of_block(model, block, 0));
}

#define ORDER_PLACE ((uint64_t)INODE_BLOCK_NUMBER + 1)

static bool blocks_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
			struct listed *entry)
{
	const int64_t next =
		*place < ORDER_PLACE ? block_next(directory->model, (uint32_t)*place) : -1;

	if (*place > ORDER_PLACE)
		return false;
	if (next >= 0) {
		*place = (uint64_t)next;
		snprintf(entry->name, sizeof(entry->name), "%" PRId64, next);
		entry->ino = inode_of_block(directory->model, (uint32_t)next, 0);
		entry->type = S_IFDIR;
		return true;
	}
	*place = ORDER_PLACE;
	snprintf(entry->name, sizeof(entry->name), "%s", generated_name(GENERATED_ORDER));
	entry->ino = generated_ino(tree_generated(tree, directory), GENERATED_ORDER);
	entry->type = S_IFREG;
	return true;
}

/* Next free number, after the existing blocks and directories made for more: rsync makes several
 * before it fills them. */
static uint32_t next_number(const struct tree *tree, const struct inode *directory)
{
	uint32_t next = 0;
	char name[16];

	for (int64_t last = -1; (last = block_next(directory->model, (uint32_t)(last + 1))) >= 0;)
		next = (uint32_t)last + 1;
	while (snprintf(name, sizeof(name), "%" PRIu32, next) > 0 &&
	       is_made(tree, directory->ino, name))
		next++;
	return next;
}

static struct inode *blocks_make_directory(const struct tree *tree, const struct inode *directory,
					   const char *name, int *rc)
{
	struct model *model = directory->model;
	const uint32_t next = next_number(tree, directory);
	uint32_t block;

	*rc = -EPERM;
	if (!is_number(name, &block) || block > next) {
		log_add(model->log,
			"blocks/%s: refused: a directory here is a block, and the next one is "
			"%" PRIu32,
			name, next);
		return NULL;
	}
	*rc = -ENOMEM;
	return make(tree, directory, name, inode_of_block(model, block, 0));
}

static const char *blocks_advice(const char *name)
{
	(void)name;
	return "only blocks and their order belong here; write blocks/order in place";
}

/* st_nlink is 1, because the number of subdirectories varies with the blocks. */
const struct family family_blocks = {
	.path = "blocks",
	.mode = S_IFDIR | 0777,
	.directories = -1u,
	.lifetime = NAME_FOREVER,
	.links = LINKS_YES,
	.lookup = blocks_lookup,
	.list = blocks_list,
	.make_directory = blocks_make_directory,
	.advice = blocks_advice,
};

/* The directory of a block. */

static struct inode *block_lookup(const struct tree *tree, const struct inode *directory,
				  const char *name, int *rc)
{
	struct tree_name place = { .directory = directory->ino, .name = name };
	struct inode *klass, *inode = NULL;
	uint32_t number;

	if (directory->part == 0 && is_number(name, &number) && is_made(tree, directory->ino, name))
		return inodes_get(tree->inodes,
				  inode_of_block(directory->model, directory->index, number + 1));
	if (!tree_place(tree, &place))
		return NULL;
	klass = inodes_get(tree->inodes, place.directory);
	if (klass)
		inode = tree_find(tree, klass, place.name, rc);
	inodes_put(tree->inodes, klass);
	if (!inode || !family_of(inode)->discarded || !is_made(tree, directory->ino, NEW))
		return inode;
	inodes_put(tree->inodes, inode);
	*rc = -ENOENT;
	return NULL;
}

/* Organs and their θ files, in the order of the slots. */
static bool block_list(const struct tree *tree, const struct inode *directory, uint64_t *place,
		       struct listed *entry)
{
	struct model *model = directory->model;
	const uint32_t n = slots_count(model->slots);

	for (; *place / 2 < n; ++*place) {
		const uint32_t i = (uint32_t)(*place / 2);
		const struct organ_place *slot = &model->places[i];
		const char *name = block_name(slot);

		if (!name || slot->block != (int32_t)directory->index ||
		    !tree_list_organ(model, *place % 2, i, entry) ||
		    is_made(tree, inode_of_directory(model, INODE_CLASS, slot->klass), entry->name))
			continue;
		snprintf(entry->name, sizeof(entry->name), "%s.%s", name,
			 *place % 2 ? "theta" : "bin");
		return true;
	}
	return false;
}

static struct inode *block_make_directory(const struct tree *tree, const struct inode *directory,
					  const char *name, int *rc)
{
	uint32_t number;

	*rc = -EPERM;
	if (directory->part || !is_number(name, &number)) {
		log_add(directory->model->log,
			"blocks/%" PRIu32 "/%s: refused: no directory can be made in a block",
			directory->index, name);
		return NULL;
	}
	*rc = -ENOMEM;
	return make(tree, directory, name,
		    inode_of_block(directory->model, directory->index, number + 1));
}

/* Counter of removals. The kernel regards a directory of another generation as gone, also for
 * processes in it; a block's directory and those within it have separate counters. */
static atomic_uint *removals_of(const struct inode *directory)
{
	const uint32_t number = 2 * directory->index + (directory->part != 0);

	return &directory->model->removed[CLASSES + number % MODEL_REMOVED_BLOCKS];
}

static uint64_t block_generation(const struct inode *directory)
{
	return atomic_load(removals_of(directory));
}

/* Remove a directory. The kernel treats a removed directory as dead, so the same name made again is
 * another directory. */
static int remove_block(const struct tree *tree, const struct inode *directory)
{
	char name[16];

	if (directory->part == 0 && block_is_there(directory->model, directory->index))
		return -ENOTEMPTY;
	snprintf(name, sizeof(name), "%" PRIu32,
		 directory->part ? directory->part - 1 : directory->index);
	scratch_files_remove(tree->scratches, tree_parent(tree, directory), name);
	atomic_fetch_add(removals_of(directory), 1);
	return 0;
}

const struct family family_block = {
	.path = "blocks/B",
	.mode = S_IFDIR | 0777,
	.lifetime = NAME_IN_READ_ONLY,
	.links = LINKS_OPENED,
	.lookup = block_lookup,
	.list = block_list,
	.generation = block_generation,
	.make_directory = block_make_directory,
	.remove_directory = remove_block,
};

/* The order. */

static int order_obey(const struct tree *tree, const struct inode *inode,
		      struct family_words *words)
{
	(void)tree;
	return block_order_edit(inode->model, words->text, words->uid, words->gid, words->stop);
}

static int order_judge(const struct inode *inode, const char *lines, size_t n)
{
	char *words = strndup(lines, n);
	const int rc = words ? block_order_edit_judge(inode->model, words) : -ENOMEM;

	free(words);
	return rc;
}

static void order_title(const struct tree *tree, const struct inode *inode, char text[TITLE_MAX])
{
	(void)tree;
	(void)inode;
	snprintf(text, TITLE_MAX, BLOCK_ORDER_NAME);
}

const struct family family_order = {
	.mode = S_IFREG | 0666,
	.title = order_title,
	.write = WRITE_OBEYED,
	.lines = true,
	.most = MERGE_CONFIG_MAX,
	.judge = order_judge,
	.obey = order_obey,
};
