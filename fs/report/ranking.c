/* SPDX-License-Identifier: MIT */
/* ranking.c - see ranking.h. Every number has a fixed width, for a known length. */
#include "fs/report/ranking.h"
#include "fs/util/plural.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct fitted_line ranking_fit_line(const double *x, const double *y, size_t n)
{
	struct fitted_line line = { NAN, NAN, NAN, n };
	double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;

	for (size_t i = 0; i < n; i++) {
		mx += x[i] / (double)n;
		my += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		xy += (x[i] - mx) * (y[i] - my);
		yy += (y[i] - my) * (y[i] - my);
	}
	if (n < 2 || xx <= 0)
		return line;
	line.slope = xy / xx;
	line.intercept = my - line.slope * mx;
	if (yy > 0)
		line.r = fmax(-1, fmin(1, xy / sqrt(xx * yy)));
	return line;
}

void ranking_count(struct ranked *ranked, enum organ_class klass, uint64_t elements,
		   const struct zmeasure *z)
{
	theta_mean_add(&ranked->all, z, elements);
	theta_mean_add(&ranked->classes[klass], z, elements);
	ranked->parameters += elements;
}

double ranking_theta(const struct ranked *model)
{
	return theta_mean_quotient(model->all.weighted_theta, model->all.weight);
}

/* The highest θ first, models without any last; then by name. */
static int compare(const void *a, const void *b)
{
	const struct ranked *const *x = a, *const *y = b;
	const double tx = ranking_theta(*x), ty = ranking_theta(*y);

	if (isnan(tx) != isnan(ty))
		return isnan(tx) ? 1 : -1;
	if (tx < ty || tx > ty)
		return tx > ty ? -1 : 1;
	return strcmp((*x)->name, (*y)->name);
}

static void print_ranks(const struct ranked *const *sorted, size_t n, FILE *out)
{
	fputs("\n#     rank  theta/elements  theta/tensors  signal       parameters  tensors  "
	      "model\n",
	      out);
	for (size_t i = 0; i < n; i++) {
		const struct theta_mean *all = &sorted[i]->all;
		const double measured = (double)all->measured;

		fprintf(out,
			"model %4zu           %5.2f          %5.2f  %6.4f  %15" PRIu64
			"  %7zu  %s\n",
			i + 1, ranking_theta(sorted[i]), theta_mean_quotient(all->theta, measured),
			theta_mean_quotient(all->signal, measured), sorted[i]->parameters,
			all->tensors, sorted[i]->name);
	}
}

static void print_parts(const struct ranked *const *sorted, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++)
		if (sorted[i]->total)
			fprintf(out, "# %s: only %zu of %" PRIu64 " tensors; not compared\n",
				sorted[i]->name, sorted[i]->all.tensors, sorted[i]->total);
}

/* Print a number in the width of %11.4g; NaN as "-". */
static void print_number(double value, FILE *out)
{
	if (isnan(value))
		fprintf(out, "%11s", "-");
	else
		fprintf(out, "%11.4g", value);
}

static void print_law(const char *what, const struct fitted_line *line, FILE *out)
{
	fprintf(out, "law %-14s ", what);
	print_number(line->intercept, out);
	fputs("  ", out);
	print_number(line->slope, out);
	if (isnan(line->r))
		fprintf(out, "  %6s  %4zu\n", "-", line->n);
	else
		fprintf(out, "  %6.3f  %4zu\n", line->r, line->n);
}

/* Any two points lie on a line. */
static struct fitted_line fit_law(const double *x, const double *y, size_t n)
{
	if (n < RANKING_LAW_LEAST)
		return (struct fitted_line){ NAN, NAN, NAN, n };
	return ranking_fit_line(x, y, n);
}

int ranking_laws(const struct ranked *const *sorted, size_t n, struct ranking_laws *laws)
{
	double *x = calloc(3 * n + 1, sizeof(*x)), *theta = x + n, *signal = x + 2 * n;
	size_t known = 0;

	if (!x)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct theta_mean *all = &sorted[i]->all;

		if (!all->measured || !sorted[i]->parameters)
			continue;
		x[known] = log((double)sorted[i]->parameters);
		theta[known] = all->theta / (double)all->measured;
		signal[known++] = all->signal / (double)all->measured;
	}
	laws->theta = fit_law(x, theta, known);
	laws->signal = fit_law(x, signal, known);
	free(x);
	return 0;
}

static int print_laws(const struct ranked *const *sorted, size_t n, FILE *out)
{
	struct ranking_laws laws;

	/* The length must not depend on measured values; so few models have no law in any case. */
	if (n < RANKING_LAW_LEAST)
		return 0;
	if (ranking_laws(sorted, n, &laws) < 0)
		return -ENOMEM;
	fputs("\n# scale: least squares over the models, value = a + b ln(parameters); r is their\n"
	      "# correlation, n how many models have a theta. Fewer than 3 make no law.\n"
	      "#                           a            b       r     n\n",
	      out);
	print_law("theta/tensors", &laws.theta, out);
	print_law("signal", &laws.signal, out);
	return 0;
}

struct ranking_range ranking_range(const struct ranked *const *sorted, size_t n,
				   enum organ_class klass)
{
	struct ranking_range range = { .least = NAN, .most = NAN };

	for (size_t i = 0; i < n; i++) {
		const struct theta_mean *t = &sorted[i]->classes[klass];
		const double mean = theta_mean_quotient(t->theta, (double)t->measured);

		range.tensors += t->tensors;
		if (!isnan(mean) && !(mean >= range.least)) {
			range.least = mean;
			range.least_of = sorted[i]->name;
		}
		if (!isnan(mean) && !(mean <= range.most)) {
			range.most = mean;
			range.most_of = sorted[i]->name;
		}
	}
	return range;
}

static void print_classes(const struct ranked *const *sorted, size_t n, FILE *out)
{
	int widest = 1;

	for (size_t i = 0; i < n; i++)
		if ((int)strlen(sorted[i]->name) > widest)
			widest = (int)strlen(sorted[i]->name);
	fputs("\n# the mean theta of each class: least and greatest, and its model\n", out);
	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		const struct ranking_range range = ranking_range(sorted, n, klass);

		if (range.tensors)
			fprintf(out, "class %-9s %7zu  %5.2f  %-*s  %5.2f  %-*s\n",
				class_name(klass), range.tensors, range.least, widest,
				range.least_of ? range.least_of : "-", range.most, widest,
				range.most_of ? range.most_of : "-");
	}
}

static const char units[] =
	"\n# theta in degrees, 0 to 90; signal is sin theta. theta/elements: each tensor counts\n"
	"# with its elements; theta/tensors: each counts once, so that norms weigh as much as\n"
	"# matrices. The order grades no model; see the report of each, MODEL/.theta.\n";

const struct ranked **ranking_sorted(const struct ranked *models, size_t n)
{
	const struct ranked **sorted = calloc(n + 1, sizeof(const struct ranked *));

	for (size_t i = 0; sorted && i < n; i++)
		sorted[i] = &models[i];
	if (sorted)
		qsort(sorted, n, sizeof(const struct ranked *), compare);
	return sorted;
}

int ranking_print(const struct ranked *models, size_t n, FILE *out)
{
	const struct ranked **sorted = ranking_sorted(models, n);
	int rc;

	if (!sorted)
		return -ENOMEM;
	fprintf(out, "# %zu model%s, the highest theta over elements first\n", n, plural(n));
	print_ranks(sorted, n, out);
	print_parts(sorted, n, out);
	rc = print_laws(sorted, n, out);
	print_classes(sorted, n, out);
	fputs(units, out);
	free(sorted);
	return rc;
}
