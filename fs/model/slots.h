/* SPDX-License-Identifier: MIT */
/* slots.h - the current content of every tensor of a model: the base's, a graft, or none; also of
 * the tensors that were added. A slot shows its own content, or the result of adapters applied to
 * it (adapters.h). A slot without a graft holds the content beneath: the base's, or in a merge of
 * models the merge's result (merge_force.h).
 *
 * 1. A slot changes in one step: readers see the old content or the new one.
 * 2. A content is immutable and reference-counted.
 * 3. Each change increments the generation; nothing else does.
 * 4. Added slots follow those of the base and stay; a removed slot holds a whiteout. */
#ifndef FS_MODEL_SLOTS_H
#define FS_MODEL_SLOTS_H

#include "fs/base/fingerprint.h"
#include "gguf/organ.h"
#include "gguf/role.h"
#include "measure/zmeasure.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <xxhash.h>

/* Results computed once per content; all zeros: not requested yet. memo.h owns the fields of struct
 * memo_state, tensor_measures.h, tensor_hashes.h and tensor_losses.h own the rest. */
enum memo_phase {
	MEMO_NONE,
	MEMO_PENDING, /* a job for it is queued or runs */
	MEMO_DONE,
};

/* First member of each structure that holds a result. */
struct memo_state {
	enum memo_phase state;
	uint64_t begun;	      /* serial number of the request that began the job */
	uint32_t version;     /* MEMO_DONE: version of the value's inputs (memo.h) */
	int error;	      /* MEMO_DONE: 0 or -errno */
	unsigned waiting;     /* requests that wait for the result */
	atomic_bool unwanted; /* the last waiting request has left: the job gives up */
};

/* The Z-measure. */
struct measure_result {
	struct memo_state once;
	struct zmeasure result;
};

enum hash_kind {
	HASH_FILE, /* XXH128 of the organ file, as `xxhsum -H2` prints it */
	HASH_DATA, /* XXH64 of the tensor's data, as llama-gguf-hash prints it */
	HASH_KINDS,
};

struct hash_result {
	struct memo_state once;
	XXH128_hash_t hash; /* a hash of 64 bits is in low64 */
};

/* Loss of the tensor in one type of .views/types. */
struct loss_result {
	struct memo_state once;
	double loss;
};

enum content_kind {
	CONTENT_COPY,	   /* an organ file of the layer */
	CONTENT_REFERENCE, /* a tensor of a model file, of the base or another */
	CONTENT_LINK,	   /* the organ that a symbolic link leads to */
	CONTENT_WHITEOUT,  /* the slot was removed; organ, file and offset mean nothing */
	CONTENT_MERGED,	   /* made from the slot's own content, by adapters or in a chosen type */
	CONTENT_BLEND,	   /* the result of a merge of models */
};

/* Content of a slot: a graft, or a result of a merge of models or of adapters. */
struct content {
	atomic_uint refs;
	enum content_kind kind;
	bool beneath; /* from a merge of models, not a graft; also for its whiteouts */
	bool found;   /* check_origin.h: a donor has the bytes of the base's tensor */
	uint64_t ino; /* the inode number of its organ file */
	atomic_uint_fast64_t generated_ino; /* of the first file generated from it; 0: none yet */
	struct organ organ;		    /* its header's fields; the content owns the name */
	struct backing *file;		    /* file with the data */
	uint64_t offset;		    /* of the data in file, in bytes */
	struct timespec mtime;
	union {					    /* fields of one kind of content */
		char fingerprint[FINGERPRINT_TEXT]; /* CONTENT_REFERENCE: of the model file */
		struct {			    /* CONTENT_LINK */
			char *target;		    /* as the user gave it */
			/* State of the target file (link_target.h); of a broken link, its last good
			 * target. NULL: none. */
			char *seen;
			uid_t uid; /* owner of the link */
			gid_t gid;
		};
		struct {		     /* CONTENT_MERGED */
			struct content *own; /* the slot's own content, NULL for the base's */
			/* Parameters of the merge, borrowed from file; NULL if broken. */
			const struct lora_merge *merge;
		};
		struct {	       /* CONTENT_BLEND */
			int32_t block; /* block of the source model; -1: none */
			/* Parameters of the mixture, borrowed from file; NULL if one model's tensor
			 * is taken unchanged, or if broken. */
			const struct merge_tensor *tensor;
		};
	};
	struct donor *donor;		       /* NULL: not known */
	char *broken;			       /* reason why the data cannot be read, or NULL */
	struct measure_result measure;	       /* the Z-measure; tensor_measures.h */
	struct hash_result hashes[HASH_KINDS]; /* tensor_hashes.h */
	/* One per type of .views/types; NULL: no loss.tsv was read; tensor_losses.h. */
	_Atomic(struct loss_result *) losses;
};

