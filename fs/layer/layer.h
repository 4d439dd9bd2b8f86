/* SPDX-License-Identifier: MIT */
/* layer.h - the directory on disk that holds a mount's grafts.
 *
 *	layer.db        SQLite: everything except the bytes of large organs (schema.sql)
 *	blobs/NUMBER    organ files too large for a row, plain or zstd; immutable
 *	reserve         space for undos and removals while the disk is full
 *
 * 1. One change is one transaction: a graft, a removal, a move, an undo of any number of changes.
 *    The change is durable when the call returns, except after layer_hold(), and the caller then
 *    makes it visible. A failed change has no effect.
 * 2. A mount locks the directory of its layer, so that no other mount uses the layer.
 * 3. A private layer is made with its first stage, so a mount that is only read writes nothing to
 *    disk. A layer of -o layer= is made at the start and never removed.
 * 4. Every text and number of a row is checked as untrusted input. */
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

/* Options of a mount for its layer. log and cache are borrowed and outlive the layer. */
struct layer_options {
	int level;		  /* zstd level for organs that compress well; 0: do not compress */
	bool read_only;		  /* nothing is written, and writing functions are not called */
	bool fresh;		  /* do not take up a private layer */
	struct log *log;	  /* for errors that no function returns */
	struct zstd_cache *cache; /* for compressed organs */
};

/* Open the private layer for a base, below the directory `state`, which is made, with its parents,
 * when needed. If earlier mounts of the same base left layers that are not in use, the newest is
 * taken up. The base of a layer is the file at the path in its database, or if no copy of the base
 * is there, or there is no path, any file with the fingerprint. NULL with err set: EIO, ENOMEM. */
struct layer *layer_open_private(const char *state, const struct layer_options *manner,
				 struct backing *base, const struct gguf *gguf, struct error *err);

/* Layers that earlier mounts left; borrowed from the layer. The texts are sentences about the mount
 * without the subject; NULL: nothing to report, or out of memory. */
struct layer_history {
	struct timespec changed; /* last change of the layer that was taken up; or 0 */
	unsigned older;		 /* number of layers of the same base that were not taken up */
	char *doubt;		 /* a layer may be another user's; a private one is not used */
	char *unread;		 /* a layer cannot be read and is not used */
	char *copy;		 /* a layer belongs to another copy of the base and is not used */
};
const struct layer_history *layer_history(const struct layer *layer);

/* Open the layer in that directory, which is made, with its parents, if it does not exist. NULL
 * with err set: EBUSY another mount uses it; ENOTEMPTY the directory has other contents; errors of
 * layer_base_check(), database_open() and the disk. */
struct layer *layer_open_at(const char *path, const struct layer_options *manner,
			    struct backing *base, const struct gguf *gguf, struct error *err);

/* Close the database until the next change, for fork(2). No other thread may use the layer. */
void layer_rest(struct layer *layer);

/* Close the layer and leave its files on disk; an empty private layer is removed. The write-ahead
 * log is checkpointed and removed, as far as the disk allows. */
void layer_close(struct layer *layer);

/* Remove a private layer with all its grafts from disk; has no effect on a layer of -o layer=.
 * layer_close() has to follow. Returns 0 or -errno. */
int layer_delete(struct layer *layer);

/* The directory of all private layers, if this is one, borrowed. NULL: a layer of -o layer=. */
const char *layer_home(const struct layer *layer);

/* The layer's directory, or its future path if it does not exist yet; borrowed. */
const char *layer_path(struct layer *layer);
bool layer_is_read_only(const struct layer *layer);

/* Copy the directory's path. False: it does not exist yet, and path is empty. */
bool layer_directory(struct layer *layer, char path[PATH_MAX]);

/* Room for layer_why(). */
#define LAYER_WHY 512

/* Write the reason of a refused change to text: err if it is set, else rc, a -errno, with the
 * layer's directory if its disk refuses writes. layer and err may be NULL. Returns text. */
const char *layer_why(struct layer *layer, const struct error *err, int rc, char text[LAYER_WHY]);

/* Set err: the layer cannot be read because of an errno value. Returns -code. */
int layer_unread(struct layer *layer, int code, struct error *err);

/* Directories of the mount with a modification time: by enum organ_class, then metadata/. */
enum { LAYER_METADATA_TIME = CLASSES, LAYER_DIRECTORIES };

/* Get the modification time of such a directory: that of its last change, or a later one set by
 * layer_set_time(). False: none. layer_set_time() sets the time of a directory that has one;
 * durable; returns 0 or -errno. */
bool layer_time(struct layer *layer, unsigned directory, struct timespec *mtime);
int layer_set_time(struct layer *layer, unsigned directory, const struct timespec *mtime);

/* Begin a transaction for all changes up to layer_hold_end(), which commits it or rolls it back.
 * The caller keeps other threads from making changes meanwhile. Both return 0 or -errno; if
 * layer_hold_end() fails, none of the changes is in the layer. */
int layer_hold(struct layer *layer);
int layer_hold_end(struct layer *layer, bool keep);

/* Kind of an item that an undo removes from the layer. */
enum layer_item {
	LAYER_SLOT,
	LAYER_TYPED_SLOT, /* a slot with its chosen type (layer_records.h) */
	LAYER_KEY,
	LAYER_ADAPTER,
	LAYER_MERGE,
};
struct layer_undone {
	enum layer_item item;
	enum organ_class klass; /* of a slot */
	const char *name;	/* of a slot, without ".bin", of a key, or of a file in adapters/ */
	bool removed;		/* record the slot or key as removed, instead of deleting its row */
};

