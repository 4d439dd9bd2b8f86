/* SPDX-License-Identifier: MIT */
/* check_command.c - see check_command.h. */
#include "fs/commands/check_command.h"
#include "fs/base/base.h"
#include "fs/check/check_origin.h"
#include "fs/check/check_verdict.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/offline_tree.h"
#include "fs/commands/unpacked_sums.h"
#include "fs/model/model.h"
#include "fs/report/json_out.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns 0, or -1 after a line on stderr. */
static int open_donor(struct base *donor, const char *given)
{
	char *name = url_is_remote(given) ? url_shown(given) : strdup(given), text[320];
	struct error err = { 0 };
	int rc = base_open(donor, given, &err);

	if (rc < 0)
		offline_models_report("%s: %s", name ? name : "the donor",
				      error_describe(&err, text, sizeof(text)));
	free(name);
	return rc < 0 ? -1 : 0;
}

/* Find the grafts of which there is no record, among the donors. Returns 0, or -1 after a line on
 * stderr. */
static int find_grafts(struct offline_tree *tree, const struct options *options)
{
	const uint32_t n = options->n_models - 1;
	struct base *donors = calloc(n + 1u, sizeof(*donors));
	bool *unchanged = NULL;
	int rc = donors ? 0 : offline_models_fail(options_name(options, 0), -ENOMEM);

	for (uint32_t i = 0; rc == 0 && i < n; i++)
		rc = open_donor(&donors[i], options->models[i + 1]);
	if (rc == 0)
		rc = unpacked_sums_compare(tree, &unchanged);
	if (rc == 0 && (n || unchanged)) {
		rc = check_origin_find(tree->model, donors, n, unchanged);
		if (rc < 0)
			rc = offline_models_fail(options_name(options, 0), rc);
	}
	/* References hold the files of the donors. */
	for (uint32_t i = 0; donors && i < n; i++)
		base_close(&donors[i]);
	free(donors);
	free(unchanged);
	return rc;
}

/* Print the next field of a line without blanks at its end, and advance *line behind it. */
static void print_field(struct json_out *json, const char *name, char **line, const char *ends)
{
	size_t n = strcspn(*line, ends), shown = n;

	while (shown && (*line)[shown - 1] == ' ')
		shown--;
	fprintf(json->out, "\"%s\": ", name);
	json_out_bytes(json, *line, shown);
	*line += n + ((*line)[n] != '\0');
}

static int print_json(char *lines)
{
	char *text = NULL;
	size_t size;
	struct json_out json = { .out = open_memstream(&text, &size) };
	int rc;

	if (!json.out)
		return offline_models_fail("standard output", -ENOMEM);
	for (const char *before = "[\n{"; *lines; before = ",\n{") {
		fputs(before, json.out);
		print_field(&json, "verdict", &lines, "\t");
		fputs(", ", json.out);
		print_field(&json, "check", &lines, "\t");
		fputs(", ", json.out);
		print_field(&json, "reason", &lines, "\n");
		fputc('}', json.out);
	}
	fputs("\n]\n", json.out);
	json.failed |= fclose(json.out) != 0;
	rc = json.failed ? offline_models_fail("standard output", -ENOMEM)
			 : offline_models_print(text, size);
	free(text);
	return rc;
}

/* The first line is the worst verdict. Returns an exit status. */
static int print_check(struct offline_tree *tree)
{
	const char *worst = verdict_name(VERDICT_IMPOSSIBLE);
	size_t size;
	char *text = offline_tree_text(tree, ".check", &size);
	bool impossible;
	int rc;

	if (!text)
		return 1;
	impossible = strncmp(text, worst, strlen(worst)) == 0;
	rc = tree->options.json ? print_json(text) : offline_models_print(text, size);
	free(text);
	return rc < 0 || impossible;
}

int check_command(const struct options *options)
{
	struct offline_tree tree;
	int rc = offline_tree_open(&tree, options), status = 1;

	if (rc == 0)
		rc = tree.model->whole ? find_grafts(&tree, options) : -1;
	if (rc == 0)
		status = print_check(&tree);
	offline_tree_close(&tree);
	return status;
}
