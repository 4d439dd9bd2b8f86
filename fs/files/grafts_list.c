/* SPDX-License-Identifier: MIT */
/* grafts_list.c - see grafts_list.h. */
#include "fs/files/grafts_list.h"
#include "fs/metadata/value.h"
#include "fs/model/adapters.h"
#include "fs/util/paths.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void write_time(FILE *out, const struct timespec *time)
{
	char stamp[32];
	struct tm tm;

	gmtime_r(&time->tv_sec, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fputs(stamp, out);
}

/* A field that may be missing, with the tab before it. */
static void write_name(FILE *out, const char *name, size_t n)
{
	fputc('\t', out);
	if (name)
		paths_print(name, n, out);
	else
		fputc('-', out);
}

/* Its file and its tensor. */
static void write_donor(FILE *out, const struct donor *donor)
{
	const char *path = donor ? donor_path(donor) : NULL;
	size_t n = 0;
	const char *tensor = donor ? donor_tensor(donor, &n) : NULL;

	write_name(out, path, path ? strlen(path) : 0);
	write_name(out, tensor, n);
}

static void write_graft(FILE *out, struct model *model, uint32_t i, const struct content *content)
{
	char path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX], shape[SHAPE_TEXT_MAX];
	const struct organ *organ = &content->organ;

	fprintf(out, "%s\t", model_organ_path(model, i, path));
	if (content->kind == CONTENT_MERGED && content->own)
		fprintf(out, "%s ", content_kind_name(content->own));
	fprintf(out, "%s\t", content_kind_name(content));
	if (content_is_whiteout(content)) {
		fputs("-\t-\t0\t-\t-\t-\t-\n", out);
		return;
	}
	fprintf(out, "%s\t%s\t%" PRIu64 "\t", type_name(organ->type, scratch),
		shape_text(organ->ne, organ->dims, shape), organ->data_size);
	paths_print(organ->name, organ->name_length, out);
	fputc('\t', out);
	write_time(out, &content->mtime);
	write_donor(out, content->donor);
	fputc('\n', out);
}

static void write_edit(FILE *out, const struct model *model, const struct metadata_edit *edit)
{
	char type[VALUE_TYPE_TEXT];
	const struct value *value;
	struct timespec mtime;

	fprintf(out, "metadata/%s\t", edit->key.name);
	if (!edit->metadatum) {
		fputs("removed\t-\t-\t0\t-\t-\t-\t-\n", out);
		return;
	}
	value = metadata_entry_value(edit->metadatum);
	mtime = metadata_entry_mtime(edit->metadatum);
	fprintf(out, "%s\t%s\t-\t%" PRIu64 "\t-\t",
		edit->i < model->gguf->n_kv ? "edited" : "added",
		value_type_text(value->type, type), value->length);
	write_time(out, &mtime);
	fputs("\t-\t-\n", out);
}

static void write_adapter(FILE *out, const struct adapter_line *line)
{
	char text[VALUE_SCALAR_TEXT];
	uint32_t bits;

	memcpy(&bits, &line->scale, sizeof(bits));
	value_scalar_text(KV_F32, bits, text);
	fputs("adapters/", out);
	paths_print(line->name, strlen(line->name), out);
	fprintf(out, "\t%sadapter\t%s\t%" PRIu32 "\t%" PRIu64 "\t-\t",
		line->broken ? "broken " : "", text, line->touched, line->bytes);
	write_time(out, &line->mtime);
	write_name(out, line->file, line->file ? strlen(line->file) : 0);
	fputs("\t-\n", out);
}

struct view *grafts_list_view(struct model *model, const struct snapshot *snapshot)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < snapshot->n; i++)
		if (snapshot->content[i] &&
		    (i < model->gguf->n_tensors || !content_is_whiteout(snapshot->content[i])))
			write_graft(out, model, i, snapshot->content[i]);
	for (uint32_t i = 0; snapshot->edits && i < snapshot->edits->n; i++)
		write_edit(out, model, &snapshot->edits->edits[i]);
	for (uint32_t i = 0; snapshot->adapters && i < snapshot->adapters->n; i++)
		write_adapter(out, &snapshot->adapters->lines[i]);
	return view_of_stream(out, &text, &size);
}
