/* SPDX-License-Identifier: MIT */
/* organ_files.c - see organ_files.h. */
#include "fs/base/organ_files.h"
#include "fs/storage/backing.h"
#include "fs/util/array_grown.h"
#include "fs/util/paths.h"
#include "gguf/anatomy.h"
#include "gguf/arena.h"
#include "gguf/error.h"
#include "gguf/file_names.h"
#include "gguf/gather.h"
#include "gguf/names.h"
#include "gguf/organ.h"
#include "gguf/reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* longest tensor name in an organ file without header, as for gguf_read() */
#define TENSOR_MAX 65536

/* Length of NAME in "NAME.bin". False: another name, or a hidden file. */
static bool is_organ_name(const char *file, size_t *length)
{
	const size_t n = strlen(file), suffix = sizeof(".bin") - 1;

	if (file[0] == '.' || n <= suffix || n - suffix > ANATOMY_NAME_MAX ||
	    strcmp(file + n - suffix, ".bin") != 0)
		return false;
	*length = n - suffix;
	return true;
}

/* "DIRECTORY/NAME", to free. NULL: out of memory. */
static char *path_in(const char *directory, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static bool is_regular(const char *directory, const char *name)
{
	char *path = path_in(directory, name);
	struct stat status;
	const bool is = path && stat(path, &status) == 0 && S_ISREG(status.st_mode);

	free(path);
	return is;
}

static bool is_link(const char *directory, enum organ_class klass)
{
	char *path = path_in(directory, class_name(klass));
	struct stat status;
	const bool is = !path || lstat(path, &status) < 0 || S_ISLNK(status.st_mode);

	free(path);
	return is;
}

static DIR *open_class(const char *directory, enum organ_class klass)
{
	char *path = path_in(directory, class_name(klass));
	DIR *entries = path ? opendir(path) : NULL;
	const int reason = path ? errno : ENOMEM;

	free(path);
	errno = reason;
	return entries;
}

/* Parse the header of the organ file at path. The caller frees the organ's name. The path is not
 * resolved, which saves system calls. */
static int read_organ(const char *path, struct organ *organ, struct error *err)
{
	struct backing *file = NULL;
	struct source source;
	struct stat seen;
	int rc;

	if (stat(path, &seen) < 0)
		return error_errno(err, errno);
	file = backing_open_seen(path, &seen, true, err);
	if (!file)
		return -err->code;
	source = backing_source(file);
	rc = organ_parse(&source, organ, err);
	backing_unref(file);
	return rc;
}

static bool is_organ(const char *directory, enum organ_class klass, const char *name)
{
	struct organ organ = { .name = NULL };
	struct error err = { 0 };
	char *path;
	bool is;

	if (asprintf(&path, "%s/%s/%s", directory, class_name(klass), name) < 0)
		return false;
	is = read_organ(path, &organ, &err) == 0;
	free((char *)organ.name);
	free(path);
	return is;
}

/* Other programs may have directories and files with such names, so check for a valid organ. */
static bool has_organ(const char *directory, enum organ_class klass, DIR *entries)
{
	const struct dirent *entry;
	size_t n;

	while ((entry = readdir(entries)))
		if (is_organ_name(entry->d_name, &n) && is_organ(directory, klass, entry->d_name))
			return true;
	return false;
}

bool organ_files_are_in(const char *path)
{
	const bool header = is_regular(path, HEADER_FILE);
	bool found = false;

	for (enum organ_class klass = 0; klass < CLASSES && !found; klass++) {
		DIR *entries = open_class(path, klass);

		if (!entries)
			continue;
		found = header || has_organ(path, klass, entries);
		closedir(entries);
	}
	return found;
}

char *organ_files_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *inside = NULL, *directory;
	struct stat status;

	if (stat(path, &status) < 0)
		return NULL;
	if (S_ISDIR(status.st_mode))
		inside = path_in(path, HEADER_FILE);
	else if (strcmp(slash ? slash + 1 : path, HEADER_FILE) == 0)
		inside = strdup(path);
	directory = inside ? paths_directory(inside) : NULL;
	free(inside);
	if (directory && organ_files_are_in(directory))
		return directory;
	free(directory);
	return NULL;
}

