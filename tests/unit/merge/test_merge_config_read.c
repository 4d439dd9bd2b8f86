/* SPDX-License-Identifier: MIT */
/* test_merge_config_read.c - fs/merge/merge_config_read.c and merge_config.c: configurations of
 * mergekit, and texts that are none. */
#include "fs/merge/merge_config.h"
#include "fs/merge/merge_tensor.h"
#include "tests/unit/unit.h"

#define LINEAR "merge_method: linear\n"
#define TWO    "models:\n- model: a\n- model: b\n"
#define TIES   "merge_method: ties\nbase_model: base\n"

static struct merge_config read_config(const char *text)
{
	struct merge_config config;
	struct error err = { 0 };

	if (merge_config_read(text, strlen(text), &config, &err) != 0)
		fail_msg("%s: %s", text, err.text);
	return config;
}

static const struct merge_condition *only(const struct merge_parameters *parameters,
					  enum merge_parameter which)
{
	assert_int_equal(parameters->settings[which].n, 1);
	return parameters->settings[which].conditions;
}

static const char every_key[] =
	"# as people write them\n"
	"merge_method: ties\n"
	"base_model: base.gguf\n"
	"dtype: float16\n"
	"tokenizer_source: base\n"
	"random_seed: 7\n"
	"parameters:\n"
	"  normalize: false\n"
	"  int8_mask: true\n"
	"  density:\n"
	"  - filter: mlp\n"
	"    value: [0.25, 0.5, 1]\n"
	"  - value: 0.75\n"
	"slices:\n"
	"- sources:\n"
	"  - model: base.gguf\n"
	"    layer_range: [0, 4]\n"
	"  - model: \"two words.gguf\"\n"
	"    layer_range: [2, 6]\n"
	"    parameters:\n"
	"      weight: [1, -.5e0]\n"
	"- sources: [{model: x, layer_range: [4, 8]}, {model: base.gguf, layer_range: [4, 8]}]\n"
	"  parameters: {weight: 0.5}\n";

static void output_type_wins_over_working_type(void **state)
{
	static const char *const types[] = { "dtype: float32\nout_dtype: bfloat16\n",
					     "out_dtype: bfloat16\ndtype: float32\n",
					     "out_dtype: bfloat16\n" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char text[200];
		struct merge_config config;

		snprintf(text, sizeof(text), "merge_method: passthrough\nmodels: [{model: x}]\n%s",
			 types[i]);
		config = read_config(text);
		assert_int_equal(config.dtype, GGML_BF16);
		merge_config_release(&config);
	}
}

static void every_key_is_read(void **state)
{
	struct merge_config config = read_config(every_key);
	const struct merge_setting *density = &config.parameters.settings[MERGE_DENSITY];
	const struct merge_slice *slice = config.slices;

	(void)state;
	assert_int_equal(config.method, MERGE_TIES);
	assert_string_equal(config.base_model.model, "base.gguf");
	assert_true(config.base_model.line == 3 && config.base_model.column == 13);
	assert_int_equal(config.dtype, GGML_F16);
	assert_true(config.tokenizer_of_base && config.sliced && config.seed == 7);
	assert_true(only(&config.parameters, MERGE_NORMALIZE)->numbers[0] == 0.0);
	assert_true(only(&config.parameters, MERGE_INT8_MASK)->numbers[0] == 1.0);
	assert_int_equal(density->n, 2);
	assert_int_equal(density->line, 10);
	assert_int_equal(density->column, 3);
	assert_string_equal(density->conditions[0].filter, "mlp");
	assert_int_equal(density->conditions[0].n, 3);
	assert_true(density->conditions[0].numbers[1] == 0.5);
	assert_null(density->conditions[1].filter);
	assert_true(density->conditions[1].numbers[0] == 0.75);
	assert_int_equal(config.n, 2);
	assert_int_equal(slice[0].n, 2);
	assert_int_equal(slice[0].base, 0);
	assert_string_equal(slice[0].sources[1].model, "two words.gguf");
	assert_true(slice[0].sources[1].from == 2 && slice[0].sources[1].to == 6);
	assert_int_equal(only(&slice[0].sources[1].parameters, MERGE_WEIGHT)->n, 2);
	assert_true(only(&slice[0].sources[1].parameters, MERGE_WEIGHT)->numbers[1] == -0.5);
	assert_int_equal(slice[1].base, 1);
	assert_true(only(&slice[1].parameters, MERGE_WEIGHT)->numbers[0] == 0.5);
	merge_config_release(&config);
}

