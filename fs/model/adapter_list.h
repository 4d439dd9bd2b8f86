/* SPDX-License-Identifier: MIT */
/* adapter_list.h - the adapters of a model at one moment, for texts. */
#ifndef FS_MODEL_ADAPTER_LIST_H
#define FS_MODEL_ADAPTER_LIST_H

#include <stdint.h>
#include <time.h>

struct adapter_line {
	char *name;	  /* of its file in adapters/: "NAME.gguf", or "lora" of copied pairs */
	float scale;	  /* what is merged is multiplied by it */
	uint32_t touched; /* tensors that it changes */
	uint32_t halves;  /* of copied pairs: of which the other half is missing */
	uint64_t bytes;	  /* of its tensors */
	struct timespec mtime;
	char *file;   /* where it lies, or leads; NULL: of copied pairs */
	char *broken; /* NULL, or why it cannot be read */
};

struct adapter_list {
	uint32_t n, broken;
	struct adapter_line *lines; /* in the order in which they are merged */
};

void adapter_list_free(struct adapter_list *list); /* NULL is fine */

#endif
