/* SPDX-License-Identifier: MIT */
/* layer.h - the directory on disk that holds a mount's grafts.
 *
 *	layer.db        SQLite: all that there is, but for the bytes of large organs (schema.sql)
 *	blobs/NUMBER    organ files that are too large for a row, plain or zstd; immutable
 *	reserve         space for changes that take things back while the disk is full
 *
 * 1. One change is one transaction: a graft, a removal, a move, an undo of any number of changes.
 *    It is durable when the call returns, and then visible. A change that fails leaves nothing.
 * 2. While a mount uses a layer, it holds a lock on the directory: no other mount uses it.
 * 3. A private layer comes into being with its first stage: a mount that is only read writes
 *    nothing to disk. One that the user named is there from the start, and stays.
 * 4. Every text and number of a row is checked like any input: a layer may come from anybody. */
#ifndef FS_LAYER_LAYER_H
#define FS_LAYER_LAYER_H

#include "fs/base/reference.h"
#include "fs/util/hash_text.h"
#include "gguf/anatomy.h"

#include <limits.h>
#include <sys/types.h>
#include <time.h>

struct backing;
struct error;
struct gguf;
struct view;

struct layer; /* any thread may use it */

/* How a mount uses its layer. log and cache are borrowed and outlive it. */
struct layer_options {
	int level;		  /* zstd level for organs that are worth it; 0: none is */
	bool read_only;		  /* nothing is written, and what would write is not called */
	bool fresh;		  /* no private layer is taken up */
	struct log *log;	  /* gets what no return value can tell */
	struct zstd_cache *cache; /* for compressed organs */
};

/* The private layer for a base, under the directory state (made when needed, with its parents). If
 * earlier mounts of the same base left some behind that no mount uses, the newest one is taken up.
 * A layer's base is the file at the path that its label tells; where no copy of the base is there
 * any more, or the label tells no path, it is any file with the fingerprint. NULL with err set:
 * EIO, ENOMEM. */
struct layer *layer_open_private(const char *state, const struct layer_options *manner,
				 struct backing *base, const struct gguf *gguf, struct error *err);

/* The layers that earlier mounts left behind; borrowed from the layer. The sentences have the mount
 * as their subject; NULL: there is nothing to say, or no memory was left. */
struct layer_history {
	struct timespec changed; /* last change of the layer that was taken up; 0: none was */
	unsigned older;		 /* layers of the same base that were not taken up */
	char *doubt;		 /* one may be another user's; a private one was left alone */
	char *unread;		 /* one cannot be read and was left alone */
	char *copy;		 /* one was left alone, for its base is another copy */
};
const struct layer_history *layer_history(const struct layer *layer);

/* The layer in that directory, which is made, with its parents, if it is not there. NULL with err
 * set: EBUSY another mount uses it, ENOTEMPTY something else is in it, as layer_base_check() and
 * database_open(), and what the disk says. */
struct layer *layer_open_at(const char *path, const struct layer_options *manner,
			    struct backing *base, const struct gguf *gguf, struct error *err);

/* Close the database until the next change: before fork(2). No other thread may use the layer
 * meanwhile. */
void layer_rest(struct layer *layer);

/* Give the layer up, leaving its files on disk; an empty private one is removed. No log is left
 * beside the database, as far as the disk allows. */
void layer_close(struct layer *layer);

/* Remove a private layer from disk, all its grafts included; nothing is done to one that the user
 * named. layer_close() is still due. Returns 0 or -errno. */
int layer_delete(struct layer *layer);

/* Where private layers are, as it is one of them: the parent of its directory. NULL: it is the one
 * that the user named. Borrowed. */
const char *layer_home(const struct layer *layer);

/* Its directory, or where it will be as long as there is none; borrowed. */
const char *layer_path(struct layer *layer);
bool layer_is_read_only(const struct layer *layer);

/* A copy of its directory's path. False: there is none yet, and the text is empty. */
bool layer_directory(struct layer *layer, char path[PATH_MAX]);

/* Set err to say that the layer cannot be read because of an errno value. Returns its negative. */
int layer_unread(struct layer *layer, int code, struct error *err);

/* Directories of the mount that have a modification time: by enum organ_class, then metadata/. */
enum { LAYER_METADATA_TIME = CLASSES, LAYER_DIRECTORIES };

/* The modification time of such a directory: that of its last change, or the one that it was given
 * since. False: the layer says none. It is given one that has a time; durable: 0 or -errno. */
bool layer_time(struct layer *layer, unsigned directory, struct timespec *mtime);
int layer_set_time(struct layer *layer, unsigned directory, const struct timespec *mtime);

/* From now on all changes go into one transaction, which layer_hold_end() commits or rolls back;
 * only this thread makes any. Both return 0 or -errno; of layer_hold_end() that means that nothing
 * of it is there. */
int layer_hold(struct layer *layer);
int layer_hold_end(struct layer *layer, bool keep);

/* A thing in the layer that is taken back. */
enum layer_item {
	LAYER_SLOT,
	LAYER_TYPED_SLOT, /* a slot with the type chosen for it (layer_records.h) */
	LAYER_KEY,
	LAYER_ADAPTER,
	LAYER_MERGE,
};
struct layer_undone {
	enum layer_item item;
	enum organ_class klass; /* of a slot */
	const char *name;	/* of a slot, without ".bin", of a key, or of a file of adapters/ */
	bool removed; /* the layer says that the slot or key is not there; else nothing of it */
};

