/* SPDX-License-Identifier: MIT */
/* removal.h - the last removal of a slot by unlink(2), for the process that writes the slot anew.
 *
 * mv(1) from another filesystem, install(1) and `cp --remove-destination` unlink a slot before they
 * create a file of its name. If that file is refused, the removal is undone. A model keeps the last
 * removal until a process creates a file in a class directory, opens an organ for writing or
 * removes another slot; the file of a removed copy takes space on the disk until then. */
#ifndef FS_MODEL_REMOVAL_H
#define FS_MODEL_REMOVAL_H

#include <stdint.h>
#include <sys/types.h>

struct content;
struct model;

struct removal {
	uint32_t slot;
	pid_t process;		 /* process that removed it */
	struct content *content; /* own content before; NULL: the base's */
	struct content *nothing; /* whiteout since */
};

/* New removal with references to both contents. NULL: out of memory. */
struct removal *removal_new(uint32_t slot, pid_t process, struct content *content,
			    struct content *nothing);
void removal_free(struct removal *removal); /* NULL is fine */

/* Replace the model's last removal, which is freed, by removal, which may be NULL and becomes the
 * model's. Any thread may call this function and the next, with or without a lock of the model. */
void removal_keep(struct model *model, struct removal *removal);

/* Take the model's removal, which becomes the caller's. NULL: none. */
struct removal *removal_take(struct model *model);

#endif