static void documents_with_a_name_are_those_of_the_other_one(void **state)
{
	struct merge_config config =
		read_config("name: a\nmerge_method: passthrough\nmodels: [{model: x}]\n---\n"
			    "merge_method: passthrough\nbase_model: b\nmodels: [{model: b}]\n---\n"
			    "name: b\nout_dtype: q8_0\nrandom_seed: 3\nmerge_method: passthrough\n"
			    "models: [{model: a}]\n");
	const struct merge_config *b = merge_config_document(&config, "b");

	(void)state;
	assert_null(config.name);
	assert_int_equal(config.n_documents, 2);
	assert_string_equal(merge_config_host(&config), "b");
	assert_string_equal(merge_config_host_file(&config), "x");
	assert_null(merge_config_document(&config, "x"));
	assert_true(b && b->dtype == GGML_Q8_0 && b->seed == 3);
	assert_true(config.dtype == MERGE_TYPE_AS_IS && config.seed == MERGE_CONFIG_SEED);
	merge_config_release(&config);
	/* If all documents have names, the last one is the result. */
	config = read_config("name: a\nmerge_method: passthrough\nmodels: [{model: b}]\n---\n"
			     "name: b\nmerge_method: passthrough\nmodels: [{model: a}]\n");
	assert_string_equal(config.name, "b");
	assert_null(merge_config_host_file(&config));
	merge_config_release(&config);
}

static void chat_template_is_auto_or_text(void **state)
{
	struct merge_config config = read_config("merge_method: passthrough\nmodels: [{model: x}]\n"
						 "chat_template: |\n  {% if a %}\n  b\n");

	(void)state;
	assert_string_equal(config.chat_template, "{% if a %}\nb\n");
	merge_config_release(&config);
	config = read_config("merge_method: passthrough\nmodels: [{model: x}]\n"
			     "chat_template: auto\n");
	assert_string_equal(config.chat_template, MERGE_TEMPLATE_AUTO);
	merge_config_release(&config);
}

static void models_are_one_slice_with_default_settings(void **state)
{
	struct merge_config config =
		read_config("models:\n- model: a\n  parameters:\n- {model: b, parameters: null}\n"
			    "- {parameters: ~, model: c}\nmerge_method: linear\n");

	(void)state;
	assert_int_equal(config.n, 1);
	assert_int_equal(config.slices[0].n, 3);
	assert_int_equal(config.slices[0].base, MERGE_CONFIG_NO_SOURCE);
	assert_false(config.sliced || config.tokenizer_of_base);
	assert_int_equal(config.seed, 42);
	assert_int_equal(config.dtype, MERGE_TYPE_AS_IS);
	assert_null(config.base_model.model);
	merge_config_release(&config);
}

