/* SPDX-License-Identifier: MIT */
/* test_models_json.c - fs/report/models_json.c: several models side by side, as JSON of one
 * length. */
#include "fs/report/models_json.h"
#include "fs/report/ranking.h"
#include "tests/unit/measures.h"
#include "tests/unit/zinputs.h"

#include <cjson/cJSON.h>

#define MODELS 4

/* Small models of one file, each with measures of its own. */
struct fleet {
	struct opened o;
	struct figures *figures[MODELS];
	struct zmeasure z[MODELS];
	struct ranked ranked[MODELS];
};

static const char *const names[MODELS] = { "plain", "a \"quoted\" and longer name", "\xff",
					   "last" };

/* Set θ of all tensors of a model; NaN: without θ. */
static void give_theta(struct fleet *fleet, size_t i, double theta)
{
	struct figures *figures = fleet->figures[i];

	fleet->z[i] = z_with(theta);
	fleet->ranked[i] = (struct ranked){ .name = names[i] };
	for (size_t k = 0; k < figures->n; k++) {
		struct figure *figure = &figures->figures[k];

		figure->z = isnan(theta) ? NULL : &fleet->z[i];
		ranking_count(&fleet->ranked[i], figure->klass, figure->elements * (i + 1),
			      figure->z);
	}
}

static void open_fleet(void **state, struct fleet *fleet)
{
	fleet->o = open_small(state, "base.gguf");
	for (size_t i = 0; i < MODELS; i++) {
		fleet->figures[i] = figures_now(fleet->o.model);
		give_theta(fleet, i, NAN);
	}
}

static void close_fleet(struct fleet *fleet)
{
	for (size_t i = 0; i < MODELS; i++)
		figures_free(fleet->figures[i]);
	close_model(&fleet->o);
}

static char *text_of(const struct fleet *fleet, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	assert_int_equal(models_json_print((const struct figures *const *)fleet->figures,
					   fleet->ranked, n, out),
			 0);
	must(fclose(out) == 0);
	return text;
}

static cJSON *parsed(const struct fleet *fleet, size_t n)
{
	char *text = text_of(fleet, n);
	cJSON *object = cJSON_ParseWithOpts(text, NULL, true);

	if (!object)
		fail_msg("no JSON: %s", text);
	free(text);
	return object;
}

static const cJSON *at(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	if (!item)
		fail_msg("there is no %s", name);
	return item;
}

static void length_does_not_depend_on_any_measure(void **state)
{
	struct fleet fleet;
	uint32_t seed = 9;
	char *unknown;

	open_fleet(state, &fleet);
	unknown = text_of(&fleet, MODELS);
	for (int round = 0; round < 100; round++) {
		cJSON *object;
		char *text;

		for (size_t i = 0; i < MODELS; i++)
			give_theta(&fleet, i, lcg(&seed) < 0.3 ? NAN : lcg(&seed) * 90);
		text = text_of(&fleet, MODELS);
		assert_int_equal(strlen(text), strlen(unknown));
		object = cJSON_ParseWithOpts(text, NULL, true);
		assert_non_null(object);
		cJSON_Delete(object);
		free(text);
	}
	free(unknown);
	close_fleet(&fleet);
}

static void models_stand_in_their_order_and_are_ranked_apart(void **state)
{
	struct fleet fleet;
	cJSON *object;
	const cJSON *ranking, *range;

	open_fleet(state, &fleet);
	give_theta(&fleet, 0, 20);
	give_theta(&fleet, 1, 70);
	give_theta(&fleet, 3, 40);
	object = parsed(&fleet, MODELS);
	assert_int_equal(cJSON_GetArraySize(at(object, "models")), MODELS);
	assert_string_equal(
		at(cJSON_GetArrayItem(at(object, "models"), 0), "directory")->valuestring, "plain");
	assert_non_null(at(at(cJSON_GetArrayItem(at(object, "models"), 0), "classes"), "organs"));
	ranking = at(object, "ranking");
	assert_string_equal(at(cJSON_GetArrayItem(ranking, 0), "directory")->valuestring, names[1]);
	assert_string_equal(at(cJSON_GetArrayItem(ranking, 1), "directory")->valuestring, "last");
	assert_true(cJSON_IsNull(at(cJSON_GetArrayItem(ranking, 3), "theta")));
	assert_int_equal(at(cJSON_GetArrayItem(ranking, 3), "rank")->valueint, 4);
	assert_int_equal(at(at(at(object, "law"), "theta"), "models")->valueint, 3);
	range = at(at(object, "ranges"), "organs");
	assert_string_equal(at(range, "least_of")->valuestring, "plain");
	assert_string_equal(at(range, "most_of")->valuestring, names[1]);
	assert_true(fabs(at(range, "most")->valuedouble - 70) < 1e-9);
	cJSON_Delete(object);
	close_fleet(&fleet);
}

static void two_models_have_no_law(void **state)
{
	struct fleet fleet;
	cJSON *object;

	open_fleet(state, &fleet);
	give_theta(&fleet, 0, 20);
	object = parsed(&fleet, 2);
	assert_true(cJSON_IsNull(at(object, "law")));
	cJSON_Delete(object);
	/* Values of θ would give a law. */
	object = parsed(&fleet, 3);
	assert_true(cJSON_IsNull(at(at(at(object, "law"), "signal"), "a")));
	cJSON_Delete(object);
	close_fleet(&fleet);
}

static void report_fails_without_memory(void **state)
{
	struct fleet fleet;
	bool well = false;

	needs_failing_allocations();
	open_fleet(state, &fleet);
	for (uint64_t k = 1; !well; k++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);
		int rc;

		must(out);
		allocation_fails(k);
		rc = models_json_print((const struct figures *const *)fleet.figures, fleet.ranked,
				       MODELS, out);
		well = !allocation_failed();
		assert_true(rc == -ENOMEM || rc == 0);
		must(fclose(out) == 0);
		free(text);
	}
	close_fleet(&fleet);
}

UNIT_MAIN(temp_setup, temp_teardown)
