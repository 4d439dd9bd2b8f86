/* SPDX-License-Identifier: MIT */
/* pack_command.c - see pack_command.h. */
#include "fs/commands/pack_command.h"
#include "fs/base/shards.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/offline_tree.h"
#include "fs/commands/quantise_types.h"
#include "fs/commands/stop_signals.h"
#include "fs/commands/terminal_progress.h"
#include "fs/files/assembly.h"
#include "fs/model/model.h"
#include "fs/mount/mount.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <unistd.h>

static bool look(void *context, uint64_t *done, uint64_t *total)
{
	struct assembly_progress progress;

	if (!assembly_progress(context, &progress) || !progress.total)
		return false;
	*done = progress.done;
	*total = progress.total;
	return true;
}

static int pack(const struct offline_tree *tree, struct stop_signals *watch)
{
	const struct options *options = &tree->options;
	struct model *model = tree->model;
	struct assembly *assembly = tree->fs->model_files[model->number].assembly;
	struct terminal_progress *progress =
		terminal_progress_begin(model->name, NULL, look, assembly, model->log);
	const int rc = assembly_run(assembly, options->mountpoint,
				    options->foreground ? REPLACE_ANY : REPLACE_MARKED, getpid(),
				    &watch->stopped);

	terminal_progress_end(progress);
	return rc;
}

/* Does each organ file fit its slot in header.gguf, as a mount demands it of a graft? The header
 * has no size of an unknown type to compare. Returns 0, or -1 after a line on stderr. */
static int check_organs(const struct offline_tree *tree)
{
	const struct model *model = tree->model;
	struct error err = { 0 };
	char path[ORGAN_PATH_MAX];

	for (uint32_t i = 0; model->shards && i < model->gguf->n_tensors; i++) {
		const struct gguf_tensor *tensor = &model->gguf->tensors[i];
		const struct gguf_tensor *listed =
			shards_listed(model->shards, tensor->name, tensor->name_length);
		const struct organ organ = organ_of_tensor(tensor);

		if (listed && type_find(listed->type) &&
		    organ_fits(&organ, listed, model->any_shape, &err) < 0)
			return offline_models_report(
				"%s: %s: graft refused: %s; no file is written",
				options_name(&tree->options, 0), model_organ_path(model, i, path),
				err.text);
	}
	return 0;
}

int pack_command(const struct options *options)
{
	struct offline_tree tree;
	struct stop_signals watch;
	int rc = offline_tree_open(&tree, options);

	if (rc == 0)
		rc = check_organs(&tree);
	if (rc == 0 && options->types)
		rc = quantise_types(tree.model, options);
	if (rc == 0) {
		stop_signals_begin(&watch);
		rc = pack(&tree, &watch);
		stop_signals_end(&watch);
	}
	offline_tree_close(&tree);
	return rc < 0;
}