static void the_form_is_the_base_model_or_the_first_one(void **state)
{
	static const char *const cases[][2] = {
		{ TIES TWO, "base" },
		{ LINEAR TWO, "a" },
		{ "base_model: b\n" LINEAR TWO, "b" },
		{ "merge_method: passthrough\nslices:\n- sources: [{model: x, layer_range: [2, "
		  "4]}]\n"
		  "- sources: [{model: y, layer_range: [0, 1]}]\n",
		  "x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct merge_config config = read_config(cases[i][0]);

		assert_string_equal(merge_config_host(&config), cases[i][1]);
		merge_config_release(&config);
		assert_null(merge_config_host(&config));
	}
}

static void a_model_may_have_an_adapter(void **state)
{
	static const struct {
		const char *written, *model, *lora;
	} cases[] = {
		{ "a", "a", NULL },
		{ "a+b", "a", "b" },
		{ "{path: a}", "a", NULL },
		{ "{path: a+b}", "a+b", NULL },
		{ "{model: a, lora: b}", "a", "b" },
		{ "{model: {path: a}, lora: {path: b+c}}", "a", "b+c" },
		{ "r+.gguf", "r+.gguf", NULL },
		{ "+b", "+b", NULL },
		{ "a+", "a+", NULL },
		{ "https://a/b+c", "https://a/b+c", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct merge_config config;
		char text[160];

		snprintf(
			text, sizeof(text),
			"merge_method: linear\nbase_model: %s\nmodels: [{model: %s}, {model: z}]\n",
			cases[i].written, cases[i].written);
		config = read_config(text);
		assert_string_equal(config.base_model.model, cases[i].model);
		assert_string_equal(config.slices[0].sources[0].model, cases[i].model);
		assert_int_equal(config.slices[0].base, 0);
		assert_int_equal(config.base_model.lora != NULL, cases[i].lora != NULL);
		if (cases[i].lora)
			assert_string_equal(config.slices[0].sources[0].lora, cases[i].lora);
		merge_config_release(&config);
	}
}

static void every_method_has_its_name_and_is_read(void **state)
{
	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct merge_config config;
		char text[160];

		snprintf(text, sizeof(text), "merge_method: %s\n%smodels: [{model: a}%s]\n",
			 merge_method_names[method],
			 method >= MERGE_MODEL_STOCK ? "base_model: base\n" : "",
			 method == MERGE_PASSTHROUGH || method == MERGE_NEARSWAP ||
					 method == MERGE_ARCEE_FUSION
				 ? ""
				 : ", {model: b}");
		config = read_config(text);
		assert_int_equal(config.method, method);
		merge_config_release(&config);
	}
}

/* place: LINE:COLUMN. */
static void assert_not_read(const char *text, size_t n, const char *place, const char *says)
{
	struct merge_config config;
	struct error err = { 0 };
	const int rc = merge_config_read(text, n, &config, &err);
	unsigned line = 0, column = 0;
	char found[32];

	merge_config_release(&config);
	assert_refused(rc, &err, EINVAL, ERROR_NO_OFFSET);
	sscanf(err.text, "line %u, column %u: ", &line, &column);
	snprintf(found, sizeof(found), "%u:%u", line, column);
	if (strcmp(found, place) != 0 || !strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\" at %s of\n%s", err.text, says, place, text);
}

static const struct {
	const char *text, *place, *says; /* says: a sentence once, else the key that it names */
} refusals[] = {
	{ "", "1:1", "expected a configuration" },
	{ "[]", "1:1", "expected \"merge_method\"" },
	{ "{}", "1:1", "\"merge_method\" is missing" },
	{ LINEAR, "1:1", "\"models\" or \"slices\" is missing" },
	{ LINEAR "slices: []\n", "1:1", "\"models\"" },
	{ LINEAR "models: []\n", "2:10", "\"model\"" },
	{ LINEAR "models: {}\n", "2:9", "expected a list of models" },
	{ LINEAR "models: [a]\n", "2:10", "\"model\"" },
	{ LINEAR "models: [{}]\n", "2:10", "\"model\" is missing" },
	{ LINEAR "models: [{model: [x]}]\n", "2:18", "expected a model" },
	{ LINEAR "models: [{model: {}}]\n", "2:19", "\"model\" is missing" },
	{ LINEAR "models: [{model: {lora: x}}]\n", "2:26", "" },
	{ LINEAR "models: [{model: {model: {}}}]\n", "2:27", "\"path\" is missing" },
	{ LINEAR "models: [{model: {path: a, model: b}}]\n", "2:28", "\"model\" occurs twice" },
	{ LINEAR "models: [{model: {path: a, revision: b}}]\n", "2:28", "\"revision\"" },
	{ LINEAR "models: [{model: {path: a, lora: [b]}}]\n", "2:34", "expected an adapter" },
	{ LINEAR "models: [{model: a+b+c}]\n", "2:18", "a model has at most one adapter" },
	{ LINEAR "models: [{model: a+b}, {model: {path: a, lora: b}}]\n", "2:24",
	  "\"a\" occurs twice" },
	{ LINEAR "models: [{model: ''}]\n", "2:18", "" },
	{ LINEAR "models: [{model: \"a\\0b\"}]\n", "2:18", "" },
	{ LINEAR "models: [{model: a, layer_range: [0, 1]}]\n", "2:21",
	  "\"layer_range\" is not supported here" },
	{ LINEAR "models: [{model: a, model: b}]\n", "2:21", "\"model\" occurs twice" },
	{ LINEAR "models: [{model: a}, {model: a}]\n", "2:22", "\"a\"" },
	{ LINEAR TWO TWO, "5:1", "\"models\"" },
	{ LINEAR TWO "slices: []\n", "5:1", "there are either \"models\" or \"slices\"" },
	{ LINEAR "slices: []\n" TWO, "3:1", "\"models\"" },
	{ LINEAR "slices: [x]\n", "2:10", "\"sources\"" },
	{ LINEAR "slices: [{}]\n", "2:10", "\"sources\"" },
	{ LINEAR "slices: [{base_model: x}]\n", "2:10", "\"sources\" is missing" },
	{ "merge_method: ties\nslices: [{base_model: x, sources: [{model: a, layer_range: [0, "
	  "1]}]}]\n",
	  "2:10", "\"x\", the base model, is not a source of this slice" },
	{ "merge_method: ties\nslices:\n- {base_model: x, sources: [{model: a, layer_range: [0, "
	  "1]},"
	  " {model: x, layer_range: [0, 1]}]}\n- {sources: [{model: a, layer_range: [0, 1]}]}\n",
	  "1:1", "ties needs \"base_model\"" },
	{ LINEAR "slices: [{sources: [{model: a}]}]\n", "2:21", "\"layer_range\"" },
	{ LINEAR "slices: [{sources: [{model: a, layer_range: [1, 1]}]}]\n", "2:49",
	  "a range ends behind its first block" },
	{ LINEAR "slices: [{sources: [{model: a, layer_range: [0]}]}]\n", "2:47",
	  "expected the number of a block" },
	{ LINEAR "slices: [{sources: [{model: a, layer_range: [-1, 2]}]}]\n", "2:46", "" },
	{ LINEAR "slices: [{sources: [{model: a, layer_range: [0, 1, 2]}]}]\n", "2:52", "\"]\"" },
	{ LINEAR "slices: [{sources: [{model: a, layer_range: [0, 1048577]}]}]\n", "2:49", "" },
	{ LINEAR "slices: [{sources: [{model: a, layer_range: [0, 4]}, "
		 "{model: b, layer_range: [1, 4]}]}]\n",
	  "2:54", "its layer_range is not as long as that of \"a\"" },
	{ "merge_method: glue\n" TWO, "1:15", "\"glue\" is not a supported method" },
	{ "merge_method: [ties]\n" TWO, "1:15", "expected a method" },
	{ "merge_method: linear\nmerge_method: linear\n", "2:1", "\"merge_method\"" },
	{ LINEAR TWO "modules: {}\n", "5:1", "\"modules\"" },
	{ LINEAR TWO "chat_template: chatml\n", "5:16",
	  "expected \"auto\" or a template in Jinja, with a \"{\"; the templates that "
	  "mergekit has by name are not here: write the template itself" },
	{ LINEAR TWO "chat_template: \"{\\0}\"\n", "5:16", "expected \"auto\"" },
	{ LINEAR TWO "chat_template: [a]\n", "5:16", "expected a chat template" },
	{ "name: [a]\n" LINEAR TWO, "1:7", "expected a name" },
	{ LINEAR TWO "---\n" LINEAR TWO, "6:1", "another document has no \"name\", as this one" },
	{ "name: a\n" LINEAR TWO "---\nname: a\n" LINEAR TWO "---\n" LINEAR TWO, "7:1",
	  "\"a\" is the name of two documents" },
	{ "name: a\n" LINEAR TWO "chat_template: auto\n---\n" LINEAR TWO, "1:1",
	  "\"chat_template\" belongs to the document that is the result" },
	{ LINEAR TWO "dtype: int8\n", "5:8", "expected float32, float16, bfloat16 or a type" },
	{ LINEAR TWO "tokenizer_source: union\n", "5:19",
	  "\"union\" is not supported, the tokenizer of \"base\" is" },
	{ LINEAR TWO "random_seed: -1\n", "5:14", "expected a whole number below 2^64" },
	{ LINEAR TWO "random_seed: 18446744073709551616\n", "5:14", "" },
	{ LINEAR TWO "random_seed: 1\nparameters: {random_seed: 1}\n", "6:14", "\"random_seed\"" },
	{ LINEAR TWO "parameters: [1]\n", "5:13", "expected parameters" },
	{ LINEAR TWO "parameters: 1\n", "5:13", "" },
	{ LINEAR TWO "parameters: {topk: 1}\n", "5:14", "\"topk\" is not a supported parameter" },
	{ LINEAR TWO "parameters: {weight: 1, weight: 1}\n", "5:25", "\"weight\"" },
	{ LINEAR TWO "parameters: {[a]: 1}\n", "5:14", "expected the name of a parameter" },
	{ LINEAR TWO "parameters: {weight: x}\n", "5:22", "expected a number" },
	{ LINEAR TWO "parameters: {weight: '1'}\n", "5:22", "" },
	{ LINEAR TWO "parameters: {weight: 0x10}\n", "5:22", "" },
	{ LINEAR TWO "parameters: {weight: .inf}\n", "5:22", "" },
	{ LINEAR TWO "parameters: {weight: nan}\n", "5:22", "" },
	{ LINEAR TWO "parameters: {weight: 1e999}\n", "5:22", "" },
	{ LINEAR TWO "parameters: {weight: 1.2.3}\n", "5:22", "" },
	{ LINEAR TWO "parameters: {weight: }\n", "5:22", "" },
	{ LINEAR TWO "parameters: {weight: []}\n", "5:23",
	  "expected a number, or a filter and its value" },
	{ LINEAR TWO "parameters: {weight: [[1]]}\n", "5:23", "" },
	{ LINEAR TWO "parameters: {weight: {value: 1}}\n", "5:22", "" },
	{ LINEAR TWO "parameters: {weight: [1, {value: 1}]}\n", "5:26", "" },
	{ LINEAR TWO "parameters: {weight: [{value: 1}, 1]}\n", "5:35",
	  "expected a filter and its value" },
	{ LINEAR TWO "parameters: {weight: [{filter: x}]}\n", "5:23", "\"value\"" },
	{ LINEAR TWO "parameters: {weight: [{value: []}]}\n", "5:32", "" },
	{ LINEAR TWO "parameters: {weight: [{value: 1, tensor: x}]}\n", "5:34", "\"tensor\"" },
	{ LINEAR TWO "parameters: {t: 1}\n", "5:14", "linear has no use for \"t\"" },
	{ LINEAR "models: [{model: a, parameters: {normalize: true}}]\n", "2:34",
	  "\"normalize\" is not a parameter of a single model" },
	{ "merge_method: ram\nbase_model: x\n"
	  "models: [{model: a, parameters: {epsilon: 0.1}}]\n",
	  "3:34", "\"epsilon\" is not a parameter of a single model" },
	{ LINEAR TWO "parameters: {max_iter: 1001}\n", "5:24",
	  "\"max_iter\" is between 0 and 1000" },
	{ LINEAR TWO "parameters: {tol: -1}\n", "5:19", "\"tol\" is between 0 and 1" },
	{ TIES TWO "parameters: {density: 1.5}\n", "6:23", "\"density\" is between 0 and 1" },
	{ TIES TWO "parameters: {density: -0.5}\n", "6:23", "\"density\"" },
	{ TIES "models: [{model: base}]\n", "3:1",
	  "ties merges at least 1 model with the base model, not 0" },
	{ TIES "models: [{model: base, parameters: {weight: 1}}, {model: a}]\n", "3:37",
	  "\"weight\" is not a parameter of the base model" },
	{ TIES "models: [{model: base, parameters: {density: 1}}, {model: a}]\n", "3:37",
	  "\"density\"" },
	{ TIES "slices: [{sources: [{model: a, layer_range: [0, 1]}]}]\n", "3:10",
	  "\"base\", the base model, is not a source of this slice" },
	{ "merge_method: ties\n" TWO, "1:1", "ties needs \"base_model\"" },
	{ LINEAR TWO "---\nname: a\nmerge_method: ties\n" TWO, "6:1", "ties needs \"base_model\"" },
	{ "merge_method: passthrough\n" TWO, "2:1", "merges 1 model, not 2" },
	{ "merge_method: nuslerp\nmodels: [{model: a}]\n", "2:1", "merges 2 models, not 1" },
	{ "merge_method: nearswap\nbase_model: x\n" TWO, "3:1",
	  "nearswap merges 1 model with the base model, not 2" },
	{ "merge_method: arcee_fusion\nbase_model: a\nmodels: [{model: a}]\n", "3:1",
	  "arcee_fusion merges 1 model with the base model, not 0" },
	{ "merge_method: model_stock\nbase_model: x\nmodels: [{model: a}, {model: x}]\n", "3:1",
	  "at least 2 models" },
	{ "merge_method: slerp\nmodels: [{model: a}]\n", "2:1", "slerp merges two models, not 1" },
	{ "merge_method: slerp\nbase_model: x\n" TWO, "3:1",
	  "slerp: the base model is none of these models" },
	{ "merge_method: slerp\nbase_model: a\nmodels: [{model: a}]\n", "3:1",
	  "slerp merges the base model and one more, not 1 models" },
	{ LINEAR TWO "---\n" LINEAR, "6:1", "\"models\" or \"slices\" is missing" },
	{ "&a [*a]", "1:1", "a configuration has no anchors, aliases and tags" },
	{ LINEAR "models: &m [{model: a}]\n", "2:9", "" },
	{ LINEAR "models: *m\n", "2:9", "" },
	{ LINEAR "models: [{model: !!str a}]\n", "2:18", "" },
	{ LINEAR "\t: x\n", "2:1", "" },
	{ "merge_method: \xff\n", "1:1", "" },
};

static void invalid_configuration_is_refused_with_line_and_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(refusals); i++)
		assert_not_read(refusals[i].text, strlen(refusals[i].text), refusals[i].place,
				refusals[i].says);
}

