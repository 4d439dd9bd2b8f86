/* SPDX-License-Identifier: MIT */
/* type_edit.h - choice of the ggml types in which slots show their contents. A choice is checked,
 * made durable in the layer and then visible; it belongs to the slot, not to the content, until it
 * is taken back. A model without a writable layer keeps its choices in memory. A content that
 * cannot be encoded in the chosen type is shown unchanged. A type that needs an importance matrix
 * keeps the matrix in force. */
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
	uint32_t type; /* ggml type, or TYPE_EDIT_OWN: the content's own */
};
#define TYPE_EDIT_OWN UINT32_MAX

/* Remedy in messages about types that need weights. */
#define TYPE_EDIT_REMEDY "ln -s imatrix.gguf MNT/.imatrix, or --quantise --imatrix=FILE"

/* Check that the organ, under its slot's name, can be shown in that type with the weights of
 * importance, which may be NULL. Returns 0, or -EINVAL with the reason in err. */
int type_edit_check(const struct organ *organ, uint32_t type,
		    const struct importance_matrix *importance, struct error *err);

/* Show n slots, each named once, in the chosen types from now on, in one transaction. Choosing the
 * content's own type takes an earlier choice back. Returns 0, or -errno with a line in the log and
 * nothing changed: EINVAL a content cannot be encoded in the type, ENOENT a slot is empty. */
int type_edit_choose(struct model *model, const struct type_choice *choices, size_t n);

/* Like type_edit_choose(), by lines that name slots and types (type_lines.h): NUL-terminated text,
 * which is modified. file is the name of the lines in the log. EINVAL: a line is wrong. */
int type_edit_write(struct model *model, const char *file, char *lines);
#define TYPE_EDIT_FILE ".types" /* in a mount */

/* Check the first lines of TYPE_EDIT_FILE as type_edit_write() does. Returns 0 or -errno. */
int type_edit_judge(struct model *model, char *lines);

/* Check that next (NULL: none) can replace the importance matrix, after the changes in undone,
 * which may be NULL: every other slot whose chosen type needs weights must have some in next.
 * Returns 0, or with a message in err that names the slot -EINVAL, without next -EBUSY. */
int type_edit_check_importance(const struct model *model, const struct gguf *next,
			       const struct undo_list *undone, struct error *err);

/* Take up the choices of an earlier mount from the layer. Returns 0, or -errno with err set if not
 * all rows can be read. */
int type_edit_recover(struct model *model, struct error *err);

#endif
