/* SPDX-License-Identifier: MIT */
/* model_files.c - see model_files.h. */
#include "fs/tree/model_files.h"
#include "fs/assemble/block_metadata.h"
#include "fs/assemble/model_view.h"
#include "fs/base/shards.h"
#include "fs/check/check.h"
#include "fs/edit/block_order_edit.h"
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "fs/files/assembly.h"
#include "fs/files/checksums.h"
#include "fs/files/grafts_list.h"
#include "fs/files/manifest.h"
#include "fs/files/picture.h"
#include "fs/files/types_list.h"
#include "fs/lazy/figures.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_hashes.h"
#include "fs/lazy/tensor_losses.h"
#include "fs/lazy/tensor_measures.h"
#include "fs/lazy/theta_text.h"
#include "fs/model/merge_force.h"
#include "fs/recipe/recipe_state.h"
#include "fs/report/loss_table.h"
#include "fs/report/report.h"
#include "fs/report/report_json.h"
#include "fs/report/table.h"
#include "fs/storage/free_space.h"
#include "fs/storage/view.h"
#include "fs/tree/diffs.h"
#include "fs/tree/generated.h"
#include "fs/tree/shard_files.h"
#include "fs/util/log.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint64_t stamp_of(void *context, enum generated_kind kind)
{
	const struct model_files *files = context;

	if (kind == GENERATED_BASE_PICTURE)
		return 0;
	if (kind == GENERATED_LOG)
		return log_count(files->model->log);
	if (kind == GENERATED_ASSEMBLE)
		return assembly_status_generation(files->assembly);
	/* Both only grow, so the sum changes whenever one does. */
	if (kind == GENERATED_MODEL)
		return model_generation(files->model) + assembly_view_generation(files->assembly);
	return model_generation(files->model);
}

static struct view *report_of(struct model_files *files, struct figures *figures,
			      lazy_report_print_fn *print)
{
	return figures ? lazy_report_view(files->measures, figures, print) : NULL;
}

/* View of model.gguf: the assembled file, if there is one in one piece, else the layout. */
static struct view *view_of_model(struct model_files *files, const struct snapshot *snapshot,
				  struct error *err)
{
	struct view *layout = model_view(files->model, snapshot, false, err);
	struct view *file =
		layout ? assembly_view(files->assembly, snapshot->generation, layout) : NULL;

	return file ? file : layout;
}

/* View of .recipe. The reason for a missing recipe is written into the file, so that a listing of
 * the directory has no errors. */
static struct view *view_of_recipe(struct model_files *files, const struct snapshot *snapshot,
				   struct error *err)
{
	struct error why = { 0 };
	size_t size = 0;
	char *text;
	int n;

	if (!files->model->whole)
		return view_new(NULL, 0, NULL);
	text = recipe_text_of_model(files->model, snapshot, &files->ancestry, false, &size, &why);
	if (text || why.code == ENOMEM) {
		*err = why;
		return view_of_text(text, size);
	}
	n = asprintf(&text, "# there is no recipe: %s\n", why.text);
	return n < 0 ? NULL : view_of_text(text, (size_t)n);
}

static struct view *view_of_merge(struct model_files *files)
{
	struct merge_state *state = merge_force_get(files->model);
	struct view *view =
		state ? view_of_text(strdup(state->text), state->size) : view_new(NULL, 0, NULL);

	merge_state_unref(state);
	return view;
}

static struct view *view_of_order(struct model *model)
{
	char *text = block_order_edit_text(model);

	return view_of_text(text, text ? strlen(text) : 0);
}

