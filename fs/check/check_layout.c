/* SPDX-License-Identifier: MIT */
/* check_layout.c - see check_layout.h. */
#include "fs/check/check_layout.h"
#include "fs/check/check_groups.h"
#include "fs/check/check_verdict.h"
#include "fs/model/model.h"
#include "gguf/organ.h"
#include "gguf/reader.h"
#include "gguf/types.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static bool is_short(const struct check_groups *groups, uint32_t i)
{
	return !groups->content[i] && type_is_short(groups->model->gguf->tensors[i].type);
}

/* Bytes of a short tensor divided by those that its type needs. */
static double share_of(const struct gguf_tensor *t)
{
	uint64_t needed = 1;

	type_size(type_id(t->type), t->ne, &needed);
	return (double)t->size / (double)needed;
}

static int judge_short(const struct check_groups *groups, struct finding *finding)
{
	const struct gguf *gguf = groups->model->gguf;
	uint32_t *slots = calloc(gguf->n_tensors + 1u, sizeof(*slots)), n = 0;
	char text[ORGAN_SHORT_MAX], names[48];
	bool same = true;

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[i];

		if (!is_short(groups, i))
			continue;
		slots[n++] = i;
		same = same && t->type == gguf->tensors[slots[0]].type &&
		       fabs(share_of(t) - share_of(&gguf->tensors[slots[0]])) < 1e-3;
	}
	if (n) {
		const struct organ organ = organ_of_tensor(&gguf->tensors[slots[0]]);

		finding_set(finding, VERDICT_IMPOSSIBLE, "%s: %s%s",
			    check_groups_slots(groups, slots, n, names, sizeof(names)),
			    organ_short_text(&organ, text),
			    n == 1 ? ""
			    : same ? "; all have that share: another layout of the type"
				   : "; others have another share");
	}
	free(slots);
	return 0;
}

/* Find tensors that share bytes; such a tensor is not short, because both have all bytes they need.
 * The layout of a joined model is not that of its shards. */
static int judge_shared(const struct check_groups *groups, struct finding *finding)
{
	const struct gguf *gguf = groups->model->gguf;
	uint32_t first = 0, n = 0;
	uint64_t end = 0;
	char names[48];

	for (uint32_t k = 0; !groups->model->shards && k < gguf->n_tensors; k++) {
		const uint32_t i = gguf->order[k];
		const struct gguf_tensor *t = &gguf->tensors[i];

		if (t->size && t->offset < end && n++ == 0)
			first = i;
		if (t->offset + t->size > end)
			end = t->offset + t->size;
	}
	if (n)
		finding_set(finding, VERDICT_RISKY,
			    "%s: lies in the bytes of another tensor, as %" PRIu32
			    " in the file do; llama.cpp refuses that",
			    check_groups_slots(groups, &first, 1, names, sizeof(names)), n);
	return judge_short(groups, finding);
}

/* Bytes of the tensors of one type, from number from on in file order, divided by the bytes that
 * they need; 1 if they have no more, or differ. The last tensor of the file does not count, because
 * anything may follow it. */
static double multiple_of(const struct gguf *gguf, uint32_t from, uint32_t *n)
{
	const uint32_t type = gguf->tensors[gguf->order[from]].type;
	double multiple = 1;

	*n = 0;
	for (uint32_t k = from; k + 1 < gguf->n_tensors; k++) {
		const struct gguf_tensor *t = &gguf->tensors[gguf->order[k]];
		const uint64_t room = gguf->tensors[gguf->order[k + 1]].offset - t->offset;

		if (t->type != type || t->size == 0)
			continue;
		if (room < t->size + gguf->alignment)
			return 1;
		if (++*n == 1)
			multiple = (double)room / (double)t->size;
		else if (fabs((double)room - multiple * (double)t->size) >= gguf->alignment)
			return 1;
	}
	return multiple;
}

/* Find the first type with such a multiple and at least two tensors. Returns their number, or 0.
 * The layout of a joined model is not that of its shards. */
static uint32_t find_wide(const struct check_groups *groups, uint32_t *first, double *multiple)
{
	const struct gguf *gguf = groups->model->gguf;
	bool seen[TYPE_IDS] = { false };
	uint32_t n;

	for (uint32_t k = 0; !groups->model->shards && k < gguf->n_tensors; k++) {
		const uint32_t type = gguf->tensors[gguf->order[k]].type;

		if (!type_find(type) || seen[type])
			continue;
		seen[type] = true;
		*first = gguf->order[k];
		*multiple = multiple_of(gguf, k, &n);
		if (*multiple > 1 && n > 1)
			return n;
	}
	return 0;
}

int check_layout_sizes(const struct check_groups *groups, const struct gguf *header,
		       struct finding *finding)
{
	double multiple = 1;
	uint32_t first = 0, n;
	char scratch[TYPE_NAME_MAX];

	(void)header;
	n = find_wide(groups, &first, &multiple);
	finding_set(finding, VERDICT_OK, "%s", "");
	if (n)
		finding_set(finding, VERDICT_RISKY,
			    "%" PRIu32 " tensors of %s have %.4g times the bytes that they need: "
			    "another layout of the type",
			    n, type_name(groups->model->gguf->tensors[first].type, scratch),
			    multiple);
	return judge_shared(groups, finding);
}
