/* SPDX-License-Identifier: MIT */
/* check_lineage.c - see check_lineage.h. Norms are positive, so that even those of unrelated models
 * have a high cosine; if there are matrices, the matrices decide. */
#include "fs/check/check_lineage.h"
#include "fs/check/check_verdict.h"
#include "fs/tensor/sampling.h"
#include "fs/util/halt.h"
#include "fs/util/plural.h"
#include "gguf/anatomy.h"
#include "gguf/dequant.h"
#include "gguf/reader.h"
#include "measure/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sampled values of each tensor. The error of a cosine of this many is below one hundredth. */
#define COSINE_VALUES ((uint64_t)16384)
#define SPREAD_VALUES ((uint64_t)2048)

#define KIN_MAX	   24 /* pairs of each kind */
#define BLOCKS_MAX 24

#define SAME_BASE 0.9
#define UNRELATED 0.2

static bool is_wanted(void *context)
{
	return !halted(context);
}

bool check_lineage_weights(struct backing *file, const struct gguf_tensor *tensor,
			   struct weights *weights)
{
	weights->file = file;
	weights->offset = tensor->offset;
	weights->type = tensor->type;
	return dequant_supported(tensor->type) && shape_elements(tensor->ne, &weights->elements) &&
	       weights->elements > 0;
}

/* Sampled values, at most `most`, to free. NULL with *rc set. */
static float *values_of(const struct weights *weights, uint64_t most, const struct halt *halt,
			size_t *n, int *rc)
{
	const struct sampling sampling = { .file = weights->file,
					   .offset = weights->offset,
					   .type = weights->type,
					   .elements = weights->elements,
					   .samples = most,
					   .wanted = is_wanted,
					   .context = (void *)(uintptr_t)halt,
					   .stop = halt->reader };
	float *values;

	*n = (size_t)sample_total(weights->elements, most);
	values = malloc((*n + 1) * sizeof(*values));
	*rc = values ? sampling_values(&sampling, values) : -ENOMEM;
	if (*rc == 0)
		return values;
	free(values);
	return NULL;
}

/* Cosine of two vectors, NaN if one is all zeros. */
static double cosine(const float *a, const float *b, size_t n)
{
	double dot = 0, aa = 0, bb = 0;

	for (size_t i = 0; i < n; i++) {
		dot += (double)a[i] * (double)b[i];
		aa += (double)a[i] * (double)a[i];
		bb += (double)b[i] * (double)b[i];
	}
	return aa > 0 && bb > 0 ? dot / sqrt(aa) / sqrt(bb) : NAN;
}

