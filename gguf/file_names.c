/* SPDX-License-Identifier: MIT */
/* file_names.c - see file_names.h. */
#include "file_names.h"
#include "anatomy.h"
#include "arena.h"
#include "names.h"
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int set_name(const struct gguf_tensor *t, enum anatomy_form form, struct arena *arena,
		    const char **to)
{
	char name[ANATOMY_NAME_MAX + 1];

	anatomy_file_name(t->name, t->name_length, form, name);
	*to = arena_copy(arena, name, strlen(name));
	return *to ? 0 : -ENOMEM;
}

int file_names(const struct gguf *gguf, struct arena *arena, const char **names)
{
	struct names *shorts = names_new(gguf->n_tensors);
	bool *shared = calloc(gguf->n_tensors + 1u, sizeof(*shared));
	int rc = shorts && shared ? 0 : -ENOMEM;
	uint32_t other;

	for (uint32_t i = 0; rc == 0 && i < gguf->n_tensors; i++) {
		rc = set_name(&gguf->tensors[i], NAME_SHORT, arena, &names[i]);
		if (rc < 0)
			break;
		if (names_find(shorts, names[i], strlen(names[i]), &other))
			shared[i] = shared[other] = true;
		else
			rc = names_add(shorts, names[i], strlen(names[i]), i);
	}
	for (uint32_t i = 0; rc == 0 && i < gguf->n_tensors; i++)
		if (shared[i])
			rc = set_name(&gguf->tensors[i], NAME_EXACT, arena, &names[i]);
	names_free(shorts);
	free(shared);
	return rc;
}
