/* SPDX-License-Identifier: MIT */
/* check_experts.c - see check_experts.h. */
#include "fs/check/check_experts.h"
#include "fs/model/organ_file.h"
#include "fs/tensor/expert_slice.h"

#include <inttypes.h>
#include <string.h>

/* How many the slot holds something of; 0: it is not by expert, or empty. */
static uint32_t count_of(const struct check_groups *groups, uint32_t slot)
{
	return organ_file_experts(groups->model, slot, groups->content[slot]);
}

bool check_experts_any(const struct check_groups *groups)
{
	for (uint32_t i = 0; i < groups->n_slots; i++)
		if (count_of(groups, i))
			return true;
	return false;
}

bool check_experts_shape(const struct organ *organ, const struct gguf_tensor *slot)
{
	const struct organ base = organ_of_tensor(slot);

	return organ->dims == base.dims && expert_slice_count(&base) && organ->dims &&
	       memcmp(organ->ne, base.ne, (organ->dims - 1) * sizeof(base.ne[0])) == 0;
}

static bool find_count(const struct gguf *header, uint64_t *count)
{
	static const char ending[] = ".expert_count";
	const size_t n = sizeof(ending) - 1;

	for (uint32_t i = 0; i < header->n_kv; i++) {
		const struct kv *kv = &header->kv[i];

		if (kv->key_length > n && memcmp(kv->key + kv->key_length - n, ending, n) == 0 &&
		    kv_unsigned(kv, count))
			return true;
	}
	return false;
}

int check_experts_count(const struct check_groups *groups, const struct gguf *header,
			struct finding *finding)
{
	uint32_t tensors = 0, wrong = 0, first = 0;
	uint64_t count;
	char path[ORGAN_PATH_MAX];

	if (!find_count(header, &count)) {
		finding_set(finding, VERDICT_UNKNOWN, "no expert_count");
		return 0;
	}
	for (uint32_t i = 0; i < groups->n_slots; i++) {
		const uint32_t has = count_of(groups, i);

		if (has && has != count && wrong++ == 0)
			first = i;
		tensors += has != 0;
	}
	if (wrong)
		finding_set(finding, VERDICT_IMPOSSIBLE,
			    "%" PRIu32 " of %" PRIu32 " tensors: %s has %" PRIu32
			    ", expert_count says %" PRIu64,
			    wrong, tensors, model_organ_path(groups->model, first, path),
			    count_of(groups, first), count);
	else
		finding_set(finding, VERDICT_OK, "%" PRIu64 ", as expert_count says", count);
	return 0;
}
