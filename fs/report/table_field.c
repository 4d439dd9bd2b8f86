/* SPDX-License-Identifier: MIT */
/* table_field.c - see table_field.h. */
#include "fs/report/table_field.h"
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

/* What a status promises of the angle. */
static bool is_sound(const struct zmeasure *z, bool known)
{
	if (!known || z->status == ZMEASURE_NONFINITE)
		return isnan(z->theta) && isnan(z->signal);
	return z->theta >= 0 && z->theta <= 90 && z->signal >= 0 && z->signal <= 1;
}

bool table_measure(char *const fields[THETA_EXACT_COLUMNS], struct zmeasure *z, bool *known)
{
	double *const reals[] = { &z->theta,	&z->signal,  &z->entropy,
				  &z->kurtosis, &z->spacing, &z->magnitude };
	const size_t n = sizeof(reals) / sizeof(reals[0]);
	uint64_t few;

	*z = (struct zmeasure){ .status = ZMEASURE_OK };
	for (size_t i = 0; i < n; i++)
		if (!table_real(fields[i], reals[i]))
			return false;
	if (!table_unsigned(fields[n], UINT64_MAX, &z->sampled) ||
	    !table_unsigned(fields[n + 1], UINT64_MAX, &z->nonfinite) ||
	    !table_unsigned(fields[n + 2], 1, &few))
		return false;
	z->low_n = few;
	z->has_magnitude = !isnan(z->magnitude);
	*known = strcmp(fields[n + 3], theta_status(NULL)) != 0;
	return (!*known || status_of(fields[n + 3], &z->status)) && is_sound(z, *known);
}
