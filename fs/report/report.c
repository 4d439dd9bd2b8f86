/* SPDX-License-Identifier: MIT */
/* report.c - see report.h. Every number has a fixed width, for a known length. */
#include "fs/report/report.h"
#include "fs/lazy/figures.h"
#include "fs/lazy/theta_text.h"
#include "fs/report/card.h"
#include "fs/report/theta_mean.h"
#include "fs/util/plural.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WELLS 8

static void count(struct theta_mean *tally, const struct figure *figure)
{
	theta_mean_add(tally, figure->z, figure->elements);
}

static void print_means(const struct figures *figures, FILE *out)
{
	struct theta_mean all = { 0 };
	double n;

	for (size_t i = 0; i < figures->n; i++)
		count(&all, &figures->figures[i]);
	n = (double)all.measured;
	fputs("\n# theta in degrees, 0 to 90; signal is sin theta\n"
	      "#              theta  signal\n",
	      out);
	fprintf(out, "mean tensors   %5.2f  %6.4f  over %7zu tensors, each counting once\n",
		theta_mean_quotient(all.theta, n), theta_mean_quotient(all.signal, n),
		all.measured);
	fprintf(out, "mean elements  %5.2f  %6.4f  each tensor counting with its elements\n",
		theta_mean_quotient(all.weighted_theta, all.weight),
		theta_mean_quotient(all.weighted_signal, all.weight));
}

static void print_classes(const struct figures *figures, FILE *out)
{
	static const char *const roles[CLASSES] = {
		"attention and other sequence mixing",
		"feed-forward networks, experts, routers",
		"token embedding, output head, output norm",
		"every other norm",
		"LoRA pairs",
		"tensors of no other class",
	};
	struct theta_mean tallies[CLASSES] = { 0 };

	for (size_t i = 0; i < figures->n; i++)
		count(&tallies[figures->figures[i].klass], &figures->figures[i]);
	fputs("\n#     class     tensors   least    mean    most  signal  role\n", out);
	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		const struct theta_mean *t = &tallies[klass];
		const double n = (double)t->measured;

		if (t->tensors)
			fprintf(out, "class %-9s %7zu  %6.2f  %6.2f  %6.2f  %6.4f  %s\n",
				class_name(klass), t->tensors, n > 0 ? t->least : NAN,
				theta_mean_quotient(t->theta, n), n > 0 ? t->most : NAN,
				theta_mean_quotient(t->signal, n), roles[klass]);
	}
}

/* Stars, all of the same length in bytes. */
static const char *stars(double theta)
{
	if (theta >= 89)
		return "★★★";
	if (theta >= 75)
		return "★★   ";
	return theta >= 45 ? "★      " : "-        ";
}

static void print_kinds(const struct figures *figures, FILE *out)
{
	struct theta_mean tallies[KINDS] = { 0 };

	for (size_t i = 0; i < figures->n; i++)
		count(&tallies[figures->figures[i].kind], &figures->figures[i]);
	fputs("\n#    kind           tensors    mean  signal  stars: 45, 75, 89\n", out);
	for (enum tensor_kind kind = 0; kind < KINDS; kind++) {
		const struct theta_mean *t = &tallies[kind];
		const double mean = theta_mean_quotient(t->theta, (double)t->measured);

		if (t->tensors)
			fprintf(out, "kind %-14s %7zu  %6.2f  %6.4f  %s\n", kind_name(kind),
				t->tensors, mean,
				theta_mean_quotient(t->signal, (double)t->measured), stars(mean));
	}
}

/* By rising θ, those without any last; then in file order. */
static int compare_wells(const void *a, const void *b)
{
	const struct figure *const *x = a, *const *y = b;
	const double tx = (*x)->z ? (*x)->z->theta : NAN, ty = (*y)->z ? (*y)->z->theta : NAN;

	if (isnan(tx) != isnan(ty))
		return isnan(tx) ? 1 : -1;
	if (tx < ty || tx > ty)
		return tx < ty ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static int print_wells(const struct figures *figures, FILE *out)
{
	const struct figure **sorted = calloc(figures->n + 1, sizeof(const struct figure *));
	size_t widest = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < figures->n; i++) {
		const size_t width = strlen(figures->figures[i].file);

		sorted[i] = &figures->figures[i];
		widest = width > widest ? width : widest;
	}
	qsort(sorted, figures->n, sizeof(*sorted), compare_wells);
	fputs("\n# gravitational wells: the lowest theta\n"
	      "#     theta  type            status     tensor\n",
	      out);
	for (size_t i = 0; i < figures->n && i < WELLS; i++)
		fprintf(out, "well  %5.2f  %-15s %-10s %-*s\n",
			sorted[i]->z ? sorted[i]->z->theta : NAN, sorted[i]->type,
			theta_status(sorted[i]->z), (int)widest, sorted[i]->file);
	free(sorted);
	return 0;
}

static const char conclusions[] =
	"#\n"
	"# theta says how the weights of a tensor are distributed: near 0 evenly, as noise; 36\n"
	"# a bell curve; near 90 with few weights far out. It does not grade a tensor or a\n"
	"# model, and hardly depends on the quantisation.\n"
	"# The mean over tensors lets a norm count as much as the largest matrix, so between\n"
	"# models it mostly compares how many norms and biases they have. Compare the mean over\n"
	"# elements, and class by class.\n"
	"# As published by the Organ Architecture: the indicators entropy, kurtosis and spacing,\n"
	"# their thresholds, signal and the form of Z. Chosen and calibrated here: the sample,\n"
	"# the bins, the treatment of equal values, how the three combine. Figures published\n"
	"# elsewhere are therefore not reproduced. The wells keep their name; whether a low\n"
	"# theta is good or bad is not claimed. Purifying changes theta by construction, which\n"
	"# is no evidence of a better model.\n";

static void print_words(const struct figures *figures, FILE *out)
{
	size_t low = 0, unmeasured = 0;

	for (size_t i = 0; i < figures->n; i++) {
		const struct zmeasure *z = figures->figures[i].z;

		low += z && z->low_n;
		unmeasured += !z || isnan(z->theta);
	}
	fprintf(out,
		"\n# Uncertain by degrees, having less than 512 values: %zu tensor%s.%*s\n"
		"# Without theta, being of an unknown type or not finite: %zu tensor%s.%*s\n",
		low, plural(low), 21 - snprintf(NULL, 0, "%zu%s", low, plural(low)), "", unmeasured,
		plural(unmeasured), 21 - snprintf(NULL, 0, "%zu%s", unmeasured, plural(unmeasured)),
		"");
	fputs(conclusions, out);
}

int report_print(const struct figures *figures, FILE *out)
{
	fputs("# organfs " ORGANFS_VERSION "\n", out);
	card_print(figures, out);
	print_means(figures, out);
	print_classes(figures, out);
	print_kinds(figures, out);
	if (print_wells(figures, out) < 0)
		return -ENOMEM;
	print_words(figures, out);
	return 0;
}