struct organ_files *organ_files_ref(struct organ_files *files)
{
	atomic_fetch_add(&files->refs, 1);
	return files;
}

void organ_files_unref(struct organ_files *files)
{
	if (!files || atomic_fetch_sub(&files->refs, 1) != 1)
		return;
	free(files->entries);
	arena_free(files->arena);
	free(files);
}

/* State of the search. */
struct search {
	const char *directory;
	struct organ_files *files;
	size_t room;
	struct names *known;   /* files found so far, by class and NAME */
	struct names *tensors; /* tensors of all entries */
	struct error *err;
};

/* "organs/NAME.bin", owned by the arena. NULL: out of memory. */
static const char *file_of(struct organ_files *files, enum organ_class klass, const char *name,
			   size_t length)
{
	char text[ANATOMY_NAME_MAX + 32];
	const int n =
		snprintf(text, sizeof(text), "%s/%.*s.bin", class_name(klass), (int)length, name);

	return arena_copy(files->arena, text, (size_t)n);
}

static int add_entry(struct search *search, const struct organ_file_entry *entry)
{
	struct organ_files *files = search->files;
	struct organ_file_entry *more;

	if (files->n_all == UINT32_MAX - 1)
		return error_set(search->err, EMFILE, ERROR_NO_OFFSET,
				 "there are more organ files than a model can have tensors");
	more = array_grown(files->entries, files->n_all, &search->room, sizeof(*more));
	if (!more)
		return error_errno(search->err, ENOMEM);
	files->entries = more;
	files->entries[files->n_all++] = *entry;
	return 0;
}

/* Add the file of a tensor in the header. */
static int add_listed(struct search *search, const struct gguf_tensor *t, const char *name)
{
	struct organ_files *files = search->files;
	const enum organ_class klass = anatomy_class(t->name, t->name_length);
	struct organ_file_entry entry = { .file = file_of(files, klass, name, strlen(name)),
					  .tensor =
						  arena_copy(files->arena, t->name, t->name_length),
					  .length = t->name_length };

	if (!entry.file || !entry.tensor)
		return error_errno(search->err, ENOMEM);
	switch (names_add(search->known, entry.file, strlen(entry.file), files->n_all)) {
	case 0:
		break;
	case -EEXIST:
		return error_set(search->err, EBADMSG, t->info,
				 "two tensors of the header have the file %.200s", entry.file);
	default:
		return error_errno(search->err, ENOMEM);
	}
	if (names_add(search->tensors, entry.tensor, entry.length, files->n_all) < 0)
		return error_errno(search->err, ENOMEM);
	return add_entry(search, &entry);
}

static int add_all_listed(struct search *search, const struct gguf *header)
{
	const char **names = calloc(header->n_tensors + 1u, sizeof(const char *));
	int rc = names ? file_names(header, search->files->arena, names) : -ENOMEM;

	if (rc < 0)
		error_errno(search->err, ENOMEM);
	for (uint32_t i = 0; rc == 0 && i < header->n_tensors; i++)
		rc = add_listed(search, &header->tensors[i], names[i]);
	free(names);
	return rc;
}

/* Identify the tensor of a file that is not in the header; if there is none, set entry->why.
 * -ENOMEM with err set. */
static int identify(struct search *search, enum organ_class klass, const char *name,
		    struct organ_file_entry *entry)
{
	struct arena *arena = search->files->arena;
	char *path = path_in(search->directory, entry->file), text[320], tensor[TENSOR_MAX];
	struct error err = { 0 };
	struct organ organ = { .name = NULL };
	uint32_t number;
	size_t n = 0;

	if (!path)
		return error_errno(search->err, ENOMEM);
	if (read_organ(path, &organ, &err) < 0)
		error_describe(&err, text, sizeof(text));
	else if ((n = anatomy_added(organ.name, organ.name_length, name, klass, tensor,
				    sizeof(tensor))) == 0)
		snprintf(text, sizeof(text),
			 "its organ is \"%.200s\", to which another file name belongs", organ.name);
	else if (names_find(search->tensors, tensor, n, &number))
		snprintf(text, sizeof(text), "%.200s contains the same tensor",
			 search->files->entries[number].file);
	else
		entry->tensor = arena_copy(arena, tensor, n);
	entry->length = (uint32_t)n;
	free((char *)organ.name);
	free(path);
	if (entry->tensor)
		return 0;
	entry->why = arena_copy(arena, text, strlen(text));
	return entry->why ? 0 : error_errno(search->err, ENOMEM);
}

