/* SPDX-License-Identifier: MIT */
/* theta_text.c - see theta_text.h. No number is too wide for its cell: entropy, signal and
 * magnitude have bounds, kurtosis and spacing are at most the number of values, and %.6g of a
 * positive double takes at most 12 bytes. */
#include "fs/lazy/theta_text.h"
#include "fs/lazy/memo.h"
#include "fs/model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *theta_status(const struct zmeasure *z)
{
	return z ? zmeasure_status_name(z->status) : "undecoded";
}

/* Length of the longest status; other columns of a line are padded for shorter ones. */
#define STATUS_WIDTH 9

/* Replace unknown figures by NaN. */
static struct zmeasure with_nan(const struct zmeasure *z)
{
	struct zmeasure all = zmeasure_unknown(ZMEASURE_NONFINITE);

	if (z && z->status != ZMEASURE_NONFINITE)
		all = *z;
	if (!all.has_magnitude)
		all.magnitude = NAN;
	return all;
}

int theta_degrees(char *text, size_t n, const struct zmeasure *z)
{
	return snprintf(text, n, "%5.2f\n", with_nan(z).theta);
}

/* This many digits read back to the same float, and the width holds any such number. */
#define EXACT	      9
#define WIDTH(digits) ((digits) + 7)
#define EXACT_WIDTH   WIDTH(EXACT)

/* A JSON member with a value of width bytes and that many digits, all or after the point. JSON has
 * no NaN. */
struct member {
	const char *name;
	int width, digits;
	bool all;
	double value;
};

static int add_member(char *text, size_t n, const struct member *member)
{
	char number[32] = "null";

	if (isfinite(member->value) && member->all)
		snprintf(number, sizeof(number), "%.*g", member->digits, member->value);
	else if (isfinite(member->value))
		snprintf(number, sizeof(number), "%.*f", member->digits, member->value);
	return snprintf(text, n, ",\"%s\":%*s", member->name, member->width, number);
}

#define INDICATORS 6  /* the first members */
#define FIGURES	   11 /* these, and the description of the values */
#define MEMBERS	   13

static void members_of(const struct zmeasure all, struct member members[MEMBERS])
{
	const double radians = all.theta * M_PI / 180;

	members[0] = (struct member){ "theta", 5, 2, false, all.theta };
	members[1] = (struct member){ "signal", 7, 5, false, all.signal };
	members[2] = (struct member){ "entropy", 8, 6, false, all.entropy };
	members[3] = (struct member){ "kurtosis", 12, 6, true, all.kurtosis };
	members[4] = (struct member){ "spacing", 12, 6, true, all.spacing };
	members[5] = (struct member){ "magnitude", 9, 6, false, all.magnitude };
	members[6] = (struct member){ "min", EXACT_WIDTH, EXACT, true, all.min };
	members[7] = (struct member){ "max", EXACT_WIDTH, EXACT, true, all.max };
	members[8] = (struct member){ "mean", EXACT_WIDTH, EXACT, true, all.mean };
	members[9] = (struct member){ "deviation", EXACT_WIDTH, EXACT, true, all.deviation };
	members[10] = (struct member){ "zeros", EXACT_WIDTH, EXACT, true, all.zeros };
	members[11] = (struct member){ "z_re", 9, 6, false, all.magnitude * cos(radians) };
	members[12] = (struct member){ "z_im", 9, 6, false, all.magnitude * sin(radians) };
}

/* Print the remaining members of a measure. */
static int add_state(char *text, size_t n, const struct zmeasure *z)
{
	const char *status = theta_status(z);

	return snprintf(text, n,
			",\"sampled\":%20" PRIu64 ",\"nonfinite\":%20" PRIu64
			",\"low_n\":%5s,\"status\":%*s\"%s\"",
			z ? z->sampled : 0, z ? z->nonfinite : 0, z && z->low_n ? "true" : "false",
			STATUS_WIDTH - (int)strlen(status), "", status);
}

int theta_json(char *text, size_t n, const struct zmeasure *z)
{
	struct member members[MEMBERS];
	int used = 0;

	members_of(with_nan(z), members);
	for (size_t i = 0; i < MEMBERS; i++)
		used += add_member(text + used, n - (size_t)used, &members[i]);
	return used + add_state(text + used, n - (size_t)used, z);
}

int theta_json_figures(char *text, size_t n, const struct zmeasure *z)
{
	struct member members[MEMBERS];
	int used = 0;

	members_of(with_nan(z), members);
	for (size_t i = 0; i < FIGURES; i++) {
		struct member *member = &members[i];

		/* All but theta, the first member. */
		if (i > 0)
			*member = (struct member){ member->name, EXACT_WIDTH, EXACT, true,
						   member->value };
		used += add_member(text + used, n - (size_t)used, member);
	}
	return used + add_state(text + used, n - (size_t)used, z);
}

