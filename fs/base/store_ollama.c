/* SPDX-License-Identifier: MIT */
/* store_ollama.c - the models of ollama.
 *
 *	MODELS/manifests/HOST/OWNER/NAME/TAG	JSON (ollama_manifest.h)
 *	MODELS/blobs/sha256-HEX			a layer; sha256-HEX-partial while it is downloaded
 *
 * MODELS is $OLLAMA_MODELS, or else ~/.ollama/models and /usr/share/ollama/.ollama/models, which
 * the service has. Source: ollama, types/model/name.go (ParseName, isValidPart, DisplayShortest),
 * manifest/paths.go, manifest/manifest.go (Manifests), server/download.go (-partial),
 * envconfig/config.go (Models), docs/faq.mdx and scripts/install.sh (the service). */
#include "fs/base/model_list.h"
#include "fs/base/ollama_manifest.h"
#include "fs/base/store.h"
#include "fs/util/home.h"
#include "gguf/error.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OF_SERVICE "/usr/share/ollama/.ollama/models"

/* The parts of a name in full, their defaults, and the bytes that they may have behind the first
 * beside letters, digits and '_'. */
enum { HOST, OWNER, NAME, TAG, PARTS };
static const char *const defaults[PARTS] = { "registry.ollama.ai", "library", NULL, "latest" };
static const char *const also[PARTS] = { "-.:", "-", "-.", "-." };
static const size_t longest[PARTS] = { 350, 80, 80, 80 };

static bool is_part(unsigned part, const char *text)
{
	const size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' &&
		    (i == 0 || !strchr(also[part], text[i])))
			return false;
	return n > 0 && n <= longest[part];
}

/* Cut the parts of a name, which changes. The host may have a ':', the tag no '/'. */
static bool split(char *name, const char *parts[PARTS])
{
	char *slash = strrchr(name, '/'), *colon = strrchr(slash ? slash : name, ':');

	memcpy(parts, defaults, sizeof(defaults));
	if (colon) {
		*colon = '\0';
		parts[TAG] = colon + 1;
	}
	for (unsigned part = NAME; slash && part > HOST; part--) {
		*slash = '\0';
		parts[part] = slash + 1;
		slash = part == NAME ? strrchr(name, '/') : NULL;
		parts[part - 1] = name;
	}
	if (!parts[NAME])
		parts[NAME] = name;
	for (unsigned part = 0; part < PARTS; part++)
		if (!is_part(part, parts[part]))
			return false;
	return true;
}

/* MODELS, number i of them, to free. NULL: there are not so many, or no memory. */
static char *models_directory(unsigned i)
{
	char *set = store_variable("OLLAMA_MODELS", "");

	if (set && i == 0)
		return set;
	free(set);
	if (set || i > 1)
		return NULL;
	return i ? strdup(OF_SERVICE) : home_path(".ollama/models");
}

/* The file of the model whose manifest is at a path in MODELS/manifests. -ENOENT with err not set:
 * there is no such manifest. */
static int find_in(const char *models, const char *manifest, char **path, uint64_t *size,
		   struct error *err)
{
	char *text_path = store_path("%s/manifests/%s", models, manifest), *text, *blobs, *partial;
	struct ollama_blob blob;
	size_t n;
	int rc;

	text = text_path ? store_read(text_path, &n, err) : NULL;
	rc = text ? ollama_manifest_read(text, n, &blob, err) : text_path ? -err->code : -ENOMEM;
	free(text_path);
	free(text);
	if (rc < 0)
		return rc == -ENOTDIR ? -ENOENT : rc;
	blobs = store_path("%s/blobs", models);
	*path = store_path("%s/%s", blobs ? blobs : "", blob.name);
	partial = store_path("%s-partial", *path ? *path : "");
	if (!blobs || !*path || !partial)
		rc = error_errno(err, ENOMEM);
	else if (access(*path, F_OK) < 0 && errno == ENOENT)
		rc = error_set(err, ENODATA, ERROR_NO_OFFSET,
			       access(partial, F_OK) == 0
				       ? "its download is not complete: ollama pull goes on with it"
				       : "its blob %s is missing: ollama pull fetches it again",
			       blob.name);
	else
		rc = store_check(*path, blobs, size, err);
	if (rc == 0 && *size != blob.size)
		rc = error_set(err, EBADMSG, ERROR_NO_OFFSET,
			       "its blob has %" PRIu64 " bytes and its manifest says %" PRIu64
			       ": ollama rm and ollama pull fetch it again",
			       *size, blob.size);
	free(blobs);
	free(partial);
	return rc;
}

