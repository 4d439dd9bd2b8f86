/* SPDX-License-Identifier: MIT */
/* assembly.c - see assembly.h. */
#include "fs/files/assembly.h"
#include "fs/assemble/model_view.h"
#include "fs/assemble/split_write.h"
#include "fs/base/shards.h"
#include "fs/check/warning.h"
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "fs/files/assembled_file.h"
#include "fs/files/assembly_text.h"
#include "fs/layer/layer.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/plural.h"
#include "fs/util/progress.h"
#include "gguf/error.h"
#include "gguf/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The last number that is tried for a free default name. */
#define DEFAULT_NAMES 10000

/* Seconds that an assembly waits at its end for the warning of .check. */
#define WARNING_PATIENCE 3

/* Length of an outcome without the path. */
#define OUTCOME_MAX (512 + WARNING_TEXT)

struct assembly {
	struct model *model;
	const char *output, *directory;
	bool chosen;		     /* the user chose the directory */
	dev_t mount;		     /* device; 0: no mount */
	struct model *const *models; /* of the mount */
	uint32_t n_models;
	bool confined;
	struct progress progress;
	bool keep; /* keep the assembled file open, in kept */
	struct assembled_file *kept;

	pthread_mutex_t lock; /* protects the fields below */
	bool running;
	double started; /* seconds_now() at its start */
	bool cancelled;
	atomic_bool *stop; /* of the running assembly; NULL: none, or not stoppable */
	uint64_t stamp;
	char last[PATH_MAX + OUTCOME_MAX];
	struct written_files written; /* files that the unmount need not write again */
	uint64_t generation;	      /* of the model in these files */
	char warning[WARNING_TEXT];
};

struct assembly *assembly_new(struct model *model, const char *output, const char *directory)
{
	struct assembly *assembly = calloc(1, sizeof(*assembly));

	if (!assembly)
		return NULL;
	assembly->model = model;
	assembly->output = output;
	assembly->directory = directory ? directory : model->directory;
	assembly->chosen = directory != NULL;
	pthread_mutex_init(&assembly->lock, NULL);
	assembly->kept = assembled_file_new(model);
	if (!assembly->kept) {
		assembly_free(assembly);
		return NULL;
	}
	snprintf(assembly->last, sizeof(assembly->last),
		 ASSEMBLY_NOTHING_YET "write a file name here\n");
	return assembly;
}

void assembly_free(struct assembly *assembly)
{
	if (!assembly)
		return;
	assembled_file_free(assembly->kept);
	written_files_release(&assembly->written);
	pthread_mutex_destroy(&assembly->lock);
	free(assembly);
}

void assembly_set_mount(struct assembly *assembly, dev_t mount, struct model *const *models,
			uint32_t n)
{
	assembly->mount = mount;
	assembly->models = models;
	assembly->n_models = n;
}

void assembly_set_confined(struct assembly *assembly)
{
	assembly->confined = true;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void set_status(struct assembly *assembly, bool running, const char *text)
{
	pthread_mutex_lock(&assembly->lock);
	assembly->running = running;
	assembly->started = seconds_now();
	assembly->stamp++;
	/* One line, even if the name has line breaks. */
	snprintf(assembly->last, sizeof(assembly->last) - 1, "%s", text);
	make_printable(assembly->last);
	strcat(assembly->last, "\n");
	pthread_mutex_unlock(&assembly->lock);
}

bool assembly_is_status(const char *text, size_t n)
{
	static const char *const answers[] = { ASSEMBLY_NOTHING_YET, ASSEMBLY_RUNNING,
					       ASSEMBLY_DONE, ASSEMBLY_FAILED };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (n > strlen(answers[i]) && memcmp(text, answers[i], strlen(answers[i])) == 0)
			return true;
	return false;
}

/* Open the directory in which a relative path starts. Returns a descriptor, AT_FDCWD or -errno. */
static int open_start(const char *path, pid_t caller, struct error *err)
{
	char link[48];
	int fd;

	if (path[0] == '/')
		return AT_FDCWD;
	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)caller);
	fd = caller > 0 ? open(link, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0)
		return fd;
	error_set(err, EINVAL, ERROR_NO_OFFSET,
		  "the working directory of the process that wrote the name is unknown; "
		  "give a name that begins with /");
	return -EINVAL;
}

