/* SPDX-License-Identifier: MIT */
/* store_hub.c - the cache of huggingface_hub, which hf, transformers and llama.cpp share, and the
 * Hub itself for what it lacks.
 *
 *	CACHE/models--OWNER--REPO/refs/REVISION		the commit of a branch or tag
 *	CACHE/models--OWNER--REPO/snapshots/COMMIT/FILE	a link to ../../blobs/HASH, or a file
 *	ENDPOINT/OWNER/REPO/resolve/REVISION/FILE	the URL
 *
 * A link is made when its blob is complete: HASH.incomplete has none. Source: huggingface_hub,
 * constants.py (CACHE, ENDPOINT, HF_HUB_OFFLINE), file_download.py (repo_folder_name,
 * try_to_load_from_cache, _create_symlink, hf_hub_url), utils/_validators.py (validate_repo_id). */
#include "fs/base/model_list.h"
#include "fs/base/store.h"
#include "fs/storage/hub_token.h"
#include "fs/util/home.h"
#include "fs/util/text_escape.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define COMMIT_LENGTH 40
#define REPO_MAX      96u

/* Levels of directories that are read below the cache: three, and the repository's own. */
#define LEVELS 10

/* Parts of OWNER/REPO/FILE@REVISION. */
struct hub_name {
	char *copy;
	const char *owner, *repo, *file, *revision;
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";

/* Is the text the name of an owner or a repository? Neither contains "--", the cache's '/'. */
static bool is_repo_part(const char *text)
{
	const size_t n = strlen(text);

	return n > 0 && n <= REPO_MAX && strspn(text, letters) == n && !strchr("-.", text[0]) &&
	       !strstr(text, "--") && !strstr(text, "..");
}

/* A commit, a branch or a tag, also "refs/pr/1". */
static bool is_revision(const char *text)
{
	return store_is_plain(text) && strspn(text, letters) == strlen(text) && strlen(text) <= 255;
}

static bool is_commit(const char *text)
{
	return strlen(text) == COMMIT_LENGTH && strspn(text, "0123456789abcdef") == COMMIT_LENGTH;
}

/* copy is to be freed either way. */
static bool split(const char *name, struct hub_name *parts)
{
	char *rest = parts->copy = strdup(name), *at = rest ? strrchr(rest, '@') : NULL;

	parts->revision = "main";
	if (at) {
		*at = '\0';
		parts->revision = at + 1;
	}
	parts->owner = rest ? strsep(&rest, "/") : NULL;
	parts->repo = rest ? strsep(&rest, "/") : NULL;
	parts->file = rest;
	return rest && is_repo_part(parts->owner) && is_repo_part(parts->repo) &&
	       store_is_plain(parts->file) && is_revision(parts->revision);
}

/* CACHE, to free. NULL: out of memory. */
static char *cache_directory(void)
{
	static const char *const variables[][2] = { { "HF_HUB_CACHE", "" },
						    { "HUGGINGFACE_HUB_CACHE", "" },
						    { "HF_HOME", "/hub" },
						    { "XDG_CACHE_HOME", "/huggingface/hub" } };
	char *cache = NULL;

	for (size_t i = 0; !cache && i < sizeof(variables) / sizeof(variables[0]); i++)
		cache = store_variable(variables[i][0], variables[i][1]);
	return cache ? cache : home_path(".cache/huggingface/hub");
}

/* The commit that a revision of a repository is in the cache. Returns 0, -ENOENT with err not set:
 * that is not known there, or -errno with err set. */
static int find_commit(const char *repo, const char *revision, char commit[COMMIT_LENGTH + 1],
		       struct error *err)
{
	char *path = store_path("%s/refs/%s", repo, revision), *text;
	size_t n = 0;
	int rc = 0;

	text = path ? store_read(path, &n, err) : NULL;
	free(path);
	if (!path)
		return error_errno(err, ENOMEM);
	if (text)
		text[strcspn(text, "\r\n")] = '\0';
	else if (err->code != ENOENT && err->code != ENOTDIR && err->code != EBADMSG)
		return -err->code;
	if (text ? is_commit(text) : is_commit(revision))
		memcpy(commit, text ? text : revision, COMMIT_LENGTH + 1);
	else if (text)
		rc = error_set(err, EBADMSG, ERROR_NO_OFFSET,
			       "the cache is damaged: %.60s of the repository is not a commit; hf "
			       "download writes it again",
			       revision);
	else
		rc = -ENOENT;
	free(text);
	return rc;
}

/* The file in the cache. -ENOENT with err not set: it is not there. */
static int find_cached(const char *cache, const struct hub_name *name, char **path,
		       struct error *err)
{
	char *repo = store_path("%s/models--%s--%s", cache, name->owner, name->repo);
	char commit[COMMIT_LENGTH + 1];
	struct stat status;
	uint64_t size;
	int rc = repo ? find_commit(repo, name->revision, commit, err) : error_errno(err, ENOMEM);

