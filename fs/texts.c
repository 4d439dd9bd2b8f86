/* SPDX-License-Identifier: MIT */
/* texts.c - see texts.h. */
#include "fs/texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void write_name(FILE *out, const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const unsigned char c = (unsigned char)name[i];

		if (c > ' ' && c < 0x7f && c != '%')
			fputc(c, out);
		else
			fprintf(out, "%%%02X", c);
	}
}

/* Its file and its tensor. */
static void write_donor(FILE *out, const struct donor *donor)
{
	const char *tensor = NULL;
	size_t n = 0;

	fputc('\t', out);
	if (donor) {
		write_name(out, donor_path(donor), strlen(donor_path(donor)));
		tensor = donor_tensor(donor, &n);
	} else {
		fputc('-', out);
	}
	fputc('\t', out);
	if (tensor)
		write_name(out, tensor, n);
	else
		fputc('-', out);
}

static void write_graft(FILE *out, struct model *model, uint32_t i, const struct content *content)
{
	char path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX], shape[SHAPE_TEXT_MAX], stamp[32];
	const struct organ *organ = &content->organ;
	struct tm tm;

	fprintf(out, "%s\t%s\t", model_organ_path(model, i, path), content_kind_name(content));
	if (content_is_nothing(content)) {
		fputs("-\t-\t0\t-\t-\t-\t-\n", out);
		return;
	}
	fprintf(out, "%s\t%s\t%" PRIu64 "\t", type_name(organ->type, scratch),
		shape_text(organ->ne, organ->dims, shape), organ->data_size);
	write_name(out, organ->name, organ->name_length);
	gmtime_r(&content->mtime.tv_sec, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fprintf(out, "\t%s", stamp);
	write_donor(out, content->donor);
	fputc('\n', out);
}

struct view *texts_grafts(struct model *model, const struct snapshot *snapshot, struct error *err)
{
	struct view *view = NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out) {
		for (uint32_t i = 0; i < snapshot->n; i++)
			if (snapshot->content[i] && (i < model->gguf->n_tensors ||
						     !content_is_nothing(snapshot->content[i])))
				write_graft(out, model, i, snapshot->content[i]);
		if (fclose(out) == 0)
			view = view_of_text(text, size);
		else
			free(text);
	}
	if (!view)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return view;
}
