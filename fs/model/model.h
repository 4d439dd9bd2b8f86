/* SPDX-License-Identifier: MIT */
/* model.h - one mounted model: the base, its tensors under the names of their files, and what has
 * been grafted on. */
#ifndef FS_MODEL_MODEL_H
#define FS_MODEL_MODEL_H

#include "fs/base/fingerprint.h"
#include "fs/tensor/codec.h"
#include "gguf/anatomy.h"
#include "gguf/organ.h"

#include <pthread.h>
#include <stdatomic.h>

struct content;
struct removal;
struct snapshot;

/* Where a tensor stands in the tree. Texts are borrowed from the model. */
struct organ_place {
	const char *name; /* of its files, without ".bin" */
	enum organ_class klass;
	int32_t block;	    /* -1: none */
	const char *tensor; /* its exact name; may hold NULs */
	uint32_t tensor_length;
};

/* So many slots can be added to those of the base. */
#define MODEL_ADDED_MAX 65536u

/* Directories whose time can be set: by enum organ_class, then this. */
enum { MODEL_METADATA = CLASSES, MODEL_DIRECTORIES }; /* as in fs/layer/layer.h */

/* Directories that can be removed, by enum organ_class, then those of blocks, of which some share a
 * count. */
enum { MODEL_REMOVED_BLOCKS = 1024, MODEL_REMOVED = CLASSES + MODEL_REMOVED_BLOCKS };

/* Changes on their way into the layer. fs/edit/journal.h says how it is used, and the order of
 * locks. */
struct journal {
	pthread_mutex_t commit; /* held while a change goes into the layer and the model */
	pthread_cond_t moved;	/* a graft is off waiting, or a thread has what it waited for */
	/* Protected by commit: */
	struct journal_graft *waiting; /* grafts that are on their way to the disk */
	unsigned alone;		       /* threads that wait until there are none */
	bool replaying; /* one thread makes many changes in one step, and no other makes any */
	pthread_t replayer;
	atomic_uint publishing;	  /* threads whose changes are to be seen in one step */
	atomic_uint publications; /* how often one has ended with that */
};

struct model;

/* What is called after each change of a model, with no lock of it held. Set before requests
 * come. */
struct model_listener {
	void (*changed)(void *context, struct model *model); /* NULL: nothing is */
	void *context;
};

/* The times of a directory that were sent to the kernel since it was last told of a change. */
struct sent_times {
	enum { SENT_NONE, SENT_ONE, SENT_SEVERAL } count;
	struct timespec time; /* the first */
};

/* What an assembled model is to say of how it was made, and the metadata key for it. */
#define LINEAGE_KEY "organfs.recipe"
struct lineage {
	/* The text for a snapshot, to free, always the same for one generation; of no bytes: it is
	 * to say nothing, also where there can be no text. NULL: out of memory. text NULL: it
	 * never says anything. */
	char *(*text)(void *context, const struct snapshot *snapshot, size_t *size);
	void *context;
};

/* 1. A model of which shards are missing holds no grafts. When shards come or go, a new model takes
 *    its place, which has the number and the inodes of a new one; only directories stay what they
 *    are. The old one lives on for those who have files of it open. */
struct model {
	/* Set by model_open() and not changed afterwards. */
	uint32_t number; /* in the mount */
	char *name;	 /* the base's file name, as given, without ".gguf" and number of shard */
	char *directory; /* in which that name stands, absolute */
	struct backing *base;
	struct gguf *gguf;
	struct shards *shards;	    /* NULL: the base is one file */
	bool whole;		    /* all of them are there */
	struct model *first;	    /* itself, or the one whose place it took */
	uint64_t generation_before; /* how often those before it have changed */
	struct organ_place *places; /* one a slot; those of slots that were entered never change */
	struct log *log;
	struct remote_cache *remote; /* as in its params */
	bool any_shape, follow;
	enum encode_choice merged; /* type of results of adapters and merges */
	bool keep_types;	   /* grafts are shown in the types of the base */
	char *shown; /* the name of its directory, where there are several; set before another
			thread knows the model */
	_Atomic(struct model *) latest; /* of the first: who has its place now */

	pthread_mutex_t names; /* protects what follows, up to slots */
	struct members {
		uint32_t *slots; /* slot numbers: in file order, then as they were added */
		uint32_t n;
		size_t room;
	} members[CLASSES];
	struct names *files[CLASSES];		/* NAME to slot number */
	struct timespec set[MODEL_DIRECTORIES]; /* their times, where they were set; 0: not */
	struct arena *arena;
	struct merge_state *merge; /* of models, in force; NULL: none is (merge_force.h) */

	struct slots *slots;
	_Atomic(struct removal *) removal; /* removal.h */
	struct adapters *adapters;
	struct metadata *metadata;
	uint32_t recovered;  /* grafts that an earlier mount left in the layer */
	uint32_t left_alone; /* files of the layer that could not be taken up */
	bool keep_layer; /* the layer holds what could not be taken up: it must not be dropped */
	struct symlinks *links;		       /* of the mount; set before requests come */
	const struct model_listener *listener; /* likewise; NULL: there is none */
	/* No broken merge is tried before that clock_ms(); protected by the turn of symlinks. */
	int64_t merge_again;
	struct layer *layer;	/* NULL for a read-only mount of the base alone */
	struct lineage lineage; /* set before requests come */
	/* Held while what a slot has of one expert is changed. */
	pthread_mutex_t experts_lock;
	/* Of the first, for all that took its place. The kernel is told under the lock. */
	pthread_mutex_t sent_lock;
	struct sent_times sent[MODEL_DIRECTORIES];
	struct journal journal;
	char fingerprint[FINGERPRINT_TEXT]; /* of the base; empty: not made yet */
	atomic_uint_fast64_t next_ino;	    /* of grafts and of files made from them */
	atomic_uint removed[MODEL_REMOVED]; /* how often the directory was */
	atomic_uint_fast32_t seconds;	    /* fingerprint_seconds(); 0: not asked for yet */
};

