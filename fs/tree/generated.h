/* SPDX-License-Identifier: MIT */
/* generated.h - files generated from the state of a model: manifest.json, model.gguf, header.gguf,
 * theta.svg, checksums.xxh128, .theta, .report.json, .table, .grafts, .check, .undo, .log, .recipe,
 * .types, .merge, .assemble in its root, files of its .views and .base, .theta in every class,
 * loss.tsv in every type, blocks/order; and of a mount with several models. Each state of a file is
 * an inode of its own, made when it is first looked up and shared until the state changes. */
#ifndef FS_TREE_GENERATED_H
#define FS_TREE_GENERATED_H

#include "fs/tensor/organ_views.h"
#include "gguf/anatomy.h"

#include <time.h>

struct error;
struct inode;
struct inodes;

/* The first kind behind those of a directory has the suffix END. */
enum generated_kind {
	GENERATED_MANIFEST,
	GENERATED_MODEL,
	GENERATED_HEADER,
	GENERATED_PICTURE,
	GENERATED_CHECKSUMS,
	GENERATED_THETA,
	GENERATED_REPORT_JSON,
	GENERATED_TABLE,
	GENERATED_ASSEMBLE,
	GENERATED_GRAFTS,
	GENERATED_CHECK,
	GENERATED_UNDO,
	GENERATED_LOG,
	/* The root's list ends here; family_directory.c names the others of the root. */
	GENERATED_RECIPE,
	GENERATED_TYPES,
	GENERATED_MERGE,
	GENERATED_ROOT_END,
	GENERATED_GGUF_HASH = GENERATED_ROOT_END,
	GENERATED_VIEWS_END,
	GENERATED_BASE_PICTURE = GENERATED_VIEWS_END,
	GENERATED_BASE_END,
	GENERATED_ORDER = GENERATED_BASE_END,
	/* The .theta of each class, in the order of enum organ_class. */
	GENERATED_CLASS_THETA,
	/* loss.tsv of each type in .views/types, in the order of organ_view_of_type(). */
	GENERATED_LOSSES = GENERATED_CLASS_THETA + CLASSES,
	GENERATED_KINDS = GENERATED_LOSSES + ORGAN_VIEW_TYPE_COUNT,
};

struct generated; /* any thread may use it */

/* Source of the files. view() makes a file from the state that stamp() identifies; NULL: it cannot,
 * with the reason in err, which is empty if out of memory. */
struct generator {
	uint64_t (*stamp)(void *context, enum generated_kind kind);
	struct view *(*view)(void *context, enum generated_kind kind, struct error *err);
	void *context;
	struct model *model; /* owner of the files; NULL: the mount */
	/* if model is NULL: of files with stamp 0, which is that of an unchanged base */
	struct timespec mtime;
	struct log *log;
};

/* New set of files; the generator's pointers are borrowed. NULL: out of memory. */
struct generated *generated_new(const struct generator *generator, struct inodes *inodes);
void generated_free(struct generated *generated);

/* File name, such as "manifest.json". */
const char *generated_name(enum generated_kind kind);

/* Inode number of the current state, without making the file. */
uint64_t generated_ino(struct generated *generated, enum generated_kind kind);

/* Is the file of the current state still to be made, for which disks may be read? */
bool generated_may_block(struct generated *generated, enum generated_kind kind);

/* File of the current state, to release with inodes_put(). NULL with *rc set to -errno and a line
 * in the log if it cannot be made. */
struct inode *generated_inode(struct generated *generated, enum generated_kind kind, int *rc);

#endif
