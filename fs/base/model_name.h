/* SPDX-License-Identifier: MIT */
/* model_name.h - models by the names that other programs know them by, in the stores of these
 * programs. url_is_store() tells such a name.
 *
 *	ollama:[[HOST/]OWNER/]NAME[:TAG]	ollama (store_ollama.c)
 *	hf:OWNER/REPO/FILE[@REVISION]		huggingface_hub, or the Hub (store_hub.c)
 *	lmstudio:OWNER/REPO/FILE		LM Studio (store_lm_studio.c)
 *
 * Names, manifests, links and sizes come from outside and are checked. Nothing is written to a
 * store, and no model in it is read here. */
#ifndef FS_BASE_MODEL_NAME_H
#define FS_BASE_MODEL_NAME_H

struct error;
struct model_list;

/* Find the model of that name. *path, to free, becomes the absolute path of its file, or the URL of
 * a file of the Hub that the cache lacks. Returns 0, or -errno with err set to the reason and a
 * remedy: ENOENT the store has no such model, EINVAL it is no name, EBADMSG the store is damaged,
 * and as open(2). */
int model_name_find(const char *name, char **path, struct error *err);

/* List the models of all stores, by name, with the damaged ones (model_list.h). Returns 0 or
 * -ENOMEM. model_list_release() is due either way. */
int model_name_list(struct model_list *list);

#endif
