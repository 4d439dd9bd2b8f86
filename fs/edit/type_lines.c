/* SPDX-License-Identifier: MIT */
/* type_lines.c - see type_lines.h. */
#include "fs/edit/type_lines.h"
#include "fs/edit/type_edit.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/importance_matrix.h"
#include "gguf/error.h"
#include "gguf/file_type.h"
#include "gguf/quant.h"
#include "gguf/types.h"

#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer regular expressions are refused. */
#define REGEX_MAX 1024

/* State of a slot after the lines so far. */
enum decision { UNNAMED, UNFIT, DECIDED };

struct reading {
	struct model *model;
	struct importance_matrix *importance; /* NULL: none is in force */
	struct type_lines *lines;
	enum decision *decisions; /* one per slot, n slots */
	uint32_t n;
	struct error *err;
};

/* One pattern with its type. */
struct pattern {
	const char *text;
	uint32_t type;
	bool exact;	      /* the name of one slot */
	const regex_t *regex; /* for tensor names; NULL: text is a glob for slots */
};

static bool is_quantised(const struct organ *organ, const char *name, size_t length)
{
	return file_type_counts(name, length, organ->dims) && decode_gives_weights(organ->type);
}

static int refuse(const struct reading *reading, const char *text, const char *why)
{
	return error_set(reading->err, EINVAL, ERROR_NO_OFFSET, "\"%.200s\": %s", text, why);
}

static bool is_named(const struct pattern *pattern, const struct organ_place *place)
{
	char path[ORGAN_PATH_MAX];
	regmatch_t whole = { .rm_so = 0, .rm_eo = (regoff_t)place->tensor_length };

	if (pattern->regex)
		return regexec(pattern->regex, place->tensor, 1, &whole, REG_STARTEND) == 0;
	snprintf(path, sizeof(path), "%s/%s.bin", class_name(place->klass), place->name);
	if (fnmatch(pattern->text, path, 0) == 0)
		return true;
	path[strlen(path) - strlen(".bin")] = '\0';
	return fnmatch(pattern->text, path, 0) == 0;
}

/* Decide for slot i if the pattern names it. Returns 1 if it does, 0, or -EINVAL with err set. */
static int decide(struct reading *reading, const struct pattern *pattern, uint32_t i)
{
	const struct organ_place *place = &reading->model->places[i];
	struct content *own = slots_get_own(reading->model->slots, i);
	struct organ organ = { .ne = { 0 } };
	struct error why = { 0 };
	int rc = 0;

	if (content_is_whiteout(own) || place->klass == CLASS_ADAPTERS || !is_named(pattern, place))
		goto out;
	rc = 1;
	organ = model_organ_in_place(reading->model, i, own);
	if (reading->decisions[i] == DECIDED ||
	    (!pattern->exact && !is_quantised(&organ, place->tensor, place->tensor_length)))
		goto out;
	if (!pattern->exact &&
	    !(encode_fits(pattern->type, organ.ne[0]) &&
	      importance_matrix_allows(reading->importance, &organ, pattern->type))) {
		reading->decisions[i] = UNFIT;
		goto out;
	}
	reading->decisions[i] = DECIDED;
	reading->lines->choices[reading->lines->n++] = (struct type_choice){ i, pattern->type };
	if (pattern->exact && type_edit_check(&organ, pattern->type, reading->importance, &why) < 0)
		rc = refuse(reading, pattern->text, why.text);
out:
	content_unref(own);
	return rc;
}

static int decide_all(struct reading *reading, const struct pattern *pattern)
{
	bool named = false;

	for (uint32_t i = 0; i < reading->n; i++) {
		const int rc = decide(reading, pattern, i);

		if (rc < 0)
			return rc;
		named = named || rc;
	}
	/* A list for several models may name tensors that this one lacks. */
	return named || pattern->regex ? 0
				       : refuse(reading, pattern->text, "there is no such tensor");
}

static int find_type(const struct reading *reading, const char *text, const char *name, bool exact,
		     uint32_t *type)
{
	if (!type_by_name(name, strlen(name), type))
		return refuse(reading, text, "ggml has no such type");
	if (exact)
		return 0;
	if (!quant_supported(*type))
		return refuse(reading, text, "the type has no encoder");
	if (quant_needs_importance(*type) && !reading->importance)
		return refuse(reading, text,
			      "the type needs an importance matrix: " TYPE_EDIT_REMEDY);
	return 0;
}

