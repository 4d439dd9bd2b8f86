/* SPDX-License-Identifier: MIT */
/* models_command.c - see models_command.h. */
#include "fs/commands/models_command.h"
#include "fs/base/model_list.h"
#include "fs/base/model_name.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/terminal_text.h"
#include "fs/mount/options.h"
#include "fs/report/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Print one line per model: NAME, a tab and SIZE. */
static void print_lines(const struct model_list *list, FILE *out)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].path)
			fprintf(out, "%s\t%" PRIu64 "\n", list->all[i].name, list->all[i].size);
}

static void print_columns(const struct model_list *list, FILE *out)
{
	const struct terminal terminal = terminal_text_detect_stdout();
	size_t widest = 0, width;

	for (size_t i = 0; i < list->n; i++) {
		width = terminal_text_width(&terminal, list->all[i].name);
		if (list->all[i].path && width > widest)
			widest = width;
	}
	for (size_t i = 0; i < list->n; i++) {
		if (!list->all[i].path)
			continue;
		width = terminal_text_put(&terminal, out, list->all[i].name, SIZE_MAX);
		fprintf(out, "%*s%14" PRIu64 "\n", (int)(widest - width), "", list->all[i].size);
	}
}

/* Returns false if memory is exhausted. */
static bool print_json(const struct model_list *list, FILE *out)
{
	struct json_out json = { .out = out };
	const char *before = "";

	fputc('[', out);
	for (size_t i = 0; i < list->n; i++) {
		const struct model_listed *model = &list->all[i];

		if (!model->path)
			continue;
		fprintf(out, "%s\n  {\"name\": ", before);
		json_out_text(&json, model->name);
		fprintf(out, ", \"size\": %" PRIu64 ", \"file\": ", model->size);
		json_out_text(&json, model->path);
		fputc('}', out);
		before = ",";
	}
	fputs("\n]\n", out);
	return !json.failed;
}

int models_command(const struct options *options)
{
	struct model_list list;
	int rc = model_name_list(&list);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; rc == 0 && i < list.n; i++)
		if (list.all[i].why)
			offline_models_report("%s: passed over: %s", list.all[i].name,
					      list.all[i].why);
	if (rc == 0 && out && options->json)
		rc = print_json(&list, out) ? 0 : -ENOMEM;
	else if (rc == 0 && out)
		(isatty(STDOUT_FILENO) ? print_columns : print_lines)(&list, out);
	if (!out || fclose(out) != 0)
		rc = -ENOMEM;
	rc = rc < 0 ? offline_models_fail("--models", rc) : offline_models_print(text, size);
	free(text);
	model_list_release(&list);
	return rc < 0;
}