/* Take these n things back in one transaction: durable, also on a full disk. 0 or -errno. */
int layer_undo(struct layer *layer, const struct layer_undone *undone, size_t n);

enum layer_kind { LAYER_COPY, LAYER_REFERENCE, LAYER_LINK, LAYER_WHITEOUT };

/* Provenance of a slot's content, stored beside it in the layer. */
struct layer_origin {
	const char *slot;    /* the exact name of the tensor, of a slot that was added; else NULL */
	size_t slot_length;  /* bytes */
	struct donor *donor; /* of a copied organ: where it came from; NULL: not known */
	char fingerprint[FINGERPRINT_TEXT]; /* to write: of the donor's GGUF; empty: not known */
	enum reference_of of;		    /* whose that GGUF is */
};

struct layer_entry {
	enum organ_class klass;
	enum layer_kind kind;
	const char *name; /* of the slot, without ".bin" */
	struct timespec mtime;
	struct backing *file;  /* LAYER_COPY, of layer_each(): the organ file, found's from then on;
				* NULL: it cannot be opened */
	const char *reference; /* LAYER_REFERENCE: the tensor. LAYER_LINK: the tensor that it led
				* to when it was good; NULL: not known */
	const char *target;    /* LAYER_LINK: where it leads */
	uid_t uid;	       /* LAYER_LINK and LAYER_REFERENCE: with whose rights it is opened */
	gid_t gid;
	struct layer_origin origin;
};

/* Call found for each slot of which the layer says something, with the reason in err where the file
 * cannot be opened. It returns 0, or -errno with err set, which ends it. Returns that, or
 * -errno with err set where not all can be read. */
typedef int layer_entry_fn(void *context, const struct layer_entry *entry, struct error *err);
int layer_each(struct layer *layer, layer_entry_fn *found, void *context, struct error *err);

/* Make an empty file to write to. Returns its descriptor, and its number for the calls below, or
 * -errno. */
int layer_stage(struct layer *layer, uint64_t *number);

/* The same in memory, for what is small, so that it is written to the disk once: its descriptor,
 * which layer_close_in_memory() closes. Of many at a time, -ENOMEM. */
#define LAYER_SMALL ((uint64_t)1 << 20)
int layer_stage_in_memory(struct layer *layer, uint64_t *number);
void layer_close_in_memory(struct layer *layer, int fd);

/* Write the first size bytes of a view to a stage's descriptor. Returns 0 or -errno. */
int layer_copy_view(int fd, uint64_t at, struct view *view, uint64_t size);

/* Remove the file of a stage. */
void layer_unstage(struct layer *layer, uint64_t number);

/* The form in which the organ file of a stage is to be kept. */
struct layer_seal {
	uint64_t number; /* of its blob: the stage's, or of a compressed copy */
	uint64_t size;	 /* of the organ file */
	char xxh128[XXH128_TEXT];
	bool compressed;
	uint8_t *bytes; /* of a small one, for a row; NULL: it is a file */
	bool is_kept;	/* it is in force */
};

/* Make the bytes of stage number, of which fd is the descriptor, durable, unless they go into a
 * row. May take long, and several may be sealed at once. in_memory: the stage has no file yet.
 * Returns 0 or -errno; layer_seal_release() is due either way. */
int layer_seal_stage(struct layer *layer, uint64_t number, int fd, bool in_memory,
		     struct layer_seal *seal);
void layer_seal_release(struct layer *layer, struct layer_seal *seal);

/* Put a sealed stage in force as the entry's slot, in two steps, so that several threads wait for
 * the disk at the same time (layer_queue.h). The calls of layer_commit_begin() are in the order of
 * the changes; no other change of the same slot comes between it and the end of
 * layer_commit_wait(), and the entry's texts stay. NULL with *rc set. */
struct layer_commit;
struct layer_commit *layer_commit_begin(struct layer *layer, struct layer_seal *seal,
					const struct layer_entry *entry, int *rc);

/* Wait until it is durable. Returns 0 with the organ file in *file, or -errno: nothing was changed.
 * The commit is freed. */
int layer_commit_wait(struct layer_commit *commit, struct backing **file);

/* The XXH128 of the slot's organ file. False: it holds no copy. */
bool layer_organ_hash(struct layer *layer, enum organ_class klass, const char *name,
		      char xxh128[XXH128_TEXT]);

/* From now on the slot holds that: a link or a reference, which is opened with the rights of this
 * thread; durable. left, here and below: NULL, or an item that is taken back in the same
 * transaction, for it was moved. Returns 0 or -errno. */
int layer_put(struct layer *layer, const struct layer_entry *entry,
	      const struct layer_undone *left);

/* From now on that is known of where the link of the slot led; durable. A layer that is only read
 * stays as it is. Returns 0 or -errno. */
int layer_record_seen(struct layer *layer, enum organ_class klass, const char *name,
		      const char *target, const char *seen);

/* From now on the entry's slot, perhaps of another layer, holds the same organ file as CLASS/NAME
 * and has its time, without a copy; durable. Returns 0 and its bytes in *file, or -errno: EXDEV the
 * layers are on two filesystems. */
int layer_link(struct layer *from, enum organ_class klass, const char *name, struct layer *to,
	       const struct layer_entry *entry, const struct layer_undone *left,
	       struct backing **file);

#endif