/* What the user chose for all models of a mount. */
struct model_options {
	bool read_only, any_shape, keep_blocks;
	bool fresh;		   /* a private layer that an earlier mount left is not taken up */
	enum encode_choice merged; /* type of results of adapters and merges */
	bool keep_types;	   /* grafts are shown in the types of the base */
	int compress;		   /* zstd level for organs in the layer; 0: none */
	const char *header;	   /* file with that of a directory of organ files; NULL: its own */
};

/* What a model has from the mount; log, cache and remote are borrowed and outlive it. */
struct model_params {
	uint32_t number;
	struct log *log;
	struct zstd_cache *cache;    /* for grafts that are compressed */
	struct remote_cache *remote; /* for what lies on servers; NULL: one for each base */
	const char *layer;	     /* the directory that is its layer; NULL: a private one */
	bool layer_refused;	     /* set if it is that which is wrong */
	/* Of a model that is to take another's place: */
	struct model *old;     /* NULL: it takes no other's */
	struct shards *shards; /* of which it is made then */
};

/* Open the model at path, with its layer; its grafts are not taken up yet: recover() does that,
 * which is due before anything else. NULL with err set: as gguf_read(), or as base_open() or
 * layer_open_at(). Of the files of a split model some may be missing; the log says which. */
struct model *model_open(const struct model_options *options, const char *path,
			 struct model_params *params, struct error *err);

/* Grafts stay in the layer, unless layer_drop() was called before. */
void model_close(struct model *model);

/* Who has the model's place now: itself, or one that has more or fewer shards. */
static inline struct model *model_latest(struct model *model)
{
	return atomic_load(&model->first->latest);
}

/* Has the model's base for a tensor the very bytes that the old one's has, for which number? */
bool model_shares_tensor(const struct model *model, uint32_t tensor, const struct model *old,
			 uint32_t *was);

/* Why it cannot be assembled or run, to free; NULL: it can. */
char *model_missing_shards(const struct model *model);

/* The slot that is CLASS/NAME, whatever it holds. */
bool model_find_slot(struct model *model, enum organ_class klass, const char *name, size_t length,
		     uint32_t *tensor);

/* With the commit lock held, or before the mount: the fingerprint of the base, which is made once.
 * Empty: the base cannot be read. Borrowed. */
const char *model_fingerprint(struct model *model);

/* The modification time of what the base holds: the base's less fingerprint_seconds(). The first
 * call may read. */
struct timespec model_time(struct model *model);

/* The one time that all organs of a class have. False: several, or a slot holds nothing. */
bool model_class_time(struct model *model, enum organ_class klass, struct timespec *time);

/* The modification time of one of its directories, of a model that can be grafted on: the
 * layer's if it has one, else the time that a program has given, else the base's. The caller sends
 * it to the kernel, which keeps it until tell() says that it must not: each change is followed by
 * model_tell_directories() before it is confirmed. */
struct timespec model_send_directory_time(struct model *model, unsigned directory);

/* Call tell() for each directory of which the kernel may keep another time than it has. Returns
 * when all of them are told, also those that another thread was about to tell. */
void model_tell_directories(struct model *model, void (*tell)(void *context, uint64_t ino),
			    void *context);

/* Returns 0 or -errno. */
int model_set_directory_time(struct model *model, unsigned directory, const struct timespec *time);

/* Slot number k of a class. False: there are not so many. */
bool model_class_slot(struct model *model, enum organ_class klass, uint32_t k, uint32_t *tensor);
uint32_t model_class_count(struct model *model, enum organ_class klass);

/* The numbers of the first n slots, as many as a snapshot has, in the order in which an assembled
 * model has them (gguf/layout.h): those of the base as in the file, then the others by the names of
 * their tensors. To free. NULL: out of memory. */
uint32_t *model_order(const struct model *model, uint32_t n);

/* Add a slot CLASS/NAME for a tensor of that name, which holds content; content becomes the
 * model's, also on failure. Returns 0, -EEXIST there is one, -ENOSPC, -ENOMEM. */
int model_add_slot(struct model *model, enum organ_class klass, const char *name,
		   const char *tensor, uint32_t tensor_length, struct content *content);

/* Before the mount: the row of CLASS/FILE or metadata/FILE in the layer cannot be taken up and
 * stays there as it is. The log says why. */
void model_leave_alone(struct model *model, const char *directory, const char *file,
		       const char *why);

/* How often the model has changed, slots and metadata. */
uint64_t model_generation(struct model *model);

/* All of the model: the slots with the edits of the metadata and the adapters, which count as
 * grafts, and in the generation. Returns 0 or -ENOMEM. Release with snapshot_release(). */
int model_snapshot(struct model *model, struct snapshot *snapshot);

/* The organ in a slot, base's or graft's: its name is borrowed from model or content. */
struct organ model_organ(const struct model *model, uint32_t tensor, const struct content *content);

/* The same under the name of the slot, whatever name it has itself. */
struct organ model_organ_in_place(const struct model *model, uint32_t tensor,
				  const struct content *content);

/* "organs/blk_5_ffn_up.bin" for messages and .grafts. */
#define ORGAN_PATH_MAX (ANATOMY_NAME_MAX + 32)
const char *model_organ_path(const struct model *model, uint32_t tensor, char path[ORGAN_PATH_MAX]);

#endif
