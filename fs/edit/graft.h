/* SPDX-License-Identifier: MIT */
/* graft.h - changes of a slot by a user. Each change is checked, made durable, made visible and
 * then answered. */
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

/* Fill the slot with the staged organ, if the organ fits. Returns 0, or -errno with a line in the
 * log and the slot unchanged: EINVAL the organ does not fit, EBUSY another thread replays a recipe,
 * else ENOMEM or the disk's error. */
int graft_fill(struct model *model, uint32_t tensor, struct stage *stage);

/* Like graft_fill(), for an organ of any shape, and only while the slot's content equals was (NULL:
 * the base's). donor, which is borrowed, is the organ's; NULL: not known. If the slot has another
 * content by now, sets *moved_on and returns -ESTALE without a line in the log. */
int graft_fill_over(struct model *model, uint32_t tensor, const struct content *was,
		    struct stage *stage, struct donor *donor, bool *moved_on);

/* Like graft_fill(), for slot CLASS/NAME. A missing slot is added if the staged organ's name allows
 * it (anatomy_added()). */
int graft_fill_name(struct model *model, enum organ_class klass, const char *name,
		    struct stage *stage);

/* A slot CLASS/NAME, and the tensor's name if the slot must be added; NULL: the name in the organ's
 * header. */
struct graft_place {
	enum organ_class klass;
	const char *name;
	const char *tensor;
	size_t tensor_length;
	/* Set by a recipe: the organ may have any shape (a stack may lack an expert), and is a
	 * graft even if it equals the base's. */
	bool from_recipe;
};

/* Check by its header that an organ, whose name is borrowed, may fill the slot. Returns 0, or
 * -EINVAL with err set. */
int graft_check(struct model *model, const struct graft_place *place, const struct organ *organ,
		struct error *err);

/* Like graft_fill_name(), for a place; donor, which is borrowed, is the organ's. */
int graft_fill_place(struct model *model, const struct graft_place *place, struct stage *stage,
		     struct donor *donor);

/* Fill the slot with a reference to the tensor at offset (bytes) of a model file with that
 * fingerprint; takes a reference of file. Returns as graft_fill(). */
int graft_refer(struct model *model, const struct graft_place *place, const struct organ *organ,
		struct backing *file, uint64_t offset, const char *fingerprint);

/* Like graft_symlink(), for a place. */
int graft_symlink_place(struct model *model, const struct graft_place *place, const char *target,
			uid_t uid, gid_t gid);

/* Remove the slot's content. Returns 0, -ENOENT if the slot is empty, else the disk's error. */
int graft_remove(struct model *model, uint32_t tensor);

/* Like graft_remove(), by unlink(2) of that process (0: not known). The model keeps the removal
 * (removal.h). */
int graft_unlink(struct model *model, uint32_t tensor, pid_t process);

/* Like graft_remove(), but only while the slot's content equals was (NULL: the base's). Otherwise
 * sets *moved_on, removes nothing and returns -ESTALE. */
int graft_remove_if(struct model *model, uint32_t tensor, const struct content *was,
		    bool *moved_on);

/* Share the content of slot tensor of from with slot CLASS/NAME of model, which may be the same
 * model, without a copy. A missing slot is added. Returns as graft_fill(), or -ENOENT if the source
 * is empty, -EXDEV if the layers are on different filesystems. */
int graft_link(struct model *from, uint32_t tensor, struct model *model, enum organ_class klass,
	       const char *name);

/* Like graft_link() within one model, and empty the source in the same transaction. */
int graft_move(struct model *model, uint32_t tensor, enum organ_class klass, const char *name);

/* Fill slot CLASS/NAME with a link to target, followed with the rights of that user. A missing slot
 * is added. If target leads to no organ now, the graft is kept as broken. Waits for the path as
 * symlinks.h says. Returns as graft_fill(); EINVAL also for a file that is no organ. */
int graft_symlink(struct model *model, enum organ_class klass, const char *name, const char *target,
		  uid_t uid, gid_t gid);

/* Take up the grafts of an earlier mount from the model's layer. mountpoint is the path of the
 * mount to be, or NULL; donors whose recorded paths are below mountpoint are never opened. Returns
 * 0, or -errno with err set if not all rows can be read. */
int graft_recover(struct model *model, const char *mountpoint, struct error *err);

#endif
