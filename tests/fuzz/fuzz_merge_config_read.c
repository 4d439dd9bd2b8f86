/* SPDX-License-Identifier: MIT */
/* fuzz_merge_config_read.c - any text as a configuration of mergekit: it is refused with line and
 * column, or every tensor gets a rule or a refusal that names the missing parameter. */
#include "fs/merge/merge_config.h"
#include "fs/merge/merge_settings.h"
#include "fuzz_help.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static void check_rule(const struct merge_config *config, const struct merge_place *place,
		       const char *name)
{
	struct merge_rule rule;
	struct error err = { 0 };
	size_t sources[MERGE_INPUTS_MAX];
	const struct merge_slice *slice = &config->slices[place->slice];
	const int rc = merge_settings(config, place, name, 4, 8, &rule, sources, &err);

	require(place->slice < config->n);
	require(rc == 0 || (rc == -EINVAL && strncmp(err.text, "line ", 5) == 0));
	require(rc < 0 || (rule.n >= 1 && rule.n <= MERGE_INPUTS_MAX));
	for (unsigned i = 0; rc == 0 && i < rule.n; i++) {
		require(sources[i] < slice->n || sources[i] == MERGE_CONFIG_NO_SOURCE);
		require(isfinite(rule.inputs[i].weight));
		require(rule.inputs[i].density >= 0.0 && rule.inputs[i].density <= 1.0);
	}
	require(rc < 0 || rule.n == 2 ||
		(rule.method != MERGE_SLERP && rule.method != MERGE_NUSLERP));
}

static void check_config(const struct merge_config *config)
{
	struct merge_place place = merge_place_outside(config, MERGE_BEFORE_BLOCKS);

	check_rule(config, &place, "token_embd.weight");
	place = merge_place_outside(config, MERGE_BEHIND_BLOCKS);
	check_rule(config, &place, "output_norm.weight");
	for (size_t slice = 0; slice < config->n; slice++) {
		place = (struct merge_place){ .slice = slice,
					      .blocks = merge_slice_blocks(config, slice, 6) };
		for (; place.block < place.blocks; place.block += 1 + place.blocks / 4)
			check_rule(config, &place, "blk.0.ffn_up.weight");
	}
	for (size_t i = 0; i < config->n_documents; i++) {
		require(config->documents[i].name && !config->documents[i].n_documents);
		check_config(&config->documents[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct merge_config config;
	struct error err = { 0 };

	if (merge_config_read((const char *)data, size, &config, &err) == 0)
		check_config(&config);
	else
		require((err.code == EINVAL && strncmp(err.text, "line ", 5) == 0) ||
			(err.code == EFBIG && size > MERGE_CONFIG_MAX));
	merge_config_release(&config);
	return 0;
}