/* Translate \d and (?:), which POSIX lacks; the group then captures. False: the expression is too
 * long, or has { } or \1, for which the C library takes memory and time without bounds. */
static bool translate(const char *text, size_t n, char regex[REGEX_MAX])
{
	bool in_brackets = false;
	char *to = regex;

	for (size_t i = 0; i < n; i++) {
		if (to + 8 > regex + REGEX_MAX || text[i] == '{')
			return false;
		if (text[i] == '\\' && i + 1 < n) {
			const char *digits = in_brackets ? "0-9" : "[0-9]";

			i++;
			if (text[i] >= '1' && text[i] <= '9')
				return false;
			if (text[i] == 'd')
				to = stpcpy(to, digits);
			else if (in_brackets)
				*to++ = text[i];
			else
				to += sprintf(to, "\\%c", text[i]);
			continue;
		}
		in_brackets = text[i] == '[' || (in_brackets && text[i] != ']');
		*to++ = text[i];
		if (text[i] == '(' && !in_brackets && i + 2 < n && text[i + 1] == '?' &&
		    text[i + 2] == ':')
			i += 2;
	}
	*to = '\0';
	return true;
}

/* REGEX=TYPE */
static int read_option(struct reading *reading, const char *word)
{
	const char *equals = strchr(word, '=');
	struct pattern pattern = { .text = word };
	char text[REGEX_MAX];
	regex_t regex;
	int rc;

	if (!equals || equals == word)
		return refuse(reading, word, "expected CLASS/NAME TYPE or REGEX=TYPE");
	rc = find_type(reading, word, equals + 1, false, &pattern.type);
	if (rc < 0)
		return rc;
	if (!translate(word, (size_t)(equals - word), text) ||
	    regcomp(&regex, text, REG_EXTENDED | REG_NEWLINE) != 0)
		return refuse(reading, word,
			      "the regular expression is invalid, too long, or has {} or \\1");
	pattern.regex = &regex;
	rc = decide_all(reading, &pattern);
	regfree(&regex);
	return rc;
}

/* Read a line, which has no blanks at its ends. */
static int read_line(struct reading *reading, char *line)
{
	static const char blanks[] = " \t";
	char *last = line + strlen(line), *word;
	struct pattern pattern = { .text = line };
	int rc = 0;

	while (last > line && !strchr(blanks, last[-1]))
		last--;
	if (last > line && !strchr(last, '=')) {
		const bool exact = !strpbrk(line, "*?[");

		last[-1] = '\0';
		for (char *end = last - 1; end > line && strchr(blanks, end[-1]); end--)
			end[-1] = '\0';
		pattern.exact = exact;
		rc = find_type(reading, last, last, exact, &pattern.type);
		return rc == 0 ? decide_all(reading, &pattern) : rc;
	}
	while (rc == 0 && (word = strsep(&line, blanks)))
		if (word[0])
			rc = read_option(reading, word);
	return rc;
}

int type_lines_read(struct model *model, char *text, struct type_lines *lines, struct error *err)
{
	const uint32_t n = slots_count(model->slots);
	struct reading reading = { .model = model,
				   .importance = adapters_importance(model),
				   .lines = lines,
				   .n = n,
				   .err = err };
	char *line;
	int rc = 0;

	*lines = (struct type_lines){ .choices = calloc(n + 1u, sizeof(*lines->choices)) };
	reading.decisions = calloc(n + 1u, sizeof(*reading.decisions));
	if (!lines->choices || !reading.decisions)
		rc = error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	while (rc == 0 && (line = strsep(&text, "\n"))) {
		char *end;

		line += strspn(line, " \t");
		end = line + strlen(line);
		while (end > line && strchr(" \t\r", end[-1]))
			*--end = '\0';
		if (line[0] && line[0] != '#')
			rc = read_line(&reading, line);
	}
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		lines->unfit += reading.decisions[i] == UNFIT;
	free(reading.decisions);
	importance_matrix_unref(reading.importance);
	return rc;
}
