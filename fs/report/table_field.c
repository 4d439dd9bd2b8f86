/* SPDX-License-Identifier: MIT */
/* table_field.c - see table_field.h. */
#include "fs/report/table_field.h"
#include "fs/util/text_escape.h"
#include "gguf/types.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool table_get(char *field, size_t *n)
{
	for (const char *at = field; (at = strchr(at, '%')); at++)
		if (text_unescape_byte(at) < 0)
			return false;
	*n = text_unescape(field);
	return true;
}

bool table_unsigned(const char *field, uint64_t most, uint64_t *value)
{
	char *end;

	field += strspn(field, " ");
	if (*field < '0' || *field > '9')
		return false;
	errno = 0;
	*value = strtoull(field, &end, 10);
	return !*end && !errno && *value <= most;
}

bool table_real(const char *field, double *value)
{
	const char *digits;
	char *end;

	field += strspn(field, " ");
	digits = field + (*field == '-');
	if (strcmp(digits, "nan") != 0 && strcmp(digits, "inf") != 0 &&
	    (!*digits || digits[strspn(digits, "0123456789+-.e")]))
		return false;
	*value = strtod(field, &end);
	return !*end;
}

bool table_shape(const char *field, uint64_t *elements)
{
	uint64_t ne[GGML_AXES] = { 1, 1, 1, 1 };
	char *end;

	for (int axis = 0; axis < GGML_AXES; axis++) {
		if (*field < '0' || *field > '9')
			return false;
		errno = 0;
		ne[axis] = strtoull(field, &end, 10);
		if (errno)
			return false;
		if (!*end)
			return shape_elements(ne, elements);
		if (*end != 'x')
			return false;
		field = end + 1;
	}
	return false;
}

static bool status_of(const char *name, enum zmeasure_status *status)
{
	for (*status = ZMEASURE_OK; *status <= ZMEASURE_NONFINITE; (*status)++)
		if (strcmp(name, zmeasure_status_name(*status)) == 0)
			return true;
	return false;
}

static bool is_within(double value, double least, double most)
{
	return isnan(value) || (value >= least && value <= most);
}

/* Whether the measure is possible: θ and signal fit the status, and the values are consistent. */
static bool is_sound(const struct zmeasure *z, bool known)
{
	if (z->min > z->max || !is_within(z->deviation, 0, INFINITY) || !is_within(z->zeros, 0, 1))
		return false;
	if (!known || z->status == ZMEASURE_NONFINITE)
		return isnan(z->theta) && isnan(z->signal);
	return z->theta >= 0 && z->theta <= 90 && z->signal >= 0 && z->signal <= 1;
}

static bool take_reals(char *const *fields, double *const *reals, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!table_real(fields[i], reals[i]))
			return false;
	return true;
}

bool table_measure(char *const fields[THETA_EXACT_COLUMNS], size_t n, struct zmeasure *z,
		   bool *known)
{
	double *const indicators[] = { &z->theta,    &z->signal,  &z->entropy,
				       &z->kurtosis, &z->spacing, &z->magnitude };
	double *const described[] = { &z->min, &z->max, &z->mean, &z->deviation, &z->zeros };
	const size_t few = sizeof(indicators) / sizeof(indicators[0]);
	const char *status = fields[THETA_EXACT_FIRST_COLUMNS - 1];
	uint64_t low_n;

	*z = (struct zmeasure){ .status = ZMEASURE_OK };
	z->min = z->max = z->mean = z->deviation = z->zeros = NAN;
	if (!take_reals(fields, indicators, few) ||
	    !take_reals(fields + THETA_EXACT_FIRST_COLUMNS, described,
			n - THETA_EXACT_FIRST_COLUMNS) ||
	    !table_unsigned(fields[few], UINT64_MAX, &z->sampled) ||
	    !table_unsigned(fields[few + 1], UINT64_MAX, &z->nonfinite) ||
	    !table_unsigned(fields[few + 2], 1, &low_n))
		return false;
	z->low_n = low_n;
	z->has_magnitude = !isnan(z->magnitude);
	*known = strcmp(status, theta_status(NULL)) != 0;
	return (!*known || status_of(status, &z->status)) && is_sound(z, *known);
}