static struct view *view_of_slots(struct model_files *files, enum generated_kind kind,
				  const struct snapshot *snapshot, struct error *err)
{
	struct model *model = files->model;

	switch (kind) {
	case GENERATED_MANIFEST:
		return manifest_view(model, files->measures, snapshot);
	case GENERATED_MODEL:
		/* A model without all shards cannot be opened. */
		return model->whole ? view_of_model(files, snapshot, err) : view_new(NULL, 0, NULL);
	case GENERATED_HEADER:
		return model->whole ? model_view_header(model, snapshot, true, err)
				    : view_new(NULL, 0, NULL);
	case GENERATED_PICTURE:
		return report_of(files, figures_add_weights(figures_new(model, snapshot)),
				 picture_print);
	case GENERATED_BASE_PICTURE:
		return report_of(files, figures_of_base(model), picture_print);
	case GENERATED_THETA:
		return report_of(files, figures_new(model, snapshot), report_print);
	case GENERATED_REPORT_JSON:
		return report_of(files, figures_new(model, snapshot), report_json_print);
	case GENERATED_CHECKSUMS:
		return checksums_view(model, files->hashes, snapshot);
	case GENERATED_GGUF_HASH:
		return checksums_gguf_hash(model, files->hashes, snapshot, &files->ending);
	case GENERATED_TABLE:
		return table_view(model, files->measures, snapshot);
	case GENERATED_GRAFTS:
		return grafts_list_view(model, snapshot);
	case GENERATED_CHECK:
		return check_view(model, snapshot, &files->ending);
	case GENERATED_RECIPE:
		return view_of_recipe(files, snapshot, err);
	case GENERATED_MERGE:
		return view_of_merge(files);
	case GENERATED_ORDER:
		return view_of_order(model);
	case GENERATED_TYPES:
		return types_list_view(model, snapshot);
	case GENERATED_UNDO:
		return grafts_list_undo(model, snapshot);
	default:
		if (kind >= GENERATED_LOSSES)
			return loss_table_view(model, files->losses, snapshot,
					       kind - GENERATED_LOSSES);
		return theta_table(model, files->measures, snapshot,
				   (enum organ_class)(kind - GENERATED_CLASS_THETA));
	}
}

static struct view *view_of(void *context, enum generated_kind kind, struct error *err)
{
	struct model_files *files = context;
	struct snapshot snapshot;
	struct view *view;
	size_t size;
	char *text;

	if (kind == GENERATED_LOG || kind == GENERATED_ASSEMBLE) {
		text = kind == GENERATED_LOG ? log_text(files->model->log, &size)
					     : assembly_status(files->assembly, &size);
		return view_of_text(text, size);
	}
	block_metadata_show(files->model);
	/* A model must not be read amid a publication. */
	if ((kind == GENERATED_MODEL || kind == GENERATED_HEADER
		     ? journal_snapshot(files->model, &snapshot)
		     : model_snapshot(files->model, &snapshot)) < 0)
		return NULL;
	view = view_of_slots(files, kind, &snapshot, err);
	snapshot_release(&snapshot);
	return view;
}

int model_files_init(struct model_files *files, struct model *model,
		     const struct model_files_params *params)
{
	const struct generator generator = { .stamp = stamp_of,
					     .view = view_of,
					     .context = files,
					     .model = model,
					     .log = model->log };

	const struct diffs_params diffs = { .model = model,
					    .inodes = params->inodes,
					    .samples = params->samples,
					    .pool = params->differs,
					    .ending = &files->ending };

	*files = (struct model_files){ .model = model };
	recipe_ancestry_init(&files->ancestry);
	recipe_lineage_init(&files->lineage, model, &files->ancestry);
	if (params->lineage)
		recipe_lineage_show(&files->lineage);
	files->measures = tensor_measures_new(model, params->samples, params->measurers);
	files->hashes = tensor_hashes_new(model, params->hashers);
	files->losses = tensor_losses_new(model, params->hashers);
	files->assembly = assembly_new(model, params->output, params->directory);
	if (files->assembly && params->confined)
		assembly_set_confined(files->assembly);
	if (params->keep && files->assembly)
		assembly_keep(files->assembly);
	files->generated = generated_new(&generator, params->inodes);
	files->diffs = diffs_new(&diffs);
	files->shards = shard_files_new(model, params->inodes);
	files->space = free_space_new(model->base, model->directory);
	return files->measures && files->hashes && files->losses && files->assembly &&
			       files->generated && files->diffs && files->shards && files->space
		       ? 0
		       : -ENOMEM;
}

void model_files_release(struct model_files *files)
{
	generated_free(files->generated);
	diffs_free(files->diffs);
	shard_files_free(files->shards);
	memo_free(files->measures);
	tensor_hashes_free(files->hashes);
	tensor_losses_free(files->losses);
	assembly_free(files->assembly);
	free_space_free(files->space);
	shards_unref(files->refused);
	if (files->model) {
		recipe_lineage_release(&files->lineage);
		recipe_ancestry_release(&files->ancestry);
	}
	*files = (struct model_files){ 0 };
}
