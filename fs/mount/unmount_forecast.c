/* SPDX-License-Identifier: MIT */
/* unmount_forecast.c - see unmount_forecast.h. */
#include "fs/mount/unmount_forecast.h"
#include "fs/files/assembly.h"
#include "fs/model/adapters.h"
#include "fs/model/merge_force.h"
#include "fs/model/slots.h"
#include "fs/mount/mount.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

struct forecast {
	uint32_t models, grafts, adapters, merges, files;
	uint64_t bytes;
	char path[PATH_MAX]; /* of the first file */
};

/* Add the changes of one model. Returns 0 or -ENOMEM. */
static int add_model(const struct mount *fs, const struct model_files *model_files,
		     struct forecast *forecast)
{
	struct model *model = model_files->model;
	struct merge_state *merge = merge_force_get(model);
	struct snapshot snapshot;
	char path[PATH_MAX];
	uint64_t size;

	forecast->models++;
	forecast->merges += merge != NULL;
	merge_state_unref(merge);
	if (model_snapshot(model, &snapshot) < 0)
		return -ENOMEM;
	forecast->grafts +=
		snapshot.grafts - snapshot_merge_grafts(&snapshot, model->gguf->n_tensors);
	forecast->adapters += snapshot.adapters ? snapshot.adapters->n : 0;
	if (mount_assembles(fs) && model->whole && !model->left_alone &&
	    assembly_forecast(model_files->assembly, &snapshot, &size,
			      forecast->files ? path : forecast->path)) {
		forecast->files++;
		forecast->bytes += size;
	}
	snapshot_release(&snapshot);
	return 0;
}

int unmount_forecast_print(const struct mount *fs, const struct model *model, char *text, size_t n)
{
	struct forecast forecast = { 0 };
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < fs->models->n; i++) {
		const struct model_files *model_files = mount_model_files_at(fs, i);

		if (!model || model_files->model == model)
			rc = add_model(fs, model_files, &forecast);
	}
	if (rc < 0)
		return rc;
	return snprintf(text, n,
			"models=%" PRIu32 " grafts=%" PRIu32 " adapters=%" PRIu32 " merges=%" PRIu32
			" files=%" PRIu32 " bytes=%" PRIu64 "%s%s",
			forecast.models, forecast.grafts, forecast.adapters, forecast.merges,
			forecast.files, forecast.bytes, forecast.files ? " path=" : "",
			forecast.path);
}