/* New content of the organ in file. Takes ownership of the organ's name and of file, also on
 * failure. NULL: out of memory. */
struct content *content_new(uint64_t ino, const struct organ *organ, struct backing *file);

/* New content of a tensor of a model file with that fingerprint, its data at offset (bytes). Copies
 * the organ's name, takes a reference of file, and sets that tensor as donor. NULL: out of
 * memory. */
struct content *content_new_reference(uint64_t ino, const struct organ *organ, struct backing *file,
				      uint64_t offset, const char *fingerprint);

/* New content of a symbolic link to that organ, its data at offset (bytes) of file. Copies the
 * organ's name, takes a reference of file, and sets the file as donor. NULL: out of memory. */
struct content *content_new_link(uint64_t ino, const struct organ *organ, struct backing *file,
				 uint64_t offset, const char *target);

/* Set a link's seen to a copy of that text, or to NULL also if out of memory. Call before another
 * thread knows the content. */
void content_set_seen(struct content *content, const char *seen);

/* New content that a slot shows in place of own (NULL: the base's content), of which it takes a
 * reference: the organ that merge produces, its bytes in file. Copies the organ's name, takes
 * ownership of file, also on failure. The caller sets the donor. NULL: out of memory. */
struct content *content_new_merged(uint64_t ino, const struct organ *organ, struct backing *file,
				   const struct lora_merge *merge, struct content *own);

/* New content that a merge of models has for a slot, its data at offset (bytes) of file. Copies the
 * organ's name, takes a reference of file. The caller sets the donor, and the block if it is not
 * the one in the name. NULL: out of memory. */
struct content *content_new_blend(uint64_t ino, const struct organ *organ, struct backing *file,
				  uint64_t offset);

/* New whiteout of a merge of models that has no such tensor. NULL: out of memory. */
struct content *content_new_blend_whiteout(void);

static inline void content_set_owner(struct content *content, uid_t uid, gid_t gid)
{
	content->uid = uid;
	content->gid = gid;
}

static inline bool content_is_link(const struct content *content)
{
	return content && content->kind == CONTENT_LINK;
}

/* Set the donor, which may be NULL and becomes the content's. Call before another thread knows the
 * content. */
void content_set_donor(struct content *content, struct donor *donor);

/* Mark the content as broken, with a copy of the reason. Call before another thread knows the
 * content. */
void content_set_broken(struct content *content, const char *why);

/* NULL: out of memory. */
struct content *content_new_whiteout(void);

/* Turn a whiteout that no other thread knows yet into the content that content_new() makes. Cannot
 * fail. */
void content_fill(struct content *content, uint64_t ino, const struct organ *organ,
		  struct backing *file);

/* "copy", "reference", "link", "removed", "merged", "retyped" or "blend"; of a broken content with
 * "broken " before it. */
const char *content_kind_name(const struct content *content);

/* Is the own content of a slot a graft? A removal is one. */
static inline bool content_is_graft(const struct content *own)
{
	return own && !own->beneath;
}

/* Does the slot show its own content in a chosen type, which no adapter changes? */
bool content_is_retyped(const struct content *content);

static inline bool content_is_whiteout(const struct content *content)
{
	return content && content->kind == CONTENT_WHITEOUT;
}

/* Own content of the slot that shows this content: NULL for the base's. Borrowed. */
static inline struct content *content_own(struct content *content)
{
	return content && content->kind == CONTENT_MERGED ? content->own : content;
}

/* Does the role in the organ's own name match the slot's? ROLE_SAME for the base's content (NULL),
 * a whiteout and a broken content. */
enum role_match content_role(const struct content *content, const char *slot, size_t length);

struct content *content_ref(struct content *content);
void content_unref(struct content *content); /* NULL is fine */

