/* SPDX-License-Identifier: MIT */
/* models_json.c - see models_json.h. The order of the models is unknown before the measurement, so
 * a single name is padded to the longest. */
#include "fs/report/models_json.h"
#include "fs/metadata/json_value.h"
#include "fs/report/json_out.h"
#include "fs/report/ranking.h"
#include "fs/report/report_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_summaries(struct json_out *json, const struct figures *const *figures,
			    const struct ranked *models, size_t n)
{
	fputs("\"models\":[", json->out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ",\n{\"directory\":" : "\n{\"directory\":", json->out);
		json_out_text(json, models[i].name);
		fputs(",\n", json->out);
		report_json_summary(json, figures[i]);
		fputc('}', json->out);
	}
	fputs("\n]", json->out);
}

static void print_ranks(struct json_out *json, const struct ranked *const *sorted, size_t n)
{
	fputs(",\n\"ranking\":[", json->out);
	for (size_t i = 0; i < n; i++) {
		const struct theta_mean *all = &sorted[i]->all;
		const double measured = (double)all->measured;

		fprintf(json->out, "%s{\"rank\":%zu,\"directory\":", i ? ",\n  " : "\n  ", i + 1);
		json_out_text(json, sorted[i]->name);
		fputs(",\"theta_elements\":", json->out);
		json_out_theta(json, ranking_theta(sorted[i]));
		fputs(",\"theta\":", json->out);
		json_out_theta(json, theta_mean_quotient(all->theta, measured));
		fputs(",\"signal\":", json->out);
		json_out_signal(json, theta_mean_quotient(all->signal, measured));
		fprintf(json->out, ",\"parameters\":%" PRIu64 ",\"tensors\":%zu}",
			sorted[i]->parameters, all->tensors);
	}
	fputs("\n]", json->out);
}

/* Print a law of n models; at most n have a θ. */
static void print_law(struct json_out *json, const char *name, const struct fitted_line *law,
		      size_t n)
{
	fprintf(json->out, "\"%s\":{\"a\":", name);
	json_out_real(json, JSON_WIDTH(4), -4, law->intercept);
	fputs(",\"b\":", json->out);
	json_out_real(json, JSON_WIDTH(4), -4, law->slope);
	fputs(",\"r\":", json->out);
	json_out_real(json, 6, 3, law->r);
	fprintf(json->out, ",\"models\":%*zu}", snprintf(NULL, 0, "%zu", n), law->n);
}

static void print_laws(struct json_out *json, const struct ranked *const *sorted, size_t n)
{
	struct ranking_laws laws;

	fputs(",\n\"law\":", json->out);
	if (n < RANKING_LAW_LEAST) {
		fputs("null", json->out);
		return;
	}
	if (ranking_laws(sorted, n, &laws) < 0) {
		json->failed = true;
		return;
	}
	fputc('{', json->out);
	print_law(json, "theta", &laws.theta, n);
	fputc(',', json->out);
	print_law(json, "signal", &laws.signal, n);
	fputc('}', json->out);
}

/* Width of the widest name in JSON. */
static int widest_name(struct json_out *json, const struct ranked *const *sorted, size_t n)
{
	size_t widest = strlen("null");

	for (size_t i = 0; i < n; i++) {
		char *text = json_string(sorted[i]->name, strlen(sorted[i]->name));

		json->failed |= !text;
		if (text && strlen(text) > widest)
			widest = strlen(text);
		free(text);
	}
	return (int)widest;
}

static void print_padded(struct json_out *json, int width, const char *name)
{
	char *text = name ? json_string(name, strlen(name)) : NULL;

	json->failed |= name && !text;
	fprintf(json->out, "%*s", width, text ? text : "null");
	free(text);
}

static void print_ranges(struct json_out *json, const struct ranked *const *sorted, size_t n)
{
	const int widest = widest_name(json, sorted, n);
	const char *between = "\n  ";

	fputs(",\n\"ranges\":{", json->out);
	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		const struct ranking_range range = ranking_range(sorted, n, klass);

		if (!range.tensors)
			continue;
		fprintf(json->out, "%s\"%s\":{\"tensors\":%zu,\"least\":", between,
			class_name(klass), range.tensors);
		json_out_theta(json, range.least);
		fputs(",\"least_of\":", json->out);
		print_padded(json, widest, range.least_of);
		fputs(",\"most\":", json->out);
		json_out_theta(json, range.most);
		fputs(",\"most_of\":", json->out);
		print_padded(json, widest, range.most_of);
		fputc('}', json->out);
		between = ",\n  ";
	}
	fputs("\n}", json->out);
}

int models_json_print(const struct figures *const *figures, const struct ranked *models, size_t n,
		      FILE *out)
{
	const struct ranked **sorted = ranking_sorted(models, n);
	struct json_out json = { .out = out };

	if (!sorted)
		return -ENOMEM;
	report_json_begin(&json);
	print_summaries(&json, figures, models, n);
	print_ranks(&json, sorted, n);
	print_laws(&json, sorted, n);
	print_ranges(&json, sorted, n);
	fputs("\n}\n", out);
	free(sorted);
	return json.failed ? -ENOMEM : 0;
}
