/* SPDX-License-Identifier: MIT */
/* adapters_internal.h - what adapters.c, adapters_check.c and adapters_merge.c share. */
#ifndef FS_MODEL_ADAPTERS_INTERNAL_H
#define FS_MODEL_ADAPTERS_INTERNAL_H

#include "fs/model/adapters.h"
#include "fs/model/slots.h"
#include "gguf/pair.h"

#include <stdatomic.h>

/* So many names are known in the life of a mount; none is forgotten. */
#define ADAPTERS_NAMES 4096

/* A scale or alpha. */
struct adapter_setting {
	bool set; /* by the user; else it is the default */
	float value;
	struct timespec mtime;
	/* As its file was last shown. */
	char text[ADAPTER_TEXT_MAX];
	uint64_t ino;
};

struct adapter_entry {
	char *name;
	uint32_t number;      /* among all: the order in which they were reserved */
	struct content *link; /* NULL: none */
	struct gguf *gguf;    /* its file's tensors; NULL: none, or it is broken */
	float alpha;	      /* of the link, 0: it has none */
	struct adapter_setting settings[ADAPTER_FILES];
};

/* What only changes with the commit lock and this lock held may be read with either. */
struct adapters {
	bool apply;
	bool alpha_reported; /* that there is no alpha */
	struct matrix_cache *matrix_cache;
	pthread_mutex_t lock; /* protects what follows */
	float noted_alpha; /* adapters_note_alpha(); 0: none yet */
	struct importance_matrix *importance; /* NULL: none */
	atomic_uint importance_changes;
	uint32_t n;
	struct adapter_entry
		*entries[ADAPTERS_NAMES]; /* by number; the first is that of the copied pairs */
	struct adapter_entry *order[ADAPTERS_NAMES]; /* by name */
};

/* The scale of an adapter. */
float adapter_entry_scale(const struct adapter_entry *entry);

/* What the half of that tensor holds that was copied in, to release. NULL: there is none, or it
 * holds nothing. */
struct content *adapters_half(struct model *model, const char *tensor, size_t length,
			      enum pair_half half);

/* The slot of the tensor that a half of that name is for. */
bool adapters_target(struct model *model, const char *half, size_t length, uint32_t *slot);

/* How many pairs were copied in, halves of which the other is missing, and the bytes of all. */
void adapters_count(struct model *model, uint32_t *pairs, uint32_t *halves, uint64_t *bytes);

/* slots_listener() of a model. */
slots_listener adapters_slot_changed;

#endif
