/* SPDX-License-Identifier: MIT */
/* slots.h - what every tensor of a model is now: the base's, a graft, or nothing; and the tensors
 * that were added. What a slot holds is shown as it is, or changed by adapters (adapters.h). A slot
 * without a graft holds what lies beneath: the base's, or where models are merged, what that has
 * for it (merge_force.h).
 *
 * 1. A slot changes in one step: readers see the old content or the new one.
 * 2. A content never changes; a reference keeps it alive.
 * 3. Every change moves the generation on, and nothing else does.
 * 4. Slots are added behind those of the base and stay; one that was removed holds nothing. */
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

/* Here what is found out once of a content is kept. Zeros: it was not asked for yet. All in struct
 * memo_state belongs to memo.h, the rest to tensor_measures.h, tensor_hashes.h, tensor_losses.h. */
enum memo_phase {
	MEMO_NONE,
	MEMO_PENDING, /* a job for it is queued or runs */
	MEMO_DONE,
};

/* The first member of a structure that holds the result. */
struct memo_state {
	enum memo_phase state;
	uint64_t begun;	      /* the number of the asking that began the job */
	uint32_t version;     /* MEMO_DONE: of what the value depends on; memo.h */
	int error;	      /* MEMO_DONE: 0 or -errno */
	unsigned waiting;     /* requests that want it */
	atomic_bool unwanted; /* there were such and there is none now: its job gives up */
};

/* The Z-measure. */
struct measure_result {
	struct memo_state once;
	struct zmeasure result;
};

enum hash_kind {
	HASH_FILE, /* XXH128 of the organ file, as `xxhsum -H2` has it */
	HASH_DATA, /* XXH64 of the tensor's data, as llama-gguf-hash has it */
	HASH_KINDS,
};

struct hash_result {
	struct memo_state once;
	XXH128_hash_t hash; /* of 64 bits: in low64 */
};

/* The error of the values in one type of .views/types. */
struct loss_result {
	struct memo_state once;
	double loss;
};

enum content_kind {
	CONTENT_COPY,	   /* an organ file of the layer */
	CONTENT_REFERENCE, /* a tensor of a model: the base, or another one */
	CONTENT_LINK,	   /* what a symbolic link leads to */
	CONTENT_WHITEOUT,  /* the slot was removed: only refs and kind mean anything */
	CONTENT_MERGED,	   /* what the slot holds, changed by adapters */
	CONTENT_BLEND,	   /* what a merge of models has for the slot */
};

/* What a graft, or a merge of models, put into a slot. */
struct content {
	atomic_uint refs;
	enum content_kind kind;
	bool beneath;		   /* of a merge of models, and no graft; of it a whiteout too */
	uint64_t ino;		   /* the inode number of its organ file */
	atomic_uint_fast64_t made; /* the first of the files made of it; 0: none yet (inode.h) */
	struct organ organ;	   /* what it is; the name is the content's own */
	struct backing *file;	   /* where its data lies */
	uint64_t offset;	   /* and from which byte on */
	struct timespec mtime;
	union {					    /* what only contents of one kind have */
		char fingerprint[FINGERPRINT_TEXT]; /* CONTENT_REFERENCE: of its model */
		struct {			    /* CONTENT_LINK */
			char *target;		    /* as it was given */
			/* As link_target.h, of the file, or if it is broken, of the last one that
			 * was good; NULL: there is none. */
			char *seen;
			uid_t uid; /* whose it is */
			gid_t gid;
		};
		struct {		     /* CONTENT_MERGED */
			struct content *own; /* what the slot holds, NULL for the base's */
			/* How, borrowed from file; NULL if broken. */
			const struct lora_merge *merge;
		};
		struct {	       /* CONTENT_BLEND */
			int32_t block; /* of its model, that it is made of; -1: none */
			/* How, borrowed from file; NULL: it is one model's as it is, or broken. */
			const struct merge_tensor *tensor;
		};
	};
	struct donor *donor;		       /* where it came from; NULL: not known */
	char *broken;			       /* NULL, or why its data cannot be read */
	struct measure_result reading;	       /* of its values; tensor_measures.h */
	struct hash_result hashes[HASH_KINDS]; /* of its bytes; tensor_hashes.h */
	/* One a type of .views/types; NULL: no loss.tsv was read; tensor_losses.h. */
	_Atomic(struct loss_result *) losses;
};

/* A content of the organ in that file, both of which become the content's, also on failure.
 * NULL: out of memory. */
struct content *content_new(uint64_t ino, const struct organ *organ, struct backing *file);

/* A content of the tensor at offset of a model's file, of which it takes a reference, and which has
 * that fingerprint; the organ's name, the tensor's, is copied. That tensor is its donor. NULL: out
 * of memory. */
struct content *content_new_reference(uint64_t ino, const struct organ *organ, struct backing *file,
				      uint64_t offset, const char *fingerprint);

/* A content of a symbolic link that leads to that organ, whose name is copied, with its data at
 * offset of the file, of which it takes a reference; that file is its donor. NULL: out of
 * memory. */
struct content *content_new_link(uint64_t ino, const struct organ *organ, struct backing *file,
				 uint64_t offset, const char *target);

/* A link's seen becomes that text, which is copied; NULL: none. Before another thread knows the
 * content. Without memory there is none. */
void content_set_seen(struct content *content, const char *seen);

/* What a slot shows that holds own, NULL for the base's, of which it takes a reference: the organ
 * that merge makes, whose name is copied, with its bytes in the file, which becomes the content's,
 * also on failure. The donor is left to be set. NULL: out of memory. */
struct content *content_new_merged(uint64_t ino, const struct organ *organ, struct backing *file,
				   const struct lora_merge *merge, struct content *own);

