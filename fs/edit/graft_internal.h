/* SPDX-License-Identifier: MIT */
/* graft_internal.h - the filling of one slot, which graft.c, graft_donor.c, graft_link.c and
 * graft_recover.c share. */
#ifndef FS_EDIT_GRAFT_INTERNAL_H
#define FS_EDIT_GRAFT_INTERNAL_H

#include "fs/layer/layer.h"
#include "gguf/error.h"

struct donor;
struct origin;
struct stage;

/* Longer tensor names cannot be added. */
#define ADDED_NAME_MAX 512

/* Hint for a broken link whose target does not begin with a slash. */
#define GRAFT_RELATIVE "a relative target starts at the link, which ln -sr makes it do"

struct filling {
	struct model *model;
	enum organ_class klass;
	const char *name;
	bool any_shape;
	bool taken_up;		      /* from the layer: an earlier mount checked name and target */
	bool is_new;		      /* the slot does not exist yet */
	bool from_recipe;	      /* as in struct graft_place */
	bool is_named;		      /* the tensor's name is known, even if the slot is empty */
	const struct timespec *mtime; /* time set for the file; NULL: none */
	bool may_be_base;	      /* an organ equal to the base's ends the graft */
	bool is_base;		      /* the staged bytes are those of the base */
	uint32_t tensor;	      /* number of the slot, unless is_new */
	bool replaces_only;	      /* fill the slot only while its own content is was */
	const struct content *was;
	bool moved_on;		 /* the slot has another content by now */
	bool put_back;		 /* the file was refused and the removal before it undone */
	struct layer_seal *seal; /* sealed organ, owned by the stage */
	/* source of a move, emptied in the same transaction; NULL: none */
	const struct layer_undone *moved_from;
	uint32_t moved_from_slot;
	struct content *moved_from_whiteout; /* content of the emptied slot; used up */
	struct organ organ;  /* organ to fill the slot; owns the name until a content takes it */
	struct donor *donor; /* borrowed; NULL: not known */
	char added[ADDED_NAME_MAX]; /* tensor's name of a new slot */
	size_t added_length;
	struct error err;
};

/* Copy of an organ's name, to free. NULL: out of memory. */
char *graft_copy_name(const struct organ *organ);

/* Was a time set for the file that differs from mtime? The graft must then keep that time,
 * otherwise rsync would copy the file again and again. */
bool filling_has_other_time(const struct filling *filling, const struct timespec *mtime);

/* Look up slot CLASS/NAME; sets tensor or is_new. */
void filling_find(struct filling *filling);

/* Start the filling of a place, whose texts are borrowed. Returns 0, or -EINVAL with err set if a
 * slot to be added cannot have that tensor name. */
struct graft_place;
int filling_at(struct filling *filling, struct model *model, const struct graft_place *place);

/* Set the donor of the staged organ, with the fingerprint of its GGUF: donor, which is borrowed, or
 * for NULL the donor traced by the writes. Reads from the donor. The caller releases
 * filling->donor. */
void filling_find_donor(struct filling *filling, struct stage *stage, struct donor *donor);

/* Layer entry for the existing slot, without kind and content; texts are borrowed. The caller holds
 * the commit lock. */
struct layer_entry filling_entry(const struct filling *filling);

/* Set the tensor's name of a new slot. False: the slot exists, the file CLASS/NAME.bin is not the
 * tensor's, or the model has the tensor. */
bool filling_name(struct filling *filling, const char *tensor, size_t length);

/* Check that the organ may fill the slot. Returns 0, or -EINVAL with the reason in err. */
int filling_check(struct filling *filling);

/* Stand-in for a broken link's organ: the base's organ in the slot, or for a new slot a tensor of
 * the base that differs in the block alone. False: there is none. */
bool filling_stand_in(const struct filling *filling, struct organ *organ);

/* Add a missing slot with a whiteout, so that filling_publish() cannot fail. Returns 0, -ENOSPC or
 * -ENOMEM. */
int filling_reserve(struct filling *filling);

/* Put content, which becomes the model's also on failure, into the slot, and empty the source of a
 * move. Returns 0, -ENOSPC or -ENOMEM. */
int filling_put(struct filling *filling, struct content *content);

/* Publish the graft of a reserved slot whose transaction is durable: content, a whiteout that no
 * other thread knows, becomes the organ in file. Uses up content and file. The caller holds the
 * commit lock, also for the next two functions. */
void filling_publish(struct filling *filling, struct content *content, struct backing *file,
		     const struct timespec *mtime);

/* With replaces_only: does the slot hold another content than was by now? Sets moved_on. */
bool filling_has_moved_on(struct filling *filling);

/* End the graft of the slot, which holds the base's tensor again. Returns 0 or -errno. */
int filling_restore(struct filling *filling);

/* Log why the graft is refused: err, or without one rc. Returns rc. */
int filling_refuse(const struct filling *filling, int rc);

/* Log a filled slot whose organ has another role by its own header. */
void filling_log_role(const struct filling *filling);

/* End a filling with the result rc. On failure log the refusal, unless the slot has moved on; on
 * success learn an adapter's alpha and log another role. Returns rc. */
int filling_end(const struct filling *filling, int rc);

/* New stage whose whole content is the organ at origin, not copied. NULL: out of memory. */
struct stage *graft_stage_of(const struct origin *origin, struct layer *layer);

/* After a refusal, undo the removal of the slot by the process that made the staged file
 * (removal.h), unless the slot has been filled since. False: no such removal, or the undo
 * failed. */
bool graft_put_back(const struct filling *refused, struct stage *stage);

/* Fill the slot with the organ at origin. -ESTALE: the organ is not there any more, or must be
 * copied. The organ's name is borrowed afterwards. */
int graft_fill_from(struct filling *filling, const struct origin *from);

#endif
