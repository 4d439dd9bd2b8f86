/* SPDX-License-Identifier: MIT */
/* merge_plan_template.c - see merge_plan_internal.h: the chat template of a result. "auto" chooses
 * the most frequent template of the models, as mergekit does (merge.py, _set_chat_template()).
 * Models without a template do not count, and blanks around a template are ignored. */
#include "fs/merge/merge_plan.h"
#include "fs/merge/merge_plan_internal.h"
#include "fs/storage/backing.h"
#include "gguf/arena.h"
#include "gguf/reader.h"

#include <stdlib.h>
#include <string.h>

#define KEY "tokenizer.chat_template"

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The model's template without blanks around it, to free. NULL with *rc 0: the model has none. */
static char *read_template(const struct planner *planner, const struct plan_model *model, int *rc)
{
	const struct kv *kv = gguf_find(model->gguf, KEY);
	char *text;
	size_t n, from = 0;

	*rc = 0;
	if (!kv || kv->type != KV_STRING)
		return NULL;
	if (kv->length > MERGE_CONFIG_MAX) {
		*rc = plan_refuse(planner, planner->config,
				  "the chat template of \"%.80s\" has more than %zu bytes",
				  model->name, MERGE_CONFIG_MAX);
		return NULL;
	}
	n = (size_t)kv->length;
	text = malloc(n + 1);
	if (!text)
		*rc = plan_out_of_memory(planner);
	else if (backing_read_with(model->file, BACKING_UNVERIFIED, text, n, kv->offset) < 0)
		*rc = error_set(planner->err, EIO, ERROR_NO_OFFSET,
				"line %zu, column %zu: the metadata of \"%.100s\" cannot be read",
				model->line, model->column, model->name);
	while (*rc == 0 && n && is_blank(text[n - 1]))
		n--;
	while (*rc == 0 && from < n && is_blank(text[from]))
		from++;
	if (*rc < 0 || from == n || memchr(text, '\0', n)) {
		free(text);
		return NULL;
	}
	memmove(text, text + from, n - from);
	text[n - from] = '\0';
	return text;
}

/* The most frequent of n texts, the first one of several; NULL texts do not count. */
static const char *most_frequent(char *const *texts, size_t n)
{
	const char *most = NULL;
	size_t highest = 0;

	for (size_t i = 0; i < n; i++) {
		size_t count = 0;

		for (size_t k = i; texts[i] && k < n; k++)
			count += texts[k] && strcmp(texts[i], texts[k]) == 0;
		if (count > highest) {
			highest = count;
			most = texts[i];
		}
	}
	return most;
}

static int choose(struct planner *planner)
{
	struct merge_plan *plan = planner->plan;
	char **texts = calloc(plan->n_models + 1, sizeof(*texts));
	const char *most;
	int rc = texts ? 0 : plan_out_of_memory(planner);

	for (size_t i = 0; rc == 0 && i < plan->n_models; i++)
		if (!planner->models[i].is_adapter)
			texts[i] = read_template(planner, &planner->models[i], &rc);
	most = rc == 0 ? most_frequent(texts, plan->n_models) : NULL;
	if (most && !(plan->chat_template = arena_copy(plan->arena, most, strlen(most))))
		rc = plan_out_of_memory(planner);
	for (size_t i = 0; texts && i < plan->n_models; i++)
		free(texts[i]);
	free(texts);
	return rc;
}

int plan_chat_template(struct planner *planner)
{
	const char *wanted = planner->config->chat_template;

	if (!wanted)
		return 0;
	if (strcmp(wanted, MERGE_TEMPLATE_AUTO) == 0)
		return choose(planner);
	planner->plan->chat_template = arena_copy(planner->plan->arena, wanted, strlen(wanted));
	return planner->plan->chat_template ? 0 : plan_out_of_memory(planner);
}
