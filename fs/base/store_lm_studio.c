/* SPDX-License-Identifier: MIT */
/* store_lm_studio.c - the models of LM Studio.
 *
 *	MODELS/OWNER/REPO/FILE.gguf	a file, or a link: lms import --symbolic-link makes some
 *	HOME/settings.json		"downloadsFolder" is MODELS; else it is HOME/models
 *	~/.lmstudio-home-pointer	the path of HOME; else it is ~/.cache/lm-studio if that is
 *					there, or ~/.lmstudio
 *
 * No environment variable moves them. Source: lmstudio-js, lms-common-server findLMStudioHome.ts;
 * lms, subcommands/importCmd.ts (resolveModelsFolderPath); the directories are those of
 * lmstudio.ai/docs/app/advanced/import-model. */
#include "fs/base/model_list.h"
#include "fs/base/store.h"
#include "fs/util/home.h"
#include "gguf/error.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* OWNER, REPO and FILE. */
#define LEVELS 3

/* HOME, to free. NULL: out of memory. */
static char *home_directory(void)
{
	char *pointer = home_path(".lmstudio-home-pointer"), *home = NULL, *other;
	struct error err;
	size_t n;

	if (pointer)
		home = store_read(pointer, &n, &err);
	free(pointer);
	if (home)
		home[strcspn(home, "\r\n")] = '\0';
	if (home && home[0] == '/')
		return home;
	free(home);
	home = home_path(".lmstudio");
	other = home_path(".cache/lm-studio");
	if (other && access(other, F_OK) == 0) {
		free(home);
		return other;
	}
	free(other);
	return home;
}

/* MODELS, to free. NULL: out of memory. */
static char *models_directory(void)
{
	char *home = home_directory(), *path, *text, *models = NULL;
	struct error err;
	cJSON *settings;
	const char *set;
	size_t n;

	if (!home)
		return NULL;
	path = store_path("%s/settings.json", home);
	text = path ? store_read(path, &n, &err) : NULL;
	settings = text ? cJSON_ParseWithLength(text, n) : NULL;
	set = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(settings, "downloadsFolder"));
	models = set && set[0] == '/' ? strdup(set) : store_path("%s/models", home);
	cJSON_Delete(settings);
	free(text);
	free(path);
	free(home);
	return models;
}

static unsigned count_slashes(const char *path)
{
	unsigned n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static int find_in(const char *models, const char *name, char **path, struct error *err)
{
	const size_t n = strlen(name);
	const bool whole = n > 5 && strcasecmp(name + n - 5, ".gguf") == 0;
	uint64_t size;
	int rc;

	*path = store_path("%s/%s%s", models, name, whole ? "" : ".gguf");
	if (!*path)
		return error_errno(err, ENOMEM);
	rc = store_check(*path, NULL, &size, err);
	if (rc == -ENOENT || rc == -ENOTDIR)
		rc = error_set(
			err, ENOENT, ERROR_NO_OFFSET,
			"LM Studio has no such file in %.120s; organfs --models lists its models",
			models);
	if (rc == 0)
		return 0;
	free(*path);
	*path = NULL;
	return rc;
}

static int find(const char *name, char **path, struct error *err)
{
	char *models;
	int rc;

	if (!store_is_plain(name) || count_slashes(name) + 1 != LEVELS)
		return error_set(
			err, EINVAL, ERROR_NO_OFFSET,
			"LM Studio has no such names; one is lmstudio:OWNER/REPO/FILE.gguf");
	models = models_directory();
	rc = models ? find_in(models, name, path, err) : error_errno(err, ENOMEM);
	free(models);
	return rc;
}

struct studio_listing {
	struct model_list *list;
	const char *models;
};

static int list_file(void *context, const char *file)
{
	const struct studio_listing *listing = context;
	struct error err = { 0 };
	uint64_t size = 0;
	bool damaged;
	char *path;
	int rc;

	if (!store_is_listed(file) || !store_is_plain(file) || count_slashes(file) + 1 != LEVELS)
		return 0;
	path = store_path("%s/%s", listing->models, file);
	if (!path)
		return -ENOMEM;
	damaged = store_check(path, NULL, &size, &err) < 0;
	rc = model_list_add(listing->list, file, path, size, damaged ? &err : NULL);
	free(path);
	return rc;
}

static int list(struct model_list *list_of)
{
	char *models = models_directory();
	struct studio_listing listing = { list_of, models };
	const int rc = models ? store_walk(models, LEVELS, list_file, &listing) : -ENOMEM;

	free(models);
	return rc;
}

const struct store store_lm_studio = { "lmstudio:", find, list };
