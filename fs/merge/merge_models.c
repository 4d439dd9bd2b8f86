/* SPDX-License-Identifier: MIT */
/* merge_models.c - see merge_models.h. */
#include "fs/merge/merge_models.h"
#include "fs/base/base.h"
#include "fs/base/model_name.h"
#include "fs/base/organ_files.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n > m && strcasecmp(text + n - m, end) == 0;
}

static bool is_config(const char *text)
{
	return ends_with(text, ".yml") || ends_with(text, ".yaml");
}

/* Hugging Face's rule: two names of letters, digits and a few signs; neither begins with a dot. */
bool merge_looks_like_hub_id(const char *written)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	const size_t owner = strspn(written, letters);
	const char *name = written + owner + 1;
	size_t n;

	if (owner == 0 || written[owner] != '/' || written[0] == '.' || name[0] == '.')
		return false;
	n = strspn(name, letters);
	if (n == 0 || (name[n] != '\0' && name[n] != '@') || strchr(name + n, '/'))
		return false;
	return !ends_with(written, ".gguf") && !is_config(written);
}

static int out_of_memory(struct error *err)
{
	return error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
}

/* Paths. The functions below return 0, or -errno with err set. */

/* Find STEM-00001-of-NNNNN.gguf in the directory. *path stays NULL if there is no such file. */
static int find_shard(const char *directory, const char *stem, char **path, struct error *err)
{
	const size_t n = strlen(stem);
	DIR *entries = n ? opendir(directory) : NULL;
	const struct dirent *entry;
	int rc = 0;

	if (n == 0)
		return 0;
	if (!entries)
		return errno == ENOMEM ? out_of_memory(err) : 0;
	while (rc == 0 && !*path && (entry = readdir(entries)))
		if (paths_shard_prefix(entry->d_name) == n &&
		    strncmp(entry->d_name, stem, n) == 0 &&
		    strncmp(entry->d_name + n, "-00001-", 7) == 0 &&
		    asprintf(path, "%s/%s", directory, entry->d_name) < 0) {
			*path = NULL;
			rc = out_of_memory(err);
		}
	closedir(entries);
	return rc;
}

static int find_split(const char *named, char **path, struct error *err)
{
	const char *slash = strrchr(named, '/');
	char *directory = strndup(named, (size_t)(slash - named));
	char *stem = paths_stem(named);
	const int rc = directory && stem ? find_shard(*directory ? directory : "/", stem, path, err)
					 : out_of_memory(err);

	free(directory);
	free(stem);
	return rc;
}

static bool is_there(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* Find the file at an absolute path, also without its ".gguf" or shard number. *path: NULL if there
 * is none. */
static int find_path(const char *named, char **path, struct error *err)
{
	*path = NULL;
	if (is_there(named)) {
		*path = strdup(named);
		return *path ? 0 : out_of_memory(err);
	}
	if (asprintf(path, "%s.gguf", named) < 0) {
		*path = NULL;
		return out_of_memory(err);
	}
	if (is_there(*path))
		return 0;
	free(*path);
	*path = NULL;
	return find_split(named, path, err);
}

static char *absolute(const char *directory, const char *written)
{
	char *path;

	if (url_is_file(written))
		return url_file_path(written);
	if (written[0] == '/')
		return strdup(written);
	return asprintf(&path, "%s/%s", directory, written) < 0 ? NULL : path;
}

static bool is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Opening. */

static int open_named(const char *path, const char *shown, struct remote_cache *remote,
		      struct base *base, struct error *err)
{
	const struct base_options options = { .remote = remote };
	struct error why = { 0 };
	char text[200];

	if (base_open_with(base, path, &options, &why) == 0)
		return 0;
	if (why.code == ENOMEM)
		return out_of_memory(err);
	return error_set(err, why.code, ERROR_NO_OFFSET, "\"%.80s\" cannot be read: %s", shown,
			 error_describe(&why, text, sizeof(text)));
}

static int open_found(const char *path, const char *shown, struct base *base, struct error *err)
{
	if (is_directory(path) && !organ_files_are_in(path))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "\"%.120s\" is a directory, and no organ files are in it", shown);
	return open_named(path, shown, NULL, base, err);
}

static int refuse_absent(const char *written, struct error *err)
{
	if (merge_looks_like_hub_id(written))
		return error_set(err, ENOENT, ERROR_NO_OFFSET,
				 "there is no file \"%.80s\"; name a GGUF of Hugging Face by "
				 "hf:OWNER/REPO/FILE.gguf",
				 written);
	return error_set(err, ENOENT, ERROR_NO_OFFSET,
			 "there is no file \"%.80s\" or \"%.80s.gguf\"", written, written);
}

int merge_find_stored(const char *written, char **path, struct error *err)
{
	struct error why = { 0 };

	if (model_name_find(written, path, &why) == 0)
		return 0;
	return error_set(err, why.code, ERROR_NO_OFFSET, "\"%.80s\": %s", written, why.text);
}

static int open_stored(const char *written, struct remote_cache *remote, struct base *base,
		       char **path, struct error *err)
{
	const int rc = merge_find_stored(written, path, err);

	return rc == 0 ? open_named(*path, written, remote, base, err) : rc;
}

static int open_remote(const char *url, struct remote_cache *remote, struct base *base, char **path,
		       struct error *err)
{
	*path = url_shown(url);
	return *path ? open_named(url, *path, remote, base, err) : out_of_memory(err);
}

static int open_local(const char *directory, const char *written, struct base *base, char **path,
		      struct error *err)
{
	char *named = absolute(directory, written);
	int rc;

	if (!named && url_is_file(written) && errno == EINVAL)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "\"%.120s\" names no file of this machine", written);
	rc = named ? find_path(named, path, err) : out_of_memory(err);
	free(named);
	if (rc == 0 && !*path)
		return refuse_absent(written, err);
	return rc == 0 ? open_found(*path, written, base, err) : rc;
}

int merge_open_by_path(const char *directory, const char *written, struct remote_cache *remote,
		       struct base *base, char **path, struct error *err)
{
	int rc;

	*base = (struct base){ .file = NULL };
	*path = NULL;
	if (url_is_remote(written))
		rc = open_remote(written, remote, base, path, err);
	else if (url_is_store(written))
		rc = open_stored(written, remote, base, path, err);
	else if (is_config(written))
		rc = error_set(err, EINVAL, ERROR_NO_OFFSET,
			       "\"%.120s\" is a configuration: make it a document with a name "
			       "of this one, or write out its result first",
			       written);
	else
		rc = open_local(directory, written, base, path, err);
	if (rc < 0) {
		free(*path);
		*path = NULL;
	}
	return rc;
}
