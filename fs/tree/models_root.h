/* SPDX-License-Identifier: MIT */
/* models_root.h - the root of a mount with several models: their directories, and files generated
 * from all of them. */
#ifndef FS_TREE_MODELS_ROOT_H
#define FS_TREE_MODELS_ROOT_H

#include <stdint.h>

struct generated;
struct inodes;
struct log;
struct model;
struct model_files;

struct models_root; /* any thread may use it */

/* New root of n models; all pointers are borrowed. NULL: out of memory. */
struct models_root *models_root_new(struct model_files *files, uint32_t n, struct inodes *inodes,
				    struct log *log);
void models_root_free(struct models_root *overview); /* NULL is fine */

/* Find a model by the name of its directory. NULL: there is none. */
struct model *models_root_find(struct models_root *overview, const char *name);

/* Generated files: manifest.json, .theta, .report.json, .log. */
struct generated *models_root_generated(const struct models_root *overview);

#endif