/* NaN is printed without a sign. */
static int add_exact(char *text, size_t n, int digits, double value)
{
	if (isnan(value))
		return snprintf(text, n, "%*s\t", WIDTH(digits), "nan");
	return snprintf(text, n, "%*.*g\t", WIDTH(digits), digits, value);
}

/* The columns of THETA_DESCRIBED and a newline. */
static int add_described(char *text, size_t n, const struct member members[MEMBERS])
{
	int used = 0;

	for (size_t i = INDICATORS; i < FIGURES; i++)
		used += add_exact(text + used, n - (size_t)used, EXACT, members[i].value);
	text[used - 1] = '\n';
	return used;
}

int theta_columns(char *text, size_t n, const struct zmeasure *z)
{
	const struct zmeasure all = with_nan(z);
	const char *status = theta_status(z);
	/* Programs skip blanks before a number, but not after a word. */
	const int pad = STATUS_WIDTH - (int)strlen(status);
	struct member members[MEMBERS];
	int used;

	members_of(all, members);
	used = snprintf(text, n, "%5.2f\t%7.5f\t%8.6f\t%12.6g\t%12.6g\t%*.6f\t%s\t", all.theta,
			all.signal, all.entropy, all.kurtosis, all.spacing, 9 + pad, all.magnitude,
			status);
	return used + add_described(text + used, n - (size_t)used, members);
}

int theta_exact(char *text, size_t n, const struct zmeasure *z)
{
	static const int digits[INDICATORS] = { 17, 17, 9, 9, 9, 9 };
	const char *status = theta_status(z);
	const int pad = STATUS_WIDTH - (int)strlen(status);
	struct member members[MEMBERS];
	int used = 0;

	members_of(with_nan(z), members);
	for (size_t i = 0; i < INDICATORS; i++)
		used += add_exact(text + used, n - (size_t)used, digits[i], members[i].value);
	used += snprintf(text + used, n - (size_t)used, "%20" PRIu64 "\t%*" PRIu64 "\t%d\t%s\t",
			 z ? z->sampled : 0, 20 + pad, z ? z->nonfinite : 0, z && z->low_n, status);
	return used + add_described(text + used, n - (size_t)used, members);
}

struct view *theta_file(struct memo *measures, const struct subject *subject)
{
	struct lazy_text *cells = lazy_text_new(measures);

	if (!cells)
		return NULL;
	lazy_text_add(cells, subject, theta_degrees);
	return lazy_text_view(cells);
}

struct view *theta_table(struct model *model, struct memo *measures,
			 const struct snapshot *snapshot, enum organ_class klass)
{
	struct lazy_text *cells = lazy_text_new(measures);
	uint32_t *order = model_order(model, snapshot->n);

	if (!cells) {
		free(order);
		return NULL;
	}
	if (!order)
		lazy_text_fail(cells);
	fputs(lazy_text_add_weights(cells, model) ? THETA_HEADER_WEIGHED : THETA_HEADER,
	      lazy_text_stream(cells));
	for (uint32_t k = 0; order && k < snapshot->n; k++) {
		const uint32_t i = order[k];
		const struct subject subject = { i, snapshot->content[i] };
		char path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX];
		uint64_t elements = 0;
		struct organ organ;

		if (model->places[i].klass != klass || content_is_whiteout(subject.content))
			continue;
		organ = model_organ(model, i, subject.content);
		shape_elements(organ.ne, &elements);
		fprintf(lazy_text_stream(cells), "%s\t%s\t%" PRIu64 "\t",
			model_organ_path(model, i, path), type_name(organ.type, scratch), elements);
		lazy_text_add(cells, &subject, theta_columns);
	}
	free(order);
	return lazy_text_view(cells);
}

static double figure_of(const char *name, const struct zmeasure *z)
{
	struct member members[MEMBERS];

	members_of(with_nan(z), members);
	for (size_t i = 0; i < FIGURES; i++)
		if (strcmp(name, members[i].name) == 0)
			return members[i].value;
	return NAN;
}

bool theta_is_figure(const char *name)
{
	static const struct zmeasure any = { .has_magnitude = true };

	return isfinite(figure_of(name, &any));
}

int theta_figure(const char *name, const struct zmeasure *z, char *text, size_t n)
{
	const double value = figure_of(name, z);

	if (!isfinite(value))
		return -ENODATA;
	return snprintf(text, n, strcmp(name, "theta") == 0 ? "%.2f" : "%.9g", value);
}
