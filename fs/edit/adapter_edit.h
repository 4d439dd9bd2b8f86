/* SPDX-License-Identifier: MIT */
/* adapter_edit.h - what a user may do to the adapters of a model. The order is as in graft.h:
 * checked, durable, visible, answered. What is refused leaves a line in the log. */
#ifndef FS_EDIT_ADAPTER_EDIT_H
#define FS_EDIT_ADAPTER_EDIT_H

#include <stdbool.h>
#include <sys/types.h>

struct error;
struct model;
struct stage;

/* adapters/FILE, which adapters_parse() takes for a link, leads to that target with the rights of
 * that user. One that leads nowhere now is kept as broken. Returns 0, or -EINVAL the model cannot
 * take it, else what the disk said. */
int adapter_edit_link(struct model *model, const char *file, const char *target, uid_t uid,
		      gid_t gid);

/* Put the importance matrix in the file at an absolute path in force, for a model that is opened to
 * be read. Returns 0, or -errno with err set: as base_open(), or EINVAL it does not fit the model.
 */
int adapter_edit_use_importance(struct model *model, const char *path, struct error *err);

/* adapters/FILE, a setting, gets the value that is staged as text. The same. */
int adapter_edit_write(struct model *model, const char *file, struct stage *stage);

/* Check n bytes of text as adapter_edit_write() checks a staged setting. Returns 0 or -errno, with
 * a line in the log. */
int adapter_edit_judge(struct model *model, const char *file, const char *text, size_t n);

/* adapters/FILE is not there any more: with a link its scale goes too, and a setting is as if
 * it had never been made. Returns 0 or -errno. */
int adapter_edit_remove(struct model *model, const char *file);

/* A half was copied or linked into adapters/NAME.bin: where no file says what the alpha of such
 * pairs is, and the GGUF that it came from says it, it is that; where a file says another one, the
 * log tells. */
void adapter_edit_learn_alpha(struct model *model, const char *name);

/* With the commit lock held: a half is gone. With the last one go the settings of such pairs. */
void adapter_edit_forget_copied(struct model *model);

/* Put in force what the layer holds. Where links lead is looked at when the mount is there. Returns
 * 0, or -errno with err set: not all can be read. */
int adapter_edit_recover(struct model *model, struct error *err);

/* Look again where those lead that led nowhere. hurried: there was no answer the last time. Returns
 * whether there was none from some. */
bool adapter_edit_refresh(struct model *model, bool hurried);

#endif
