/* SPDX-License-Identifier: MIT */
/* error.c - see error.h. */
#include "error.h"
#include "printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, uint64_t offset, const char *format, ...)
{
	va_list args;

	if (!err)
		return -code;
	err->code = code;
	err->offset = offset;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	make_printable(err->text);
	return -code;
}

int error_errno(struct error *err, int code)
{
	return error_set(err, code, ERROR_NO_OFFSET, "%s",
			 code == ENOMEM ? "out of memory" : strerror(code));
}

const char *error_describe(const struct error *err, char *text, int n)
{
	if (err->offset == ERROR_NO_OFFSET)
		snprintf(text, (size_t)n, "%s", err->text);
	else
		snprintf(text, (size_t)n, "at byte %" PRIu64 ": %s", err->offset, err->text);
	return text;
}
