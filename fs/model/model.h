/* SPDX-License-Identifier: MIT */
/* model.h - one mounted model: the base, its tensors by file name, and its changes. */
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

/* Place of a tensor in the tree. The model owns the texts. */
struct organ_place {
	const char *name; /* stem of its files, without ".bin" */
	enum organ_class klass;
	int32_t block;	    /* -1: none */
	const char *tensor; /* exact name; may contain NULs */
	uint32_t tensor_length;
};

/* Maximal number of slots that can be added to those of the base. */
#define MODEL_ADDED_MAX 65536u

/* Directories whose time can be set: one per enum organ_class, then metadata/. */
enum { MODEL_METADATA = CLASSES, MODEL_DIRECTORIES }; /* as in fs/layer/layer.h */

/* Counters of removals: one per enum organ_class, then those of block directories, some of which
 * share a counter. */
enum { MODEL_REMOVED_BLOCKS = 1024, MODEL_REMOVED = CLASSES + MODEL_REMOVED_BLOCKS };

/* Order of the changes of a model; fs/edit/journal.h has the functions and the order of locks. */
struct journal {
	pthread_mutex_t commit; /* held while layer and slots change */
	pthread_cond_t moved;	/* a thread that waits for a graft or a publication may go on */
	/* Protected by commit: */
	struct journal_graft *waiting; /* grafts whose transaction is not durable yet */
	/* threads in journal_begin(), which wait for these grafts; new grafts wait for them */
	unsigned exclusive;
	bool replaying; /* the replayer alone may make changes, which become visible in one step */
	pthread_t replayer;
	atomic_uint publishing;	  /* threads whose changes become visible in one step */
	atomic_uint publications; /* number of such steps so far */
};

struct model;

/* Callback after each change of a model, called after commit is unlocked; the thread may hold
 * experts_lock, or the lock of a stage. Set before the first request. */
struct model_listener {
	void (*changed)(void *context, struct model *model); /* NULL: none */
	void *context;
};

/* Times of a directory sent to the kernel since its last invalidation. */
struct sent_times {
	enum { SENT_NONE, SENT_ONE, SENT_SEVERAL } count;
	struct timespec time; /* of the first one sent */
};

/* Metadata key of an assembled model that describes how it was made. */
#define LINEAGE_KEY "organfs.recipe"
struct lineage {
	/* Text for a snapshot, to free; equal for equal generations; empty if there is none. NULL:
	 * out of memory. text NULL: no model gets the key. */
	char *(*text)(void *context, const struct snapshot *snapshot, size_t *size);
	void *context;
};

/* A model with missing shards holds no grafts. When shards come or go, a new model with a new
 * number and new inodes takes its place; only directories keep their inodes. The old model lives on
 * while its files are open. */
struct model {
	/* Set by model_open(), immutable afterwards except places, shown and latest. */
	uint32_t number; /* in the mount */
	char *name;	 /* the base's file name, without ".gguf" and shard number (paths_stem()) */
	char *known;	 /* its name in a store; NULL: none */
	char *directory; /* of the base's file, absolute (paths_directory()) */
	struct backing *base;
	struct gguf *gguf;
	struct shards *shards;	    /* NULL: the base is one file */
	bool whole;		    /* no shard is missing */
	struct model *first;	    /* itself, or the oldest model whose place it took */
	uint64_t generation_before; /* sum of the generations of the models before it */
	struct organ_place *places; /* one per slot; immutable once the slot's name is entered */
	struct log *log;
	struct remote_cache *remote; /* as in struct model_params */
	bool any_shape, follow;
	enum encode_choice merged; /* type of the results of adapters and merges */
	bool keep_types;	   /* grafts are shown in the base's types */
	/* name of its directory if the mount has several models; set before another thread knows
	 * the model */
	char *shown;
	_Atomic(struct model *) latest; /* of the first: the model that has its place now */

	pthread_mutex_t names_lock; /* protects the fields below, up to merge */
	struct members {
		uint32_t *slots; /* slot numbers: in file order, then in the order of addition */
		uint32_t n;
		size_t room;
	} members[CLASSES];
	struct names *files[CLASSES];		/* NAME to slot number */
	struct timespec set[MODEL_DIRECTORIES]; /* times set by programs; 0: none */
	struct arena *arena;
	struct merge_state *merge; /* the merge of models in force, or NULL (merge_force.h) */

	struct slots *slots;
	_Atomic(struct removal *) removal; /* removal.h */
	struct adapters *adapters;
	struct metadata *metadata;
	uint32_t recovered; /* grafts of an earlier mount, taken up from the layer */
	/* rows of the layer that could not be taken up: the unmount then assembles nothing and
	 * keeps the layer */
	uint32_t left_alone;
	struct symlinks *links;		       /* of the mount; set before the first request */
	const struct model_listener *listener; /* likewise; NULL: none */
	/* Earliest clock_ms() for the next attempt to repair a broken merge; protected by the turn
	 * of symlinks. */
	int64_t merge_again;
	struct layer *layer;	/* NULL for a read-only mount of the base alone */
	struct lineage lineage; /* set before the first request */
	/* Held while one expert of a slot is read, changed and written back, so that two threads do
	 * not copy the same stack in vain (expert_edit.c). */
	pthread_mutex_t experts_lock;
	/* Held while the kernel is told of times; later models share the first one's lock. */
	pthread_mutex_t sent_lock;
	struct sent_times sent[MODEL_DIRECTORIES];
	struct journal journal;
	char fingerprint[FINGERPRINT_TEXT]; /* of the base; empty: not computed yet */
	atomic_uint_fast64_t next_ino;	    /* for grafts and files generated from them */
	atomic_uint removed[MODEL_REMOVED]; /* removals of each directory */
	atomic_uint_fast32_t seconds;	    /* fingerprint_seconds(); 0: not computed yet */
};