static int cosine_of(const struct tensor_pair *kin, const struct halt *halt, double *result)
{
	size_t n;
	int rc;
	float *ours = values_of(&kin->host, COSINE_VALUES, halt, &n, &rc), *theirs = NULL;

	if (ours)
		theirs = values_of(&kin->donor, COSINE_VALUES, halt, &n, &rc);
	if (theirs)
		*result = cosine(ours, theirs, n);
	free(ours);
	free(theirs);
	return rc;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t n)
{
	if (n == 0)
		return NAN;
	qsort(values, n, sizeof(*values), compare_doubles);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

void check_lineage_judge(const struct cosines *cosines, struct finding *finding)
{
	const bool by_matrices = cosines->matrices > 0;
	const double value = by_matrices ? cosines->of_matrices : cosines->of_norms;

	if (!by_matrices && !cosines->norms) {
		finding_set(finding, VERDICT_UNKNOWN,
			    "no tensors of the same name and shape that can be compared");
		return;
	}
	if (value >= SAME_BASE)
		finding_set(finding, VERDICT_OK, "same base");
	else if (value >= UNRELATED)
		finding_set(finding, VERDICT_RISKY, "distant, as after long further training");
	else
		finding_set(finding, VERDICT_RISKY, "unrelated: expect failure");
	if (by_matrices)
		finding_add(finding, VERDICT_OK, "cosine %.2f over %zu matri%s",
			    cosines->of_matrices, cosines->matrices,
			    cosines->matrices == 1 ? "x" : "ces");
	if (cosines->norms)
		finding_add(finding, VERDICT_OK, "%s%.2f over %zu norm%s",
			    by_matrices ? "" : "cosine ", cosines->of_norms, cosines->norms,
			    plural(cosines->norms));
	finding_add(finding, VERDICT_OK, "thresholds %.1f and %.1f are a rule of thumb", SAME_BASE,
		    UNRELATED);
}

int check_lineage_of_pairs(const struct tensor_pair *pairs, size_t n, const struct halt *halt,
			   struct finding *finding, double *likeness)
{
	double values[2][KIN_MAX];
	size_t count[2] = { 0, 0 }, unread = 0;
	struct cosines cosines;

	for (size_t i = 0; i < n; i++) {
		const bool norm = pairs[i].norm;
		double value = NAN;
		int rc;

		if (count[norm] == KIN_MAX)
			continue;
		rc = cosine_of(&pairs[i], halt, &value);
		if (rc == -EINTR || rc == -ENOMEM)
			return rc;
		unread += rc < 0;
		if (isfinite(value))
			values[norm][count[norm]++] = value;
	}
	cosines = (struct cosines){ count[1], count[0], median(values[1], count[1]),
				    median(values[0], count[0]) };
	*likeness = unread ? NAN : cosines.of_matrices;
	if (unread)
		finding_set(finding, VERDICT_UNKNOWN, "%zu of %zu tensors cannot be read", unread,
			    n);
	else
		check_lineage_judge(&cosines, finding);
	return 0;
}

/* Find the donor's tensor of the same name and shape. */
static bool find_kin(const struct lineage_model *host, const struct lineage_model *donor,
		     uint32_t i, struct tensor_pair *kin)
{
	const struct gguf_tensor *ours = &host->gguf->tensors[i];
	const struct gguf_tensor *theirs = gguf_tensor(donor->gguf, ours->name, ours->name_length);
	const enum organ_class klass = anatomy_class(ours->name, ours->name_length);

	kin->norm = anatomy_kind(ours->name, ours->name_length) == KIND_NORM;
	if (!theirs || memcmp(ours->ne, theirs->ne, sizeof(ours->ne)) != 0)
		return false;
	if (!kin->norm && (ours->ne[1] < 2 || (klass != CLASS_SKELETON && klass != CLASS_ORGANS)))
		return false;
	return check_lineage_weights(host->file, ours, &kin->host) &&
	       check_lineage_weights(donor->file, theirs, &kin->donor);
}

/* Whether to take the next of found candidates, after seen others: `most` at most, spread
 * evenly. */
static bool is_taken(size_t seen, size_t found, size_t most)
{
	return found <= most || seen * most / found != (seen + 1) * most / found;
}

/* A foreign tensor is skipped after the choice, so that the choice does not depend on grafts. */
static bool is_foreign(const struct lineage_model *host, uint32_t i)
{
	return host->foreign && host->foreign[i];
}

int check_lineage_cosines(const struct lineage_model *host, const struct lineage_model *donor,
			  const struct halt *halt, struct finding *finding, double *likeness)
{
	size_t found[2] = { 0, 0 }, seen[2] = { 0, 0 }, n = 0;
	struct tensor_pair pairs[2 * KIN_MAX], kin;

	for (uint32_t i = 0; i < host->gguf->n_tensors; i++)
		if (find_kin(host, donor, i, &kin))
			found[kin.norm]++;
	for (uint32_t i = 0; i < host->gguf->n_tensors && n < 2 * KIN_MAX; i++)
		if (find_kin(host, donor, i, &kin) &&
		    is_taken(seen[kin.norm]++, found[kin.norm], KIN_MAX) && !is_foreign(host, i))
			pairs[n++] = kin;
	return check_lineage_of_pairs(pairs, n, halt, finding, likeness);
}

/* Means of the values and of their squares, of a sample. */
static int moments(const struct weights *weights, uint64_t most, const struct halt *halt,
		   double *mean, double *square)
{
	size_t n;
	int rc;
	float *values = values_of(weights, most, halt, &n, &rc);

	*mean = *square = 0;
	for (size_t i = 0; values && i < n; i++) {
		*mean += (double)values[i] / (double)n;
		*square += (double)values[i] * (double)values[i] / (double)n;
	}
	free(values);
	return rc;
}

int check_lineage_rms(const struct weights *weights, const struct halt *halt, double *rms)
{
	double mean, square;
	const int rc = moments(weights, COSINE_VALUES, halt, &mean, &square);

	*rms = rc == 0 ? sqrt(square) : NAN;
	return rc == -EINTR || rc == -ENOMEM ? rc : 0;
}

static double correlation(const double *x, const double *y, size_t n)
{
	double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < n; i++) {
		mx += x[i] / (double)n;
		my += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		xx += (x[i] - mx) * (x[i] - mx);
		yy += (y[i] - my) * (y[i] - my);
		xy += (x[i] - mx) * (y[i] - my);
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx) / sqrt(yy) : NAN;
}