/* Result of an assembly. */
struct results {
	struct backing *kept;	     /* a single file; see assembly_keep() */
	struct written_files record; /* all files */
	bool placed;		     /* the target was replaced, even if the assembly failed */
};

/* Whether the file is a base of the mount: assembled models and layers may refer to any of them. */
static bool is_base_of_mount(const void *context, const struct stat *stat)
{
	const struct assembly *assembly = context;

	for (uint32_t i = 0; i < assembly->n_models; i++) {
		const struct model *model = model_latest(assembly->models[i]);

		const struct stat *base = backing_stat(model->base);

		if ((stat->st_dev == base->st_dev && stat->st_ino == base->st_ino) ||
		    (model->shards && shards_has_file(model->shards, stat)))
			return true;
	}
	return false;
}

static struct write_target target_at(const struct assembly *assembly, const char *path,
				     struct results *results)
{
	return (struct write_target){ .directory = AT_FDCWD,
				      .path = path,
				      .base = backing_stat(assembly->model->base),
				      .shards = assembly->model->shards,
				      .is_other_base = is_base_of_mount,
				      .context = assembly,
				      .mount = assembly->mount,
				      .written = assembly->keep ? &results->kept : NULL,
				      .record = &results->record,
				      .placed = &results->placed };
}

/* Write to a path that a process or the user gave: one file, or shards (split_write.h). Returns the
 * number of shards, 0 for one file, or -errno. */
static int write_to_given(struct assembly *assembly, struct view *view, char path[PATH_MAX],
			  enum write_replace replace, pid_t caller, struct results *results,
			  struct error *err)
{
	struct write_target target = target_at(assembly, path, results);
	uint64_t most;
	size_t n;
	int rc = split_write_parse(path, &n, &most, err);
	const bool split = rc > 0;

	if (rc < 0)
		return rc;
	if (split)
		path[n] = '\0';
	target.replace = replace;
	target.directory = open_start(path, caller, err);
	if (target.directory < 0 && target.directory != AT_FDCWD)
		return target.directory;
	rc = split ? split_write(view, &target, most, &assembly->progress, err)
		   : atomic_write_view(view, &target, &assembly->progress, err);
	if (target.directory >= 0)
		close(target.directory);
	return rc;
}

/* STEM.grafted.gguf beside the base, or its i-th successor. Returns 0 or -ENAMETOOLONG. */
static int default_name(const struct assembly *assembly, int i, char path[PATH_MAX])
{
	char number[16] = "";

	if (i > 1)
		snprintf(number, sizeof(number), "-%d", i);
	return snprintf(path, PATH_MAX, "%s/%s.grafted%s.gguf", assembly->directory,
			assembly->model->name, number) < PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

/* The first of these that is free, or output. */
static int write_to_default(struct assembly *assembly, struct view *view, char path[PATH_MAX],
			    struct results *results, struct error *err)
{
	const struct write_target target = target_at(assembly, path, results);
	int rc = -EEXIST;

	if (assembly->output) {
		snprintf(path, PATH_MAX, "%s", assembly->output);
		return write_to_given(assembly, view, path, REPLACE_ANY, 0, results, err);
	}
	/* A name is also taken if another mount is writing that file now. */
	for (int i = 1; (rc == -EEXIST || rc == -EBUSY) && i <= DEFAULT_NAMES; i++) {
		if (default_name(assembly, i, path) < 0)
			return error_set(err, ENAMETOOLONG, ERROR_NO_OFFSET,
					 "the default name is too long");
		rc = atomic_write_view(view, &target, &assembly->progress, err);
	}
	return rc;
}

/* Set and log the outcome of an assembly, with the warning of .check. A process that wrote to
 * .assemble, and failed, finds the reason by that name. */
static void conclude(struct assembly *assembly, int rc, char *text, size_t n, const char *warning)
{
	const size_t used = strlen(text);

	if (warning[0])
		snprintf(text + used, n - used, "; .check says: %s", warning);
	set_status(assembly, false, text);
	log_add(assembly->model->log, "%s%s", rc < 0 && assembly->mount ? ".assemble: " : "", text);
}

/* Verify the checksums of all grafts before the first byte is written. */
static int verify_grafts(const struct assembly *assembly, const struct snapshot *snapshot,
			 struct error *err)
{
	char path[ORGAN_PATH_MAX];
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < snapshot->n; i++) {
		const struct content *content = snapshot->content[i];

		if (!content || !content->file)
			continue;
		rc = backing_verify(content->file, assembly->progress.cancel);
		if (rc == -EINTR)
			error_set(err, EINTR, ERROR_NO_OFFSET, "interrupted");
		else if (rc < 0)
			error_set(err, -rc, ERROR_NO_OFFSET,
				  "%s cannot be read, or its bytes are not those that were put in "
				  "force",
				  model_organ_path(assembly->model, i, path));
	}
	return rc;
}

