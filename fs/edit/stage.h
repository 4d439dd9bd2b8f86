/* SPDX-License-Identifier: MIT */
/* stage.h - a file being written, apart from the slot until close() commits it.
 *
 * A stage shows the slot's content and copies it at the first write (copy-on-write). If a process
 * rewrites the whole file, as cp does, the old bytes are never copied. */
#ifndef FS_EDIT_STAGE_H
#define FS_EDIT_STAGE_H

#include "fs/metadata/value.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

struct layer;
struct layer_seal;
struct view;
struct write_source;

struct model;
struct removal;
struct stage; /* any thread may use it */

/* New stage on top of content, of which it takes a reference. NULL: out of memory. */
struct stage *stage_new(struct layer *layer, struct view *content);

/* Mark a stage that lives only while one process has the file open, so that a small file need not
 * be on the disk before its commit. Call before the first write. */
void stage_set_brief(struct stage *stage);

/* Attach the removal of the slot by the process that writes the file anew (removal.h); it becomes
 * the stage's. Call before another thread knows the stage. stage_take_removal() makes the removal
 * the caller's; NULL: none. */
void stage_set_removal(struct stage *stage, struct removal *removal);
bool stage_has_removal(const struct stage *stage);
struct removal *stage_take_removal(struct stage *stage);

void stage_free(struct stage *stage); /* discards uncommitted bytes; NULL is fine */

/* Count opens and closes; the last close discards uncommitted bytes. */
void stage_open(struct stage *stage);
void stage_close(struct stage *stage);
unsigned stage_opens(struct stage *stage);

/* Mark a stage whose bytes are committed, or whose last name is gone (scratch_files.h): callers
 * refuse writes. */
void stage_set_ended(struct stage *stage);
bool stage_has_ended(const struct stage *stage);

/* Attributes of a stage; readable without waiting for the disk. */
struct stage_shown {
	uint64_t size;
	struct timespec mtime;
	bool has_mtime; /* set explicitly: writes do not update it */
	enum stage_type { STAGE_UNTYPED, STAGE_WAS, STAGE_WANTED } typed; /* stage_set_type() */
	struct value_type type;
};
struct stage_shown stage_shown(struct stage *stage);

/* Count the busy writers (open_files.h). stage_remove_writer() returns the number of the others. */
void stage_add_writer(struct stage *stage);
unsigned stage_remove_writer(struct stage *stage);
unsigned stage_writers(struct stage *stage);

/* Like the system calls of the same names. Errors: -EIO, -ENOSPC and others of the disk. */
int stage_write(struct stage *stage, const void *bytes, size_t n, uint64_t offset);
ssize_t stage_read(struct stage *stage, void *bytes, size_t n, uint64_t offset);
int stage_truncate(struct stage *stage, uint64_t size);
int stage_sync(struct stage *stage);

/* Source of a stage's content: a slot of a model with the content that it had, NULL for the
 * base's. */
struct origin {
	struct model *model;
	uint32_t slot;
	struct content *content;
};

/* Adopt view, the organ at origin, as the whole content; takes references of view and of origin's
 * content. Nothing is copied before the first write. False: the stage is not empty. */
bool stage_adopt(struct stage *stage, struct view *view, const struct origin *origin);

/* Is the stage's content still the adopted view? */
bool stage_adopted(struct stage *stage, const struct view *view);

/* Get the origin of a content that was adopted and not written to since; the caller releases its
 * content. False: none. */
bool stage_origin(struct stage *stage, struct origin *origin);

/* Record the outcome of a commit of the content adopted from origin. Bytes written since are still
 * uncommitted. */
void stage_set_outcome(struct stage *stage, const struct origin *origin, bool in_force);

/* Set the trace of the writers' sources, which becomes the stage's until the stage is emptied or
 * committed. stage_trace() returns it with a reference, or NULL. */
void stage_set_trace(struct stage *stage, struct write_source *trace);
struct write_source *stage_trace(struct stage *stage);

/* Set the modification time; later writes do not change it. */
void stage_set_mtime(struct stage *stage, const struct timespec *mtime);

/* Set the type of a metadata key's value: that of the text's source, or the one that a user
 * wants. */
void stage_set_type(struct stage *stage, enum stage_type how, struct value_type type);

/* Are there written bytes since the creation or last commit? Truncation to 0 alone does not count:
 * shells close a descriptor between truncation and write. */
bool stage_written(struct stage *stage);

/* Must each commit fail, because a write, a sync or a seal has failed? stage_fail() lets commits
 * fail with rc, a -errno. */
bool stage_failed(struct stage *stage);
void stage_fail(struct stage *stage, int rc);

/* Was the stage written to since the last stage_commit_begin(), even if that commit failed? */
bool stage_unflushed(struct stage *stage);

/* Begin a commit: lock the stage until this thread calls stage_commit_end() or stage_commit_keep(),
 * which must follow even on failure. Returns 0 with the bytes to check in staged, borrowed until
 * then, or -errno as stage_failed(). */
int stage_commit_begin(struct stage *stage, struct source *staged);

/* Make the staged bytes durable, for layer_commit_begin() with that seal, which the stage owns.
 * Returns 0, or -errno: all but ENOMEM make the stage fail. */
int stage_seal(struct stage *stage, struct layer_seal **seal);

/* End a commit. rc 0: the bytes are in force and now, which becomes the stage's, shows them (NULL:
 * out of memory). -errno: the stage stays as it is. Returns rc. */
int stage_commit_end(struct stage *stage, int rc, struct view *now);

/* End a commit of bytes that were converted: the stage keeps and shows the written bytes. A refused
 * commit is not tried again at the release, which returns no error. */
int stage_commit_keep(struct stage *stage, int rc);

#endif
