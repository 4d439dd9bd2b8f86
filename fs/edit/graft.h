/* SPDX-License-Identifier: MIT */
/* graft.h - what a user may do to a slot. The order is: checked, durable, visible, answered. */
#ifndef FS_EDIT_GRAFT_H
#define FS_EDIT_GRAFT_H

#include "gguf/anatomy.h"

#include <sys/types.h>

struct backing;
struct content;
struct donor;
struct error;
struct model;
struct organ;
struct stage;

/* Fill the slot with what is staged, if it is an organ that fits. Returns 0, or -errno with a line
 * in the log: EINVAL it does not fit, else what the disk said. Then the slot keeps what it has. */
int graft_fill(struct model *model, uint32_t tensor, struct stage *stage);

/* The same for an organ whose shape may be another than the slot's, in place of what the slot held,
 * NULL for the base's; donor, which is borrowed, is where it came from, NULL: not known. Where the
 * slot holds something else by now, *moved_on is set, and the result is -ESTALE without a line in
 * the log. */
int graft_fill_over(struct model *model, uint32_t tensor, const struct content *was,
		    struct stage *stage, struct donor *donor, bool *moved_on);

/* The same for the slot CLASS/NAME, which is added if there is none and the organ in the stage has
 * a name for it (anatomy_added()). */
int graft_fill_name(struct model *model, enum organ_class klass, const char *name,
		    struct stage *stage);

/* A slot CLASS/NAME, and what its tensor is to be called where it is added: NULL: as the organ's
 * header says. */
struct graft_place {
	enum organ_class klass;
	const char *name;
	const char *tensor;
	size_t tensor_length;
	/* By a recipe: what fills it may have any shape, as a stack of which an expert was taken
	 * out, and is a graft also where it is what the base has. */
	bool as_said;
};

/* May that organ, whose name is borrowed, fill the slot, as far as its header tells? Returns 0, or
 * -EINVAL with err set. */
int graft_check(struct model *model, const struct graft_place *place, const struct organ *organ,
		struct error *err);

/* As graft_fill_name(), of a place; donor, which is borrowed, is where the organ came from. */
int graft_fill_place(struct model *model, const struct graft_place *place, struct stage *stage,
		     struct donor *donor);

/* The slot holds the tensor at offset of a model's file, of which it takes a reference, and which
 * has that fingerprint. Returns as graft_fill(). */
int graft_refer(struct model *model, const struct graft_place *place, const struct organ *organ,
		struct backing *file, uint64_t offset, const char *fingerprint);

/* As graft_symlink(), of a place. */
int graft_symlink_place(struct model *model, const struct graft_place *place, const char *target,
			uid_t uid, gid_t gid);

/* The slot holds nothing any more. Returns 0, -ENOENT it does already, else what the disk said. */
int graft_remove(struct model *model, uint32_t tensor);

/* The same by unlink(2) of that process, 0: not known. The model keeps the removal (removal.h). */
int graft_unlink(struct model *model, uint32_t tensor, pid_t process);

/* As graft_remove(), of a slot that holds that content, NULL for the base's. Where it holds another
 * one by now, *moved_on is set, nothing is removed, and the result is -ESTALE. */
int graft_set_aside(struct model *model, uint32_t tensor, const struct content *was,
		    bool *moved_on);

/* The slot CLASS/NAME of a model, which is added if there is none, holds what is in that slot of
 * from, which may be the same model, without a copy. Returns as graft_fill(), or -ENOENT that slot
 * holds nothing, -EXDEV the layers lie on different filesystems. */
int graft_link(struct model *from, uint32_t tensor, struct model *model, enum organ_class klass,
	       const char *name);

/* The same within a model, and that other slot holds nothing any more. */
int graft_move(struct model *model, uint32_t tensor, enum organ_class klass, const char *name);

/* The slot CLASS/NAME, which is added if there is none, holds what a path leads to, with the rights
 * of that user; where it leads to no organ now, the graft is kept as broken. Waits for the path as
 * long as symlinks.h says. Returns as graft_fill(); EINVAL too for a file that is no organ. */
int graft_symlink(struct model *model, enum organ_class klass, const char *name, const char *target,
		  uid_t uid, gid_t gid);

/* Put in force what the model's layer holds from an earlier mount. The mount is to be at that path,
 * NULL: there will be none; a donor that the layer tells of in there is never opened. Returns 0, or
 * -errno with err set: not all can be read. */
int graft_recover(struct model *model, const char *mountpoint, struct error *err);

#endif
