/* SPDX-License-Identifier: MIT */
/* mount_files.c - see mount_files.h. The base's tensor of a grafted slot is read from .base. */
#include "fs/commands/mount_files.h"
#include "fs/commands/offline_models.h"
#include "fs/lazy/figures.h"
#include "fs/report/table_field.h"
#include "fs/report/table_merge.h"
#include "fs/util/io.h"
#include "gguf/arena.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define GRAFT_FIELDS 9 /* in a line of .grafts (grafts_list.h) */

/* "DIRECTORY/NAME", to free. NULL: out of memory. */
static char *path_of(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

bool mount_files_exist(const char *directory)
{
	static const char *const names[] = { ".table", ".grafts", ".check", ".base/metadata" };
	bool all = true;

	for (size_t i = 0; all && i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = path_of(directory, names[i]);

		all = path && access(path, F_OK) == 0;
		free(path);
	}
	return all;
}

/* Most bytes read of a file. A directory that looks like a mount may have any file under these
 * names, even a FIFO, so opens do not wait either. */
#define BYTES_MAX ((off_t)256 << 20)

/* Open a regular file. Returns a descriptor, or -1 with errno set. */
static int open_in_mount(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat stat = { 0 };

	if (fd < 0)
		return -1;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size <= BYTES_MAX)
		return fd;
	close(fd);
	errno = S_ISREG(stat.st_mode) ? EFBIG : EINVAL;
	return -1;
}

/* A file's text, to free; NULL after a line on stderr. */
static char *read_file(const char *directory, const char *name, size_t *size)
{
	char *path = path_of(directory, name);
	const int fd = path ? open_in_mount(path) : -1;
	char *text = fd < 0 ? NULL : io_read_all(fd, size);

	if (!text)
		offline_models_fail(path ? path : name, path ? -errno : -ENOMEM);
	if (fd >= 0)
		close(fd);
	free(path);
	return text;
}

static int read_figures(struct mount_files *witness, const char *directory)
{
	struct error err = { 0 };
	uint64_t line = 0;
	size_t size;
	char *text = read_file(directory, ".table", &size);
	int rc;

	if (!text)
		return -1;
	witness->merge = table_merge_new();
	rc = table_parse(&witness->table, text, size, &line, &err);
	if (rc == 0 && !witness->merge)
		rc = error_errno(&err, ENOMEM);
	if (rc == 0)
		rc = table_merge_add(witness->merge, &witness->table, ".table", stderr, &line,
				     &err);
	if (rc == 0) {
		table_merge_finish(witness->merge);
		witness->figures = table_merge_models(witness->merge)
					   ? table_merge_figures(witness->merge, 0)
					   : NULL;
	}
	if (!witness->figures)
		offline_models_report("%s/.table:%" PRIu64 ": %s", directory, line,
				      rc < 0 ? err.text : "there is no table");
	return witness->figures ? 0 : -1;
}

static int by_file(const void *left, const void *right)
{
	return strcmp((*(struct figure *const *)left)->file,
		      (*(struct figure *const *)right)->file);
}

/* Read an attribute of an organ of the base as text. Returns false if there is none. */
static bool base_attribute(const char *directory, const char *file, const char *name, char *text,
			   size_t n)
{
	char *path = NULL;
	ssize_t got = -1;

	if (asprintf(&path, "%s/.base/%s", directory, file) >= 0)
		got = getxattr(path, name, text, n - 1);
	free(path);
	text[got < 0 ? 0 : got] = '\0';
	return got >= 0;
}

static const char *keep(struct figures *figures, const char *text)
{
	return arena_copy(figures->arena, text, strlen(text));
}

/* Add a tensor of the base that the model lacks. A name that cannot be looked up is skipped. */
static void add_removed(struct figures *figures, const char *directory, const char *file)
{
	char tensor[1024], type[64], role[ANATOMY_NAME_MAX + 1];
	struct figure *figure = &figures->removed[figures->n_removed];

	if (!base_attribute(directory, file, "user.organfs.tensor", tensor, sizeof(tensor)) ||
	    !base_attribute(directory, file, "user.organfs.type", type, sizeof(type)))
		return;
	anatomy_role(tensor, strlen(tensor), role);
	*figure = (struct figure){
		.file = keep(figures, file),
		.role = keep(figures, role),
		.type = keep(figures, type),
		.klass = anatomy_class(tensor, strlen(tensor)),
		.kind = anatomy_kind(tensor, strlen(tensor)),
		.block = anatomy_block(tensor, strlen(tensor)),
		.changes = 1u << FIGURE_REMOVED,
	};
	figures->n_removed += figure->file && figure->role && figure->type;
}