static int add_found(struct search *search, enum organ_class klass, const struct dirent *found,
		     size_t length)
{
	struct organ_files *files = search->files;
	const char *name = found->d_name;
	struct organ_file_entry entry = { .file = file_of(files, klass, name, length),
					  .listed_regular = found->d_type == DT_REG };
	char bare[ANATOMY_NAME_MAX + 1];
	uint32_t number;
	int rc;

	if (!entry.file)
		return error_errno(search->err, ENOMEM);
	if (names_find(search->known, entry.file, strlen(entry.file), &number)) {
		files->entries[number].listed_regular = entry.listed_regular;
		return 0;
	}
	snprintf(bare, sizeof(bare), "%.*s", (int)length, name);
	rc = identify(search, klass, bare, &entry);
	if (rc == 0 && entry.tensor)
		rc = names_add(search->tensors, entry.tensor, entry.length, files->n_all) < 0
			     ? error_errno(search->err, ENOMEM)
			     : 0;
	return rc < 0 ? rc : add_entry(search, &entry);
}

static int find_in_class(struct search *search, enum organ_class klass)
{
	DIR *entries = open_class(search->directory, klass);
	const struct dirent *entry;
	int rc = 0;
	size_t n;

	if (!entries)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_set(search->err, errno, ERROR_NO_OFFSET, "%s: %s",
					   class_name(klass), strerror(errno));
	search->files->linked |= is_link(search->directory, klass);
	while (rc == 0 && (errno = 0, entry = readdir(entries)))
		if (is_organ_name(entry->d_name, &n))
			rc = add_found(search, klass, entry, n);
	if (rc == 0 && errno)
		rc = error_set(search->err, errno, ERROR_NO_OFFSET, "%s: %s", class_name(klass),
			       strerror(errno));
	closedir(entries);
	return rc;
}

/* Ignored files come last; within a class block 10 comes after block 9. */
static int in_order(const void *left, const void *right)
{
	const struct organ_file_entry *a = left, *b = right;

	if (!a->tensor != !b->tensor)
		return a->tensor ? -1 : 1;
	return strverscmp(a->file, b->file);
}

static int find_all(struct search *search, const struct gguf *header)
{
	struct organ_files *files = search->files;
	int rc = header ? add_all_listed(search, header) : 0;

	files->listed = files->n_all;
	for (enum organ_class klass = 0; rc == 0 && klass < CLASSES; klass++)
		rc = find_in_class(search, klass);
	if (rc < 0)
		return rc;
	if (files->n_all > files->listed)
		qsort(files->entries + files->listed, files->n_all - files->listed,
		      sizeof(*files->entries), in_order);
	for (files->n = 0; files->n < files->n_all && files->entries[files->n].tensor;)
		files->n++;
	return 0;
}

bool organ_files_are_of(const struct organ_files *files, const struct gguf *header)
{
	if (header->n_tensors != files->listed)
		return false;
	for (uint32_t i = 0; i < files->listed; i++) {
		const struct organ_file_entry *entry = &files->entries[i];
		const struct gguf_tensor *t = &header->tensors[i];

		if (t->name_length != entry->length ||
		    memcmp(t->name, entry->tensor, entry->length) != 0)
			return false;
	}
	return true;
}

struct organ_files *organ_files_find(const char *directory, const struct gguf *header,
				     struct error *err)
{
	const uint32_t expected = header ? header->n_tensors : 0;
	struct organ_files *files = calloc(1, sizeof(*files));
	struct search search = { .directory = directory,
				 .files = files,
				 .known = names_new(expected),
				 .tensors = names_new(expected),
				 .err = err };
	int rc = -ENOMEM;

	if (files) {
		atomic_init(&files->refs, 1);
		files->arena = arena_new();
	}
	if (files && files->arena && search.known && search.tensors)
		rc = find_all(&search, header);
	else
		error_errno(err, ENOMEM);
	names_free(search.known);
	names_free(search.tensors);
	if (rc == 0)
		return files;
	organ_files_unref(files);
	return NULL;
}
