/* SPDX-License-Identifier: MIT */
/* merge_config_read.c - see merge_config.h: YAML, which may come from anywhere
 * (fs/util/yaml_reader.h), as a configuration. Keys may come in any order, so that what the method
 * says about them is checked when all are known. */
#include "fs/merge/merge_config.h"
#include "fs/util/array_grown.h"
#include "fs/util/yaml_reader.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct config_reader {
	struct yaml_reader yaml;
	struct merge_config *config;
	bool seeded;
};

#define refuse(reader, ...) yaml_reader_refuse(&(reader)->yaml, __VA_ARGS__)

/* A mapping's key, and what reads its value into something. */
struct config_key {
	const char *name;
	int (*read)(struct config_reader *reader, void *into);
};

static void set_place(const struct config_reader *reader, size_t *line, size_t *column)
{
	*line = reader->yaml.event.start_mark.line + 1;
	*column = reader->yaml.event.start_mark.column + 1;
}

/* The event is the start of a mapping: its keys in any order, each once. seen: a bit for each. */
static int read_mapping(struct config_reader *reader, const struct config_key *keys, size_t n,
			void *into, unsigned *seen)
{
	int rc = yaml_reader_next(&reader->yaml);

	for (*seen = 0; rc == 0 && reader->yaml.event.type != YAML_MAPPING_END_EVENT;) {
		size_t k = 0;

		if (reader->yaml.event.type != YAML_SCALAR_EVENT)
			return refuse(reader, "here has to be a key");
		while (k < n && !yaml_reader_is(&reader->yaml, keys[k].name))
			k++;
		if (k == n)
			return yaml_reader_refuse_key(&reader->yaml, "is not supported here");
		if (*seen & 1u << k)
			return yaml_reader_refuse_key(&reader->yaml, "is there twice");
		*seen |= 1u << k;
		rc = keys[k].read(reader, into);
		if (rc == 0)
			rc = yaml_reader_next(&reader->yaml);
	}
	return rc;
}

/* Words. */

static int expect_word(struct config_reader *reader, const char *what)
{
	size_t n;
	int rc = yaml_reader_expect(&reader->yaml, YAML_SCALAR_EVENT, what);
	const char *value;

	if (rc < 0)
		return rc;
	value = yaml_reader_value(&reader->yaml, &n);
	if (n == 0 || n > MERGE_CONFIG_MODEL_LENGTH || memchr(value, '\0', n))
		return refuse(reader, "here has to be %s", what);
	return 0;
}

static int read_text(struct config_reader *reader, const char *what, char **text)
{
	size_t n;
	const char *value;
	int rc = expect_word(reader, what);

	if (rc < 0)
		return rc;
	value = yaml_reader_value(&reader->yaml, &n);
	*text = malloc(n + 1);
	if (!*text)
		return yaml_reader_out_of_memory(&reader->yaml);
	memcpy(*text, value, n + 1);
	return 0;
}

/* A whole number up to most. False: the event is none. */
static bool get_whole(const struct config_reader *reader, uint64_t most, uint64_t *number)
{
	size_t n;
	const char *value = yaml_reader_value(&reader->yaml, &n);

	*number = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t digit = (uint64_t)(unsigned char)value[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, digit, number))
			return false;
	}
	return n && *number <= most;
}

static bool get_truth(const struct config_reader *reader, double *number)
{
	static const char *const words[][3] = { { "false", "False", "FALSE" },
						{ "true", "True", "TRUE" } };

	for (unsigned truth = 0; truth < 2; truth++)
		for (unsigned i = 0; i < 3; i++)
			if (yaml_reader_is(&reader->yaml, words[truth][i])) {
				*number = truth;
				return true;
			}
	return false;
}

/* A decimal number, or a truth value. False: the event is none. strtod() takes more than decimals
 * of YAML, but none of these letters is in them. */
static bool get_number(const struct config_reader *reader, double *number)
{
	size_t n;
	const char *value = yaml_reader_value(&reader->yaml, &n);
	char *end;

	if (reader->yaml.event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE || n == 0)
		return false;
	if (get_truth(reader, number))
		return true;
	if (strspn(value, "0123456789+-.eE") != n)
		return false;
	*number = strtod(value, &end);
	return end == value + n && isfinite(*number);
}

/* Parameters. */

static int add_number(struct config_reader *reader, enum merge_parameter which, size_t *room,
		      struct merge_condition *condition)
{
	const bool share = which == MERGE_DENSITY || which == MERGE_GAMMA || which == MERGE_EPSILON;
	double number, *numbers;

