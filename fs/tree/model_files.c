/* SPDX-License-Identifier: MIT */
/* model_files.c - see model_files.h. */
#include "fs/tree/model_files.h"
#include "fs/assemble/block_metadata.h"
#include "fs/assemble/model_view.h"
#include "fs/check/check.h"
#include "fs/files/checksums.h"
#include "fs/files/gguf_hash.h"
#include "fs/files/grafts_list.h"
#include "fs/files/manifest.h"
#include "fs/files/model_picture.h"
#include "fs/files/undo_list.h"
#include "fs/lazy/theta_text.h"
#include "fs/model/organ_file.h"
#include "fs/report/report.h"
#include "fs/report/table.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t stamp_of(void *context, enum generated_kind kind)
{
	const struct model_files *mounted = context;

	if (kind == GENERATED_BASE_PICTURE)
		return 0;
	if (kind == GENERATED_LOG)
		return log_count(mounted->model->log);
	if (kind == GENERATED_ASSEMBLE)
		return assembly_status_generation(mounted->assembly);
	/* Neither ever goes back, so that the sum moves when one of them does. */
	if (kind == GENERATED_MODEL)
		return model_generation(mounted->model) +
		       assembly_view_generation(mounted->assembly);
	return model_generation(mounted->model);
}

static struct view *report_of(struct model_files *mounted, struct figures *figures,
			      lazy_report_print_fn *print)
{
	return figures ? lazy_report_view(mounted->measures, figures, print) : NULL;
}

/* From the file that it was assembled to, in one piece, where there is one. */
static struct view *view_of_model(struct model_files *mounted, const struct snapshot *snapshot,
				  struct error *err)
{
	struct view *layout = model_view(mounted->model, snapshot, false, err);
	struct view *file =
		layout ? assembly_view(mounted->assembly, snapshot->generation, layout) : NULL;

	return file ? file : layout;
}

static struct view *view_of_slots(struct model_files *mounted, enum generated_kind kind,
				  const struct snapshot *snapshot, struct error *err)
{
	struct model *model = mounted->model;

	switch (kind) {
	case GENERATED_MANIFEST:
		return manifest_view(model, mounted->measures, snapshot);
	case GENERATED_MODEL:
		/* In parts it cannot be opened. */
		return model->whole ? view_of_model(mounted, snapshot, err)
				    : view_new(NULL, 0, NULL);
	case GENERATED_PICTURE:
		return report_of(mounted, figures_new(model, snapshot), model_picture_print);
	case GENERATED_BASE_PICTURE:
		return report_of(mounted, figures_of_base(model), model_picture_print);
	case GENERATED_REPORT:
		return report_of(mounted, figures_new(model, snapshot), report_print);
	case GENERATED_CHECKSUMS:
		return checksums_view(model, mounted->hashes, snapshot);
	case GENERATED_GGUF_HASH:
		return gguf_hash_view(model, mounted->hashes, snapshot, &mounted->ending);
	case GENERATED_ROWS:
		return table_view(model, mounted->measures, snapshot);
	case GENERATED_GRAFTS:
		return grafts_list_view(model, snapshot);
	case GENERATED_CHECK:
		return check_view(model, snapshot, &mounted->ending);
	case GENERATED_UNDO:
		return undo_list(model, snapshot);
	default:
		return theta_table(model, mounted->measures, snapshot,
				   (enum organ_class)(kind - GENERATED_TABLES));
	}
}

static struct view *view_of(void *context, enum generated_kind kind, struct error *err)
{
	struct model_files *mounted = context;
	struct snapshot snapshot;
	struct view *view;
	size_t size;
	char *text;

	if (kind == GENERATED_LOG || kind == GENERATED_ASSEMBLE) {
		text = kind == GENERATED_LOG ? log_text(mounted->model->log, &size)
					     : assembly_status(mounted->assembly, &size);
		return view_of_text(text, size);
	}
	block_metadata_show(mounted->model);
	if (model_snapshot(mounted->model, &snapshot) < 0)
		return NULL;
	view = view_of_slots(mounted, kind, &snapshot, err);
	snapshot_release(&snapshot);
	return view;
}

int model_files_init(struct model_files *mounted, struct model *model,
		     const struct mounted_site *site)
{
	const struct generator generator = { .stamp = stamp_of,
					     .view = view_of,
					     .context = mounted,
					     .model = model,
					     .log = model->log };

	*mounted = (struct model_files){ .model = model };
	mounted->measures = tensor_measures_new(model, site->samples, site->measurers);
	mounted->hashes = tensor_hashes_new(model, site->hashers);
	mounted->assembly = assembly_new(model, site->output, site->directory);
	if (site->keep && mounted->assembly)
		assembly_keep(mounted->assembly);
	mounted->generated = generated_new(&generator, site->inodes);
	mounted->space = free_space_new(model->base, model->directory);
	return mounted->measures && mounted->hashes && mounted->assembly && mounted->generated &&
			       mounted->space
		       ? 0
		       : -ENOMEM;
}

void model_files_release(struct model_files *mounted)
{
	generated_free(mounted->generated);
	memo_free(mounted->measures);
	tensor_hashes_free(mounted->hashes);
	assembly_free(mounted->assembly);
	free_space_free(mounted->space);
	shards_unref(mounted->refused);
	*mounted = (struct model_files){ 0 };
}
