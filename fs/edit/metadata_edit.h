/* SPDX-License-Identifier: MIT */
/* metadata_edit.h - changes to the metadata of a model. A change is checked, made durable in
 * the layer and then visible, in this order. What is refused gets a line in the log, and the key
 * keeps what it had. */
#ifndef FS_EDIT_METADATA_EDIT_H
#define FS_EDIT_METADATA_EDIT_H

#include "fs/metadata/value.h"

struct metadata_entry;
struct model;
struct stage;

/* The key whose file has that name gets the value that is staged as text: of the type that is
 * wanted of the stage, else that the key has, else that the stage had elsewhere, else that the
 * specification gives the key (gguf/keys.h), else it is a string. The base's value is no edit.
 * Returns 0, or -errno: -EINVAL it is no value of that type or the name makes no key, -EPERM the
 * key is fixed. */
int metadata_edit_fill(struct model *model, const char *name, struct stage *stage);

/* Check n bytes of text that a user begins to write as the value, of that number's or boolean's
 * type, of the key with the number i. Returns 0, or -EINVAL with a line in the log: it is no value
 * of any such type, nor an array; or -ENOMEM. */
int metadata_edit_judge(struct model *model, uint32_t i, struct value_type type, const char *text,
			size_t n);

/* Would the text, as its file shows a value, be no edit of that key? type: the one that is wanted;
 * NULL: none. */
bool metadata_edit_is_none(struct model *model, const char *name, const struct value_type *type,
			   const struct source *text);

/* The key is not there any more. -ENOENT: it was not there; -EPERM. */
int metadata_edit_remove(struct model *model, uint32_t i);

/* The same of a key that has that value, and has its type again when it is made again; NULL: any,
 * and its type is forgotten. If it has another value by now, *moved_on is set, nothing is removed,
 * and the result is -ESTALE. */
int metadata_edit_set_aside(struct model *model, uint32_t i, const struct metadata_entry *was,
			    bool *moved_on);

/* What the key holds is under that name from now on, as metadata_edit_fill(), and not any more
 * under its own. -ENOENT, -EINVAL, -EPERM. */
int metadata_edit_move(struct model *model, uint32_t i, const char *new_name);

/* The same text is of another type from now on. -EINVAL: it is no value of that type. */
int metadata_edit_set_type(struct model *model, uint32_t i, struct value_type type);

/* "string" and the like for a key that has a value. False: it has none. */
bool metadata_edit_get_type(struct model *model, uint32_t i, struct value_type *type);

/* Edits that an earlier mount left in the layer. Returns 0, or -errno with err set: not all can be
 * read. */
int metadata_edit_recover(struct model *model, struct error *err);

/* What the names of keys' files have before them in messages and notes. */
#define METADATA_DIRECTORY "metadata/"

#endif
