/* SPDX-License-Identifier: MIT */
/* merge_parameters_read.c - see merge_config_internal.h: parameters are numbers or gradients, for
 * all tensors or for those that a filter names. */
#include "fs/merge/merge_config_internal.h"
#include "fs/util/array_grown.h"

#include <math.h>
#include <string.h>

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

/* Parse a decimal number or a truth value. Returns false if the event is neither. strtod() also
 * takes hexadecimal, "inf" and "nan", so texts with other letters are refused first. */
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

/* The largest value of a parameter that must not be negative; 0: any number is allowed. */
static unsigned most_of(enum merge_parameter which)
{
	switch (which) {
	case MERGE_DENSITY:
	case MERGE_GAMMA:
	case MERGE_EPSILON:
	case MERGE_EPS:
	case MERGE_TOL:
	case MERGE_SELECT_TOPK:
		return 1;
	case MERGE_MAX_ITER:
		return 1000;
	default:
		return 0;
	}
}

static int add_number(struct config_reader *reader, enum merge_parameter which, size_t *room,
		      struct merge_condition *condition)
{
	const unsigned most = most_of(which);
	double number, *numbers;

	if (reader->yaml.event.type != YAML_SCALAR_EVENT || !get_number(reader, &number))
		return refuse(reader, "expected a number");
	if (most && !(number >= 0.0 && number <= most))
		return refuse(reader, "\"%s\" is between 0 and %u", merge_config_parameters[which],
			      most);
	if (condition->n == MERGE_CONFIG_NUMBERS)
		return refuse(reader, "a gradient has at most %d values", MERGE_CONFIG_NUMBERS);
	numbers = array_grown(condition->numbers, condition->n, room, sizeof(number));
	if (!numbers)
		return yaml_reader_out_of_memory(&reader->yaml);
	condition->numbers = numbers;
	numbers[condition->n++] = number;
	return 0;
}

/* Read the rest of a gradient, from the event on. */
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

/* Read the next value: a number, or a list of numbers. */
static int read_numbers(struct config_reader *reader, enum merge_parameter which,
			struct merge_condition *condition)
{
	size_t room = 0;
	int rc = yaml_reader_next(&reader->yaml);

	if (rc < 0 || reader->yaml.event.type != YAML_SEQUENCE_START_EVENT)
		return rc < 0 ? rc : add_number(reader, which, &room, condition);
	rc = yaml_reader_next(&reader->yaml);
	if (rc == 0 && reader->yaml.event.type == YAML_SEQUENCE_END_EVENT)
		return refuse(reader, "expected a number");
	return rc == 0 ? read_gradient(reader, which, condition) : rc;
}

/* A condition that is being read, and the parameter that it belongs to. */
struct condition_of {
	struct merge_condition *condition;
	enum merge_parameter which;
};

static int read_filter(struct config_reader *reader, void *into)
{
	const struct condition_of *of = into;
	const int rc = merge_read_text(reader, "a filter", &of->condition->filter);

	/* mergekit's filter for every tensor. */
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

/* Append a condition of zeros. NULL: out of memory. */
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

/* Read the conditions of a list, from the mapping that begins with the event. */
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
		rc = merge_read_mapping(reader, condition_keys, 2, &of, &seen);
		if (rc == 0 && of.condition->n == 0)
			return yaml_reader_refuse_at(&reader->yaml, &start, "\"value\" is missing");
		if (rc == 0)
			rc = yaml_reader_next(&reader->yaml);
	}
	if (rc == 0 && reader->yaml.event.type != YAML_SEQUENCE_END_EVENT)
		return refuse(reader, "expected a filter and its value");
	return rc;
}

/* Read a parameter's value: a number, a list of numbers, or a list of filters with values. */
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
		return refuse(reader, "expected a number, or a filter and its value");
	condition = add_condition(setting, &room);
	if (!condition)
		return yaml_reader_out_of_memory(&reader->yaml);
	return list ? read_gradient(reader, which, condition)
		    : add_number(reader, which, &numbers, condition);
}

int merge_read_seed(struct config_reader *reader, void *into)
{
	int rc;

	(void)into;
	if (reader->seeded)
		return yaml_reader_refuse_key(&reader->yaml, "occurs twice");
	reader->seeded = true;
	rc = merge_expect_word(reader, "a whole number");
	if (rc == 0 && !yaml_reader_whole(&reader->yaml, UINT64_MAX, &reader->config->seed))
		return refuse(reader, "expected a whole number below 2^64");
	return rc;
}

/* Read a parameter, whose name is the event. */
static int read_parameter(struct config_reader *reader, struct merge_parameters *parameters)
{
	enum merge_parameter which = 0;
	struct merge_setting *setting;

	if (reader->yaml.event.type != YAML_SCALAR_EVENT)
		return refuse(reader, "expected the name of a parameter");
	if (parameters == &reader->config->parameters &&
	    yaml_reader_is(&reader->yaml, "random_seed"))
		return merge_read_seed(reader, NULL);
	while (which < MERGE_PARAMETERS &&
	       !yaml_reader_is(&reader->yaml, merge_config_parameters[which]))
		which++;
	if (which == MERGE_PARAMETERS)
		return yaml_reader_refuse_key(&reader->yaml, "is not a supported parameter");
	setting = &parameters->settings[which];
	if (setting->n)
		return yaml_reader_refuse_key(&reader->yaml, "occurs twice");
	merge_set_place(reader, &setting->line, &setting->column);
	return read_setting(reader, which, setting);
}

int merge_read_parameters(struct config_reader *reader, struct merge_parameters *parameters)
{
	int rc = yaml_reader_next(&reader->yaml);

	if (rc == 0 && reader->yaml.event.type == YAML_SCALAR_EVENT &&
	    reader->yaml.event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    (yaml_reader_is(&reader->yaml, "") || yaml_reader_is(&reader->yaml, "null") ||
	     yaml_reader_is(&reader->yaml, "~")))
		return 0;
	if (rc == 0 && reader->yaml.event.type != YAML_MAPPING_START_EVENT)
		return refuse(reader, "expected parameters");
	if (rc == 0)
		rc = yaml_reader_next(&reader->yaml);
	while (rc == 0 && reader->yaml.event.type != YAML_MAPPING_END_EVENT) {
		rc = read_parameter(reader, parameters);
		if (rc == 0)
			rc = yaml_reader_next(&reader->yaml);
	}
	return rc;
}
