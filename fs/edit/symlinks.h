/* SPDX-License-Identifier: MIT */
/* symlinks.h - what the symbolic links of a mount lead to.
 *
 * 1. A link leads where its path leads when it is looked at, with the rights of its owner.
 * 2. Looking may wait for ever, for a server that is gone or a mount whose daemon hangs. It is done
 *    by threads that a request waits for SYMLINKS_TIMEOUT at most, twice where the link was seen
 *    before; what they touch is their own.
 * 3. A path into this mount is followed in memory, one into another mount of organfs ends at the
 *    file on disk that its bytes lie in, so that no two mounts wait for each other. */
#ifndef FS_EDIT_SYMLINKS_H
#define FS_EDIT_SYMLINKS_H

#include "gguf/anatomy.h"

#include <sys/types.h>

struct backing;
struct content;
struct error;
struct gguf;
struct model;
struct organ;

/* Seconds that a request waits for what links lead to; much less where the last look had no answer
 * either. */
#define SYMLINKS_TIMEOUT 3

struct symlinks; /* any thread may use it */

/* The links of a mount of n models, several of them or not; borrowed. NULL: out of memory. */
struct symlinks *symlinks_new(struct model *const *models, uint32_t n, bool several);
void symlinks_free(struct symlinks *links); /* NULL is fine */

/* The mount is there, at that absolute path and with that device number. Before requests come. */
void symlinks_set_mount(struct symlinks *links, const char *point, dev_t device);

/* What a link with that target, made by that user in a directory of the model, leads to now: a
 * content, which is broken where it leads to no organ, and then is like stand_in, NULL for nothing:
 * ENOENT. Returns NULL with err set, also with a code of EINVAL where there is a file which is no
 * organ. */
struct content *symlinks_content(struct symlinks *links, struct model *model,
				 enum organ_class klass, const char *target, uid_t uid, gid_t gid,
				 const struct organ *stand_in, struct error *err);

/* The GGUF that such a link in adapters/ leads to now, with its file; both become the caller's.
 * hurried: there was no answer the last time either. Returns 0, or -errno with err set: -EINVAL
 * there is a file which is no GGUF, or the path leads into this mount. */
int symlinks_gguf(struct model *model, const char *target, uid_t uid, gid_t gid, bool hurried,
		  struct backing **file, struct gguf **gguf, struct error *err);

/* Look at all links of a model again, NULL: of all models. A slot whose link leads to something
 * else now has a new content; adapters that led nowhere are in force where they lead now. */
void symlinks_refresh(struct symlinks *links, struct model *model);

/* The same for all models once more when the mount is gone, before the grafts are written
 * down. A path into the mount leads nowhere then: links that led to something through it, and
 * adapters, stay what they were. */
void symlinks_refresh_last(struct symlinks *links);

#endif
