/* SPDX-License-Identifier: MIT */
/* link_target.h - the last valid target of a link, as the text of a reference (reference.h): path
 * and fingerprint of the file, and the tensor in it, or the organ of an organ file. */
#ifndef FS_BASE_LINK_TARGET_H
#define FS_BASE_LINK_TARGET_H

#include <pthread.h>
#include <stdint.h>

struct backing;
struct error;
struct reference;
struct organ;

/* GGUFs that were parsed for targets, so that each is parsed once for many links. Any thread may
 * use it. Initialise with zeros, except the lock. */
struct link_target_models {
	pthread_mutex_t lock; /* protects first; entries are immutable */
	struct link_target_model *first;
};

void link_target_models_init(struct link_target_models *models);
void link_target_models_release(struct link_target_models *models);

/* The text for the organ whose data begins at offset of the file, to free. Reads from the file.
 * NULL: the data belongs to no tensor of a GGUF and no organ file, cannot be read, or out of
 * memory. */
char *link_target_print(struct link_target_models *models, struct backing *file,
			const struct organ *organ, uint64_t offset);

/* Check that the file is the one of the text; reads from it. Returns 0 with the organ, whose name
 * the caller frees, and the offset of its data; or -errno with err set: ESTALE the file was
 * replaced or changed; EIO, ENOMEM. */
int link_target_find(struct link_target_models *models, struct backing *file,
		     const struct reference *seen, struct organ *organ, uint64_t *offset,
		     struct error *err);

#endif