static int find_parts(const char *const parts[PARTS], char **path, struct error *err)
{
	char *manifest =
		store_path("%s/%s/%s/%s", parts[HOST], parts[OWNER], parts[NAME], parts[TAG]);
	int rc = manifest ? -ENOENT : error_errno(err, ENOMEM);
	char *models = NULL, *looked[2] = { NULL, NULL };
	uint64_t size;

	for (unsigned i = 0; rc == -ENOENT && (models = models_directory(i)); i++) {
		rc = find_in(models, manifest, path, &size, err);
		looked[i] = models;
	}
	if (rc == -ENOENT)
		error_set(err, ENOENT, ERROR_NO_OFFSET,
			  "ollama has no such model in %.90s%s%s; ollama pull fetches one, and "
			  "OLLAMA_MODELS names another directory",
			  looked[0] ? looked[0] : "any directory", looked[1] ? " or " : "",
			  looked[1] ? looked[1] : "");
	else if (rc == -EACCES)
		error_set(err, EACCES, ERROR_NO_OFFSET,
			  "permission denied; the models of ollama's service are for its group, "
			  "ollama");
	free(looked[0]);
	free(looked[1]);
	free(manifest);
	return rc;
}

static int find(const char *name, char **path, struct error *err)
{
	char *copy = strdup(name);
	const char *parts[PARTS];
	int rc;

	if (!copy)
		return error_errno(err, ENOMEM);
	rc = split(copy, parts) ? find_parts(parts, path, err)
				: error_set(err, EINVAL, ERROR_NO_OFFSET,
					    "ollama has no such names; one is ollama:NAME:TAG, or "
					    "ollama:OWNER/NAME:TAG");
	if (rc < 0) {
		free(*path);
		*path = NULL;
	}
	free(copy);
	return rc;
}

struct ollama_listing {
	struct model_list *list;
	const char *models;
};

/* The manifest at HOST/OWNER/NAME/TAG. */
static int list_manifest(void *context, const char *manifest)
{
	const struct ollama_listing *listing = context;
	char *copy = strdup(manifest), *path = NULL, *name, *rest = copy;
	const char *parts[PARTS];
	struct error err = { 0 };
	uint64_t size = 0;
	bool is = copy;
	int rc;

	for (unsigned part = 0; is && part < PARTS; part++) {
		parts[part] = strsep(&rest, "/");
		is = parts[part] && is_part(part, parts[part]);
	}
	if (!is) {
		free(copy);
		return copy ? 0 : -ENOMEM;
	}
	name = strcmp(parts[HOST], defaults[HOST]) != 0
		       ? store_path("%s/%s/%s:%s", parts[HOST], parts[OWNER], parts[NAME],
				    parts[TAG])
	       : strcmp(parts[OWNER], defaults[OWNER]) != 0
		       ? store_path("%s/%s:%s", parts[OWNER], parts[NAME], parts[TAG])
		       : store_path("%s:%s", parts[NAME], parts[TAG]);
	rc = find_in(listing->models, manifest, &path, &size, &err);
	if (name)
		rc = model_list_add(listing->list, name, path, size, rc < 0 ? &err : NULL);
	free(path);
	free(copy);
	rc = name ? rc : -ENOMEM;
	free(name);
	return rc;
}

static int list(struct model_list *list_of)
{
	struct ollama_listing listing = { .list = list_of };
	char *models;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && (models = models_directory(i)); i++) {
		char *manifests = store_path("%s/manifests", models);

		listing.models = models;
		rc = manifests ? store_walk(manifests, PARTS, list_manifest, &listing) : -ENOMEM;
		free(manifests);
		free(models);
	}
	return rc;
}

const struct store store_ollama = { "ollama:", find, list };