	if (rc == 0) {
		*path = store_path("%s/snapshots/%s/%s", repo, commit, name->file);
		rc = !*path ? error_errno(err, ENOMEM) : lstat(*path, &status) < 0 ? -errno : 0;
	}
	free(repo);
	if (rc == -ENOTDIR)
		rc = -ENOENT;
	if (rc < 0)
		return rc;
	rc = store_check(*path, cache, &size, err);
	if (rc == -ENOENT)
		rc = error_set(err, ENODATA, ERROR_NO_OFFSET,
			       "its blob is missing in the cache: hf download fetches it again");
	return rc;
}

/* To free, encoded as a part of a URL. NULL: out of memory. */
static char *encode(const char *text, const char *also)
{
	char *encoded = malloc(3 * strlen(text) + 1);

	if (encoded)
		text_escape(text, strlen(text), also, encoded);
	return encoded;
}

/* The URL of a file that the cache does not have. */
static int find_remote(const char *cache, const struct hub_name *name, char **path,
		       struct error *err)
{
	const char *offline = getenv("HF_HUB_OFFLINE"), *endpoint = hub_endpoint();
	char *file, *revision;
	size_t n = strlen(endpoint);

	if (offline && (strcmp(offline, "1") == 0 || strcasecmp(offline, "on") == 0 ||
			strcasecmp(offline, "yes") == 0 || strcasecmp(offline, "true") == 0))
		return error_set(
			err, ENOENT, ERROR_NO_OFFSET,
			"it is not in the cache %.100s, and HF_HUB_OFFLINE forbids the Hub; "
			"hf download fetches it",
			cache);
	if (!url_is_remote(endpoint))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "HF_ENDPOINT is no URL with http or https");
	while (n && endpoint[n - 1] == '/')
		n--;
	file = encode(name->file, " !\"#$%&'()*+,:;<=>?@[\\]^`{|}\x80");
	revision = encode(name->revision, "/%");
	if (file && revision)
		*path = store_path("%.*s/%s/%s/resolve/%s/%s", (int)n, endpoint, name->owner,
				   name->repo, revision, file);
	free(file);
	free(revision);
	return *path ? 0 : error_errno(err, ENOMEM);
}

static int find(const char *text, char **path, struct error *err)
{
	struct hub_name name;
	char *cache = cache_directory();
	int rc;

	if (!split(text, &name))
		rc = !name.copy ? error_errno(err, ENOMEM)
				: error_set(err, EINVAL, ERROR_NO_OFFSET,
					    "the Hub has no such names; one is "
					    "hf:OWNER/REPO/FILE.gguf, or with @REVISION");
	else
		rc = cache ? find_cached(cache, &name, path, err) : error_errno(err, ENOMEM);
	if (rc < 0) {
		free(*path);
		*path = NULL;
	}
	if (rc == -ENOENT)
		rc = find_remote(cache, &name, path, err);
	free(cache);
	free(name.copy);
	return rc;
}

struct hub_listing {
	struct model_list *list;
	const char *cache;
};

/* Add a file of a snapshot. The commit of main has no @REVISION. */
static int add(const struct hub_listing *listing, const struct hub_name *name, const char *path)
{
	char *repo = store_path("%s/models--%s--%s", listing->cache, name->owner, name->repo);
	char commit[COMMIT_LENGTH + 1] = "", *file = store_path("%s/%s", listing->cache, path), *is;
	struct error err = { 0 };
	uint64_t size = 0;
	int rc = -ENOMEM;

	if (repo)
		find_commit(repo, "main", commit, &err);
	is = strcmp(commit, name->revision) == 0
		     ? store_path("%s/%s/%s", name->owner, name->repo, name->file)
		     : store_path("%s/%s/%s@%s", name->owner, name->repo, name->file,
				  name->revision);
	if (repo && file && is) {
		const bool damaged = store_check(file, listing->cache, &size, &err) < 0;

		rc = model_list_add(listing->list, is, file, size, damaged ? &err : NULL);
	}
	free(repo);
	free(file);
	free(is);
	return rc;
}

/* The file at models--OWNER--REPO/snapshots/COMMIT/FILE in the cache, if the path is such a one. */
static int list_file(void *context, const char *path)
{
	static const char prefix[] = "models--";
	struct hub_name name = { .copy = strdup(path) };
	char *rest = name.copy, *repo = rest ? strsep(&rest, "/") : NULL, *dashes = NULL;
	const char *snapshots = rest ? strsep(&rest, "/") : NULL;
	int rc = name.copy ? 0 : -ENOMEM;

	name.revision = rest ? strsep(&rest, "/") : NULL;
	name.file = rest;
	if (rest && strncmp(repo, prefix, strlen(prefix)) == 0)
		dashes = strstr(repo + strlen(prefix), "--");
	if (dashes) {
		*dashes = '\0';
		name.owner = repo + strlen(prefix);
		name.repo = dashes + 2;
		if (strcmp(snapshots, "snapshots") == 0 && is_commit(name.revision) &&
		    is_repo_part(name.owner) && is_repo_part(name.repo) &&
		    store_is_plain(name.file) && store_is_listed(name.file) &&
		    !strchr(name.file, '@'))
			rc = add(context, &name, path);
	}
	free(name.copy);
	return rc;
}

static int list(struct model_list *list_of)
{
	char *cache = cache_directory();
	struct hub_listing listing = { list_of, cache };
	const int rc = cache ? store_walk(cache, LEVELS, list_file, &listing) : -ENOMEM;

	free(cache);
	return rc;
}

const struct store store_hub = { "hf:", find, list };