/* The same for a matrix of that role. */
static bool find_role(const struct lineage_model *host, const struct lineage_model *donor,
		      uint32_t i, const char *role, struct tensor_pair *kin)
{
	const struct gguf_tensor *t = &host->gguf->tensors[i];
	char name[ANATOMY_NAME_MAX + 1];

	anatomy_role(t->name, t->name_length, name);
	return strcmp(name, role) == 0 && find_kin(host, donor, i, kin);
}

static int spread_of(const struct weights *weights, const struct halt *halt, double *spread)
{
	double mean, square;
	const int rc = moments(weights, SPREAD_VALUES, halt, &mean, &square);

	*spread = sqrt(fmax(0, square - mean * mean));
	return rc;
}

/* Correlation of one role's spreads over the blocks, NaN if unknown. Returns as the public ones. */
static int spreads_of(const struct lineage_model *host, const struct lineage_model *donor,
		      const char *role, const struct halt *halt, double *result)
{
	double x[BLOCKS_MAX], y[BLOCKS_MAX];
	size_t found = 0, seen = 0, n = 0;
	struct tensor_pair kin;

	*result = NAN;
	for (uint32_t i = 0; i < host->gguf->n_tensors; i++)
		found += find_role(host, donor, i, role, &kin);
	for (uint32_t i = 0; i < host->gguf->n_tensors && n < BLOCKS_MAX; i++) {
		int rc;

		if (!find_role(host, donor, i, role, &kin) ||
		    !is_taken(seen++, found, BLOCKS_MAX) || is_foreign(host, i))
			continue;
		rc = spread_of(&kin.host, halt, &x[n]);
		if (rc == 0)
			rc = spread_of(&kin.donor, halt, &y[n]);
		if (rc == -EINTR || rc == -ENOMEM)
			return rc;
		n += rc == 0;
	}
	if (n >= 4)
		*result = correlation(x, y, n);
	return 0;
}

int check_lineage_spreads(const struct lineage_model *host, const struct lineage_model *donor,
			  const struct halt *halt, struct finding *finding)
{
	static const char *const roles[] = { "attn_q", "attn_k", "attn_v", "attn_output",
					     "attn_qkv" };
	double sum = 0, value;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		const int rc = spreads_of(host, donor, roles[i], halt, &value);

		if (rc < 0)
			return rc;
		if (isfinite(value)) {
			sum += value;
			n++;
		}
	}
	if (n == 0)
		finding_set(finding, VERDICT_OK,
			    "does not apply: less than 4 blocks whose attention can be compared");
	else if (sum / (double)n > 0.9)
		finding_set(finding, VERDICT_OK,
			    "the spreads of attention vary alike over the blocks: "
			    "correlation %.2f",
			    sum / (double)n);
	else
		finding_set(finding, VERDICT_RISKY,
			    "the spreads of attention vary differently over the blocks: "
			    "correlation %.2f, .9 would support one lineage",
			    sum / (double)n);
	return 0;
}