	if (reader->yaml.event.type != YAML_SCALAR_EVENT || !get_number(reader, &number))
		return refuse(reader, "here has to be a number");
	if (share && !(number >= 0.0 && number <= 1.0))
		return refuse(reader, "\"%s\" is between 0 and 1", merge_config_parameters[which]);
	if (condition->n == MERGE_CONFIG_NUMBERS)
		return refuse(reader, "a gradient has at most %d values", MERGE_CONFIG_NUMBERS);
	numbers = array_grown(condition->numbers, condition->n, room, sizeof(number));
	if (!numbers)
		return yaml_reader_out_of_memory(&reader->yaml);
	condition->numbers = numbers;
	numbers[condition->n++] = number;
	return 0;
}

/* The event, and those that follow it, as the rest of a gradient. */
static int read_gradient(struct config_reader *reader, enum merge_parameter which,
			 struct merge_condition *condition)
{
	size_t room = condition->n;
	int rc = 0;

	while (rc == 0 && reader->yaml.event.type != YAML_SEQUENCE_END_EVENT) {
		rc = add_number(reader, which, &room, condition);
		if (rc == 0)
			rc = yaml_reader_next(&reader->yaml);
	}
	return rc;
}

/* The value that comes next: a number, or a list of them. */
static int read_numbers(struct config_reader *reader, enum merge_parameter which,
			struct merge_condition *condition)
{
	size_t room = 0;
	int rc = yaml_reader_next(&reader->yaml);

	if (rc < 0 || reader->yaml.event.type != YAML_SEQUENCE_START_EVENT)
		return rc < 0 ? rc : add_number(reader, which, &room, condition);
	rc = yaml_reader_next(&reader->yaml);
	if (rc == 0 && reader->yaml.event.type == YAML_SEQUENCE_END_EVENT)
		return refuse(reader, "here has to be a number");
	return rc == 0 ? read_gradient(reader, which, condition) : rc;
}

/* What a condition is read into. */
struct condition_of {
	struct merge_condition *condition;
	enum merge_parameter which;
};

static int read_filter(struct config_reader *reader, void *into)
{
	const struct condition_of *of = into;
	const int rc = read_text(reader, "a filter", &of->condition->filter);

	/* In mergekit this is every tensor. */
	if (rc == 0 && strcmp(of->condition->filter, "*") == 0) {
		free(of->condition->filter);
		of->condition->filter = NULL;
	}
	return rc;
}

static int read_value(struct config_reader *reader, void *into)
{
	const struct condition_of *of = into;

	return read_numbers(reader, of->which, of->condition);
}

static const struct config_key condition_keys[] = { { "filter", read_filter },
						    { "value", read_value } };

/* One more condition, all zeros. NULL: out of memory. */
static struct merge_condition *add_condition(struct merge_setting *setting, size_t *room)
{
	struct merge_condition *conditions =
		array_grown(setting->conditions, setting->n, room, sizeof(*conditions));

	if (!conditions)
		return NULL;
	setting->conditions = conditions;
	conditions[setting->n] = (struct merge_condition){ 0 };
	return &conditions[setting->n++];
}

/* The mapping that begins with the event, and those that follow it in the list. */
static int read_conditions(struct config_reader *reader, enum merge_parameter which,
			   struct merge_setting *setting, size_t *room)
{
	int rc = 0;

	while (rc == 0 && reader->yaml.event.type == YAML_MAPPING_START_EVENT) {
		const yaml_mark_t start = reader->yaml.event.start_mark;
		struct condition_of of = { .which = which };
		unsigned seen;

		if (setting->n == MERGE_CONFIG_CONDITIONS)
			return refuse(reader, "a list of filters has at most %d entries",
				      MERGE_CONFIG_CONDITIONS);
		of.condition = add_condition(setting, room);
		if (!of.condition)
			return yaml_reader_out_of_memory(&reader->yaml);
		rc = read_mapping(reader, condition_keys, 2, &of, &seen);
		if (rc == 0 && of.condition->n == 0)
			return yaml_reader_refuse_at(&reader->yaml, &start,
						     "here \"value\" is missing");
		if (rc == 0)
			rc = yaml_reader_next(&reader->yaml);
	}
	if (rc == 0 && reader->yaml.event.type != YAML_SEQUENCE_END_EVENT)
		return refuse(reader, "here has to be a filter and its value");
	return rc;
}

/* The value of a parameter: a number, a list of numbers, or a list of filters with values. */
static int read_setting(struct config_reader *reader, enum merge_parameter which,
			struct merge_setting *setting)
{
	struct merge_condition *condition;
	size_t room = 0, numbers = 0;
	int rc = yaml_reader_next(&reader->yaml);
	const bool list = rc == 0 && reader->yaml.event.type == YAML_SEQUENCE_START_EVENT;

