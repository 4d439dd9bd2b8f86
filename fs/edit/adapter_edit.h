/* SPDX-License-Identifier: MIT */
/* adapter_edit.h - changes of a model's adapters by a user, in the order of graft.h: checked,
 * durable, visible, answered. A refusal leaves a line in the log. */
#ifndef FS_EDIT_ADAPTER_EDIT_H
#define FS_EDIT_ADAPTER_EDIT_H

#include <stdbool.h>
#include <sys/types.h>

struct error;
struct model;
struct stage;

/* Make adapters/FILE, a link by adapters_parse(), lead to target with the rights of that user. A
 * link to a file that cannot be read now is kept as broken. Returns 0, -EINVAL if the model cannot
 * take the adapter, else the disk's error. */
int adapter_edit_link(struct model *model, const char *file, const char *target, uid_t uid,
		      gid_t gid);

/* Put the importance matrix at an absolute path in force, for a model opened without a mount.
 * Returns 0, or -errno with err set: as base_open(), or EINVAL if the matrix does not fit the
 * model. */
int adapter_edit_use_importance(struct model *model, const char *path, struct error *err);

/* Set adapters/FILE, a scale or alpha, to the staged text. Returns as adapter_edit_link(). */
int adapter_edit_write(struct model *model, const char *file, struct stage *stage);

/* Check n bytes of text as adapter_edit_write() checks a staged setting. Returns 0 or -errno, with
 * a line in the log. */
int adapter_edit_judge(struct model *model, const char *file, const char *text, size_t n);

/* Remove adapters/FILE: a link with its scale, or a setting, which returns to its default. Returns
 * 0 or -errno. */
int adapter_edit_remove(struct model *model, const char *file);

/* After a half came into adapters/NAME.bin: if the alpha of copied pairs is not set and the half's
 * GGUF states one, take it; if the set alpha differs from the stated one, log that. */
void adapter_edit_learn_alpha(struct model *model, const char *name);

/* After the removal of a half, with the commit lock held: if no halves are left, remove the
 * settings of copied pairs. */
void adapter_edit_forget_copied(struct model *model);

/* Take up the layer's adapters; links are followed after the mount. Returns 0, or -errno with err
 * set if not all rows can be read. */
int adapter_edit_recover(struct model *model, struct error *err);

/* Follow all broken links again. hurried: the last attempt got no answer. Returns true if some got
 * none. */
bool adapter_edit_refresh(struct model *model, bool hurried);

#endif