/* After EIO, name the graft that could not be read, if it was a graft. */
static void name_culprit(const struct assembly *assembly, const struct snapshot *snapshot,
			 struct error *err)
{
	char path[ORGAN_PATH_MAX];

	for (uint32_t i = 0; i < snapshot->n; i++) {
		const struct content *content = snapshot->content[i];

		if (content && content->file && content->file != assembly->model->base &&
		    backing_has_failed(content->file)) {
			error_set(err, EIO, ERROR_NO_OFFSET, "%s can no longer be read",
				  model_organ_path(assembly->model, i, path));
			return;
		}
	}
}

/* Whether the file lies in that directory, which is absolute and has no symbolic links. */
static bool lies_in(const char *path, const char *directory)
{
	const size_t n = (size_t)(strrchr(path, '/') - path);

	return strlen(directory) == n && memcmp(path, directory, n) == 0;
}

/* Whether name is the file's, or that of shards with the file among them. */
static bool has_name(const char *path, const char *name, size_t n, bool shards)
{
	const char *own = strrchr(path, '/') + 1;
	const size_t length = shards ? paths_shard_prefix(own) : strlen(own);
	const size_t tail = shards ? strlen(SPLIT_WRITE_NUMBERS) : 0;

	return n >= tail && length == n - tail && memcmp(own, name, length) == 0;
}

/* Whether path, as written to .assemble, is the output of output=; file is the first one
 * written. */
static bool is_output(const struct assembly *assembly, const char *path, const char *file)
{
	const char *output = assembly->output, *slash = strrchr(output, '/');
	char *directory = paths_directory(output);
	const char *name = slash ? slash + 1 : output;
	uint64_t most = 0, asked = 0;
	struct error err = { 0 };
	size_t n, n_asked;
	bool same = false;
	int shards;

	shards = split_write_parse(output, &n, &most, &err);
	if (directory && shards >= 0 && n >= (size_t)(name - output) &&
	    split_write_parse(path, &n_asked, &asked, &err) == shards && most == asked)
		same = lies_in(file, directory) &&
		       has_name(file, name, n - (size_t)(name - output), shards > 0);
	free(directory);
	return same;
}

/* Whether the files written to path are where the user wants the unmount's. */
static bool is_unmount_output(const struct assembly *assembly, const char *path,
			      const struct written_files *record)
{
	char *directory;
	bool inside;

	if (!path[0])
		return true;
	if (record->n == 0 || record->unknown)
		return false;
	if (assembly->output)
		return is_output(assembly, path, record->files[0].path);
	if (!assembly->chosen)
		return true;
	directory = realpath(assembly->directory, NULL);
	inside = directory && lies_in(record->files[0].path, directory);
	free(directory);
	return inside;
}

/* Record that these files hold the model of that generation. Consumes the record. */
static void note_written(struct assembly *assembly, uint64_t generation,
			 struct written_files *record, const char warning[WARNING_TEXT])
{
	pthread_mutex_lock(&assembly->lock);
	written_files_release(&assembly->written);
	assembly->written = *record;
	assembly->generation = generation;
	strcpy(assembly->warning, warning);
	pthread_mutex_unlock(&assembly->lock);
	*record = (struct written_files){ 0 };
}