struct slots; /* any thread may use it */

/* New table of n slots, all with the base's content. NULL: out of memory. */
struct slots *slots_new(uint32_t n);
void slots_free(struct slots *slots);

/* Content that slot i shows, to release with content_unref(); NULL: the base's. */
struct content *slots_get(struct slots *slots, uint32_t i);

/* Own content of slot i, without adapters, to release; NULL: the base's. */
struct content *slots_get_own(struct slots *slots, uint32_t i);

/* Put content, which becomes the slots', into slot i. NULL restores the content beneath. */
void slots_set(struct slots *slots, uint32_t i, struct content *content);

/* The ggml type in which a slot shows its content, as a user chose. */
struct slot_type {
	bool is_set; /* false: the content's own type */
	uint32_t type;
	struct timespec mtime; /* of the choice */
};

/* Type chosen for slot i. A new choice takes effect when the slot is filled or shown the next
 * time. */
struct slot_type slots_type(struct slots *slots, uint32_t i);
void slots_set_type(struct slots *slots, uint32_t i, const struct slot_type *type);

/* Content to put into a slot; it becomes the slots'. NULL stands for the own content in
 * slots_set_shown(), for the content beneath in slots_set_all(), for the base's in
 * slots_set_beneath(). */
struct slot_content {
	uint32_t slot;
	struct content *content;
};

/* Like slots_set() for n slots in one step; uses up the contents of puts. Calls no listener:
 * results of adapters stay shown until slots_set_shown() replaces them. */
void slots_set_all(struct slots *slots, struct slot_content *puts, size_t n);

/* Content beneath slot i, to release; NULL: the base's. */
struct content *slots_get_beneath(struct slots *slots, uint32_t i);

bool slots_has_beneath(struct slots *slots, uint32_t i); /* not the base's */

/* Is own, a present or former content of the slot, a change of the content beneath? False without a
 * graft, and for the removal of an added slot with no tensor beneath. */
bool slots_is_changed(struct slots *slots, uint32_t i, const struct content *own);

/* Set the content beneath n slots in one step; NULL: the base's. Uses up the contents of puts.
 * Slots without a graft hold the new content at once. Calls no listener. An added slot must have a
 * content beneath or a graft. */
void slots_set_beneath(struct slots *slots, struct slot_content *puts, size_t n);

/* Called by slots_set(), without the slots' lock, before slot i holds content. Sets showing to the
 * content that one slot, i or another, shows from the same step on. False: slot i shows its own
 * content, and no other slot changes. */
typedef bool slots_listener(void *context, uint32_t i, struct content *content,
			    struct slot_content *showing);
void slots_set_listener(struct slots *slots, slots_listener *listener, void *context);

/* Set the contents that n slots show, in one step; uses up the contents of showings. Increments the
 * generation, also for n = 0. */
void slots_set_shown(struct slots *slots, struct slot_content *showings, size_t n);

/* Add slot *i, which holds content. Returns 0 or -ENOMEM; content is used up in both cases. */
int slots_add(struct slots *slots, struct content *content, uint32_t *i);

uint64_t slots_generation(struct slots *slots);

/* Number of slots that hold symbolic links. */
uint32_t slots_links(struct slots *slots);

/* Number of slots, with those added. */
uint32_t slots_count(struct slots *slots);

/* A model at one moment. */
struct snapshot {
	uint64_t generation;
	uint32_t n;		       /* slots */
	uint32_t grafts;	       /* changes, also by adapters, a merge and metadata edits */
	struct metadata_edits *edits;  /* of the metadata; NULL: snapshot of slots alone */
	struct adapter_list *adapters; /* in force (adapters.h); NULL: snapshot of slots alone */
	struct merge_state *merge;     /* in force (merge_force.h); NULL: none, or slots alone */
	struct content **content;      /* n contents as shown; NULL for the base's */
	struct slot_type *types;       /* n of them */
};

/* Snapshot of all slots, without metadata and adapters. Returns 0 or -ENOMEM. Release with
 * snapshot_release(). */
int slots_snapshot(struct slots *slots, struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

/* Number of snapshot->grafts that come from a merge of models; base: number of slots of the
 * base. */
uint32_t snapshot_merge_grafts(const struct snapshot *snapshot, uint32_t base);

#endif
