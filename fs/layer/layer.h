/* SPDX-License-Identifier: MIT */
/* layer.h - the directory on disk that holds a mount's grafts.
 *
 *	LAYER           text: format version, the base's name and fingerprint (layer_label.h)
 *	CLASS/NAME.bin  a copied organ, as it is
 *	CLASS/NAME.bin  or a symbolic link: the slot holds what that leads to
 *	CLASS/NAME.bin.zst      a copied organ, compressed (zstd_seekable.h)
 *	CLASS/NAME.bin.xxh128, CLASS/NAME.bin.zst.xxh128        text: its XXH128 (layer_checksums.h)
 *	CLASS/NAME.bin.ref      text: the slot holds a tensor of the base (reference.h)
 *	CLASS/NAME.bin.from     text: the tensor's name, of a slot that was added, and where a
 *				copied organ came from (layer_origin.h)
 *	CLASS/NAME.bin.seen     text: where the link led when there was an organ (layer_seen.h)
 *	CLASS/.wh.NAME.bin      empty: the slot holds nothing
 *	adapters/       also adapters and their settings (layer_adapters.h)
 *	metadata/       edited metadata (layer_metadata.h)
 *	MERGE           text: the merge of models beneath the grafts (layer_merge.h)
 *	MOVING          text: a slot that was being moved to another when the mount ended
 *	UNDOING         text: what was being undone when the mount ended (layer_undo.h)
 *	.stage/N        files being written
 *
 * 1. A graft is in force when its rename into CLASS/ has been made durable, and not before.
 * 2. A directory without LAYER holds nothing that close() confirmed.
 * 3. While a mount uses a layer, it holds a lock on the directory: no other mount uses it.
 * 4. A private layer comes into being with its first stage: a mount that is only read writes
 *    nothing to disk. One that the user named is there from the start, and stays.
 * 5. What was refused is not in force on disk either, as far as the disk allows. */
#ifndef FS_LAYER_LAYER_H
#define FS_LAYER_LAYER_H

#include "fs/base/reference.h"
#include "fs/util/hash_text.h"
#include "gguf/anatomy.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

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

/* What layer_open_private() found that earlier mounts left behind; borrowed from the layer. */
struct layer_history {
	struct timespec changed; /* what was taken up: when it changed last; 0: nothing was */
	unsigned older;		 /* layers of the same base that were not taken up */
	char *copy; /* a layer was left alone, as its base is another copy, here; NULL: none was */
	char *copy_layer;  /* the directory of that layer */
	const char *doubt; /* why what was found may be another user's; NULL: it is not, or that
			    * was not said of any. Of a private one, it was left alone */
	char *doubtful;	   /* the directory of that one, if it was a private one */
};
const struct layer_history *layer_history(const struct layer *layer);

/* The layer in that directory, which is made, with its parents, if it is not there. NULL with err
 * set: EBUSY another mount uses it, ENOTEMPTY something else is in it, as layer_label_check(), and
 * what the disk says. */
struct layer *layer_open_at(const char *path, const struct layer_options *manner,
			    struct backing *base, const struct gguf *gguf, struct error *err);

/* What was changed is durable, as far as the disk allows, and the layer has no thread until the
 * next change: before fork(). No other thread may use it meanwhile. */
void layer_rest(struct layer *layer);

/* Give the layer up, leaving its files on disk; an empty private one is removed. */
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

/* Set err, if it is not NULL, to say that the file of that directory, or the directory, where file
 * is NULL, could not be read because of an errno value. Returns its negative. */
int layer_unread(struct layer *layer, const char *directory, const char *file, int code,
		 struct error *err);

/* A copy of its directory's path. False: there is none yet, and the text is empty. */
bool layer_directory(struct layer *layer, char path[PATH_MAX]);

/* The directory of edited metadata; those of slots have the names of their classes. */
#define LAYER_METADATA "metadata"

/* What a file in a layer says a slot holds. Where a crash left several, the first of these
 * counts: the operation was not confirmed, and either outcome is whole. */
enum layer_kind {
	LAYER_WHITEOUT,
	LAYER_REFERENCE,
	LAYER_ORGAN,
	LAYER_LINK, /* has the name of an organ as it is, so there is only one of them */
	LAYER_COMPRESSED,
	LAYER_NOTHING
};

/* What is kept of a slot beside what fills it. */
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
	const char *name;     /* of the slot, without ".bin" */
	struct backing *file; /* what is found's from then on; NULL: a link, or cannot be opened.
				 Of an organ its bytes, however they are kept */
	const char *target;   /* LAYER_LINK: where it leads */
	const char *seen;     /* LAYER_LINK: what is known of where that led; NULL: nothing */
	struct stat stat;     /* LAYER_LINK: of itself */
	struct layer_origin origin;
};

/* Call found for each slot that the layer says something about, with the reason in err where the
 * file cannot be opened. It returns 0, or -errno with err set, which ends it. Returns that, or
 * -errno with err set where not all can be listed. */
typedef int layer_entry_fn(void *context, const struct layer_entry *entry, struct error *err);
int layer_each(struct layer *layer, layer_entry_fn *found, void *context, struct error *err);

/* The modification time of a directory in the layer, "organs" or "metadata": given to it, as far as
 * it is there; and what it has. False: it is not there. */
