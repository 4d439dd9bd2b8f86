/* SPDX-License-Identifier: MIT */
/* models_root.c - see models_root.h. */
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

struct models_root {
	struct model_files *mounted;
	uint32_t n;
	struct log *log;
	struct names *names; /* of the directories, to numbers of models */
	struct generated *generated;
};

static uint64_t stamp_of(void *context, enum generated_kind kind)
{
	const struct models_root *overview = context;
	uint64_t stamp = 0;

	if (kind == GENERATED_LOG)
		return log_count(overview->log);
	/* Generations only grow, so their sum says when one of them did. */
	for (uint32_t i = 0; i < overview->n; i++)
		stamp += model_generation(model_files_current(overview->mounted, i)->model);
	return stamp;
}

static char *print_manifest(const struct models_root *overview, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	int rc = 0;

	if (!out)
		return NULL;
	fputs("{\n\"organfs\": \"" ORGANFS_VERSION "\",\n\"models\": [", out);
	for (uint32_t i = 0; rc == 0 && i < overview->n; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		rc = manifest_print_model(model_files_current(overview->mounted, i)->model, out);
	}
	fputs("\n]\n}\n", out);
	if (fclose(out) == 0 && rc == 0)
		return text;
	free(text);
	return NULL;
}

static struct view *view_of(void *context, enum generated_kind kind, struct error *err)
{
	const struct models_root *overview = context;
	struct view *view;
	size_t size;
	char *text;

	if (kind == GENERATED_REPORT) {
		view = models_report_view(overview->mounted, overview->n);
	} else {
		text = kind == GENERATED_LOG ? log_text(overview->log, &size)
					     : print_manifest(overview, &size);
		view = view_of_text(text, size);
	}
	if (!view)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return view;
}

static bool name_models(struct models_root *overview)
{
	overview->names = names_new(overview->n);
	for (uint32_t i = 0; overview->names && i < overview->n; i++) {
		const char *name = overview->mounted[i].model->shown;

		if (names_add(overview->names, name, strlen(name), i) < 0)
			return false;
	}
	return overview->names != NULL;
}

struct models_root *models_root_new(struct model_files *mounted, uint32_t n, struct inodes *inodes,
				    struct log *log)
{
	struct models_root *overview = calloc(1, sizeof(*overview));
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
	overview->generated = generated_new(&generator, inodes);
	if (overview->generated && name_models(overview))
		return overview;
	models_root_free(overview);
	return NULL;
}

void models_root_free(struct models_root *overview)
{
	if (!overview)
		return;
	generated_free(overview->generated);
	names_free(overview->names);
	free(overview);
}

struct model *models_root_find(struct models_root *overview, const char *name)
{
	uint32_t i;

	return names_find(overview->names, name, strlen(name), &i)
		       ? model_files_current(overview->mounted, i)->model
		       : NULL;
}

struct inode *models_root_inode(struct models_root *overview, const char *name, int *rc)
{
	for (size_t i = 0; i < FILES; i++)
		if (strcmp(name, generated_name(files[i])) == 0)
			return generated_inode(overview->generated, files[i], rc);
	return NULL;
}

bool models_root_file(struct models_root *overview, uint64_t i, char name[NAME_MAX + 1],
		      uint64_t *ino)
{
	if (i >= FILES)
		return false;
	snprintf(name, NAME_MAX + 1, "%s", generated_name(files[i]));
	*ino = generated_ino(overview->generated, files[i]);
	return true;
}
