/* SPDX-License-Identifier: MIT */
/* check_traits.c - see check_traits.h: comparison. check_traits_read.c reads the traits. */
#include "fs/check/check_traits.h"
#include "fs/check/check_verdict.h"
#include "gguf/anatomy.h"
#include "gguf/arena.h"
#include "gguf/names.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const check_traits_keys[TRAIT_NUMBERS] = {
	[TRAIT_EMBEDDING] = "embedding_length",
	[TRAIT_HEADS] = "attention.head_count",
	[TRAIT_KV_HEADS] = "attention.head_count_kv",
	[TRAIT_KEY] = "attention.key_length",
	[TRAIT_VALUE] = "attention.value_length",
	[TRAIT_ROPE_DIMENSIONS] = "rope.dimension_count",
	[TRAIT_FEED_FORWARD] = "feed_forward_length",
	[TRAIT_EXPERTS] = "expert_count",
	[TRAIT_EXPERTS_USED] = "expert_used_count",
};

void check_traits_architecture(const struct traits *host, const struct traits *donor,
			       struct finding *finding)
{
	if (!host->architecture[0] || !donor->architecture[0])
		finding_set(finding, VERDICT_UNKNOWN, "%s has no general.architecture",
			    host->architecture[0] ? "the donor" : "this model");
	else if (!XXH128_isEqual(host->basis, donor->basis))
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "the weights are stored in another basis (*.hadamard.*) in the donor "
			    "than here");
	else if (strcmp(host->architecture, donor->architecture) == 0)
		finding_set(finding, VERDICT_OK, "both are %s", host->architecture);
	else
		finding_set(finding, VERDICT_IMPOSSIBLE, "%s in the donor, %s here",
			    donor->architecture, host->architecture);
}

bool check_traits_bare(const struct traits *traits)
{
	return !traits->numbers[TRAIT_EMBEDDING].known && !traits->numbers[TRAIT_HEADS].known &&
	       !traits->numbers[TRAIT_FEED_FORWARD].known && !traits->has_epsilon &&
	       !traits->has_tokenizer;
}

static bool is_needed(enum trait trait, unsigned concerns)
{
	if (trait == TRAIT_EMBEDDING)
		return true;
	if (trait == TRAIT_FEED_FORWARD)
		return (concerns & CONCERN_FFN) != 0;
	if (trait == TRAIT_EXPERTS || trait == TRAIT_EXPERTS_USED)
		return (concerns & (CONCERN_FFN | CONCERN_ATTENTION)) != 0;
	return (concerns & CONCERN_ATTENTION) != 0;
}

/* "32", "8 to 32", "missing" */
static const char *number_text(const struct trait_number *number, char text[48])
{
	if (!number->known)
		snprintf(text, 48, "missing");
	else if (number->low == number->high)
		snprintf(text, 48, "%" PRIu64, number->high);
	else
		snprintf(text, 48, "%" PRIu64 " to %" PRIu64, number->low, number->high);
	return text;
}

static const char *number_name(enum trait trait)
{
	const char *key = check_traits_keys[trait];

	return strncmp(key, "attention.", 10) == 0 ? key + 10 : key;
}

void check_traits_dimensions(const struct traits *host, const struct traits *donor,
			     unsigned concerns, struct finding *finding)
{
	unsigned compared = 0;
	char theirs[48], ours[48];

	finding_set(finding, VERDICT_OK, "%s", "");
	for (enum trait trait = 0; trait < TRAIT_NUMBERS; trait++) {
		const struct trait_number *a = &donor->numbers[trait], *b = &host->numbers[trait];

		if (!is_needed(trait, concerns))
			continue;
		compared += trait < TRAIT_EXPERTS && a->known && b->known;
		if (a->known != b->known || (a->known && a->hash != b->hash))
			finding_add(finding,
				    !a->known || !b->known ? VERDICT_UNKNOWN
				    : trait == TRAIT_EXPERTS_USED && !(concerns & CONCERN_ATTENTION)
					    ? VERDICT_RISKY
					    : VERDICT_IMPOSSIBLE,
				    "%s %s in the donor, %s here%s", number_name(trait),
				    number_text(a, theirs), number_text(b, ours),
				    a->known && b->known && a->low == b->low && a->high == b->high
					    ? " in another order"
					    : "");
	}
	if (finding->text[0])
		return;
	if (compared)
		finding_set(finding, VERDICT_OK,
			    "embedding_length %s and all other needed numbers "
			    "agree",
			    number_text(&host->numbers[TRAIT_EMBEDDING], ours));
	else
		finding_set(finding, VERDICT_UNKNOWN, "neither model has them");
}

/* Compare within the precision of binary32, as which files have the numbers. */
static bool differ(double a, double b)
{
	return fabs(a - b) > 1e-6 * fmax(fabs(a), fabs(b));
}

void check_traits_rope(const struct traits *host, const struct traits *donor, unsigned concerns,
		       struct finding *finding)
{
	const enum verdict worse =
		concerns & CONCERN_ATTENTION ? VERDICT_IMPOSSIBLE : VERDICT_RISKY;

