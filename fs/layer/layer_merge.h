/* SPDX-License-Identifier: MIT */
/* layer_merge.h - the merge of models that lies beneath the grafts of a layer: the file MERGE, a
 * text of merge_note.h's, which belongs to the user with whose rights its models are opened. */
#ifndef FS_LAYER_LAYER_MERGE_H
#define FS_LAYER_LAYER_MERGE_H

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

struct layer;

/* The longest text, in bytes. */
#define LAYER_MERGE_MAX ((uint64_t)64 << 20)

struct layer_merge {
	const char *text;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
};

/* From now on the layer has that merge; durable. Returns 0, or -errno: it has what it had, before,
 * NULL for nothing, as far as the disk allows; EFBIG: the text is longer than that. */
int layer_write_merge(struct layer *layer, const struct layer_merge *merge,
		      const struct layer_merge *before);

/* From now on it has none; durable. Returns 0, or -errno: as there. */
int layer_drop_merge(struct layer *layer, const struct layer_merge *before);

/* The text that it has, to free, and the file's owner and time. NULL: *rc 0 there is none, or
 * -errno: EBADMSG it is no text. */
char *layer_read_merge(struct layer *layer, struct stat *stat, int *rc);

#endif
