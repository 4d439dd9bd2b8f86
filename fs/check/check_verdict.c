/* SPDX-License-Identifier: MIT */
/* check_verdict.c - see check_verdict.h. */
#include "fs/check/check_verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[VERDICTS] = { "ok", "unknown", "risky", "impossible" };

	return names[verdict];
}

__attribute__((format(printf, 2, 0))) static void append(struct finding *finding,
							 const char *format, va_list values)
{
	const size_t used = strlen(finding->text), room = sizeof(finding->text) - used;
	const int n = vsnprintf(finding->text + used, room, format, values);

	if (n >= 0 && (size_t)n >= room)
		strcpy(finding->text + sizeof(finding->text) - 4, "...");
	/* Model names may have any bytes, and a cut may divide a character. */
	for (char *c = finding->text + used; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			*c = '?';
}

void finding_set(struct finding *finding, enum verdict verdict, const char *format, ...)
{
	va_list values;

	finding->verdict = verdict;
	finding->text[0] = '\0';
	va_start(values, format);
	append(finding, format, values);
	va_end(values);
}

void finding_add(struct finding *finding, enum verdict verdict, const char *format, ...)
{
	const size_t used = strlen(finding->text);
	va_list values;

	if (verdict > finding->verdict)
		finding->verdict = verdict;
	if (used && used + 2 < sizeof(finding->text))
		strcpy(finding->text + used, "; ");
	va_start(values, format);
	append(finding, format, values);
	va_end(values);
}
