/* SPDX-License-Identifier: MIT */
/* layer_internal.h - what the files layer*.c share. */
#ifndef FS_LAYER_LAYER_INTERNAL_H
#define FS_LAYER_LAYER_INTERNAL_H

#include "fs/layer/layer.h"
#include "fs/layer/layer_group.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

/* The longest name that a slot's file could have; the disk refuses it where it is too long. */
#define LAYER_FILE_MAX (NAME_MAX + 32)

struct layer {
	struct layer_options manner;
	char *state; /* where private layers are; NULL: it is one with a directory of its own */
	char *place; /* of a private one: layer_base_path() of the base, or NULL */
	struct layer_history past;
	struct backing *base;
	const struct gguf *gguf;
	struct layer_group group;      /* threads that wait for the disk */
	atomic_uint in_memory;	       /* stages that are */
	atomic_int order;	       /* layer_is_ordered() once it was asked; 0: not yet */
	pthread_mutex_t compress_lock; /* held while something is compressed with much memory */
	pthread_mutex_t lock;	       /* protects what follows */
	char *path;		       /* NULL: there is no directory yet */
	int dir;		       /* holds the lock; -1: there is no directory yet */
	unsigned next_stage;
	char whiteout[LAYER_FILE_MAX + 16]; /* a file that says so of a slot, durable; "": none */
	bool undo_refused; /* the note of it has to go: layer_undo.c, one at a time */
};

/* Open and lock the directory of a private layer; with make, it is made if need be. Returns its
 * descriptor, or -errno: EBUSY it is in use. */
int layer_open_locked(const char *path, bool make);

/* The canonical path of a base, of shards that of the first one with tensors, to free. NULL: it is
 * not there any more, or no memory. */
char *layer_base_path(struct backing *base);

/* Take up the private layer that earlier mounts of this base left behind, the newest one if there
 * are several, and note in layer->past what was found. */
void layer_recover_private(struct layer *layer);

/* With the lock held: there is a directory, a new one if need be. Returns 0 or -errno. */
int layer_ensure(struct layer *layer);

/* There is a directory: does its filesystem keep changes in order (layer_order.h)? */
enum { LAYER_UNORDERED = 1, LAYER_ORDERED };
bool layer_is_ordered(struct layer *layer);

/* What was written to a file that is to be renamed into the layer will be durable with the rename.
 * Returns 0 or -errno. */
int layer_write_back(struct layer *layer, int fd);

/* layer_create_file() with that text, which durable says is to be written back. Returns 0 or
 * -errno; then there is none. */
int layer_create_text(struct layer *layer, const char *name, const char *text, size_t n,
		      bool durable);

/* What stage number is in, as it is being written (LAYER_ORGAN) or as it was compressed
 * (LAYER_COMPRESSED); or another file that belongs to it. In the layer's directory. */
#define LAYER_STAGE_NAME 32
void layer_stage_name(unsigned number, const char *suffix, char name[LAYER_STAGE_NAME]);
#define STAGED_COMPRESSED ".zst"
#define STAGED_CHECKSUM	  ".sum"
#define STAGED_ORIGIN	  ".from"
#define STAGED_SEEN	  ".seen"

/* A number for names in .stage/ of files set aside where nothing is staged. Returns 0 or
 * -errno. */
int layer_unused_stage_number(struct layer *layer, unsigned *number);

/* The note of a merge (layer_merge.h). */
#define LAYER_MERGE "MERGE"

/* A durable file of that name and text in the layer. Returns 0, or -errno: it may be there all the
 * same. */
int layer_write_note(struct layer *layer, const char *name, const char *text);

/* It is not there any more; durable, as what was changed before is first. Returns 0 or -errno. */
int layer_drop_note(struct layer *layer, const char *name);

/* The same of one on which nothing followed. */
int layer_refuse_note(const struct layer *layer, const char *name);

/* Remove the files that say something of the slot or setting CLASS/FILE, or of the key of that
 * name; what is not durable. Returns 0 or -errno. */
int layer_erase(const struct layer *layer, enum organ_class klass, const char *file);
int layer_erase_key(const struct layer *layer, const char *name);

/* A symbolic link as a stage, for that user and with that time. Returns 0 and its number, or
 * -errno. */
int layer_stage_link(struct layer *layer, const char *target, uid_t uid, gid_t gid,
		     const struct timespec *mtime, unsigned *number);

#endif
