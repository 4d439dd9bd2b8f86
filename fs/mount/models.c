/* SPDX-License-Identifier: MIT */
/* models.c - see models.h. */
#include "fs/mount/models.h"
#include "fs/base/organ_files.h"
#include "fs/edit/recover.h"
#include "fs/layer/layer.h"
#include "fs/merge/merge_note.h"
#include "fs/model/inode.h"
#include "fs/model/merge_force.h"
#include "fs/mount/options.h"
#include "fs/storage/backing.h"
#include "fs/storage/remote_cache.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/plural.h"
#include "fs/util/text_escape.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/gather.h"
#include "gguf/printable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Files in the root, whose names no model can take. */
static const char *const reserved[] = { "manifest.json", ".theta", ".report.json", ".log" };

struct opening {
	struct models *models;
	struct error *err;
	const char *known; /* name in a store of the model being opened, or NULL */
	bool layer_refused;
	char passed[200]; /* the first model that was passed over, and why; "": none */
};

static int out_of_memory(struct opening *opening)
{
	return error_errno(opening->err, ENOMEM);
}

static bool is_taken(const struct models *models, const char *name)
{
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcmp(name, reserved[i]) == 0)
			return true;
	for (uint32_t i = 0; i < models->n; i++)
		if (strcmp(name, models->models[i]->shown) == 0)
			return true;
	return false;
}

/* Most bytes of a name; NAME_MAX leaves room for a number behind it. */
#define SHOWN_MAX 240

/* Directory name from the name of a model's file, to free: control characters are percent-encoded,
 * or '?' if the name would get too long. NULL: out of memory. */
static char *printable_stem(const char *path)
{
	char *stem = paths_stem(path), *name = stem ? malloc(3 * strlen(stem) + 1) : NULL;

	if (!name || text_escape(stem, strlen(stem), "", name) <= SHOWN_MAX) {
		free(stem);
		return name;
	}
	free(name);
	make_printable(stem);
	return stem;
}

/* Choose the name of a model's directory, to free: the name of its file, with a number if another
 * model has that name already. NULL: out of memory. */
static char *choose_name(const struct models *models, const char *path)
{
	char *stem = printable_stem(path), *name = stem ? strdup(stem) : NULL;

	for (unsigned i = 2; name && is_taken(models, name); i++) {
		free(name);
		if (asprintf(&name, "%s-%u", stem, i) < 0)
			name = NULL;
	}
	free(stem);
	return name;
}

/* Append a model; models takes ownership of it, its log and its name. */
static int enter(struct opening *opening, struct model *model, struct log *log, char *name)
{
	struct models *models = opening->models;
	const size_t n = models->n + 1u;
	struct log **logs = reallocarray(models->logs, n, sizeof(struct log *));

	if (!logs) {
		model_close(model);
		log_free(log);
		free(name);
		return out_of_memory(opening);
	}
	models->logs = logs;
	model->shown = name;
	models->models[models->n] = model;
	logs[models->n++] = log;
	models->n_all = models->n;
	return 0;
}

/* Open a model and recover its layer. With -o layer=DIR the layer is DIR, or DIR/NAME if there are
 * several models. Otherwise as model_open(). */
static struct model *open_and_recover(const struct models *models, const char *name,
				      const char *path, struct model_params *params,
				      struct error *err)
{
	const struct options *options = models->options;
	const struct model_options of_models = {
		.read_only = options->read_only,
		.any_shape = options->any_shape,
		.keep_blocks = options->keep_blocks,
		.fresh = options->fresh,
		.merged = options->merged,
		.keep_types = options->keep_types,
		.header = options->header,
		.compress = options->compress,
	};
	struct model *model;
	char *layer = NULL;

	if (options->layer && asprintf(&layer, "%s%s%s", options->layer, models->several ? "/" : "",
				       models->several ? name : "") < 0) {
		error_errno(err, ENOMEM);
		return NULL;
	}
	params->layer = layer;
	model = model_open(&of_models, path, params, err);
	free(layer);
	if (model && recover(model, options->mountpoint, err) < 0) {
		model_close(model);
		model = NULL;
	}
	return model;
}

