/* SPDX-License-Identifier: MIT */
/* adapters_internal.h - shared by adapters.c, adapters_check.c and adapters_merge.c. */
#ifndef FS_MODEL_ADAPTERS_INTERNAL_H
#define FS_MODEL_ADAPTERS_INTERNAL_H

#include "fs/model/adapters.h"
#include "fs/model/slots.h"
#include "gguf/pair.h"

#include <stdatomic.h>

/* Maximal number of names during a mount; none is forgotten. */
#define ADAPTERS_NAMES 4096

struct adapter_setting {
	bool set; /* false: the default */
	struct adapter_scale value;
	struct timespec mtime;
	/* Text and inode of its file when it was last shown. */
	char text[ADAPTER_TEXT_MAX];
	uint64_t ino;
};

struct adapter_entry {
	char *name;
	uint32_t number;      /* rank in the order of reservation */
	struct content *link; /* NULL: none */
	struct gguf *gguf;    /* tensors of the link's file; NULL: none or broken */
	float alpha;	      /* alpha in the link's file; 0: none */
	struct adapter_setting settings[ADAPTER_FILES];
};

/* Fields that change only with both the commit lock and this lock held may be read with either
 * lock. */
struct adapters {
	bool apply;
	bool alpha_reported; /* the missing alpha of copied pairs is logged */
	uint64_t blocks;     /* of the base */
	struct matrix_cache *matrix_cache;
	pthread_mutex_t lock;		      /* protects the fields below */
	float noted_alpha;		      /* by adapters_note_alpha(); 0: none yet */
	struct importance_matrix *importance; /* NULL: none */
	atomic_uint importance_changes;
	uint32_t n;
	struct adapter_entry *entries[ADAPTERS_NAMES]; /* by number; 0: copied pairs */
	struct adapter_entry *order[ADAPTERS_NAMES];   /* by name */
};

/* Scale of an adapter, as long as the caller holds a lock that the entry needs. */
const struct adapter_scale *adapter_entry_scale(const struct adapter_entry *entry);

/* The scale's number for the model's tensor of that name. */
float adapter_entry_scale_at(const struct model *model, const struct adapter_entry *entry,
			     const char *tensor, size_t length);

/* Block of a tensor for gradients. -1: none; the tensor has the first number. */
int32_t adapters_block(const char *tensor, size_t length);

/* Copied half of that tensor, to release. NULL: none, or its slot was removed. */
struct content *adapters_half(struct model *model, const char *tensor, size_t length,
			      enum pair_half half);

/* Find the slot of the tensor that a half of that name changes. */
bool adapters_target(struct model *model, const char *half, size_t length, uint32_t *slot);

/* Count copied pairs, halves whose other half is missing, and the bytes of all halves. */
void adapters_count(struct model *model, uint32_t *pairs, uint32_t *halves, uint64_t *bytes);

/* slots_listener() of a model. */
slots_listener adapters_slot_changed;

#endif