/* Undo these n items in one transaction; durable, also on a full disk. Returns 0 or -errno. */
int layer_undo(struct layer *layer, const struct layer_undone *undone, size_t n);

enum layer_kind { LAYER_COPY, LAYER_REFERENCE, LAYER_LINK, LAYER_WHITEOUT };

/* Provenance of a slot's content, stored beside it in the layer. */
struct layer_origin {
	const char *slot;		    /* exact tensor name of an added slot; else NULL */
	size_t slot_length;		    /* bytes */
	struct donor *donor;		    /* donor of a copied organ; NULL: unknown */
	char fingerprint[FINGERPRINT_TEXT]; /* to write: the donor's GGUF; empty: unknown */
	enum reference_of of;		    /* origin of that GGUF */
};

struct layer_entry {
	enum organ_class klass;
	enum layer_kind kind;
	const char *name; /* of the slot, without ".bin" */
	struct timespec mtime;
	struct backing *file;  /* LAYER_COPY, layer_each(): owned by `found`; NULL: cannot be
			        * opened */
	const char *reference; /* LAYER_REFERENCE: the tensor. LAYER_LINK: last valid target; or
			        * NULL */
	const char *target;    /* LAYER_LINK: its target */
	uid_t uid;	       /* LAYER_LINK, LAYER_REFERENCE: opened with this user's rights */
	gid_t gid;
	struct layer_origin origin;
};

/* Call `found` for each slot in the layer; if its file cannot be opened, err has the reason. A
 * result of found other than 0, -errno with err set, ends the loop and is returned. Otherwise
 * returns 0, or -errno with err set if a row cannot be read. */
typedef int layer_entry_fn(void *context, const struct layer_entry *entry, struct error *err);
int layer_each(struct layer *layer, layer_entry_fn *found, void *context, struct error *err);

/* Make a stage's file. Returns its descriptor, and its number for the calls below, or -errno. */
int layer_stage(struct layer *layer, uint64_t *number);

/* Make a stage in memory, for small content, which is then written to disk only once.
 * layer_close_in_memory() closes the descriptor. -ENOMEM if too many exist. */
#define LAYER_SMALL ((uint64_t)1 << 20)
int layer_stage_in_memory(struct layer *layer, uint64_t *number);
void layer_close_in_memory(struct layer *layer, int fd);

/* Write the first size bytes of a view to a stage, at offset `at`. Returns 0 or -errno. */
int layer_copy_view(int fd, uint64_t at, struct view *view, uint64_t size);

/* Remove the file of a stage. */
void layer_unstage(struct layer *layer, uint64_t number);

/* The organ file of a stage as it will be stored. */
struct layer_seal {
	uint64_t number; /* of its blob: the stage's file, or a compressed copy */
	uint64_t size;	 /* of the organ file, uncompressed */
	char xxh128[XXH128_TEXT];
	bool compressed;
	uint8_t *bytes; /* of a small one, for a row; NULL: in a file */
	bool is_kept;	/* its row is durable: the release keeps the blob */
};

/* Hash, compress and sync the bytes of stage `number`, whose descriptor is fd; small content is
 * kept for a row. May take long; stages can be sealed concurrently. in_memory: the stage has no
 * file yet. Returns 0 or -errno; layer_seal_release() has to follow in both cases. */
int layer_seal_stage(struct layer *layer, uint64_t number, int fd, bool in_memory,
		     struct layer_seal *seal);
void layer_seal_release(struct layer *layer, struct layer_seal *seal);

/* Make a sealed stage durable as the content of the entry's slot, in two steps, so that threads
 * wait for the disk together (layer_queue.h). Call layer_commit_begin() in the order of the
 * changes. Until layer_commit_wait() returns, the slot must not change otherwise, and the caller
 * keeps the entry's texts valid. NULL with *rc set. */
struct layer_commit;
struct layer_commit *layer_commit_begin(struct layer *layer, struct layer_seal *seal,
					const struct layer_entry *entry, int *rc);

/* Wait until the commit is durable. Returns 0 with the organ file in *file, or -errno with nothing
 * changed. Frees the commit. */
int layer_commit_wait(struct layer_commit *commit, struct backing **file);

/* The XXH128 of the slot's organ file. False: the slot contains no copy. */
bool layer_organ_hash(struct layer *layer, enum organ_class klass, const char *name,
		      char xxh128[XXH128_TEXT]);

/* Set the slot's content to a link, or to a reference that later mounts open with the rights of
 * this thread; durable. moved_from, here and below: NULL, or the item from which the content was
 * moved, undone in the same transaction. Returns 0 or -errno. */
int layer_put(struct layer *layer, const struct layer_entry *entry,
	      const struct layer_undone *moved_from);

/* Record the tensor to which the slot's link leads; durable. A read-only layer stays unchanged.
 * Returns 0 or -errno. */
int layer_record_seen(struct layer *layer, enum organ_class klass, const char *name,
		      const char *target, const char *seen);

/* Set the content of the entry's slot, perhaps in another layer, to the organ file and mtime of
 * CLASS/NAME, without copying; durable. Returns 0 with the bytes in *file, or -errno: EXDEV the
 * layers are on different filesystems. */
int layer_link(struct layer *from, enum organ_class klass, const char *name, struct layer *to,
	       const struct layer_entry *entry, const struct layer_undone *moved_from,
	       struct backing **file);

#endif
