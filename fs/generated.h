/* SPDX-License-Identifier: MIT */
/* generated.h - the files that are made from the state of a mount: manifest.json, model.gguf,
 * theta.svg, .theta, .grafts, .log, .assemble in the root, .theta in every class. Each state of one
 * is a node of its own, made when it is first looked at and shared until the state moves on. */
#ifndef FS_GENERATED_H
#define FS_GENERATED_H

#include "fs/assembly.h"
#include "fs/nodes.h"
#include "fs/readings.h"

enum generated_kind {
	GENERATED_MANIFEST,
	GENERATED_MODEL,
	GENERATED_PICTURE,
	GENERATED_REPORT,
	GENERATED_ASSEMBLE,
	GENERATED_GRAFTS,
	GENERATED_LOG,
	GENERATED_IN_ROOT,
	/* The table of each class, in the order of enum organ_class. */
	GENERATED_TABLES = GENERATED_IN_ROOT,
	GENERATED_KINDS = GENERATED_TABLES + CLASSES,
};

struct generated; /* any thread may use it */

/* All are borrowed. NULL: out of memory. */
struct generated *generated_new(struct model *model, struct readings *readings,
				struct assembly *assembly, struct nodes *nodes);
void generated_free(struct generated *generated);

/* "manifest.json", ... */
const char *generated_name(enum generated_kind kind);

/* Its inode number as it is now, without making the file. */
uint64_t generated_ino(struct generated *generated, enum generated_kind kind);

/* The file as it is now, to release with nodes_put(). NULL with *rc set to -errno, and a line in
 * the log, if it cannot be made. */
struct node *generated_node(struct generated *generated, enum generated_kind kind, int *rc);

#endif
