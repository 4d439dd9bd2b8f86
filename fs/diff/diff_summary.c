/* SPDX-License-Identifier: MIT */
/* diff_summary.c - see diff_summary.h. Measured numbers have a fixed width, and so has the text. */
#include "fs/diff/diff_summary.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_keys.h"
#include "fs/diff/diff_side.h"
#include "fs/diff/diff_table.h"
#include "fs/lazy/whole_text.h"
#include "fs/tensor/tensor_difference.h"
#include "fs/util/halt.h"
#include "fs/util/text_escape.h"
#include "gguf/anatomy.h"
#include "gguf/organ.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of tensors listed as those most apart, and of each kind that is not compared. */
#define LISTED 10

/* Bytes shown of a tensor's name. */
#define NAME_SHOWN 200

struct diff_summary {
	struct diff *diff; /* owns a reference */
	char *keys;	   /* the part of the text about metadata */
};

/* Sums over some pairs. */
struct diff_mean {
	size_t tensors, same, other, compared;
	double cosine, relative, average; /* sums */
	size_t cosines, relatives;	  /* number of pairs that have one */
};

static void count(struct diff_mean *mean, const struct diff_pair *pair,
		  const struct tensor_difference *d)
{
	mean->tensors++;
	if (!diff_pair_is_comparable(pair))
		mean->other++;
	if (!d || isnan(d->relative))
		return;
	mean->same += d->same;
	mean->compared++;
	mean->average += d->average;
	if (!isnan(d->cosine)) {
		mean->cosine += d->cosine;
		mean->cosines++;
	}
	if (isfinite(d->relative)) {
		mean->relative += d->relative;
		mean->relatives++;
	}
}

static double quotient(double sum, size_t n)
{
	return n ? sum / (double)n : NAN;
}

static void print_mean(const char *what, const char *name, const struct diff_mean *mean, FILE *out)
{
	fprintf(out, "%s %-14s %10zu %10zu %10zu %12.8f %12.6g %12.6g\n", what, name, mean->tensors,
		mean->other, mean->same, quotient(mean->cosine, mean->cosines),
		quotient(mean->relative, mean->relatives), quotient(mean->average, mean->compared));
}

static void print_means(struct diff *diff, bool measured, FILE *out)
{
	struct diff_mean all = { 0 }, classes[CLASSES] = { 0 }, kinds[KINDS] = { 0 };

	for (size_t i = 0; i < diff->n; i++) {
		const struct diff_pair *pair = &diff->pairs[i];
		const struct tensor_difference *d = measured ? diff_result(diff, i) : NULL;
		const struct diff_tensor *tensor = diff_pair_any(pair);

		count(&all, pair, d);
		count(&classes[tensor->klass], pair, d);
		count(&kinds[tensor->kind], pair, d);
	}
	fputs("\n# unpaired: in one model only, or of another shape; same: all bytes equal.\n"
	      "# Means over tensors: the cosine; the length of the difference relative to here;\n"
	      "# the average difference in percent, as `gguf-tools compare` has it.\n"
	      "#                      tensors   unpaired       same       cosine     relative"
	      "      average\n",
	      out);
	print_mean("mean ", "all", &all, out);
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		if (classes[klass].tensors)
			print_mean("class", class_name(klass), &classes[klass], out);
	for (enum tensor_kind kind = 0; kind < KINDS; kind++)
		if (kinds[kind].tensors)
			print_mean("kind ", kind_name(kind), &kinds[kind], out);
}

/* Name of a tensor as it is shown. */
static void show_name(const struct diff_tensor *tensor, char text[3 * NAME_SHOWN + 4])
{
	const struct organ *organ = &tensor->at.organ;
	const bool cut = organ->name_length > NAME_SHOWN;

	text_escape(organ->name, cut ? NAME_SHOWN : organ->name_length, "", text);
	if (cut)
		strcat(text, "...");
}

/* A candidate for the list of pairs most apart. */
struct diff_apart {
	size_t i; /* its number */
	const struct tensor_difference *d;
};

