/* SPDX-License-Identifier: MIT */
/* link_target.h - where the path of a link led when there was a good organ, as the text of a
 * reference (reference.h): the file by its path and fingerprint, and the tensor in it, or the
 * organ that an organ file is. */
#ifndef FS_BASE_LINK_TARGET_H
#define FS_BASE_LINK_TARGET_H

#include <pthread.h>
#include <stdint.h>

struct backing;
struct error;
struct reference;
struct organ;

/* The GGUFs that were read for that, so that each is read once for many links; any thread may use
 * it. All zeros but for the lock there are none. */
struct link_target_models {
	pthread_mutex_t lock; /* protects first; an entry does not change any more */
	struct link_target_model *first;
};

void link_target_models_init(struct link_target_models *models);
void link_target_models_release(struct link_target_models *models);

/* The text for the organ whose data are at offset of the file, to free. Reads from the file. NULL:
 * no tensor of a GGUF and no organ file has them, it cannot be read, or there is no memory. */
char *link_target_print(struct link_target_models *models, struct backing *file,
			const struct organ *organ, uint64_t offset);

/* Is the file the one that the text means? Reads from it. Returns 0 with the organ, whose name is
 * the caller's to free, and the offset of its data, or -errno with err set: ESTALE it is another
 * file, or was changed; EIO, ENOMEM. */
int link_target_find(struct link_target_models *models, struct backing *file,
		     const struct reference *seen, struct organ *organ, uint64_t *offset,
		     struct error *err);

#endif