	/* The defaults apply to a model that has other metadata. */
	if (check_traits_bare(donor)) {
		finding_set(finding,
			    concerns & (CONCERN_ATTENTION | CONCERN_FFN) ? VERDICT_UNKNOWN
									 : VERDICT_OK,
			    "the donor does not say it; freq_base %.7g, scaling %s here",
			    host->rope_base, host->rope_scaling);
		return;
	}
	finding_set(finding, VERDICT_OK, "%s", "");
	if (differ(host->rope_base, donor->rope_base))
		finding_add(finding, worse, "freq_base %.7g in the donor, %.7g here",
			    donor->rope_base, host->rope_base);
	if (strcmp(host->rope_scaling, donor->rope_scaling) != 0)
		finding_add(finding, worse, "scaling %s in the donor, %s here", donor->rope_scaling,
			    host->rope_scaling);
	else if (differ(host->rope_factor, donor->rope_factor) ||
		 differ(host->rope_context, donor->rope_context))
		finding_add(finding, worse,
			    "scaling by %.7g from %.7g in the donor, by %.7g from %.7g here",
			    donor->rope_factor, donor->rope_context, host->rope_factor,
			    host->rope_context);
	if (!XXH128_isEqual(host->rope_factors, donor->rope_factors))
		finding_add(finding, worse, "other rope factor tensors");
	if (finding->verdict == VERDICT_OK)
		finding_set(finding, VERDICT_OK, "freq_base %.7g, scaling %s in both",
			    host->rope_base, host->rope_scaling);
	else if (worse == VERDICT_IMPOSSIBLE)
		finding_add(finding, worse, "attention was trained to other angles");
	else
		finding_add(finding, worse, "a sign of another lineage");
}

void check_traits_epsilon(const struct traits *host, const struct traits *donor,
			  struct finding *finding)
{
	const double a = donor->epsilon, b = host->epsilon;

	if (!host->has_epsilon || !donor->has_epsilon)
		finding_set(finding, VERDICT_UNKNOWN, "%s does not say it",
			    host->has_epsilon ? "the donor" : "this model");
	else if (!(fmax(a, b) <= 10.001 * fmin(a, b)))
		finding_set(finding, VERDICT_RISKY,
			    "%.7g in the donor, %.7g here: more than 10 times apart", a, b);
	else if (differ(a, b))
		finding_set(finding, VERDICT_OK, "%.7g in the donor, %.7g here", a, b);
	else
		finding_set(finding, VERDICT_OK, "%.7g in both", a);
}

void check_traits_tokenizer(const struct traits *host, const struct traits *donor,
			    unsigned concerns, struct finding *finding)
{
	const bool tokens = (concerns & CONCERN_TOKENS) != 0;

	if (!host->has_tokenizer || !donor->has_tokenizer) {
		finding_set(finding, tokens ? VERDICT_UNKNOWN : VERDICT_OK,
			    "%s no tokenizer in it%s",
			    host->has_tokenizer ? "the donor has" : "this model has",
			    tokens ? "" : "; no embedding and no head was grafted");
		return;
	}
	if (strcmp(host->tokenizer, donor->tokenizer) != 0 ||
	    !XXH128_isEqual(host->vocabulary, donor->vocabulary)) {
		finding_set(finding, tokens ? VERDICT_IMPOSSIBLE : VERDICT_RISKY,
			    "another vocabulary: %s of %" PRIu64
			    " tokens in the donor, %s of %" PRIu64 " here",
			    donor->tokenizer, donor->tokens, host->tokenizer, host->tokens);
		return;
	}
	finding_set(finding, VERDICT_OK, "the same %" PRIu64 " tokens", host->tokens);
	if (!XXH128_isEqual(host->special, donor->special))
		finding_add(finding, VERDICT_RISKY, "other special tokens (beginning, end, ...)");
	/* Converters give one pre-tokenizer different names. */
	if (strcmp(host->tokenizer_pre, donor->tokenizer_pre) != 0)
		finding_add(finding, tokens ? VERDICT_RISKY : VERDICT_OK,
			    "split by \"%s\" in the donor, \"%s\" here, which may be the same",
			    donor->tokenizer_pre, host->tokenizer_pre);
}

static const char *or_dash(const char *text)
{
	return text[0] ? text : "-";
}

void check_traits_names(const struct traits *host, const struct traits *donor,
			struct finding *finding)
{
	finding_set(finding, VERDICT_OK, "the donor is \"%s\"", or_dash(donor->name));
	if (donor->base_model[0])
		finding_add(finding, VERDICT_OK, "made from \"%s\"", donor->base_model);
	finding_add(finding, VERDICT_OK, "this model is \"%s\"", or_dash(host->name));
	if (host->base_model[0])
		finding_add(finding, VERDICT_OK, "made from \"%s\"", host->base_model);
}

/* Limit for hostile models; no other has so many roles. */
#define ROLES_MAX 1024

/* Roles of tensors in the blocks of both models. */
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

/* Concern of a tensor in a block; 0: none. */
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

static int add_role(struct roles *roles, const char *role, unsigned concern, unsigned side)
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
			rc = add_role(roles, role, concern, side);
	}
	return rc;
}

static void judge_parts(const struct roles *roles, struct finding *finding)
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

int check_traits_parts(const struct gguf *host, const struct gguf *donor, unsigned concerns,
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
		judge_parts(roles, finding);
	names_free(roles->names);
	arena_free(roles->arena);
	free(roles);
	return rc;
}
