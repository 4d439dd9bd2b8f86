/* SPDX-License-Identifier: MIT */
/* test_report_json.c - fs/report/report_json.c: JSON of constant length for any measures and
 * names, with the known values of each tensor. */
#include "fs/base/donor.h"
#include "fs/report/report_json.h"
#include "fs/report/table_merge.h"
#include "tests/unit/measures.h"
#include "tests/unit/table_text.h"
#include "tests/unit/zinputs.h"

#include <cjson/cJSON.h>

static const struct {
	const char *name;
	uint32_t type;
} zoo[] = {
	{ "token_embd.weight", GGML_F32 },	  { "blk.0.ffn_up.weight", GGML_Q4_0 },
	{ "blk.1.ffn_up.weight", GGML_Q8_0 },	  { "blk.1.ffn_norm.weight", GGML_F32 },
	{ "stray\n\"well\"\xff", 4000000000u },	  { "blk.1.attn_v.weight", GGML_Q8_1 },
	{ "blk.0.ffn_up_exps.weight", GGML_F16 },
};

#define ZOO 7

static struct opened open_zoo(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "x\n\"y\"\xfe");
	for (size_t i = 0; i < ZOO; i++) {
		const uint64_t ne[] = { 32, 2 * i + 1 };

		mkgguf_tensor(m, zoo[i].name, zoo[i].type, 2, ne);
	}
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	return open_model(state, "base.gguf");
}

