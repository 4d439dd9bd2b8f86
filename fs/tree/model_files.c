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

/* Views that cannot be made for want of memory alone. */
static struct view *view_of_readings(struct model_files *mounted, enum generated_kind kind,
				     const struct snapshot *snapshot, struct error *err)
{
	struct model *model = mounted->model;
	struct memo *measures = mounted->measures;
	struct figures *figures;
	struct view *view = NULL;

	if (kind >= GENERATED_TABLES) {
		view = theta_table(model, measures, snapshot,
				   (enum organ_class)(kind - GENERATED_TABLES));
	} else if (kind == GENERATED_ROWS) {
		view = table_view(model, measures, snapshot);
	} else if (kind == GENERATED_CHECKSUMS) {
		view = checksums_view(model, mounted->hashes, snapshot);
	} else if (kind == GENERATED_GGUF_HASH) {
		view = gguf_hash_view(model, mounted->hashes, snapshot, &mounted->ending);
	} else if (kind == GENERATED_CHECK) {
		view = check_view(model, snapshot, &mounted->ending);
	} else {
		figures = kind == GENERATED_BASE_PICTURE ? figures_of_base(model)
							 : figures_new(model, snapshot);
		if (figures)
			view = lazy_report_view(measures, figures,
						kind == GENERATED_REPORT ? report_print
									 : model_picture_print);
	}
	if (!view)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	return view;
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
				  struct error *err)
{
	struct snapshot snapshot;
	struct view *view;

	if (model_snapshot(mounted->model, &snapshot) < 0) {
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		return NULL;
	}
	if (kind == GENERATED_MODEL && !mounted->model->whole)
		/* It cannot be opened, see mounted_refuses(). */
		view = view_new(NULL, 0, NULL);
	else if (kind == GENERATED_MANIFEST)
		view = manifest_view(mounted->model, mounted->measures, &snapshot, err);
	else if (kind == GENERATED_MODEL)
		view = view_of_model(mounted, &snapshot, err);
	else if (kind == GENERATED_GRAFTS)
		view = grafts_list_view(mounted->model, &snapshot, err);
	else if (kind == GENERATED_UNDO)
		view = undo_list(mounted->model, &snapshot, err);
	else
		view = view_of_readings(mounted, kind, &snapshot, err);
	snapshot_release(&snapshot);
	return view;
}

static struct view *view_of(void *context, enum generated_kind kind, struct error *err)
{
	struct model_files *mounted = context;
	struct view *view;
	size_t size;
	char *text;

	if (kind != GENERATED_LOG && kind != GENERATED_ASSEMBLE) {
		block_metadata_show(mounted->model);
		return view_of_slots(mounted, kind, err);
	}
	text = kind == GENERATED_LOG ? log_text(mounted->model->log, &size)
				     : assembly_status(mounted->assembly, &size);
	view = view_of_text(text, size);
	if (!view)
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
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
