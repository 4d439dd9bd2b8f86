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

/* Longer names of tensors cannot be added. */
#define ADDED_NAME_MAX 512

/* Of a link that is broken, where its target does not begin with a slash. */
#define GRAFT_RELATIVE "a relative target starts at the link, which ln -sr makes it do"

struct filling {
	struct model *model;
	enum organ_class klass;
	const char *name;
	bool any_shape;
	bool confirmed; /* by an earlier mount: half of a pair stays, also for nothing */
	bool is_new;	/* there is no such slot yet */
	bool as_said;	/* as in struct graft_place */
	bool is_named;	/* what its tensor is called is known, also where the slot is empty */
	const struct timespec *mtime; /* that the file was given; NULL: none */
	bool may_be_base;	      /* and then it is no graft */
	bool is_base;		      /* the staged bytes are those of the base */
	uint32_t tensor;	      /* else its number */
	bool is_over;		      /* in place of was alone, NULL for the base's */
	const struct content *was;
	bool moved_on;			 /* it holds something else by now */
	bool put_back;			 /* the file is refused, and the removal before it undone */
	struct layer_seal *seal;	 /* how the organ goes into the layer; the stage's */
	const struct layer_undone *left; /* a slot that is emptied with it; NULL: none is */
	uint32_t left_slot;		 /* its number */
	struct content *nothing;	 /* its content then; used up */
	struct organ organ;  /* the organ to fill it; its name is ours until it is a content */
	struct donor *donor; /* where it came from, borrowed; NULL: not known */
	char added[ADDED_NAME_MAX]; /* of a new slot: the tensor's name */
	size_t added_length;
	struct error err;
};

/* The name of an organ, to free. NULL: out of memory. */
char *graft_copy_name(const struct organ *organ);

/* Is the file to have another time than that one, which is worth keeping? Without it rsync would
 * copy the file again and again. */
bool filling_has_other_time(const struct filling *filling, const struct timespec *mtime);

/* Find the slot CLASS/NAME, or that there is none. */
void filling_find(struct filling *filling);

/* The filling of a place, whose texts are borrowed. Returns 0, or -EINVAL with err set: where
 * the slot is added, its tensor cannot have that name. */
struct graft_place;
int filling_at(struct filling *filling, struct model *model, const struct graft_place *place);

/* Find the donor of the organ in the stage, with the fingerprint of its GGUF: donor, which is
 * borrowed, or for NULL the one that the writes show. filling->donor is to be put. Reads from the
 * donor. */
void filling_find_donor(struct filling *filling, struct stage *stage, struct donor *donor);

/* With the commit lock held: the layer's entry for the slot, which is there, without its kind and
 * content; texts are borrowed. */
struct layer_entry filling_entry(const struct filling *filling);

/* The slot is to be the one of the tensor of that name, which has to be a new one, and of which the
 * file CLASS/NAME.bin is. False: it is not. */
bool filling_name(struct filling *filling, const char *tensor, size_t length);

/* May the organ fill the slot? Returns 0, or -EINVAL with the reason in err. */
int filling_check(struct filling *filling);

/* What a slot holds whose link leads nowhere is like what the base has there, or where it is new,
 * like a tensor of the base that differs in the block alone. False: there is none. */
bool filling_stand_in(const struct filling *filling, struct organ *organ);

/* Where there is no such slot yet, there is one from now on, with nothing in it, so that
 * filling_put() cannot fail. Returns 0, -ENOSPC or -ENOMEM. */
int filling_reserve(struct filling *filling);

/* The slot holds content, which becomes the model's, also on failure: -ENOSPC, -ENOMEM. One that
 * was left holds nothing. */
int filling_put(struct filling *filling, struct content *content);

/* With the commit lock held, as the next two: the file of a slot that was reserved is in force, and
 * the slot holds what is in it: content, a content_new_whiteout() until now. Both are used up. */
void filling_publish(struct filling *filling, struct content *content, struct backing *file,
		     const struct timespec *mtime);

/* With the commit lock held: has another thread filled or emptied the slot since? */
bool filling_has_moved_on(struct filling *filling);

/* The slot holds its own tensor of the base again. Returns 0 or -errno. */
int filling_restore(struct filling *filling);

/* Say in the log why the graft is refused, which is what rc says where err says nothing. Returns
 * rc. */
int filling_refuse(const struct filling *filling, int rc);

/* The slot was filled: say in the log if the organ in it plays another part than the slot's by its
 * own header. */
void filling_log_role(const struct filling *filling);

/* End a filling that left its slot with rc: say in the log why it was refused, unless the slot has
 * moved on, or learn an adapter's alpha and log the role. Returns rc. */
int filling_end(const struct filling *filling, int rc);

/* A stage with the organ at the origin as its whole content, which is not copied. NULL: out of
 * memory. */
struct stage *graft_stage_of(const struct origin *origin, struct layer *layer);

/* The file in the stage is refused: undo the removal of the slot by the process that made the file
 * (removal.h), unless the slot has been filled since. False: there is none, or that failed. */
bool graft_put_back(const struct filling *refused, struct stage *stage);

/* Fill the slot with what is at the origin. -ESTALE: it is not there any more. The organ's name is
 * borrowed afterwards. */
int graft_fill_from(struct filling *filling, const struct origin *from);

#endif
