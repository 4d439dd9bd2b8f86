/* SPDX-License-Identifier: MIT */
/* json_out.c - see json_out.h. */
#include "fs/report/json_out.h"
#include "fs/metadata/json_value.h"
#include "fs/report/theta_mean.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Whether JSON needs no escapes for the bytes, as for most names. */
static bool is_plain(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '"' || bytes[i] == '\\')
			return false;
	return true;
}

void json_out_bytes(struct json_out *json, const char *bytes, size_t n)
{
	char *text;

	if (bytes && is_plain(bytes, n)) {
		fputc('"', json->out);
		fwrite(bytes, 1, n, json->out);
		fputc('"', json->out);
		return;
	}
	text = bytes ? json_string(bytes, n) : NULL;
	json->failed |= bytes && !text;
	fputs(text ? text : "null", json->out);
	free(text);
}

void json_out_text(struct json_out *json, const char *text)
{
	json_out_bytes(json, text, text ? strlen(text) : 0);
}

void json_out_real(struct json_out *json, int width, int digits, double value)
{
	if (!isfinite(value))
		fprintf(json->out, "%*s", width, "null");
	else if (digits < 0)
		fprintf(json->out, "%*.*g", width, -digits, value);
	else
		fprintf(json->out, "%*.*f", width, digits, value);
}

void json_out_theta(struct json_out *json, double theta)
{
	json_out_real(json, 5, 2, theta);
}

void json_out_signal(struct json_out *json, double signal)
{
	json_out_real(json, 6, 4, signal);
}

void json_out_unsigned(struct json_out *json, uint64_t value, uint64_t unknown)
{
	if (value == unknown)
		fputs("null", json->out);
	else
		fprintf(json->out, "%" PRIu64, value);
}

void json_out_mean(struct json_out *json, const struct theta_mean *mean, uint64_t parameters,
		   uint64_t bytes)
{
	const double n = (double)mean->measured;
	/* At most all tensors are measured. */
	const int width = snprintf(NULL, 0, "%zu", mean->tensors);

	fprintf(json->out, "{\"tensors\":%zu,\"parameters\":%" PRIu64 ",\"bytes\":", mean->tensors,
		parameters);
	json_out_unsigned(json, bytes, UINT64_MAX);
	fprintf(json->out, ",\"measured\":%*zu,\"least\":", width, mean->measured);
	json_out_theta(json, n > 0 ? mean->least : NAN);
	fputs(",\"theta\":", json->out);
	json_out_theta(json, theta_mean_quotient(mean->theta, n));
	fputs(",\"most\":", json->out);
	json_out_theta(json, n > 0 ? mean->most : NAN);
	fputs(",\"signal\":", json->out);
	json_out_signal(json, theta_mean_quotient(mean->signal, n));
	fputs(",\"theta_elements\":", json->out);
	json_out_theta(json, theta_mean_quotient(mean->weighted_theta, mean->weight));
	fputs(",\"signal_elements\":", json->out);
	json_out_signal(json, theta_mean_quotient(mean->weighted_signal, mean->weight));
	fputc('}', json->out);
}