/* Sort key: equal and unmeasured tensors are 0; a difference of NaN sorts after all finite ones. */
static double apartness(const struct diff_apart *apart)
{
	if (!apart->d || apart->d->same)
		return 0;
	return isnan(apart->d->relative) ? DBL_MIN : apart->d->relative;
}

/* Order by falling relative difference, then by pair. */
static int compare_apart(const void *a, const void *b)
{
	const struct diff_apart *x = a, *y = b;
	const double rx = apartness(x), ry = apartness(y);

	if (rx < ry || rx > ry)
		return rx < ry ? 1 : -1;
	return (x->i > y->i) - (x->i < y->i);
}

static int type_width(const struct diff *diff)
{
	char scratch[TYPE_NAME_MAX];
	size_t widest = strlen("there");

	for (size_t i = 0; i < diff->n; i++)
		for (int side = 0; side < 2; side++) {
			const struct diff_tensor *tensor =
				side ? diff->pairs[i].there : diff->pairs[i].here;
			const size_t n =
				tensor ? strlen(type_name(tensor->at.organ.type, scratch)) : 0;

			widest = n > widest ? n : widest;
		}
	return (int)widest;
}

static void print_apart(const struct diff *diff, const struct diff_apart *apart, int types,
			int names, FILE *out)
{
	const struct diff_pair *pair = &diff->pairs[apart->i];
	const struct tensor_difference *d = apart->d;
	char name[3 * NAME_SHOWN + 4], here[TYPE_NAME_MAX], there[TYPE_NAME_MAX];

	show_name(pair->here, name);
	fprintf(out, "most %12.6g %12.8f %12.6g %9.4f  %-*s %-*s %-*s\n",
		diff_table_number(d->relative), diff_table_number(d->cosine),
		diff_table_number(d->largest), diff_table_number(d->theta), types,
		type_name(pair->here->at.organ.type, here), types,
		type_name(pair->there->at.organ.type, there), names, name);
}

/* Print a remark as long as a line of print_apart(), in its place. */
static void print_nothing(int types, int names, FILE *out)
{
	fprintf(out, "# %*s\n", 55 + 2 * types + names, "");
}

/* Collect all comparable pairs that are not known to be equal, into aparts. Returns their number,
 * and in *names the width of the widest name. */
static size_t find_aparts(struct diff *diff, bool measured, struct diff_apart *aparts, int *names)
{
	char name[3 * NAME_SHOWN + 4];
	size_t n = 0;

	*names = 0;
	for (size_t i = 0; i < diff->n; i++) {
		const struct diff_pair *pair = &diff->pairs[i];
		int width;

		if (pair->same || !diff_pair_is_comparable(pair))
			continue;
		show_name(pair->here, name);
		width = (int)strlen(name);
		*names = width > *names ? width : *names;
		aparts[n++] = (struct diff_apart){ i, measured ? diff_result(diff, i) : NULL };
	}
	return n;
}

static int print_most(struct diff *diff, bool measured, FILE *out)
{
	struct diff_apart *aparts = calloc(diff->n + 1, sizeof(*aparts));
	const int types = type_width(diff);
	size_t n;
	int names;

	if (!aparts)
		return -ENOMEM;
	n = find_aparts(diff, measured, aparts, &names);
	qsort(aparts, n, sizeof(*aparts), compare_apart);
	if (n)
		fprintf(out,
			"\n# tensors most apart, by relative difference; theta: there minus here\n"
			"#        relative       cosine      largest     theta  %-*s %-*s tensor\n",
			types, "here", types, "there");
	for (size_t i = 0; i < n && i < LISTED; i++)
		if (apartness(&aparts[i]) == 0)
			print_nothing(types, names, out);
		else
			print_apart(diff, &aparts[i], types, names, out);
	free(aparts);
	return 0;
}

static enum tensor_difference_status unpaired_status(const struct diff_pair *pair)
{
	if (!pair->there)
		return DIFFERENCE_ONLY_HERE;
	if (!pair->here)
		return DIFFERENCE_ONLY_THERE;
	return diff_pair_is_comparable(pair) ? DIFFERENCE_OK : DIFFERENCE_SHAPE;
}

