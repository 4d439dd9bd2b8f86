/* SPDX-License-Identifier: MIT */
/* check_parts.c - see check_parts.h. */
#include "fs/check/check_parts.h"
#include "gguf/anatomy.h"
#include "gguf/arena.h"
#include "gguf/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No model has so many in a block; a hostile one may. */
#define ROLES_MAX 1024

/* Roles that tensors play in the blocks of one model or the other. */
struct roles {
	struct arena *arena;
	struct names *names;
	uint32_t n;
	struct role {
		const char *name;
		enum concern concern;
		bool in[2];
	} role[ROLES_MAX];
};

/* What a tensor concerns that is part of a block; 0: nothing of that kind. */
static unsigned concern_of(const struct gguf_tensor *t, const char *role)
{
	switch (anatomy_class(t->name, t->name_length)) {
	case CLASS_SKELETON:
		return CONCERN_ATTENTION;
	case CLASS_ORGANS:
		return CONCERN_FFN;
	case CLASS_NORM:
		if (strstr(role, "attn"))
			return CONCERN_ATTENTION;
		return strstr(role, "ffn") || strstr(role, "ffw") ? CONCERN_FFN : 0;
	default:
		return 0;
	}
}

static int add(struct roles *roles, const char *role, unsigned concern, unsigned side)
{
	uint32_t i;

	if (names_find(roles->names, role, strlen(role), &i)) {
		roles->role[i].in[side] = true;
		return 0;
	}
	if (roles->n == ROLES_MAX)
		return 0;
	i = roles->n++;
	roles->role[i] = (struct role){ .name = arena_copy(roles->arena, role, strlen(role)),
					.concern = (enum concern)concern };
	roles->role[i].in[side] = true;
	if (!roles->role[i].name)
		return -ENOMEM;
	return names_add(roles->names, roles->role[i].name, strlen(role), i);
}

static int collect(struct roles *roles, const struct gguf *gguf, unsigned concerns, unsigned side)
{
	char role[ANATOMY_NAME_MAX + 1];
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[i];
		unsigned concern;

		if (anatomy_block(t->name, t->name_length) < 0)
			continue;
		anatomy_role(t->name, t->name_length, role);
		concern = concern_of(t, role);
		if (concern & concerns)
			rc = add(roles, role, concern, side);
	}
	return rc;
}

static void judge(const struct roles *roles, struct finding *finding)
{
	finding_set(finding, VERDICT_OK, "%s", "");
	for (uint32_t i = 0; i < roles->n; i++) {
		const struct role *role = &roles->role[i];

		if (role->in[0] != role->in[1])
			finding_add(finding,
				    role->concern == CONCERN_ATTENTION ? VERDICT_IMPOSSIBLE
								       : VERDICT_RISKY,
				    "%s only %s", role->name,
				    role->in[0] ? "here" : "in the donor");
	}
	if (!finding->text[0])
		finding_set(finding, VERDICT_OK, "the same %u in the blocks of both", roles->n);
}

int check_parts_compare(const struct gguf *host, const struct gguf *donor, unsigned concerns,
			struct finding *finding)
{
	struct roles *roles = calloc(1, sizeof(*roles));
	int rc = -ENOMEM;

	if (!roles)
		return rc;
	roles->arena = arena_new();
	roles->names = names_new(64);
	if (roles->arena && roles->names)
		rc = collect(roles, host, concerns, 0);
	if (rc == 0)
		rc = collect(roles, donor, concerns, 1);
	if (rc == 0)
		judge(roles, finding);
	names_free(roles->names);
	arena_free(roles->arena);
	free(roles);
	return rc;
}
