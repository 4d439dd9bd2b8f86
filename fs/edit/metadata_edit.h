/* SPDX-License-Identifier: MIT */
/* metadata_edit.h - changes of a model's metadata by a user. A change is checked, made durable in
 * the layer and then made visible. A refusal leaves a line in the log and the key unchanged. */
#ifndef FS_EDIT_METADATA_EDIT_H
#define FS_EDIT_METADATA_EDIT_H

#include "fs/metadata/value.h"

struct metadata_entry;
struct model;
struct stage;

/* Set the key with that file name to the staged text. The value's type is the first that is known
 * of: the type wanted by the user, the key's, the type that the text had elsewhere, the
 * specification's for the key (gguf/keys.h), string. A value equal to the base's is no edit.
 * Returns 0, or -errno: -EINVAL the text is no value of the type or the name no key, -EPERM the key
 * is fixed. */
int metadata_edit_fill(struct model *model, const char *name, struct stage *stage);

/* Check the first n bytes of a text being written as the value of key i, a number or boolean of
 * that type. Returns 0, -EINVAL with a line in the log if they are no value of any such type nor an
 * array, or -ENOMEM. */
int metadata_edit_judge(struct model *model, uint32_t i, struct value_type type, const char *text,
			size_t n);

/* Would the text, as the file shows a value, equal the base's value of that key? type: the wanted
 * type, or NULL. */
bool metadata_edit_is_none(struct model *model, const char *name, const struct value_type *type,
			   const struct source *text);

/* Remove the key. Returns 0, -ENOENT if there is none, -EPERM, or another -errno. */
int metadata_edit_remove(struct model *model, uint32_t i);

/* Like metadata_edit_remove(), but only while the key's value equals was, and remembers the key's
 * type for its next value. was NULL: any value, and the type is forgotten. If the key has another
 * value by now, sets *moved_on, removes nothing and returns -ESTALE. */
int metadata_edit_remove_if(struct model *model, uint32_t i, const struct metadata_entry *was,
			    bool *moved_on);

/* Rename the key: set new_name as metadata_edit_fill() does and remove the key, in one transaction.
 * -ENOENT, -EINVAL, -EPERM. */
int metadata_edit_move(struct model *model, uint32_t i, const char *new_name);

/* Change the type of the key's value, keeping its text. -EINVAL: the text is no value of that
 * type. */
int metadata_edit_set_type(struct model *model, uint32_t i, struct value_type type);

/* Get the type of the key's value. False: the key has none. */
bool metadata_edit_get_type(struct model *model, uint32_t i, struct value_type *type);

/* Take up the edits of an earlier mount from the layer. Returns 0, or -errno with err set if not
 * all rows can be read. */
int metadata_edit_recover(struct model *model, struct error *err);

/* Prefix of the names of keys' files in messages and notes. */
#define METADATA_DIRECTORY "metadata/"

#endif
