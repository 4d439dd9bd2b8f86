/* SPDX-License-Identifier: MIT */
/* overview.c - see overview.h. */
#include "fs/tree/models_root.h"
#include "fs/files/manifest.h"
#include "fs/tree/models_report.h"
#include "gguf/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files of the root. */
static const enum generated_kind files[] = { GENERATED_MANIFEST, GENERATED_REPORT, GENERATED_LOG };

#define FILES (sizeof(files) / sizeof(files[0]))

struct overview {
	struct mounted *mounted;
	uint32_t n;
	struct log *log;
	struct names *names; /* of the directories, to numbers of models */
	struct generated *generated;
};

static uint64_t stamp_of(void *context, enum generated_kind kind)
{
	const struct overview *overview = context;
	uint64_t stamp = 0;

	if (kind == GENERATED_LOG)
		return log_count(overview->log);
	/* Generations only grow, so their sum says when one of them did. */
	for (uint32_t i = 0; i < overview->n; i++)
		stamp += model_generation(mounted_now(overview->mounted, i)->model);
	return stamp;
}

static char *print_manifest(const struct overview *overview, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	int rc = 0;

	if (!out)
		return NULL;
	fputs("{\n\"organfs\": \"" ORGANFS_VERSION "\",\n\"models\": [", out);
	for (uint32_t i = 0; rc == 0 && i < overview->n; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		rc = manifest_print_model(mounted_now(overview->mounted, i)->model, out);
	}
	fputs("\n]\n}\n", out);
	if (fclose(out) == 0 && rc == 0)
		return text;
	free(text);
	return NULL;
}

static struct view *view_of(void *context, enum generated_kind kind, struct error *err)
{
	const struct overview *overview = context;
	struct view *view;
	size_t size;
	char *text;

	if (kind == GENERATED_REPORT) {
		view = standings_view(overview->mounted, overview->n);
	} else {
		text = kind == GENERATED_LOG ? log_text(overview->log, &size)
					     : print_manifest(overview, &size);
		view = view_of_text(text, size);
	}
	if (!view)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return view;
}

static bool name_models(struct overview *overview)
{
	overview->names = names_new(overview->n);
	for (uint32_t i = 0; overview->names && i < overview->n; i++) {
		const char *name = overview->mounted[i].model->shown;

		if (names_add(overview->names, name, strlen(name), i) < 0)
			return false;
	}
	return overview->names != NULL;
}

struct overview *overview_new(struct mounted *mounted, uint32_t n, struct nodes *nodes,
			      struct log *log)
{
	struct overview *overview = calloc(1, sizeof(*overview));
	const struct generator generator = {
		.stamp = stamp_of,
		.view = view_of,
		.context = overview,
		.mtime = backing_stat(mounted[0].model->base)->st_mtim,
		.log = log,
	};

	if (!overview)
		return NULL;
	overview->mounted = mounted;
	overview->n = n;
	overview->log = log;
	overview->generated = generated_new(&generator, nodes);
	if (overview->generated && name_models(overview))
		return overview;
	overview_free(overview);
	return NULL;
}

void overview_free(struct overview *overview)
{
	if (!overview)
		return;
	generated_free(overview->generated);
	names_free(overview->names);
	free(overview);
}

struct model *overview_model(struct overview *overview, const char *name)
{
	uint32_t i;

	return names_find(overview->names, name, strlen(name), &i)
		       ? mounted_now(overview->mounted, i)->model
		       : NULL;
}

struct node *overview_node(struct overview *overview, const char *name, int *rc)
{
	for (size_t i = 0; i < FILES; i++)
		if (strcmp(name, generated_name(files[i])) == 0)
			return generated_node(overview->generated, files[i], rc);
	return NULL;
}

bool overview_file(struct overview *overview, uint64_t i, char name[NAME_MAX + 1], uint64_t *ino)
{
	if (i >= FILES)
		return false;
	snprintf(name, NAME_MAX + 1, "%s", generated_name(files[i]));
	*ino = generated_ino(overview->generated, files[i]);
	return true;
}
