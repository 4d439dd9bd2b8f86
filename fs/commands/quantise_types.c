/* SPDX-License-Identifier: MIT */
/* quantise_types.c - see quantise_types.h. */
#include "fs/commands/quantise_types.h"
#include "fs/commands/offline_models.h"
#include "fs/edit/adapter_edit.h"
#include "fs/edit/type_edit.h"
#include "fs/mount/options.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most bytes of lines, as in a mount. */
#define LINES_MAX ((size_t)1 << 20)

/* The text of a file, to free. NULL after a line on stderr. */
static char *read_lines(FILE *in, const char *name)
{
	char *lines = malloc(LINES_MAX + 2);
	/* One byte beyond the limit, to detect a longer file. */
	const size_t n = lines ? fread(lines, 1, LINES_MAX + 1, in) : 0;

	if (!lines || ferror(in)) {
		offline_models_fail(name, lines ? -errno : -ENOMEM);
	} else if (n > LINES_MAX) {
		offline_models_report("%s: there are more than %zu bytes of lines", name,
				      LINES_MAX);
	} else if (memchr(lines, '\0', n)) {
		offline_models_report("%s: not a text: it holds a NUL byte", name);
	} else {
		lines[n] = '\0';
		return lines;
	}
	free(lines);
	return NULL;
}

static int use_importance(struct model *model, const char *path)
{
	struct error err = { 0 };
	char text[320];

	if (adapter_edit_use_importance(model, path, &err) == 0)
		return 0;
	return offline_models_report("%s: no importance matrix for the model: %s", path,
				     error_describe(&err, text, sizeof(text)));
}

static int choose_types(struct model *model, const char *file)
{
	const bool standard = strcmp(file, "-") == 0;
	const char *name = standard ? "standard input" : file;
	FILE *in = standard ? stdin : fopen(file, "re");
	char *lines;
	int rc = -1;

	if (!in)
		return offline_models_fail(name, -errno);
	lines = read_lines(in, name);
	if (lines && type_edit_write(model, name, lines) == 0)
		rc = 0;
	free(lines);
	if (!standard)
		fclose(in);
	return rc;
}

int quantise_types(struct model *model, const struct options *options)
{
	const int rc = options->imatrix ? use_importance(model, options->imatrix) : 0;

	return rc < 0 ? rc : choose_types(model, options->types);
}