void layer_set_time(struct layer *layer, const char *directory, const struct timespec *mtime);
bool layer_time(struct layer *layer, const char *directory, struct timespec *mtime);

/* What was removed until now is durable: where the filesystem keeps changes in order it is so some
 * milliseconds after the removal at the latest. Returns 0 or -errno, also of an earlier try. */
int layer_flush(struct layer *layer);

/* Make an empty file to write to. Returns its descriptor, and its number for the calls below, or
 * -errno. */
int layer_stage(struct layer *layer, unsigned *number);

/* The same in memory, for what is small, so that it is written to the disk once: its descriptor,
 * which layer_close_in_memory() closes. Of many at a time, -ENOMEM. */
#define LAYER_SMALL ((uint64_t)1 << 20)
int layer_stage_in_memory(struct layer *layer, unsigned *number);
void layer_close_in_memory(struct layer *layer, int fd);

/* Write the first size bytes of a view to a stage's descriptor. Returns 0 or -errno. */
int layer_copy_view(int fd, uint64_t at, struct view *view, uint64_t size);

/* All files of a stage; and what is left of one that is in force, or was never sealed. */
void layer_unstage(struct layer *layer, unsigned number);
void layer_drop_stage(struct layer *layer, unsigned number);

/* Make the file of stage number, of which fd is the descriptor, durable with the rename into its
 * place, in the form in which it is to be kept, with its modification time. May take long, and
 * several may be sealed at once. in_memory: it has no file yet. Returns 0 or -errno. */
struct layer_seal {
	enum layer_kind kind; /* LAYER_ORGAN as it is, LAYER_COMPRESSED compressed */
	char xxh128[XXH128_TEXT];
};
int layer_seal_stage(struct layer *layer, unsigned number, int fd, bool in_memory,
		     struct layer_seal *seal);

/* Put stage number, which was sealed, in force as CLASS/NAME.bin. Returns 0 and its bytes in *file,
 * or -errno; then the stage is still there. origin, here and below, is NULL where nothing of it is
 * to be kept. */
int layer_commit(struct layer *layer, unsigned number, const struct layer_seal *seal,
		 enum organ_class klass, const char *name, const struct layer_origin *origin,
		 struct backing **file);

/* The XXH128 that is recorded of the slot's organ file. False: none is. */
bool layer_organ_hash(struct layer *layer, enum organ_class klass, const char *name,
		      char xxh128[XXH128_TEXT]);

/* From now on the slot holds what the text of that kind says; durable. The file has that
 * modification time, NULL: now. Returns 0 or -errno. */
int layer_write(struct layer *layer, enum layer_kind kind, enum organ_class klass, const char *name,
		const struct layer_origin *origin, const char *text, const struct timespec *mtime);

/* The same in two steps, of which the second needs no space to speak of: a stage with that text,
 * for a slot of that class, durable; and that stage, put in force. Both return 0 or -errno; then
 * there is no stage any more. */
int layer_stage_text(struct layer *layer, enum organ_class klass, const char *text,
		     const struct timespec *mtime, unsigned *number);
int layer_commit_text(struct layer *layer, unsigned number, enum layer_kind kind,
		      enum organ_class klass, const char *name, const struct layer_origin *origin);

/* From now on the slot holds what a path leads to, for that user; durable. seen is what
 * link_target.h says of where it leads now, NULL for nothing. Returns 0 or -errno. */
int layer_symlink(struct layer *layer, enum organ_class klass, const char *name,
		  const struct layer_origin *origin, const char *target, const char *seen,
		  uid_t uid, gid_t gid, const struct timespec *mtime);

/* From now on that is known of where the link of the slot led; durable. A layer that is only read
 * stays as it is. Returns 0 or -errno. */
int layer_record_seen(struct layer *layer, enum organ_class klass, const char *name,
		      const char *target, const char *seen);

/* From now on the layer says nothing about the slot; durable. Returns 0 or -errno. */
int layer_revert(struct layer *layer, enum organ_class klass, const char *name);

/* From now on the slot holds nothing: with whiteout the layer says so, without it says nothing
 * about the slot. Durable; or soon, and with the next change at the latest, where the filesystem
 * keeps changes in order: layer_flush(). Not before the daemon's fork(), as a thread does that
 * then. Returns 0 or -errno. */
int layer_remove(struct layer *layer, enum organ_class klass, const char *name, bool whiteout);

/* From now on another slot, perhaps of another layer, holds the same organ file, without a copy;
 * durable. Returns 0 and its bytes in *file, or -errno. */
int layer_link(struct layer *from, enum organ_class klass, const char *name, struct layer *to,
	       enum organ_class new_class, const char *new_name, const struct layer_origin *origin,
	       struct backing **file);

/* What changes two slots is noted before it begins, durably, and the note removed when it is done,
 * so that the next mount finishes what a crash cut short. layer_journal_read() gives the note that
 * was found, up to n - 1 bytes and a NUL, and its length, 0 for none, or -errno: it cannot be read.
 * layer_journal_clear() returns 0 or -errno: it may still be there, and must not be when something
 * else changes. */
int layer_journal_write(struct layer *layer, const char *text);
ssize_t layer_journal_read(struct layer *layer, char *text, size_t n);
int layer_journal_clear(struct layer *layer);

#endif