	if (list)
		rc = yaml_reader_next(&reader->yaml);
	if (rc < 0)
		return rc;
	if (list && reader->yaml.event.type == YAML_MAPPING_START_EVENT)
		return read_conditions(reader, which, setting, &room);
	if (list && reader->yaml.event.type == YAML_SEQUENCE_END_EVENT)
		return refuse(reader, "here has to be a number, or a filter and its value");
	condition = add_condition(setting, &room);
	if (!condition)
		return yaml_reader_out_of_memory(&reader->yaml);
	return list ? read_gradient(reader, which, condition)
		    : add_number(reader, which, &numbers, condition);
}

static int read_seed(struct config_reader *reader, void *into)
{
	int rc;

	(void)into;
	if (reader->seeded)
		return yaml_reader_refuse_key(&reader->yaml, "is there twice");
	reader->seeded = true;
	rc = expect_word(reader, "a whole number");
	if (rc == 0 && !get_whole(reader, UINT64_MAX, &reader->config->seed))
		return refuse(reader, "here has to be a whole number below 2^64");
	return rc;
}

/* The event is a parameter's name. */
static int read_parameter(struct config_reader *reader, struct merge_parameters *parameters)
{
	enum merge_parameter which = 0;
	struct merge_setting *setting;

	if (reader->yaml.event.type != YAML_SCALAR_EVENT)
		return refuse(reader, "here has to be the name of a parameter");
	if (parameters == &reader->config->parameters &&
	    yaml_reader_is(&reader->yaml, "random_seed"))
		return read_seed(reader, NULL);
	while (which < MERGE_PARAMETERS &&
	       !yaml_reader_is(&reader->yaml, merge_config_parameters[which]))
		which++;
	if (which == MERGE_PARAMETERS)
		return yaml_reader_refuse_key(&reader->yaml, "is no parameter that is supported");
	setting = &parameters->settings[which];
	if (setting->n)
		return yaml_reader_refuse_key(&reader->yaml, "is there twice");
	set_place(reader, &setting->line, &setting->column);
	return read_setting(reader, which, setting);
}

/* A mapping, or nothing behind the key. */
static int read_parameters_into(struct config_reader *reader, struct merge_parameters *parameters)
{
	int rc = yaml_reader_next(&reader->yaml);

	if (rc == 0 && reader->yaml.event.type == YAML_SCALAR_EVENT &&
	    reader->yaml.event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    (yaml_reader_is(&reader->yaml, "") || yaml_reader_is(&reader->yaml, "null") ||
	     yaml_reader_is(&reader->yaml, "~")))
		return 0;
	if (rc == 0 && reader->yaml.event.type != YAML_MAPPING_START_EVENT)
		return refuse(reader, "here have to be parameters");
	if (rc == 0)
		rc = yaml_reader_next(&reader->yaml);
	while (rc == 0 && reader->yaml.event.type != YAML_MAPPING_END_EVENT) {
		rc = read_parameter(reader, parameters);
		if (rc == 0)
			rc = yaml_reader_next(&reader->yaml);
	}
	return rc;
}

/* Models and slices. */

static int read_model(struct config_reader *reader, void *into)
{
	struct merge_source *source = into;

	return read_text(reader, "a model", &source->model);
}

static int read_block(struct config_reader *reader, uint64_t *block)
{
	const int rc = expect_word(reader, "the number of a block");

	if (rc == 0 && !get_whole(reader, MERGE_CONFIG_BLOCKS, block))
		return refuse(reader, "here has to be the number of a block");
	return rc;
}

static int read_range(struct config_reader *reader, void *into)
{
	struct merge_source *source = into;
	int rc = yaml_reader_expect(&reader->yaml, YAML_SEQUENCE_START_EVENT, "[FROM, TO]");

	if (rc == 0)
		rc = read_block(reader, &source->from);
	if (rc == 0)
		rc = read_block(reader, &source->to);
	if (rc == 0 && source->to <= source->from)
		return refuse(reader, "a range ends behind its first block");
	return rc == 0 ? yaml_reader_expect(&reader->yaml, YAML_SEQUENCE_END_EVENT, "\"]\"") : rc;
}

static int read_source_parameters(struct config_reader *reader, void *into)
{
	struct merge_source *source = into;

	return read_parameters_into(reader, &source->parameters);
}

/* The range last: models have none. */
static const struct config_key source_keys[] = { { "model", read_model },
						 { "parameters", read_source_parameters },
						 { "layer_range", read_range } };