static int open_model(struct opening *opening, const char *path)
{
	struct models *models = opening->models;
	char *name = choose_name(models, opening->known ? opening->known : path);
	struct model_params params = { .known = opening->known,
				       .cache = models->cache,
				       .remote = models->remote,
				       .number = models->n };
	struct model *model;
	struct log *log = NULL;

	if (models->n == INODE_MODELS) {
		free(name);
		return error_set(opening->err, EMFILE, ERROR_NO_OFFSET,
				 "too many models for one mount: give fewer");
	}
	if (name && models->several)
		log = log_new_child(models->log, name);
	if (!name || (models->several && !log)) {
		free(name);
		return out_of_memory(opening);
	}
	params.log = log ? log : models->log;
	model = open_and_recover(models, name, path, &params, opening->err);
	opening->layer_refused = params.layer_refused;
	if (!model) {
		free(name);
		log_free(log);
		return -opening->err->code;
	}
	return enter(opening, model, log, name);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool is_gguf_name(const char *name)
{
	const size_t n = strlen(name);

	return n > 5 && strcasecmp(name + n - 5, ".gguf") == 0;
}

static void pass_over(struct opening *opening, const char *path)
{
	char text[320];

	error_describe(opening->err, text, sizeof(text));
	log_add(opening->models->log, "%s: passed over: %s", path, text);
	if (!opening->passed[0])
		snprintf(opening->passed, sizeof(opening->passed), "%.80s: %.110s", basename(path),
			 text);
	*opening->err = (struct error){ 0 };
	opening->layer_refused = false;
}

/* Open the model at path, or log why it is passed over. Returns whether it was opened. */
static bool try_model(struct opening *opening, const char *path)
{
	if (open_model(opening, path) == 0)
		return true;
	pass_over(opening, path);
	return false;
}

static bool is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Are both files shards of one model, by prefix and count in their names? */
static bool are_shards_of_one(const char *a, const char *b)
{
	const size_t n = paths_shard_prefix(a), count = sizeof("-00000") - 1;

	return n && paths_shard_prefix(b) == n && strncmp(a, b, n) == 0 &&
	       strcmp(a + n + count, b + n + count) == 0;
}

/* Was the model of this shard opened already, by an earlier shard of the list? */
static bool is_brought(struct dirent *const *names, const bool *opened, int i)
{
	const char *name = names[i]->d_name;

	for (int k = 0; paths_shard_prefix(name) && k < i; k++)
		if (opened[k] && are_shards_of_one(names[k]->d_name, name))
			return true;
	return false;
}

static int open_directory(struct opening *opening, const char *path, bool deeper);

/* Open a directory's entry; with deeper, also the models in a subdirectory. Returns whether the
 * entry itself is a model. */
static bool open_entry(struct opening *opening, const char *path, bool deeper)
{
	if (!is_directory(path))
		return is_gguf_name(path) && try_model(opening, path);
	if (organ_files_are_in(path))
		return try_model(opening, path);
	if (deeper && open_directory(opening, path, false) < 0)
		pass_over(opening, path);
	return false;
}

static int open_entries(struct opening *opening, const char *path, struct dirent **names, int n,
			bool deeper)
{
	bool *opened = calloc((size_t)n + 1, sizeof(*opened));
	char *file;
	int rc = opened ? 0 : out_of_memory(opening);

	for (int i = 0; rc == 0 && i < n; i++) {
		if (is_brought(names, opened, i))
			continue;
		if (asprintf(&file, "%s/%s", path, names[i]->d_name) < 0) {
			rc = out_of_memory(opening);
			break;
		}
		opened[i] = open_entry(opening, file, deeper);
		free(file);
	}
	free(opened);
	return rc;
}

/* Open the entries of a directory in the order of their names, except hidden ones. */
static int open_directory(struct opening *opening, const char *path, bool deeper)
{
	struct dirent **names;
	const int n = scandir(path, &names, is_shown, compare_names);
	int rc;

	if (n < 0)
		return error_errno(opening->err, errno);
	rc = open_entries(opening, path, names, n, deeper);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return rc;
}

/* Is the last part of the path a directory's own name (not "", "." or "..")? A symbolic link's name
 * counts. */
static bool names_model(const char *path)
{
	const char *name = basename(path);

	return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	       strcmp(name, HEADER_FILE) != 0;
}

/* Open a path of the command line: a file, a directory of organ files, or a directory of models. */
static int open_given(struct opening *opening, const char *path)
{
	const uint32_t before = opening->models->n;
	char *organs = organ_files_directory(path);
	int rc;

	if (organs || !is_directory(path)) {
		rc = open_model(opening, organs && !names_model(path) ? organs : path);
		free(organs);
		return rc;
	}
	opening->passed[0] = '\0';
	rc = open_directory(opening, path, true);
	if (rc == 0 && opening->models->n == before)
		rc = opening->passed[0]
			     ? error_set(opening->err, ENOENT, ERROR_NO_OFFSET,
					 "no model in this directory can be read: %s",
					 opening->passed)
			     : error_set(opening->err, ENOENT, ERROR_NO_OFFSET,
					 "no GGUF file is in this directory; convert_hf_to_gguf.py "
					 "of llama.cpp makes one of safetensors");
	return rc;
}

/* Open the host of a configuration of mergekit. */
static int open_merged(struct opening *opening, const char **culprit)
{
	struct models *models = opening->models;
	int rc;

	if (models->options->n_models != 1)
		return error_set(opening->err, EINVAL, ERROR_NO_OFFSET,
				 "a mergekit configuration must be the only MODEL");
	rc = merge_option_read(&models->merge, *culprit, opening->err);
	if (rc < 0)
		return rc;
	*culprit = models->merge.host;
	opening->known = models->merge.known;
	return open_given(opening, *culprit);
}

int models_open(struct models *models, const struct options *options, struct log *log,
		const char **culprit, struct error *err)
{
	struct opening opening = { .models = models, .err = err };
	int rc = 0;

	*models = (struct models){ .several = options->n_models > 1,
				   .cache = zstd_cache_new(),
				   .remote = remote_cache_new(),
				   .options = options,
				   .log = log };
	*culprit = options->models[0];
	/* Room for the most models; pages of unused entries are never touched. */
	models->models = calloc(INODE_MODELS, sizeof(struct model *));
	if (!models->cache || !models->remote || !models->models)
		return out_of_memory(&opening);
	for (uint32_t i = 0; i < options->n_models; i++)
		models->several |=
			is_directory(options->models[i]) && !organ_files_are_in(options->models[i]);
	if (options->header &&
	    (options->n_models != 1 || models->several || !is_directory(options->models[0])))
		rc = error_set(err, EINVAL, ERROR_NO_OFFSET,
			       "header= needs a directory of organ files as the only MODEL");
	for (uint32_t i = 0; rc == 0 && i < options->n_models; i++) {
		*culprit = options->models[i];
		opening.known = options->names ? options->names[i] : NULL;
		rc = !opening.known && merge_option_is(*culprit) ? open_merged(&opening, culprit)
								 : open_given(&opening, *culprit);
	}
	if (rc < 0 && opening.layer_refused) {
		*culprit = options->layer;
	} else if (rc < 0 && opening.known) {
		*culprit = opening.known;
	} else if (rc < 0 && url_is_remote(*culprit)) {
		models->culprit = url_shown(*culprit);
		*culprit = models->culprit ? models->culprit : "the URL";
	}
	return rc;
}

static bool merge_is_remote(struct model *model)
{
	struct merge_state *merge = merge_force_get(model);
	bool remote = false;

	/* A merge that an earlier mount left has its models not open yet. */
	for (size_t i = 0; merge && i < merge->n_models; i++)
		remote |= url_is_remote(merge->models[i].path) ||
			  url_is_remote(merge->models[i].written);
	merge_state_unref(merge);
	return remote;
}

/* If memory is exhausted, assume that they are. */
static bool organs_are_remote(struct model *model)
{
	struct snapshot snapshot;
	bool remote = false;

	if (slots_snapshot(model->slots, &snapshot) < 0)
		return true;
	for (uint32_t i = 0; i < snapshot.n; i++) {
		const struct content *own = content_own(snapshot.content[i]);

		remote |= own && own->file && backing_is_remote(own->file);
	}
	snapshot_release(&snapshot);
	return remote;
}

bool models_are_remote(const struct models *models)
{
	for (uint32_t i = 0; i < models->n_all; i++) {
		struct model *model = models->models[i];

		if (backing_is_remote(model->base) || merge_is_remote(model) ||
		    organs_are_remote(model))
			return true;
	}
	return false;
}

void models_close(struct models *models)
{
	for (uint32_t i = models->n_all; i-- > 0;)
		model_close(models->models[i]);
	for (uint32_t i = 0; i < models->n; i++)
		log_free(models->logs[i]);
	free(models->models);
	free(models->logs);
	zstd_cache_unref(models->cache);
	remote_cache_unref(models->remote);
	free(models->culprit);
	merge_option_release(&models->merge);
	*models = (struct models){ 0 };
}

struct model *models_open_replacement(struct models *models, struct model *old,
				      struct shards *shards, struct error *err)
{
	struct model_params params = { .number = models->n_all,
				       .log = old->log,
				       .cache = models->cache,
				       .remote = models->remote,
				       .old = old,
				       .shards = shards };
	struct model *model;
	char *shown;

	if (models->n_all == INODE_MODELS) {
		error_set(err, EMFILE, ERROR_NO_OFFSET,
			  "shards changed too often for this mount; mount the model again");
		return NULL;
	}
	shown = old->shown ? strdup(old->shown) : NULL;
	model = open_and_recover(models, old->shown, backing_path(old->base), &params, err);
	if (model) {
		model->shown = shown;
		models->models[models->n_all++] = model;
	} else {
		free(shown);
	}
	return model;
}

void models_discard(struct models *models, struct model *model)
{
	models->models[--models->n_all] = NULL;
	model_close(model);
}

static void report_grafts(struct model *model, const struct layer_history *past)
{
	struct tm tm;
	char when[32];

	localtime_r(&past->changed.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	log_report(model->log,
		   "%s: took up %" PRIu32 " graft%s that an earlier mount left, the last on %s",
		   model->name, model->recovered, plural(model->recovered), when);
	log_report(model->log,
		   "%s: -o fresh begins without these grafts; to drop them, remove %s while the "
		   "model is not mounted",
		   model->name, layer_path(model->layer));
	if (past->older)
		log_report(model->log, "%s: earlier mounts also left %u older layer%s", model->name,
			   past->older, plural(past->older));
}

/* Report a merge apart from the grafts, which do not count it. */
static void report_merge(struct model *model, bool reports)
{
	struct merge_state *merge = merge_force_get(model);

	if (merge)
		(reports ? log_report : log_add)(
			model->log,
			"%s: took up the merge of %zu model%s that an earlier mount left; removing "
			".merge ends it",
			model->name, merge->n_models, plural(merge->n_models));
	merge_state_unref(merge);
}

void models_announce_grafts(struct model *model, const struct options *options)
{
	const struct layer_history *past;

	if (!model->layer)
		return;
	past = layer_history(model->layer);
	/* Other users may have changed such a layer; it is taken only if the user names it. */
	if (past->doubt)
		log_report(model->log, "%s: %s", model->name, past->doubt);
	if (past->unread)
		log_report(model->log, "%s: %s", model->name, past->unread);
	if (model->left_alone)
		log_report(model->log,
			   "%s: warning: %" PRIu32 " file%s in %s cannot be taken up and %s left "
			   "alone, as .log says; the unmount assembles nothing",
			   model->name, model->left_alone, plural(model->left_alone),
			   layer_path(model->layer), model->left_alone == 1 ? "is" : "are");
	if (model->recovered && options->layer)
		log_add(model->log,
			"%s: took up %" PRIu32 " graft%s that an earlier mount left in %s",
			model->name, model->recovered, plural(model->recovered),
			layer_path(model->layer));
	else if (model->recovered)
		report_grafts(model, past);
	else if (past->copy)
		log_report(model->log, "%s: %s", model->name, past->copy);
}

static bool has_directory(const struct models *models, uint32_t n, const char *directory)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(models->models[i]->directory, directory) == 0)
			return true;
	return false;
}

/* Report a directory that cannot be written to once for all models in it. */
static void report_output(const struct models *models)
{
	for (uint32_t i = 0; i < models->n; i++) {
		const struct model *model = models->models[i];

		if (has_directory(models, i, model->directory) ||
		    faccessat(AT_FDCWD, model->directory, W_OK, AT_EACCESS) == 0)
			continue;
		log_report(models->log,
			   "%s: nothing can be written beside the base, in %s: %s; use -o "
			   "output=FILE, or -o noassemble",
			   model->name, model->directory, strerror(errno));
	}
}

void models_announce(const struct models *models)
{
	const struct options *options = models->options;

	for (uint32_t i = 0; i < models->n; i++) {
		models_announce_grafts(models->models[i], options);
		/* The merge of a given configuration replaces one that an earlier mount left. */
		if (!models->merge.text)
			report_merge(models->models[i], !options->layer);
	}
	if (!options->read_only && !options->no_assembly && !options->output)
		report_output(models);
}