/* The donor of a graft in the form of struct figures: a GGUF, or a directory of organ files. */
static const char *donor_of(struct figures *figures, char *file, const char *tensor)
{
	char *slash;
	size_t n;

	if (strcmp(file, "-") == 0 || !table_get(file, &n))
		return NULL;
	slash = strrchr(file, '/');
	if (strcmp(tensor, "-") == 0 && slash)
		slash[1] = '\0';
	return keep(figures, file);
}

static void mark(struct figures *figures, struct figure *figure, const char *directory,
		 char *const fields[GRAFT_FIELDS])
{
	char type[64];

	if (strcmp(fields[1], "merged") != 0 && strcmp(fields[1], "retyped") != 0) {
		figure->changes |= 1u << FIGURE_GRAFTED;
		figure->donor = donor_of(figures, fields[7], fields[8]);
	}
	if (strstr(fields[1], "merged"))
		figure->changes |= 1u << FIGURE_MERGED;
	if (!base_attribute(directory, fields[0], "user.organfs.type", type, sizeof(type)))
		figure->changes |= errno == ENOENT ? 1u << FIGURE_ADDED : 0;
	else if (strcmp(type, figure->type) != 0)
		figure->changes |= 1u << FIGURE_CONVERTED;
}

/* Returns 0 or -ENOMEM. */
static int mark_all(struct figures *figures, const char *directory, const char *grafts)
{
	struct figure **sorted = calloc(figures->n + 1, sizeof(struct figure *));
	char *copy = strdup(grafts), *rest = copy;
	size_t lines = 1;

	for (const char *s = grafts; *s; s++)
		lines += *s == '\n';
	figures->removed = calloc(lines, sizeof(*figures->removed));
	for (size_t i = 0; sorted && i < figures->n; i++)
		sorted[i] = &figures->figures[i];
	if (sorted)
		qsort(sorted, figures->n, sizeof(struct figure *), by_file);
	for (char *line; sorted && figures->removed && rest && (line = strsep(&rest, "\n"));) {
		char *fields[GRAFT_FIELDS];
		struct figure key, *of = &key, **found;

		for (size_t i = 0; i < GRAFT_FIELDS; i++)
			fields[i] = line ? strsep(&line, "\t") : (char *)"-";
		key.file = fields[0];
		found = bsearch(&of, sorted, figures->n, sizeof(struct figure *), by_file);
		if (found)
			mark(figures, *found, directory, fields);
		else if (strcmp(fields[1], "removed") == 0)
			add_removed(figures, directory, fields[0]);
	}
	lines = sorted && figures->removed && copy;
	free(sorted);
	free(copy);
	return lines ? 0 : -ENOMEM;
}

/* Report the first graft that cannot be read: a model with such a graft has no table. */
static void report_broken(const char *directory, const char *grafts)
{
	const char *kind = strstr(grafts, "\tbroken "), *line = kind;

	if (!kind)
		return;
	while (line > grafts && line[-1] != '\n')
		line--;
	kind++;
	offline_models_report("%s/%.*s: %.*s, .log says why", directory, (int)(kind - 1 - line),
			      line, (int)strcspn(kind, "\t\n"), kind);
}

int mount_files_read(struct mount_files *witness, const char *directory)
{
	size_t size;

	*witness = (struct mount_files){ .merge = NULL };
	witness->grafts = read_file(directory, ".grafts", &size);
	if (!witness->grafts)
		return -1;
	if (read_figures(witness, directory) < 0) {
		report_broken(directory, witness->grafts);
		return -1;
	}
	witness->check = read_file(directory, ".check", &size);
	if (!witness->check)
		return -1;
	if (mark_all(witness->figures, directory, witness->grafts) == 0)
		return 0;
	return offline_models_fail(directory, -ENOMEM);
}

void mount_files_release(struct mount_files *witness)
{
	figures_free(witness->figures);
	table_merge_free(witness->merge);
	table_release(&witness->table);
	free(witness->grafts);
	free(witness->check);
}

static size_t limit(struct figure *list, size_t n, enum organ_class klass)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (list[i].klass == klass)
			list[kept++] = list[i];
	return kept;
}

void mount_files_limit(struct mount_files *witness, enum organ_class klass)
{
	struct figures *figures = witness->figures;

	figures->n = limit(figures->figures, figures->n, klass);
	figures->n_removed = limit(figures->removed, figures->n_removed, klass);
}