/* Give assembly_cancel() the flag that stops the running assembly; NULL at its end. */
static void set_stop(struct assembly *assembly, atomic_bool *stop)
{
	pthread_mutex_lock(&assembly->lock);
	assembly->stop = stop;
	assembly->progress.cancel = stop;
	if (stop && assembly->cancelled)
		atomic_store(stop, true);
	pthread_mutex_unlock(&assembly->lock);
}

/* Assemble the snapshot. */
static int run(struct assembly *assembly, const struct snapshot *snapshot, const char *path,
	       enum write_replace replace, pid_t caller, atomic_bool *stop)
{
	const double start = seconds_now();
	struct results results = { 0 };
	struct warning *warning;
	struct error err = { 0 };
	char name[PATH_MAX], text[PATH_MAX + OUTCOME_MAX], said[WARNING_TEXT];
	struct view *view = NULL;
	int rc, files = 0;

	set_stop(assembly, stop);
	snprintf(name, sizeof(name), "%s", path[0] ? path : "the default name");
	progress_begin(&assembly->progress, 0);
	set_status(assembly, true, name);
	warning = warning_begin(assembly->model, snapshot);
	rc = verify_grafts(assembly, snapshot, &err);
	if (rc == 0) {
		view = model_view(assembly->model, snapshot, true, &err);
		rc = view ? 0 : -err.code;
	}
	if (rc == 0) {
		set_status(assembly, true, name);
		rc = path[0] ? write_to_given(assembly, view, name, replace, caller, &results, &err)
			     : write_to_default(assembly, view, name, &results, &err);
	}
	if (rc > 0) {
		files = rc;
		rc = 0;
	}
	if (rc == -EIO && view)
		name_culprit(assembly, snapshot, &err);
	view_unref(view);
	/* A model without grafts is the base's file, and a shard is not the whole model. */
	if (rc == 0 && snapshot->grafts && !files) {
		assembled_file_set(assembly->kept, results.kept, snapshot->generation);
		results.kept = NULL;
	}
	backing_unref(results.kept);
	warning_end(warning, rc == 0 ? WARNING_PATIENCE : 0, said);
	if (rc == 0)
		assembly_text_done(assembly->model, snapshot, &assembly->progress, name, files,
				   seconds_now() - start, text, sizeof(text));
	else
		assembly_text_failed(name, &err, results.placed, assembly->confined, text,
				     sizeof(text));
	conclude(assembly, rc, text, sizeof(text), rc == 0 ? said : "");
	if (rc == 0 && is_unmount_output(assembly, path, &results.record))
		note_written(assembly, snapshot->generation, &results.record, said);
	written_files_release(&results.record);
	set_stop(assembly, NULL);
	return rc;
}

void assembly_cancel(struct assembly *assembly)
{
	pthread_mutex_lock(&assembly->lock);
	assembly->cancelled = true;
	if (assembly->stop)
		atomic_store(assembly->stop, true);
	pthread_mutex_unlock(&assembly->lock);
}

int assembly_run(struct assembly *assembly, const char *path, enum write_replace replace,
		 pid_t caller, atomic_bool *cancel)
{
	struct snapshot snapshot;
	int rc = journal_snapshot(assembly->model, &snapshot);

	if (rc < 0)
		return rc;
	rc = run(assembly, &snapshot, path, replace, caller, cancel);
	snapshot_release(&snapshot);
	return rc;
}

static void print_written(struct assembly *assembly)
{
	const struct written_files *written = &assembly->written;
	char text[PATH_MAX + OUTCOME_MAX], shards[48] = "";

	if (written->n > 1)
		snprintf(shards, sizeof(shards), " and %zu more shard%s", written->n - 1,
			 plural(written->n - 1));
	snprintf(text, sizeof(text), "already assembled: %.*s%s: nothing was changed since",
		 PATH_MAX, written->files[0].path, shards);
	conclude(assembly, 0, text, sizeof(text), assembly->warning);
}

