/* SPDX-License-Identifier: MIT */
/* generated.h - the files that are made from the state of a model: manifest.json, model.gguf,
 * header.gguf, theta.svg, checksums.xxh128, .theta, .report.json, .table, .grafts, .check, .undo,
 * .log, .recipe, .types, .merge, .assemble in its root, files of its .views and .base, .theta in
 * every class, loss.tsv in every type, blocks/order; and from that of a mount with several. Each
 * state of a file is an inode of its own, made when it is first looked at and shared until the
 * state moves on. */
#ifndef FS_TREE_GENERATED_H
#define FS_TREE_GENERATED_H

#include "fs/tensor/organ_views.h"
#include "gguf/anatomy.h"

#include <time.h>

struct error;
struct inode;
struct inodes;

enum generated_kind {
	GENERATED_MANIFEST,
	GENERATED_MODEL,
	GENERATED_HEADER,
	GENERATED_PICTURE,
	GENERATED_CHECKSUMS,
	GENERATED_REPORT,
	GENERATED_REPORT_JSON,
	GENERATED_ROWS,
	GENERATED_ASSEMBLE,
	GENERATED_GRAFTS,
	GENERATED_CHECK,
	GENERATED_UNDO,
	GENERATED_LOG,
	GENERATED_RECIPE,
	GENERATED_TYPES,
	GENERATED_MERGE,
	GENERATED_IN_ROOT,
	GENERATED_GGUF_HASH = GENERATED_IN_ROOT,
	GENERATED_IN_VIEWS,
	GENERATED_BASE_PICTURE = GENERATED_IN_VIEWS,
	GENERATED_IN_BASE,
	GENERATED_ORDER = GENERATED_IN_BASE, /* of the blocks */
	/* The table of each class, in the order of enum organ_class. */
	GENERATED_TABLES,
	/* loss.tsv of each type in .views/types, in the order of organ_view_of_type(). */
	GENERATED_LOSSES = GENERATED_TABLES + CLASSES,
	GENERATED_KINDS = GENERATED_LOSSES + ORGAN_VIEW_TYPE_COUNT,
};

struct generated; /* any thread may use it */

/* What makes the files. The view of one is made from the state that its stamp stands for; NULL: it
 * cannot be made, for what err says, or where that says nothing for want of memory. */
struct generator {
	uint64_t (*stamp)(void *context, enum generated_kind kind);
	struct view *(*view)(void *context, enum generated_kind kind, struct error *err);
	void *context;
	struct model *model;   /* whose files they are; NULL: the mount's */
	struct timespec mtime; /* of files made from stamp 0, where there is no model */
	struct log *log;
};

/* All that it points to is borrowed. NULL: out of memory. */
struct generated *generated_new(const struct generator *generator, struct inodes *inodes);
void generated_free(struct generated *generated);

/* "manifest.json", ... */
const char *generated_name(enum generated_kind kind);

/* Its inode number as it is now, without making the file. */
uint64_t generated_ino(struct generated *generated, enum generated_kind kind);

/* Does it have to be made as it is now, and not from memory alone? */
bool generated_may_block(struct generated *generated, enum generated_kind kind);

/* The file as it is now, to release with inodes_put(). NULL with *rc set to -errno, and a line in
 * the log, if it cannot be made. */
struct inode *generated_inode(struct generated *generated, enum generated_kind kind, int *rc);

#endif