/* What a merge of models has for a slot: the organ, whose name is copied, with its data at offset
 * of the file, of which it takes a reference. The donor is left to be set, and so is the block that
 * it was, where that is not its name's. NULL: out of memory. */
struct content *content_new_blend(uint64_t ino, const struct organ *organ, struct backing *file,
				  uint64_t offset);

/* It has nothing for the slot. NULL: out of memory. */
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

/* Where the content came from, in place of what was known of that before; the donor, which may be
 * NULL, becomes the content's. Before another thread knows the content. */
void content_set_donor(struct content *content, struct donor *donor);

/* A content is broken: for that reason, which is copied. Before another thread knows it. */
void content_set_broken(struct content *content, const char *why);

/* NULL: out of memory. */
struct content *content_new_whiteout(void);

/* Make of a content_new_whiteout() that no other thread knows yet what content_new() makes, which
 * cannot fail. */
void content_fill(struct content *content, uint64_t ino, const struct organ *organ,
		  struct backing *file);

/* "copy", "reference", "link", "removed", "merged", "retyped", "blend"; with "broken " before it */
const char *content_kind_name(const struct content *content);

/* Is what a slot holds a graft, which a removal is too? */
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

/* What the slot that shows it holds: NULL for the base's. Borrowed. */
static inline struct content *content_own(struct content *content)
{
	return content && content->kind == CONTENT_MERGED ? content->own : content;
}

/* Does what the slot of that tensor holds play its part, by the header of the organ? Of the base's
 * (NULL), of nothing and of what cannot be read: ROLE_SAME. */
enum role_match content_role(const struct content *content, const char *slot, size_t length);

struct content *content_ref(struct content *content);
void content_unref(struct content *content); /* NULL is fine */

struct slots; /* any thread may use it */

/* n slots, all with the base's content. NULL: out of memory. */
struct slots *slots_new(uint32_t n);
void slots_free(struct slots *slots);

/* What slot i shows, to release with content_unref(), or NULL for the base's content. */
struct content *slots_get(struct slots *slots, uint32_t i);

/* The same of what it holds. */
struct content *slots_own(struct slots *slots, uint32_t i);

/* Put content, which becomes the slots', into slot i. NULL restores what lies beneath. */
void slots_set(struct slots *slots, uint32_t i, struct content *content);

/* The ggml type in which a slot shows its content, as a user chose. */
struct slot_type {
	bool is_set; /* else the content's own */
	uint32_t type;
	struct timespec mtime; /* of the choice */
};

/* The choice for slot i. A change takes effect when the slot is filled or shown the next time. */
struct slot_type slots_type(struct slots *slots, uint32_t i);
void slots_set_type(struct slots *slots, uint32_t i, const struct slot_type *type);

/* What a slot is to show; content, which becomes the slots', NULL: what it holds; or to hold: what
 * lies beneath. */
struct slot_content {
	uint32_t slot;
	struct content *content;
};

/* As slots_set() for n slots in one step, which uses puts up. No follower is called: what adapters
 * made of slots is shown until slots_set_shown() says otherwise. */
void slots_set_all(struct slots *slots, struct slot_content *puts, size_t n);

/* What lies beneath slot i, to release; NULL: the base's. */
struct content *slots_beneath(struct slots *slots, uint32_t i);

bool slots_has_beneath(struct slots *slots, uint32_t i); /* other than the base's */

/* Is own, which the slot holds or held, a change of what lies beneath? No graft is none, nor is it
 * one that the slot was removed where there is nothing beneath. */
bool slots_is_changed(struct slots *slots, uint32_t i, const struct content *own);

/* In one step, which uses puts up: beneath n slots lies that, NULL: the base's. What has no graft
 * holds it from then on. No follower is called, as above. A slot that was added must have a content
 * there, or a graft. */
void slots_set_beneath(struct slots *slots, struct slot_content *puts, size_t n);

/* Called by slots_set(), before slot i holds that content: what it or another slot shows from then
 * on, in the same step. False: slot i shows what it holds, and no other changes. */
typedef bool slots_listener(void *context, uint32_t i, struct content *content,
			    struct slot_content *showing);
void slots_set_listener(struct slots *slots, slots_listener *listener, void *context);

/* Change what n slots show, in one step, which uses showings up. The generation moves on, also for
 * none. */
void slots_set_shown(struct slots *slots, struct slot_content *showings, size_t n);

/* One more slot, which holds that content, and becomes number *i. Returns 0 or -ENOMEM; then the
 * content is released. */
int slots_add(struct slots *slots, struct content *content, uint32_t *i);

uint64_t slots_generation(struct slots *slots);

/* How many hold symbolic links. */
uint32_t slots_links(struct slots *slots);

/* How many there are by now. */
uint32_t slots_count(struct slots *slots);

/* A model at one moment. */
struct snapshot {
	uint64_t generation;
	uint32_t n, grafts;	       /* slots; those that are not as in the base, by a graft, an
					  adapter or a merge */
	struct metadata_edits *edits;  /* of the metadata; NULL: of the slots alone */
	struct adapter_list *adapters; /* in force (adapters.h); NULL: of the slots alone */
	struct content **content;      /* n of them, as they are shown; NULL for the base's */
	struct slot_type *types;       /* n of them */
};

/* All slots at one moment, without what else is in a snapshot. Returns 0 or -ENOMEM. Release with
 * snapshot_release(). */
int slots_snapshot(struct slots *slots, struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

/* How many of the grafts are none, but of a merge of models; the base has so many slots. */
uint32_t snapshot_merged(const struct snapshot *snapshot, uint32_t base);

#endif
