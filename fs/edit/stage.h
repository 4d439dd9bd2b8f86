/* SPDX-License-Identifier: MIT */
/* stage.h - an organ file being written: apart from the slot, until close() puts it in force.
 *
 * A stage begins with the slot's content and takes it over only when it is written to: writing the
 * whole file anew, as cp does, never copies the old one. */
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

/* A stage on top of content, of which it takes a reference. NULL: out of memory. */
struct stage *stage_new(struct layer *layer, struct view *content);

/* Before anything is written: it is there no longer than one process has it open, so that what is
 * small need not be on the disk before it is in force. */
void stage_set_brief(struct stage *stage);

/* The slot was removed by the process that writes it anew with the stage (removal.h): the removal
 * becomes the stage's, before another thread knows the stage. stage_take_removal() makes it the
 * caller's; NULL: there is none. */
void stage_set_removal(struct stage *stage, struct removal *removal);
bool stage_has_removal(const struct stage *stage);
struct removal *stage_take_removal(struct stage *stage);

void stage_free(struct stage *stage); /* what was not put in force is gone; NULL is fine */

/* It is opened, and closed again: after the last close what was not put in force is gone. */
void stage_open(struct stage *stage);
void stage_close(struct stage *stage);
unsigned stage_opens(struct stage *stage);

/* The stage was put in force, or its last name is gone (scratch_files.h): callers refuse writes. */
void stage_set_over(struct stage *stage);
bool stage_is_over(const struct stage *stage);

/* What attributes show of it: no thread waits for the disk to know that. */
struct stage_shown {
	uint64_t size;
	struct timespec mtime;
	bool has_mtime; /* it was set, and no write moves it on */
	enum stage_type { STAGE_UNTYPED, STAGE_WAS, STAGE_WANTED } typed; /* stage_set_type() */
	struct value_type type;
};
struct stage_shown stage_shown(struct stage *stage);

/* A writer begins to write, and is done for now; how many others are still writing then. */
void stage_begin(struct stage *stage);
unsigned stage_end(struct stage *stage);
unsigned stage_busy(struct stage *stage);

/* Like the calls of the same names. -EIO, -ENOSPC and what else the disk says. */
int stage_write(struct stage *stage, const void *bytes, size_t n, uint64_t offset);
ssize_t stage_read(struct stage *stage, void *bytes, size_t n, uint64_t offset);
int stage_truncate(struct stage *stage, uint64_t size);
int stage_sync(struct stage *stage);

/* Where a stage's content came from: a slot of a model, with that content of the slot, NULL for the
 * base's. */
struct origin {
	struct model *model;
	uint32_t slot;
	struct content *content;
};

/* Take view, of which the stage takes a reference, as the whole content: that of the organ in
 * origin, of whose content it takes a reference too. Nothing is copied before a process writes
 * to it. False: there is something in the stage already. */
bool stage_adopt(struct stage *stage, struct view *view, const struct origin *origin);

/* Is view, and nothing else, what the stage took? */
bool stage_adopted(struct stage *stage, const struct view *view);

/* Where the content came from, if it was taken whole and not written to since. Its content is to be
 * released. */
bool stage_origin(struct stage *stage, struct origin *origin);

/* What was taken from there was put in force, or that was tried and refused. What was written since
 * is still to come. */
void stage_set_outcome(struct stage *stage, const struct origin *origin, bool in_force);

/* Where the written bytes come from: the trace becomes the stage's, until it is emptied or put in
 * force. stage_trace() gives it with a reference, NULL: there is none. */
void stage_set_trace(struct stage *stage, struct write_source *trace);
struct write_source *stage_trace(struct stage *stage);

/* The modification time it will have, whatever is written to it from now on. */
void stage_set_mtime(struct stage *stage, const struct timespec *mtime);

/* Of a file that is to be the value of a metadata key, the type: as it was where the text comes
 * from, or as a user wants it to be. */
void stage_set_type(struct stage *stage, enum stage_type how, struct value_type type);

/* Was it written to since it was made or last put in force? Emptying alone is not writing: shells
 * close a descriptor between the two. */
bool stage_written(struct stage *stage);

/* Has a write to the stage failed? And one has: rc is -errno. */
bool stage_failed(struct stage *stage);
void stage_fail(struct stage *stage, int rc);

/* Was it written to since the last stage_commit_begin(), whatever came of that? */
bool stage_unflushed(struct stage *stage);

/* Putting in force the staged bytes. Nothing is written between the first call and the last one,
 * which is due whatever the first returns: 0 with the bytes to check in staged, borrowed until
 * then, or -errno: a write has failed. */
int stage_commit_begin(struct stage *stage, struct source *staged);

/* Make the staged bytes durable, to be put in force by layer_commit_begin() with that seal, which
 * stays the stage's. Returns 0 or -errno; then the stage has failed. */
int stage_seal(struct stage *stage, struct layer_seal **seal);

/* rc 0: it is in force, and now, which becomes the stage's, is the content; NULL: there is no
 * memory for a view of it. -errno: the stage stays as it is. Returns rc. */
int stage_commit_end(struct stage *stage, int rc, struct view *now);

/* The same where the slot holds something that was made of the staged bytes, and not these: they
 * stay what the stage shows. What was refused is not tried again at the release, which returns no
 * error. */
int stage_commit_keep(struct stage *stage, int rc);

#endif
