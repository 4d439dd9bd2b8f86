/* SPDX-License-Identifier: MIT */
/* layer_internal.h - what layer.c and layer_files.c share. */
#ifndef FS_LAYER_INTERNAL_H
#define FS_LAYER_INTERNAL_H

#include "fs/layer.h"

#include <pthread.h>

struct layer {
	char *state;
	struct backing *base;
	const struct gguf *gguf;
	pthread_mutex_t lock; /* protects what follows */
	char *path;	      /* NULL: there is no directory yet */
	int dir;	      /* holds the lock; -1: there is no directory yet */
	unsigned next_stage;
};

/* With the lock held: there is a directory, a new one if need be. Returns 0 or -errno. */
int layer_ensure(struct layer *layer);

#endif