static void print_unpaired(const struct diff_pair *pair, FILE *out)
{
	const enum tensor_difference_status status = unpaired_status(pair);
	char name[3 * NAME_SHOWN + 4], here[SHAPE_TEXT_MAX], there[SHAPE_TEXT_MAX];

	show_name(diff_pair_any(pair), name);
	fprintf(out, "%s %s", tensor_difference_status(status), name);
	if (status == DIFFERENCE_SHAPE) {
		const struct organ *a = &pair->here->at.organ, *b = &pair->there->at.organ;

		fprintf(out, ": %s here, %s there", shape_text(a->ne, a->dims, here),
			shape_text(b->ne, b->dims, there));
	}
	fputc('\n', out);
}

/* Print the tensors without a counterpart, the first ones of each status. */
static void print_all_unpaired(const struct diff *diff, FILE *out)
{
	size_t listed = 0;

	for (enum tensor_difference_status status = DIFFERENCE_SHAPE; status < DIFFERENCE_STATUSES;
	     status++) {
		size_t n = 0;

		for (size_t i = 0; i < diff->n; i++)
			if (unpaired_status(&diff->pairs[i]) == status && n++ < LISTED)
				print_unpaired(&diff->pairs[i], out);
		listed += n;
		if (n > LISTED)
			fprintf(out, "# %s: and %zu more\n", tensor_difference_status(status),
				n - LISTED);
	}
	if (listed)
		fputc('\n', out);
}

static void print_head(const struct diff *diff, FILE *out)
{
	fputs("# organfs " ORGANFS_VERSION "\nhere  ", out);
	text_escape_print(diff->here->name, strlen(diff->here->name), "", out);
	fprintf(out, ", %" PRIu32 " tensors\nthere ", diff->here->n);
	text_escape_print(diff->there->name, strlen(diff->there->name), "", out);
	fprintf(out, ", %" PRIu32 " tensors\n", diff->there->n);
}

static int print(void *context, const struct halt *halt, FILE *out)
{
	const struct diff_summary *summary = context;
	struct diff *diff = summary->diff;
	int rc = halt ? diff_measure(diff, 0, diff->n, halt->reader) : 0;

	if (rc < 0)
		return rc;
	print_head(diff, out);
	print_means(diff, halt != NULL, out);
	rc = print_most(diff, halt != NULL, out);
	fputc('\n', out);
	print_all_unpaired(diff, out);
	fputs(summary->keys, out);
	return rc;
}

static void release(void *context)
{
	struct diff_summary *summary = context;

	diff_unref(summary->diff);
	free(summary->keys);
	free(summary);
}

/* Text about the metadata, to free. NULL with *rc set. */
static char *text_of_keys(const struct diff *diff, int *rc)
{
	struct diff_keys keys;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	*rc = diff_keys_find(&keys, diff->here, diff->there);
	if (!out)
		*rc = -ENOMEM;
	if (*rc == 0) {
		fputs("tokenizer ", out);
		*rc = diff_keys_print_tokenizers(&keys, out);
	}
	if (*rc == 0 && diff_keys_other_basis(&keys))
		fputs("\nbasis     another (*.hadamard.*): the weights are not comparable, and no "
		      "figure above means anything",
		      out);
	if (*rc == 0) {
		fprintf(out, "\n\n# metadata that differ: %zu\n", keys.n);
		*rc = diff_keys_print(&keys, out);
	}
	if (out && fclose(out) != 0)
		*rc = -ENOMEM;
	diff_keys_release(&keys);
	if (*rc == 0)
		return text;
	free(text);
	return NULL;
}

struct view *diff_summary_view(struct diff *diff, int *rc)
{
	static const struct whole_text_ops ops = { print, release };
	struct diff_summary *summary = calloc(1, sizeof(*summary));
	struct view *view;

	*rc = -ENOMEM;
	if (!summary)
		return NULL;
	summary->keys = text_of_keys(diff, rc);
	if (!summary->keys) {
		free(summary);
		return NULL;
	}
	summary->diff = diff_ref(diff);
	view = whole_text_view(whole_text_new(&ops, summary, NULL));
	*rc = view ? 0 : -ENOMEM;
	return view;
}
