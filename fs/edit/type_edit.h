/* SPDX-License-Identifier: MIT */
/* type_edit.h - the types of ggml in which slots show their contents. A choice is checked, made
 * durable in the layer and then visible; it stays with the slot whatever fills it, until it is
 * taken back. A model without a layer, or with one that is only read, keeps its choices in memory.
 * A content that cannot be encoded in the chosen type is shown as it is. A type that needs an
 * importance matrix keeps the matrix in force. */
#ifndef FS_EDIT_TYPE_EDIT_H
#define FS_EDIT_TYPE_EDIT_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct gguf;
struct importance_matrix;
struct model;
struct organ;
struct undo_list;

struct type_choice {
	uint32_t slot;
	uint32_t type; /* of ggml, or TYPE_EDIT_OWN: that of the slot's content */
};
#define TYPE_EDIT_OWN UINT32_MAX

/* For messages: what to do if a type needs weights. */
#define TYPE_EDIT_REMEDY "ln -s imatrix.gguf MNT/.imatrix, or --quantise --imatrix=FILE"

/* Can the organ, under the name of its slot, be shown in that type, with the weights of importance,
 * which may be NULL? Returns 0, or -EINVAL with the reason in err. */
int type_edit_check(const struct organ *organ, uint32_t type,
		    const struct importance_matrix *importance, struct error *err);

/* Show n slots, each named once, in these types from now on, in one transaction. The choice of a
 * type that the content has itself takes an earlier choice back. Returns 0 or -errno, with a line
 * in the log and nothing changed: EINVAL a content cannot be encoded in the type, ENOENT a slot
 * holds nothing. */
int type_edit_choose(struct model *model, const struct type_choice *choices, size_t n);

/* The same by lines: NUL-terminated text, which is changed. Each names slots and a type
 * (type_lines.h). file is the name that the log has for them. EINVAL: a line is wrong. */
int type_edit_write(struct model *model, const char *file, char *lines);
#define TYPE_EDIT_FILE ".types" /* of a mount */

/* Check lines of TYPE_EDIT_FILE as type_edit_write() does, before they are all there. Returns 0 or
 * -errno. */
int type_edit_judge(struct model *model, char *lines);

/* May next be the importance matrix, or if it is NULL none, after the changes in undone, which may
 * be NULL? Not while a type that needs weights is chosen for another slot of which next has none.
 * Returns 0, or with a sentence in err that names the slot -EINVAL, without next -EBUSY. */
int type_edit_check_importance(const struct model *model, const struct gguf *next,
			       const struct undo_list *undone, struct error *err);

/* Take up the choices of an earlier mount from the layer. Returns 0, or -errno with err set: not
 * all can be read. */
int type_edit_recover(struct model *model, struct error *err);

#endif