/* Options that apply to all models of a mount. */
struct model_options {
	bool read_only, any_shape, keep_blocks;
	bool fresh;		   /* take up no private layer of an earlier mount */
	enum encode_choice merged; /* type of the results of adapters and merges */
	bool keep_types;	   /* grafts are shown in the base's types */
	int compress;		   /* zstd level for organs in the layer; 0: uncompressed */
	const char *header;	   /* GGUF with the header for a directory of organ files */
};

/* Parameters of one model; log, cache and remote are borrowed and outlive it. */
struct model_params {
	uint32_t number;
	struct log *log;
	struct zstd_cache *cache;    /* for compressed grafts */
	struct remote_cache *remote; /* for files on servers; NULL: one per base */
	const char *known;	     /* its name in a store (url_is_store()); NULL: none */
	const char *layer;	     /* path of its layer; NULL: a private one */
	bool layer_refused; /* set by model_open() if the layer is the cause of the failure */
	/* For a model that takes another's place: */
	struct model *old;     /* the model to be replaced, or NULL */
	struct shards *shards; /* shards of the new model */
};

/* Open the model at path and its layer. The caller must call recover(), which takes up the layer's
 * grafts, before any other use. A split model may lack shards; the log names them. Returns NULL
 * with err set as by gguf_read(), base_open() or layer_open_at(). */
struct model *model_open(const struct model_options *options, const char *path,
			 struct model_params *params, struct error *err);

/* Grafts stay in the layer, unless layer_delete() was called before. */
void model_close(struct model *model);

/* Model that has this model's place now: itself, or a successor with other shards. */
static inline struct model *model_latest(struct model *model)
{
	return atomic_load(&model->first->latest);
}

/* Has the old model's base the same extent of the same file for this tensor? Sets *was to the
 * tensor's number there. */
bool model_shares_tensor(const struct model *model, uint32_t tensor, const struct model *old,
			 uint32_t *was);

/* Message that names the missing shards, to free; NULL: none is missing. */
char *model_missing_shards(const struct model *model);

/* Find the slot CLASS/NAME, also an empty one. */
bool model_find_slot(struct model *model, enum organ_class klass, const char *name, size_t length,
		     uint32_t *tensor);

/* Fingerprint of the base, borrowed; computed at the first call. Empty: the base cannot be read.
 * Call with the commit lock held, or before the mount. */
const char *model_fingerprint(struct model *model);

/* Modification time of the base's files in the mount: the base file's less fingerprint_seconds().
 * The first call may read the base. */
struct timespec model_time(struct model *model);

/* Common modification time of all organs of a class. False: the times differ, or a slot was
 * removed. */
bool model_class_time(struct model *model, enum organ_class klass, struct timespec *time);

/* Modification time of a directory: the layer's if it has one, else the time set by a program, else
 * the base's. Only for models that can be grafted on. The caller sends the time to the kernel,
 * which caches it until model_tell_directories() invalidates it; each change calls that function
 * before it is answered. */
struct timespec model_send_directory_time(struct model *model, unsigned directory);

/* Call tell() for each directory whose time the kernel may have cached and that has changed since.
 * Returns when all of them are told, also those that another thread was about to tell. */
void model_tell_directories(struct model *model, void (*tell)(void *context, uint64_t ino),
			    void *context);

/* Returns 0 or -errno. */
int model_set_directory_time(struct model *model, unsigned directory, const struct timespec *time);

/* The k-th slot of a class. False: the class has k slots or fewer. */
bool model_class_slot(struct model *model, enum organ_class klass, uint32_t k, uint32_t *tensor);
uint32_t model_class_count(struct model *model, enum organ_class klass);

/* Numbers of the first n slots in the order of an assembled model (gguf/layout.h): the base's as in
 * its file, then added ones by tensor name. n is that of a snapshot. To free. NULL: out of
 * memory. */
uint32_t *model_order(const struct model *model, uint32_t n);

/* Add slot CLASS/NAME, which holds content, for a tensor of that name. Takes ownership of content,
 * also on failure. Returns 0, -EEXIST if the slot exists, -ENOSPC or -ENOMEM. */
int model_add_slot(struct model *model, enum organ_class klass, const char *name,
		   const char *tensor, uint32_t tensor_length, struct content *content);

/* Leave the layer's row of CLASS/FILE or metadata/FILE as it is, because it cannot be taken up, and
 * log the reason. Only before the mount. */
void model_leave_alone(struct model *model, const char *directory, const char *file,
		       const char *why);

/* Number of changes of slots and metadata, also of the models before in its place. */
uint64_t model_generation(struct model *model);

/* Snapshot of slots, metadata edits and adapters; all three count in its grafts and generation.
 * Returns 0 or -ENOMEM. Release with snapshot_release(). */
int model_snapshot(struct model *model, struct snapshot *snapshot);

/* Organ in a slot: the content's, or for NULL the base's. The name is borrowed from model or
 * content. */
struct organ model_organ(const struct model *model, uint32_t tensor, const struct content *content);

/* The same organ with the name of the slot in place of its own. */
struct organ model_organ_in_place(const struct model *model, uint32_t tensor,
				  const struct content *content);

/* "organs/blk_5_ffn_up.bin" for messages and .grafts. */
#define ORGAN_PATH_MAX (ANATOMY_NAME_MAX + 32)
const char *model_organ_path(const struct model *model, uint32_t tensor, char path[ORGAN_PATH_MAX]);

#endif
