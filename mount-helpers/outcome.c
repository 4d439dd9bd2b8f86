/* SPDX-License-Identifier: MIT */
/* outcome.c - see outcome.h. */
#include "fs/util/io.h"
#include "fs/util/progress_text.h"
#include "fs/util/utf8.h"
#include "mount-helpers/outcome.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEXT_MAX  ((off_t)16 << 20)
#define MODEL_MAX 30 /* letters of a model's name */

/* Most directories printed. Each is searched in the whole text, and a hostile text may have
 * millions of them. */
#define KEPT_MAX 1000

char *outcome_read(int status)
{
	struct stat stat;
	char *text;
	size_t size;
	ssize_t n;

	if (fstat(status, &stat) < 0)
		return NULL;
	size = (size_t)(stat.st_size < TEXT_MAX ? stat.st_size : TEXT_MAX);
	text = malloc(size + 1);
	n = text ? io_read(status, text, size, 0) : -1;
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

bool outcome_state(const char *text, struct outcome_state *state)
{
	char word[16];

	if (sscanf(text, "%15s %" SCNu64 " %" SCNu64 " %" SCNu64, word, &state->done, &state->total,
		   &state->milliseconds) != 4)
		return false;
	state->is_mounted = strcmp(word, "mounted") == 0;
	return true;
}

/* The next line, or NULL. */
static const char *next_line(const char *line)
{
	line = strchr(line, '\n');
	return line && line[1] ? line + 1 : NULL;
}

/* The text of a line that begins with that word, or NULL. */
static const char *text_of(const char *line, const char *word)
{
	const size_t n = strlen(word);

	return strncmp(line, word, n) == 0 && line[n] == '\t' ? line + n + 1 : NULL;
}

void outcome_put(FILE *out, const char *text, size_t n, size_t letters)
{
	uint32_t code;

	for (size_t i = 0, length; i < n && letters--; i += length) {
		length = utf8_next(text + i, &code);
		if (code == UTF8_REPLACEMENT)
			fputc('?', out);
		else
			fwrite(text + i, length, 1, out);
	}
}

static void put_line(FILE *out, const char *text, size_t letters)
{
	outcome_put(out, text, strcspn(text, "\n"), letters);
}

static const char *last_model(const char *text)
{
	const char *model = "", *found;

	for (const char *line = text; line; line = next_line(line)) {
		found = text_of(line, "begin");
		if (found)
			model = found;
	}
	return model;
}

bool outcome_progress(const char *text, char *line, size_t n)
{
	struct outcome_state state;
	FILE *out;

	if (!outcome_state(text, &state) || state.done > state.total)
		return false;
	out = fmemopen(line, n, "w");
	if (!out)
		return false;
	if (state.total) {
		put_line(out, last_model(text), MODEL_MAX);
		fputs(": ", out);
		progress_text(out, state.done, state.total, (double)state.milliseconds / 1e3, NULL);
		if (state.done == state.total)
			fputs(", waiting for the disk", out);
	} else {
		fputs("checking the grafts", out);
	}
	fclose(out);
	line[n - 1] = '\0';
	return true;
}

static void say(FILE *out, const char *name, const char *head, const char *text)
{
	if (name)
		fprintf(out, "%s: ", name);
	fputs(head, out);
	put_line(out, text, SIZE_MAX);
	fputc('\n', out);
}

static bool is_dropped(const char *text, const char *layer)
{
	const size_t n = strcspn(layer, "\n");
	const char *found;

	for (const char *line = text; line; line = next_line(line)) {
		found = text_of(line, "drop");
		if (found && strcspn(found, "\n") == n && memcmp(found, layer, n) == 0)
			return true;
	}
	return false;
}

int outcome_print(const char *text, const char *name, FILE *out, FILE *err)
{
	const char *end = NULL, *found;
	unsigned kept = 0;

	for (const char *line = text; line; line = next_line(line)) {
		if ((found = text_of(line, "failed")) || (found = text_of(line, "gone")) ||
		    (found = text_of(line, "impossible")))
			say(err, name, "", found);
		else if ((found = text_of(line, "done")) && out)
			say(out, NULL, "", found);
		else if ((found = text_of(line, "end")))
			end = found;
	}
	if (end)
		return strcspn(end, "\n") == 1 && (*end == '0' || *end == '2') ? *end - '0' : 1;
	say(err, name, "the daemon ended without finishing", "");
	for (const char *line = text; line && kept <= KEPT_MAX; line = next_line(line)) {
		found = text_of(line, "keep");
		if (found && ++kept > KEPT_MAX)
			say(err, name, "others may be kept, too", "");
		else if (found && !is_dropped(text, found))
			say(err, name, "the grafts are kept in ", found);
	}
	return 1;
}