/* Does a file hold that snapshot of the model, so that the unmount need not write it? The disk is
 * asked without the lock: it may hang. */
static bool is_written(struct assembly *assembly, const struct snapshot *snapshot)
{
	struct written_files written = { 0 };
	bool is;

	pthread_mutex_lock(&assembly->lock);
	if (assembly->generation == snapshot->generation)
		written = written_files_copy(&assembly->written);
	pthread_mutex_unlock(&assembly->lock);
	is = written_files_exist(&written);
	written_files_release(&written);
	return is;
}

int assembly_run_at_unmount(struct assembly *assembly)
{
	struct snapshot snapshot;
	atomic_bool stop = false;
	int rc = journal_snapshot(assembly->model, &snapshot);

	if (rc < 0)
		return rc;
	/* No target can lie in the mount, which has ended. */
	assembly->mount = 0;
	if (snapshot.grafts && is_written(assembly, &snapshot)) {
		print_written(assembly);
	} else if (snapshot.grafts) {
		rc = run(assembly, &snapshot, "", REPLACE_NONE, 0, &stop);
	}
	if (rc == 0 && snapshot.grafts && warning_is_impossible(assembly->warning))
		rc = 1;
	snapshot_release(&snapshot);
	return rc;
}

bool assembly_forecast(struct assembly *assembly, const struct snapshot *snapshot, uint64_t *size,
		       char path[PATH_MAX])
{
	struct error err = { 0 };
	struct view *view;
	int i = 1;

	if (!snapshot->grafts || is_written(assembly, snapshot))
		return false;
	view = model_view(assembly->model, snapshot, true, &err);
	*size = view ? view_size(view) : 0;
	view_unref(view);
	if (assembly->output)
		snprintf(path, PATH_MAX, "%s", assembly->output);
	while (!assembly->output && i <= DEFAULT_NAMES && default_name(assembly, i, path) == 0 &&
	       faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		i++;
	return true;
}

char *assembly_impossible(struct assembly *assembly)
{
	const struct written_files *written = &assembly->written;
	char *text;

	if (asprintf(&text, "%s: written, but .check calls this model %s; the base is as it was",
		     written->n ? written->files[0].path : assembly->model->name,
		     assembly->warning) < 0)
		return NULL;
	make_printable(text);
	return text;
}

bool assembly_progress(struct assembly *assembly, struct assembly_progress *progress)
{
	bool running;

	pthread_mutex_lock(&assembly->lock);
	running = assembly->running;
	progress->done = atomic_load(&assembly->progress.done);
	progress->total = atomic_load(&assembly->progress.total);
	progress->seconds = seconds_now() - assembly->started;
	pthread_mutex_unlock(&assembly->lock);
	return running;
}

void assembly_keep(struct assembly *assembly)
{
	assembly->keep = true;
}

struct view *assembly_view(struct assembly *assembly, uint64_t generation, struct view *instead)
{
	return assembled_file_view(assembly->kept, generation, instead);
}

uint64_t assembly_view_generation(struct assembly *assembly)
{
	return assembled_file_stamp(assembly->kept);
}

char *assembly_status(struct assembly *assembly, size_t *size)
{
	char progress[ASSEMBLY_PROGRESS_MAX], *text;
	int n;

	pthread_mutex_lock(&assembly->lock);
	assembly_text_progress(&assembly->progress, seconds_now() - assembly->started, progress);
	n = assembly->running ? asprintf(&text, ASSEMBLY_RUNNING "%s: %s", progress, assembly->last)
			      : asprintf(&text, "%s", assembly->last);
	pthread_mutex_unlock(&assembly->lock);
	*size = n < 0 ? 0 : (size_t)n;
	return n < 0 ? NULL : text;
}

uint64_t assembly_status_generation(struct assembly *assembly)
{
	uint64_t stamp;

	pthread_mutex_lock(&assembly->lock);
	/* The progress text is new at each read. */
	if (assembly->running)
		assembly->stamp++;
	stamp = assembly->stamp;
	pthread_mutex_unlock(&assembly->lock);
	return stamp;
}
