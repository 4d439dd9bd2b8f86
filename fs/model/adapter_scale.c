/* SPDX-License-Identifier: MIT */
/* adapter_scale.c - see adapter_scale.h. */
#include "fs/model/adapter_scale.h"
#include "fs/metadata/value.h"
#include "gguf/error.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define KEEP "norm=keep"

static float float_of(uint64_t bits)
{
	const uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof(value));
	return value;
}

static size_t skip_blanks(const char *text, size_t n, size_t at)
{
	while (at < n && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r')))
		at++;
	return at;
}

static size_t trim(const char *text, size_t n, size_t at)
{
	while (n > at && skip_blanks(text, n, n - 1) == n)
		n--;
	return n;
}

static int add_number(const char *text, size_t length, size_t at, struct adapter_scale *scale,
		      struct error *err)
{
	uint64_t bits;

	if (length == 0)
		return error_set(err, EINVAL, at, "expected a number");
	if (scale->n == ADAPTER_SCALE_NUMBERS)
		return error_set(err, EINVAL, at, "a gradient has at most %d numbers",
				 ADAPTER_SCALE_NUMBERS);
	if (value_scalar_parse(KV_F32, text + at, length, at, &bits, err) < 0)
		return -EINVAL;
	if (!isfinite(float_of(bits)))
		return error_set(err, EINVAL, at, "not a finite number");
	scale->numbers[scale->n++] = (double)float_of(bits);
	return 0;
}

/* Numbers between blanks, or with commas between the brackets of a list. */
static int parse_numbers(const char *text, size_t n, size_t at, struct adapter_scale *scale,
			 struct error *err)
{
	const bool listed = at < n && text[at] == '[';
	bool more = true;

	if (listed && text[--n] != ']')
		return error_set(err, EINVAL, n, "a list ends with \"]\"");
	for (at += listed; more;) {
		size_t end = at = skip_blanks(text, n, at);

		while (end < n && skip_blanks(text, n, end) == end && text[end] != ',')
			end++;
		if (add_number(text, end - at, at, scale, err) < 0)
			return -EINVAL;
		at = skip_blanks(text, n, end);
		more = at < n;
		if (listed && more && text[at++] != ',')
			return error_set(err, EINVAL, at - 1, "expected a comma or \"]\"");
	}
	return 0;
}

int adapter_scale_parse(const char *text, size_t n, struct adapter_scale *scale, struct error *err)
{
	const size_t at = skip_blanks(text, n, 0), keep = strlen(KEEP);

	n = trim(text, n, at);
	*scale = (struct adapter_scale){ .keeps_norm = n - at >= keep &&
						       memcmp(text + n - keep, KEEP, keep) == 0 };
	if (scale->keeps_norm)
		n = trim(text, n - keep, at);
	return parse_numbers(text, n, at, scale, err);
}

size_t adapter_scale_print(const struct adapter_scale *scale, char text[ADAPTER_TEXT_MAX])
{
	size_t at = 0;

	for (uint32_t i = 0; i < scale->n; i++) {
		const float number = (float)scale->numbers[i];
		char word[VALUE_SCALAR_TEXT];
		uint32_t bits;
		size_t n;

		memcpy(&bits, &number, sizeof(bits));
		n = value_scalar_text(KV_F32, bits, word);
		if (i)
			text[at++] = ' ';
		memcpy(text + at, word, n);
		at += n;
	}
	if (scale->keeps_norm) {
		memcpy(text + at, " " KEEP, strlen(" " KEEP));
		at += strlen(" " KEEP);
	}
	text[at++] = '\n';
	text[at] = '\0';
	return at;
}

bool adapter_scale_applies(const struct adapter_scale *scale)
{
	for (uint32_t i = 0; i < scale->n; i++)
		if (scale->numbers[i] != 0.0)
			return true;
	return false;
}
