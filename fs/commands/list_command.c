/* SPDX-License-Identifier: MIT */
/* list_command.c - see list_command.h. */
#include "fs/commands/list_command.h"
#include "fs/commands/listed_mount.h"
#include "fs/commands/terminal_text.h"
#include "fs/metadata/json_value.h"
#include "fs/mount/options.h"
#include "fs/util/log.h"
#include "fs/util/mountinfo.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 1500

/* Ask the mounts of this user, or all mounts for root. Returns their number. */
static size_t ask(const struct mountinfo *mounts, size_t n, struct listed_mount *listed)
{
	const uid_t user = geteuid();
	size_t asked = 0;

	for (size_t i = 0; i < n; i++)
		if (user == 0 || mountinfo_is_of(&mounts[i], user))
			listed_mount_begin(&listed[asked++], &mounts[i], PATIENCE_MS);
	for (size_t i = 0; i < asked; i++)
		listed_mount_finish(&listed[i]);
	return asked;
}

/* All cells, row by row, with the titles first; each to free. NULL: out of memory. */
static char **make_cells(const struct listed_mount *listed, size_t n)
{
	char **cells = calloc(n + 1, LISTED_COLUMNS * sizeof(*cells));

	for (size_t i = 0; cells && i < (n + 1) * LISTED_COLUMNS; i++)
		cells[i] = i < LISTED_COLUMNS ? strdup(listed_titles[i])
					      : listed_mount_cell(&listed[i / LISTED_COLUMNS - 1],
								  i % LISTED_COLUMNS);
	return cells;
}

static void print_cells(char *const *cells, size_t rows)
{
	const struct terminal terminal = terminal_text_detect_stdout();
	size_t widths[LISTED_COLUMNS] = { 0 }, width;

	for (size_t i = 0; i < rows * LISTED_COLUMNS; i++) {
		width = cells[i] ? terminal_text_width(&terminal, cells[i]) : 0;
		if (width > widths[i % LISTED_COLUMNS])
			widths[i % LISTED_COLUMNS] = width;
	}
	for (size_t i = 0; i < rows * LISTED_COLUMNS; i++) {
		const size_t column = i % LISTED_COLUMNS;
		const bool last = column == LISTED_COLUMNS - 1;

		width = terminal_text_put(&terminal, stdout, cells[i] ? cells[i] : "?", SIZE_MAX);
		if (last)
			putchar('\n');
		else
			printf("%*s", (int)(widths[column] + 2 - width), "");
	}
}

static int print_table(const struct listed_mount *listed, size_t n)
{
	char **cells = n ? make_cells(listed, n) : NULL;

	if (n && !cells)
		return -ENOMEM;
	if (n)
		print_cells(cells, n + 1);
	for (size_t i = 0; cells && i < (n + 1) * LISTED_COLUMNS; i++)
		free(cells[i]);
	free(cells);
	return 0;
}

/* Print one array, with a line for each mount. */
static int print_json(const struct listed_mount *listed, size_t n)
{
	int rc = 0;

	putchar('[');
	for (size_t i = 0; i < n; i++) {
		cJSON *object = listed_mount_json(&listed[i]);
		char *text = object ? cJSON_PrintUnformatted(object) : NULL;

		fputs(i ? ",\n" : "\n", stdout);
		if (text)
			json_print(text, stdout);
		else
			rc = -ENOMEM;
		cJSON_free(text);
		cJSON_Delete(object);
	}
	fputs(n ? "\n]\n" : "]\n", stdout);
	return rc;
}

int list_command(const struct options *options)
{
	size_t n, shown;
	struct mountinfo *mounts = mountinfo_list(&n);
	struct listed_mount *listed = calloc(n + 1, sizeof(*listed));
	int rc = -ENOMEM;

	if (listed) {
		shown = ask(mounts, n, listed);
		rc = options->json ? print_json(listed, shown) : print_table(listed, shown);
	}
	if (rc == 0 && fflush(stdout) != 0)
		rc = -errno;
	if (rc < 0)
		log_error("the list of mounts: %s", strerror(-rc));
	free(listed);
	mountinfo_list_free(mounts, n);
	return rc < 0 ? 1 : 0;
}
