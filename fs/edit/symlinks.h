/* SPDX-License-Identifier: MIT */
/* symlinks.h - follows the symbolic links of a mount.
 *
 * 1. A link is followed with the rights of its owner, anew at each refresh.
 * 2. Following a path may block for ever, at a dead server or a mount whose daemon hangs. Threads
 *    of their own follow paths; a request waits for them SYMLINKS_TIMEOUT at most, twice that if
 *    the link was good before. These threads share no state with the request.
 * 3. A path into this mount is followed in memory; a path into another organfs mount ends at the
 *    file on disk that has the bytes, so that no two mounts wait for each other. */
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

/* Seconds that a request waits for links; much less if the last refresh got no answer. */
#define SYMLINKS_TIMEOUT 3

struct symlinks; /* any thread may use it */

/* Links of a mount of n models, which are borrowed; several: each has a directory of its own. NULL:
 * out of memory. */
struct symlinks *symlinks_new(struct model *const *models, uint32_t n, bool several);
void symlinks_free(struct symlinks *links); /* NULL is fine */

/* Set the absolute path and device number of the mount. Call before the first request. */
void symlinks_set_mount(struct symlinks *links, const char *point, dev_t device);

/* Follow a link to target, made by that user in a directory of the model, into a new content. If
 * the link leads to no organ, the content is broken and like stand_in; without stand_in the result
 * is NULL (ENOENT). Returns NULL with err set also if the target is a file that is no organ
 * (EINVAL). */
struct content *symlinks_content(struct symlinks *links, struct model *model,
				 enum organ_class klass, const char *target, uid_t uid, gid_t gid,
				 const struct organ *stand_in, struct error *err);

/* Open the GGUF that a link in adapters/ leads to, and its file; both become the caller's. hurried:
 * the last attempt got no answer. Returns 0, or -errno with err set: -EINVAL the file is no GGUF,
 * or the path leads into this mount. */
int symlinks_gguf(struct model *model, const char *target, uid_t uid, gid_t gid, bool hurried,
		  struct backing **file, struct gguf **gguf, struct error *err);

/* Follow all links of a model again; NULL: of all models. A slot whose link leads to another organ
 * now gets a new content; broken adapters whose links lead to an adapter now come into force. */
void symlinks_refresh(struct symlinks *links, struct model *model);

/* Follow the links of all models a last time after the unmount, before the assembly. A path into
 * the mount leads nowhere then: links that were good through the mount, and adapters, stay as they
 * are. */
void symlinks_refresh_last(struct symlinks *links);

#endif