static void a_configuration_that_is_cut_is_refused_or_a_shorter_one(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(every_key) - 1; n++) {
		struct merge_config config;
		struct error err = { 0 };
		const int rc = merge_config_read(every_key, n, &config, &err);

		assert_true(rc == 0 || (rc == -EINVAL && strncmp(err.text, "line ", 5) == 0));
		merge_config_release(&config);
	}
}

/* The text of a head, a repeated part, and a tail. */
static char *repeated(const char *head, const char *part, size_t times, const char *tail, size_t *n)
{
	const size_t length = strlen(part);
	char *text = malloc(strlen(head) + times * length + strlen(tail) + 1);

	assert_non_null(text);
	*n = (size_t)sprintf(text, "%s", head);
	for (size_t i = 0; i < times; i++, *n += length)
		memcpy(text + *n, part, length);
	*n += (size_t)sprintf(text + *n, "%s", tail);
	return text;
}

static void lists_have_bounds(void **state)
{
	static const struct {
		const char *head, *part;
		size_t times;
		const char *tail, *place, *says;
	} cases[] = {
		{ LINEAR TWO "parameters: {weight: [", "1,", MERGE_CONFIG_NUMBERS + 1, "]}\n",
		  "5:8215", "a gradient has at most 4096 values" },
		{ LINEAR TWO "parameters: {weight: [", "{value: 1},", MERGE_CONFIG_CONDITIONS + 1,
		  "]}\n", "5:2839", "a list of filters has at most 256 entries" },
		{ LINEAR "models: [", "{model: a},", MERGE_CONFIG_SOURCES + 1, "]\n", "2:197",
		  "at most 17 models are merged" },
		{ LINEAR "slices: [", "{sources: [{model: a, layer_range: [0, 1]}]},",
		  MERGE_CONFIG_SLICES + 1, "]\n", "2:46090", "there are at most 1024 slices" },
		{ LINEAR "models: [{model: ", "a", MERGE_CONFIG_MODEL_LENGTH + 1, "}]\n", "2:18",
		  "" },
	};
	struct merge_config config;
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		size_t n;
		char *text =
			repeated(cases[i].head, cases[i].part, cases[i].times, cases[i].tail, &n);

		assert_not_read(text, n, cases[i].place, cases[i].says);
		free(text);
		/* One repetition less is read, of models that differ. */
		text = repeated(cases[i].head, cases[i].part, cases[i].times - 1, cases[i].tail,
				&n);
		if (!strstr(cases[i].says, "17 models")) {
			assert_int_equal(merge_config_read(text, n, &config, &err), 0);
			merge_config_release(&config);
		}
		free(text);
	}
}

static void a_text_of_brackets_or_of_too_many_bytes_ends_soon(void **state)
{
	const size_t n = MERGE_CONFIG_MAX + 1;
	char *text = malloc(n);
	struct merge_config config;
	struct error err = { 0 };

	(void)state;
	assert_non_null(text);
	memset(text, '[', n);
	assert_int_equal(merge_config_read(text, n, &config, &err), -EFBIG);
	assert_int_equal(merge_config_read(text, n - 1, &config, &err), -EINVAL);
	merge_config_release(&config);
	memset(text, '{', n);
	assert_int_equal(merge_config_read(text, n - 1, &config, &err), -EINVAL);
	merge_config_release(&config);
	free(text);
}

static void without_memory_nothing_is_read(void **state)
{
	struct merge_config config;
	struct error err;
	uint64_t k = 1;
	int rc;

	(void)state;
	needs_failing_allocations();
	for (;; k++) {
		err = (struct error){ 0 };
		allocation_fails(k);
		rc = merge_config_read(every_key, sizeof(every_key) - 1, &config, &err);
		merge_config_release(&config);
		if (!allocation_failed())
			break;
		assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
	}
	assert_int_equal(rc, 0);
	assert_true(k > 10);
}

UNIT_MAIN(NULL, NULL)