/* The mapping that begins with the event. */
static int read_source(struct config_reader *reader, bool sliced, size_t *room,
		       struct merge_slice *slice)
{
	const yaml_mark_t start = reader->yaml.event.start_mark;
	struct merge_source *sources, *source;
	unsigned seen;
	int rc;

	if (slice->n == MERGE_CONFIG_SOURCES)
		return refuse(reader, "at most %d models are merged", MERGE_CONFIG_SOURCES);
	sources = array_grown(slice->sources, slice->n, room, sizeof(*sources));
	if (!sources)
		return yaml_reader_out_of_memory(&reader->yaml);
	slice->sources = sources;
	source = &sources[slice->n++];
	*source = (struct merge_source){ 0 };
	set_place(reader, &source->line, &source->column);
	rc = read_mapping(reader, source_keys, sliced ? 3 : 2, source, &seen);
	if (rc == 0 && !source->model)
		return yaml_reader_refuse_at(&reader->yaml, &start, "here \"model\" is missing");
	if (rc == 0 && sliced && !source->to)
		return yaml_reader_refuse_at(&reader->yaml, &start,
					     "here \"layer_range\" is missing");
	return rc;
}

/* The list that comes next. */
static int read_sources_into(struct config_reader *reader, bool sliced, struct merge_slice *slice)
{
	size_t room = 0;
	int rc = yaml_reader_expect(&reader->yaml, YAML_SEQUENCE_START_EVENT, "a list of models");

	while (rc == 0 && (rc = yaml_reader_next(&reader->yaml)) == 0) {
		if (reader->yaml.event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (reader->yaml.event.type != YAML_MAPPING_START_EVENT)
			return refuse(reader, "here has to be \"model\"");
		rc = read_source(reader, sliced, &room, slice);
	}
	if (rc == 0 && slice->n == 0)
		return refuse(reader, "here has to be \"model\"");
	return rc;
}

static int read_sources(struct config_reader *reader, void *into)
{
	return read_sources_into(reader, true, into);
}

static int read_slice_parameters(struct config_reader *reader, void *into)
{
	struct merge_slice *slice = into;

	return read_parameters_into(reader, &slice->parameters);
}

static const struct config_key slice_keys[] = { { "sources", read_sources },
						{ "parameters", read_slice_parameters } };

/* One more slice, at the event. NULL: out of memory. */
static struct merge_slice *add_slice(struct config_reader *reader, size_t *room)
{
	struct merge_config *config = reader->config;
	struct merge_slice *slices = array_grown(config->slices, config->n, room, sizeof(*slices));

	if (!slices)
		return NULL;
	config->slices = slices;
	slices[config->n] = (struct merge_slice){ 0 };
	set_place(reader, &slices[config->n].line, &slices[config->n].column);
	return &slices[config->n++];
}

static int read_slice(struct config_reader *reader, size_t *room)
{
	const yaml_mark_t start = reader->yaml.event.start_mark;
	struct merge_slice *slice;
	unsigned seen;
	int rc;

	if (reader->yaml.event.type != YAML_MAPPING_START_EVENT)
		return refuse(reader, "here has to be \"sources\"");
	if (reader->config->n == MERGE_CONFIG_SLICES)
		return refuse(reader, "there are at most %d slices", MERGE_CONFIG_SLICES);
	slice = add_slice(reader, room);
	if (!slice)
		return yaml_reader_out_of_memory(&reader->yaml);
	rc = read_mapping(reader, slice_keys, 2, slice, &seen);
	if (rc == 0 && slice->n == 0)
		return yaml_reader_refuse_at(&reader->yaml, &start, "here \"sources\" is missing");
	return rc;
}

static int read_slices(struct config_reader *reader, void *into)
{
	size_t room = 0;
	int rc;

	(void)into;
	if (reader->config->n)
		return refuse(reader, "there are either \"models\" or \"slices\"");
	reader->config->sliced = true;
	rc = yaml_reader_expect(&reader->yaml, YAML_SEQUENCE_START_EVENT, "a list of slices");
	while (rc == 0 && (rc = yaml_reader_next(&reader->yaml)) == 0) {
		if (reader->yaml.event.type == YAML_SEQUENCE_END_EVENT)
			break;
		rc = read_slice(reader, &room);
	}
	return rc;
}

static int read_models(struct config_reader *reader, void *into)
{
	struct merge_slice *slice;
	size_t room = 0;

	(void)into;
	if (reader->config->sliced)
		return refuse(reader, "there are either \"models\" or \"slices\"");
	slice = add_slice(reader, &room);
	if (!slice)
		return yaml_reader_out_of_memory(&reader->yaml);
	return read_sources_into(reader, false, slice);
}

/* The other keys. */

static int read_method(struct config_reader *reader, void *into)
{
	enum merge_method *method = &reader->config->method;
	const int rc = expect_word(reader, "a method");

	(void)into;
	for (*method = 0; rc == 0 && *method < MERGE_METHODS; ++*method)
		if (yaml_reader_is(&reader->yaml, merge_config_methods[*method]))
			return 0;
	*method = 0;
	return rc < 0 ? rc
		      : yaml_reader_refuse_key(&reader->yaml, "is no method that is supported");
}

static int read_base_model(struct config_reader *reader, void *into)
{
	(void)into;
	return read_text(reader, "a model", &reader->config->base_model);
}

static int read_parameters(struct config_reader *reader, void *into)
{
	(void)into;
	return read_parameters_into(reader, &reader->config->parameters);
}

static int read_dtype(struct config_reader *reader, void *into)
{
	static const char *const names[] = { [MERGE_DTYPE_F32] = "float32",
					     [MERGE_DTYPE_F16] = "float16",
					     [MERGE_DTYPE_BF16] = "bfloat16" };
	const int rc = expect_word(reader, "a type");

	(void)into;
	for (enum merge_dtype t = MERGE_DTYPE_F32; rc == 0 && t <= MERGE_DTYPE_BF16; t++)
		if (yaml_reader_is(&reader->yaml, names[t])) {
			reader->config->dtype = t;
			return 0;
		}
	return rc < 0 ? rc : refuse(reader, "here has to be float32, float16 or bfloat16");
}

static int read_tokenizer(struct config_reader *reader, void *into)
{
	const int rc = expect_word(reader, "\"base\"");

	(void)into;
	reader->config->tokenizer_of_base = true;
	if (rc == 0 && !yaml_reader_is(&reader->yaml, "base"))
		return yaml_reader_refuse_key(&reader->yaml,
					      "is not supported, the tokenizer of \"base\" is");
	return rc;
}

enum { KEY_METHOD, KEY_MODELS, KEY_SLICES };

static const struct config_key config_keys[] = {
	[KEY_METHOD] = { "merge_method", read_method },
	[KEY_MODELS] = { "models", read_models },
	[KEY_SLICES] = { "slices", read_slices },
	{ "base_model", read_base_model },
	{ "parameters", read_parameters },
	{ "dtype", read_dtype },
	{ "tokenizer_source", read_tokenizer },
	{ "random_seed", read_seed },
};

static int read_document(struct config_reader *reader)
{
	struct yaml_reader *yaml = &reader->yaml;
	unsigned seen = 0;
	yaml_mark_t start;
	int rc = yaml_reader_expect(yaml, YAML_STREAM_START_EVENT, "text");

	if (rc == 0)
		rc = yaml_reader_expect(yaml, YAML_DOCUMENT_START_EVENT, "a configuration");
	if (rc == 0)
		rc = yaml_reader_expect(yaml, YAML_MAPPING_START_EVENT, "\"merge_method\"");
	start = yaml->event.start_mark;
	if (rc == 0)
		rc = read_mapping(reader, config_keys, sizeof(config_keys) / sizeof(config_keys[0]),
				  NULL, &seen);
	if (rc == 0 && !(seen & 1u << KEY_METHOD))
		return yaml_reader_refuse_at(yaml, &start, "\"merge_method\" is missing");
	if (rc == 0 && reader->config->n == 0)
		return yaml_reader_refuse_at(yaml, &start, "\"models\" or \"slices\" is missing");
	if (rc == 0)
		rc = yaml_reader_expect(yaml, YAML_DOCUMENT_END_EVENT, "the end");
	return rc == 0 ? yaml_reader_expect(yaml, YAML_STREAM_END_EVENT, "the end") : rc;
}

int merge_config_read(const char *text, size_t n, struct merge_config *config, struct error *err)
{
	struct config_reader reader = { .config = config };
	int rc;

	*config = (struct merge_config){ .seed = MERGE_CONFIG_SEED };
	if (n > MERGE_CONFIG_MAX)
		return error_set(err, EFBIG, ERROR_NO_OFFSET,
				 "a configuration has at most %zu bytes", MERGE_CONFIG_MAX);
	rc = yaml_reader_open(&reader.yaml, text, n, "a configuration", err);
	if (rc < 0)
		return rc;
	rc = read_document(&reader);
	yaml_reader_close(&reader.yaml);
	return rc == 0 ? merge_config_check(config, err) : rc;
}