/* Text of the JSON report; caller frees. */
static char *text_of(const struct figures *figures)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	assert_int_equal(report_json_print(figures, out), 0);
	must(fclose(out) == 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static cJSON *parsed(const struct figures *figures)
{
	char *text = text_of(figures);
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

static double number_at(const cJSON *object, const char *name)
{
	if (!cJSON_IsNumber(at(object, name)))
		fail_msg("%s is no number", name);
	return at(object, name)->valuedouble;
}

#define assert_number(object, name, value) \
	assert_true(fabs(number_at(object, name) - (double)(value)) < 1e-6)
#define assert_text(object, name, value) assert_string_equal(at(object, name)->valuestring, value)
#define assert_null_at(object, name)	 assert_true(cJSON_IsNull(at(object, name)))

static void length_does_not_depend_on_any_measure(void **state)
{
	struct opened o = open_zoo(state);
	struct figures *figures = figures_now(o.model);
	struct zmeasure z[ZOO];
	uint32_t seed = 3;
	char *unknown = text_of(figures);

	for (int round = 0; round < 100; round++) {
		cJSON *object;
		char *text;

		for (size_t i = 0; i < ZOO; i++) {
			z[i] = lcg(&seed) < 0.2 ? z_nonfinite() : z_with(lcg(&seed) * 90);
			z[i].kurtosis = (lcg(&seed) - 0.5) * pow(10, lcg(&seed) * 600 - 300);
			z[i].min = -pow(10, lcg(&seed) * 80 - 40);
			z[i].has_magnitude = lcg(&seed) < 0.5;
			z[i].sampled = (uint64_t)(pow(10, lcg(&seed) * 19));
			figures->figures[i].z = lcg(&seed) < 0.2 ? NULL : &z[i];
		}
		text = text_of(figures);
		assert_int_equal(strlen(text), strlen(unknown));
		object = cJSON_ParseWithOpts(text, NULL, true);
		if (!object)
			fail_msg("no JSON: %s", text);
		cJSON_Delete(object);
		free(text);
	}
	free(unknown);
	figures_free(figures);
	close_model(&o);
}

static void each_tensor_has_its_place_and_its_figures(void **state)
{
	struct opened o = open_zoo(state);
	struct figures *figures = figures_now(o.model);
	const struct zmeasure z = z_with(30);
	const cJSON *tensors, *up;
	cJSON *object;

	figures->figures[2].z = &z;
	object = parsed(figures);
	assert_text(object, "organfs", ORGANFS_VERSION);
	assert_number(object, "format", REPORT_JSON_FORMAT);
	tensors = at(object, "tensors");
	assert_int_equal(cJSON_GetArraySize(tensors), ZOO);
	up = cJSON_GetArrayItem(tensors, 2);
	assert_text(up, "tensor", "blk.1.ffn_up.weight");
	assert_text(up, "file", "organs/blk_1_ffn_up.bin");
	assert_text(up, "class", "organs");
	assert_text(up, "kind", "ffn-dense");
	assert_text(up, "role", "ffn_up");
	assert_text(up, "type", "Q8_0");
	assert_number(up, "block", 1);
	assert_int_equal(cJSON_GetArraySize(at(up, "shape")), 2);
	assert_int_equal(cJSON_GetArrayItem(at(up, "shape"), 1)->valueint, 5);
	assert_number(up, "elements", 160);
	assert_number(up, "bytes", 5 * 34);
	assert_true(cJSON_IsFalse(at(up, "grafted")) && cJSON_IsFalse(at(up, "added")));
	assert_null_at(up, "graft");
	assert_number(up, "theta", 30);
	assert_number(up, "min", -1.5);
	assert_number(up, "zeros", 0.25);
	assert_null_at(cJSON_GetArrayItem(tensors, 0), "theta");
	assert_null_at(cJSON_GetArrayItem(tensors, 0), "block");
	/* The tensor's name is no text, and its type is unknown to every program. */
	assert_text(cJSON_GetArrayItem(tensors, 4), "tensor", "stray\n\"well\"\xef\xbf\xbd");
	assert_text(cJSON_GetArrayItem(tensors, 4), "status", "undecoded");
	assert_int_equal(cJSON_GetArraySize(at(object, "removed")), 0);
	cJSON_Delete(object);
	figures_free(figures);
	close_model(&o);
}

static void groups_add_up_to_the_model(void **state)
{
	static const char *const groups[] = { "classes", "kinds", "roles" };
	struct opened o = open_zoo(state);
	struct figures *figures = figures_now(o.model);
	struct zmeasure z[ZOO];
	cJSON *object;
	const cJSON *role;

	for (size_t i = 0; i < ZOO; i++) {
		z[i] = z_with(10 * (double)(i + 1));
		figures->figures[i].z = &z[i];
	}
	object = parsed(figures);
	assert_number(at(object, "theta"), "theta", 40);
	assert_number(at(object, "theta"), "measured", ZOO);
	for (size_t i = 0; i < ARRAY_LENGTH(groups); i++) {
		const cJSON *group;
		double tensors = 0, bytes = 0;

		cJSON_ArrayForEach(group, at(object, groups[i]))
		{
			tensors += number_at(group, "tensors");
			bytes += number_at(group, "bytes");
		}
		assert_true(tensors < ZOO + 0.5 && tensors > ZOO - 0.5);
		assert_number(at(object, "model"), "bytes", bytes);
	}
	role = at(at(object, "roles"), "ffn_up");
	assert_number(role, "tensors", 2);
	assert_number(role, "theta", 25);
	assert_number(role, "least", 20);
	assert_number(role, "most", 30);
	cJSON_Delete(object);
	figures_free(figures);
	close_model(&o);
}

static void graft_prints_the_known_fields_of_its_donor(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct figures *figures;
	struct content *content;
	const cJSON *up, *graft;
	cJSON *object;

	assert_int_equal(fill_up(o.model, 77), 0);
	assert_int_equal(graft_remove(o.model, SMALL_NORM), 0);
	content = slots_get(o.model->slots, SMALL_UP);
	content_set_donor(content, donor_from_record("/donor \"x\".gguf", "0123456789abcdef",
						     "blk.7.ffn_up.weight", 19));
	content_unref(content);
	figures = figures_now(o.model);
	object = parsed(figures);
	up = cJSON_GetArrayItem(at(object, "tensors"), SMALL_UP);
	assert_text(up, "tensor", "blk.0.ffn_up.weight");
	assert_true(cJSON_IsTrue(at(up, "grafted")));
	graft = at(up, "graft");
	assert_text(graft, "how", "copy");
	assert_text(graft, "file", "/donor \"x\".gguf");
	assert_text(graft, "fingerprint", "0123456789abcdef");
	assert_text(graft, "tensor", "blk.7.ffn_up.weight");
	assert_null_at(graft, "view");
	assert_int_equal(strlen(at(graft, "time")->valuestring), strlen("2024-05-05T05:05:05Z"));
	assert_number(at(object, "model"), "grafts", 2);
	assert_number(at(object, "model"), "removed", 1);
	assert_true(cJSON_IsString(at(at(object, "model"), "layer")));
	assert_int_equal(cJSON_GetArraySize(at(object, "removed")), 1);
	assert_text(cJSON_GetArrayItem(at(object, "removed"), 0), "tensor",
		    "blk.0.ffn_norm.weight");
	cJSON_Delete(object);
	figures_free(figures);
	close_model(&o);
}

static void missing_columns_of_a_table_are_null(void **state)
{
	static const struct mk_row rows[] = { { "blk.3.ffn_up.weight", 30, 1, NULL },
					      { "b", 40, 1, "Z9_9" } };
	struct error err = { 0 };
	struct table table;
	struct table_merge *merge = table_merge_new();
	struct figures *figures;
	uint64_t line;
	size_t size;
	char *text = mk_table_text("m", "5", "", rows, 2, &size);
	cJSON *object;
	const cJSON *up;

	(void)state;
	assert_int_equal(table_parse(&table, text, size, &line, &err), 0);
	assert_int_equal(table_merge_add(merge, &table, "m.tsv", stderr, &line, &err), 0);
	table_merge_finish(merge);
	figures = table_merge_figures(merge, 0);
	object = parsed(figures);
	assert_text(at(object, "model"), "name", "m");
	assert_text(at(object, "model"), "architecture", "unknown");
	assert_number(at(object, "model"), "tensors_total", 5);
	assert_null_at(at(object, "model"), "base");
	assert_null_at(at(object, "model"), "size");
	assert_null_at(at(object, "model"), "layer");
	/* ggml has no such type. */
	assert_null_at(at(object, "model"), "bytes");
	assert_null_at(object, "removed");
	up = cJSON_GetArrayItem(at(object, "tensors"), 0);
	assert_null_at(up, "grafted");
	assert_null_at(up, "graft");
	assert_number(up, "theta", 30);
	assert_number(up, "bytes", 32);
	assert_null_at(cJSON_GetArrayItem(at(object, "tensors"), 1), "bytes");
	cJSON_Delete(object);
	figures_free(figures);
	table_merge_free(merge);
	table_release(&table);
}

static void report_fails_without_memory(void **state)
{
	struct opened o;
	struct figures *figures;
	bool well = false;

	needs_failing_allocations();
	o = open_zoo(state);
	figures = figures_now(o.model);
	for (uint64_t k = 1; !well; k++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);
		int rc;

		must(out);
		allocation_fails(k);
		rc = report_json_print(figures, out);
		/* Without memory the metadata count as missing. */
		if (!allocation_failed())
			well = true;
		assert_true(rc == -ENOMEM || rc == 0);
		must(fclose(out) == 0);
		free(text);
	}
	figures_free(figures);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
