/* SPDX-License-Identifier: MIT */
/* merge_lookup.c - see merge_lookup.h. All functions return 0 or -errno with err set. */
#include "fs/edit/merge_lookup.h"
#include "fs/base/base.h"
#include "fs/base/shards.h"
#include "fs/edit/merge_edit.h"
#include "fs/edit/symlinks.h"
#include "fs/merge/merge_models.h"
#include "fs/merge/merge_note.h"
#include "fs/model/model.h"
#include "fs/storage/backing.h"
#include "fs/util/credentials.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open the model with the rights of the user, on this thread. */
static int open_as(const struct merge_lookup *lookup, const char *path, struct base *base,
		   char **found, struct error *err)
{
	struct credentials before;
	int rc = credentials_assume(lookup->of.uid, lookup->of.gid, &before);

	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET,
				 "the rights of the user cannot be assumed");
	rc = merge_open_by_path("/", path, lookup->model->remote, base, found, err);
	credentials_restore(&before);
	return rc;
}

/* Open the GGUF at an absolute path, which may never answer or lead into this mount. */
static int probe(struct merge_lookup *lookup, const char *path, struct base *base,
		 struct error *err)
{
	const int rc =
		symlinks_gguf(lookup->model, path, lookup->of.uid, lookup->of.gid,
			      lookup->hurried || lookup->silent, &base->file, &base->gguf, err);

	lookup->silent |= rc == -ETIMEDOUT;
	return rc;
}

/* Open the GGUF at path, at path with ".gguf", or the split model named by path. -ENOENT: there is
 * none. */
static int open_path(struct merge_lookup *lookup, const char *path, struct base *base, char **found,
		     struct error *err)
{
	char *longer = NULL;
	struct error why = { 0 };
	const char *at = path;
	int rc;

	if (asprintf(&longer, "%s.gguf", path) < 0)
		return error_errno(err, ENOMEM);
	rc = probe(lookup, path, base, &why);
	if (rc == -ENOENT) {
		at = longer;
		rc = probe(lookup, at, base, &why);
	}
	if (rc == 0 && paths_shard_prefix(basename(at)) == 0) {
		*found = strdup(at);
		rc = *found ? 0 : error_errno(err, ENOMEM);
	} else if (rc == 0 || rc == -ENOENT) {
		/* The path has answered, so its directory can be read on this thread. */
		base_close(base);
		*base = (struct base){ .file = NULL };
		rc = open_as(lookup, path, base, found, err);
	} else {
		char text[200];

		error_set(err, -rc, ERROR_NO_OFFSET, "\"%.120s\" cannot be read: %s", path,
			  error_describe(&why, text, sizeof(text)));
	}
	free(longer);
	return rc;
}

/* Share the base that the mount has open of one of its models, which the mount's users may read: by
 * now another file may have the path, or the path may lead into this mount, whose threads answer
 * only once it is there. The base of the model that is merged into is not parsed again, because the
 * plan has it. */
static int open_mounted(const struct merge_lookup *lookup, const struct model *model,
			struct base *base, char **path, struct error *err)
{
	struct source source;

	*path = strdup(backing_path(model->base));
	if (!*path)
		return error_errno(err, ENOMEM);
	if (model != lookup->model && model->shards)
		return base_open_shards(base, model->shards, err);
	base->file = backing_ref(model->base);
	base->shards = model->shards ? shards_ref(model->shards) : NULL;
	if (model == lookup->model)
		return 0;
	source = backing_source(base->file);
	base->gguf = gguf_read(&source, err);
	return base->gguf ? 0 : -err->code;
}

static const struct model *find_mounted(const struct merge_lookup *lookup, const char *written)
{
	for (uint32_t i = 0; i < lookup->n_models; i++) {
		const struct model *model = model_latest(lookup->models[i]);

		if (strcmp(model->shown ? model->shown : model->name, written) == 0)
			return model;
	}
	return NULL;
}

/* Like find_mounted(), for a merge of an earlier mount: only if the model's base is at the same
 * path and the mount alone may be able to open it: a directory of organ files, or a file on a
 * server, which may want a password. */
static const struct model *find_mounted_again(const struct merge_lookup *lookup,
					      const char *written, const char *was)
{
	const struct model *model = find_mounted(lookup, written);

	if (!model || strcmp(backing_path(model->base), was) != 0)
		return NULL;
	return url_is_remote(was) || (model->shards && shards_are_organs(model->shards)) ? model
											 : NULL;
}

static int open_beside(struct merge_lookup *lookup, const char *directory, const char *written,
		       struct base *base, char **path, struct error *err)
{
	char *named;
	int rc;

	if (asprintf(&named, "%s/%s", directory, written) < 0)
		return error_errno(err, ENOMEM);
	rc = open_path(lookup, named, base, path, err);
	free(named);
	return rc;
}

static int open_file_url(struct merge_lookup *lookup, const char *url, struct base *base,
			 char **path, struct error *err)
{
	char *named = url_file_path(url);
	int rc;

	if (!named)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "\"%.120s\" names no file of this machine", url);
	rc = open_path(lookup, named, base, path, err);
	free(named);
	return rc;
}

/* Open the model of that name in a store, with the rights of the user. */
static int open_stored(struct merge_lookup *lookup, const char *written, struct base *base,
		       char **path, struct error *err)
{
	struct credentials before;
	char *found = NULL;
	int rc = credentials_assume(lookup->of.uid, lookup->of.gid, &before);

	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET,
				 "the rights of the user cannot be assumed");
	rc = merge_find_stored(written, &found, err);
	credentials_restore(&before);
	if (rc == 0)
		rc = url_is_remote(found) ? open_as(lookup, found, base, path, err)
					  : open_path(lookup, found, base, path, err);
	free(found);
	return rc;
}

static int open_written(struct merge_lookup *lookup, const char *written, struct base *base,
			char **path, struct error *err)
{
	const struct merge_request *request = lookup->request;
	const struct model *mounted;
	int rc = -ENOENT;

	for (size_t i = 0; i < request->n_found; i++) {
		const struct merge_found *found = &request->found[i];

		if (strcmp(found->written, written) == 0)
			return found->model ? open_mounted(lookup, found->model, base, path, err)
					    : open_path(lookup, found->path, base, path, err);
	}
	mounted = find_mounted(lookup, written);
	if (mounted)
		return open_mounted(lookup, mounted, base, path, err);
	if (url_is_remote(written))
		return open_as(lookup, written, base, path, err);
	if (url_is_store(written))
		return open_stored(lookup, written, base, path, err);
	if (url_is_file(written))
		return open_file_url(lookup, written, base, path, err);
	if (written[0] == '/')
		return open_path(lookup, written, base, path, err);
	for (size_t i = 0; rc == -ENOENT && i < 2; i++)
		if (request->directories[i])
			rc = open_beside(lookup, request->directories[i], written, base, path, err);
	if (rc == -ENOENT && merge_looks_like_hub_id(written))
		error_set(err, ENOENT, ERROR_NO_OFFSET,
			  "there is no file \"%.80s\"; name a GGUF of Hugging Face by "
			  "hf:OWNER/REPO/FILE.gguf",
			  written);
	else if (rc == -ENOENT)
		error_set(err, ENOENT, ERROR_NO_OFFSET,
			  "there is no file \"%.40s\" or \"%.40s.gguf\"%s%.120s", written, written,
			  request->directories[0] ? " in " : "; give a path from / on",
			  request->directories[0] ? request->directories[0] : "");
	return rc;
}

/* Open the model at the path that it had when the merge was put in force; no path stands for the
 * base. */
static int open_again(struct merge_lookup *lookup, const char *written, struct base *base,
		      char **path, struct error *err)
{
	const struct merge_state *again = lookup->again;
	const struct model *model = lookup->model;

	for (size_t i = 0; i < again->n_models; i++) {
		const char *was = again->models[i].path;
		const struct model *mounted = model;

		if (strcmp(again->models[i].written, written) != 0)
			continue;
		if (*was && strcmp(was, backing_path(model->base)) != 0)
			mounted = find_mounted_again(lookup, written, was);
		if (mounted)
			return open_mounted(lookup, mounted, base, path, err);
		/* The path of a URL is noted without its password. */
		if (url_is_remote(written) || url_is_remote(was))
			return open_as(lookup, url_is_remote(written) ? written : was, base, path,
				       err);
		return open_path(lookup, was, base, path, err);
	}
	return error_set(err, EINVAL, ERROR_NO_OFFSET, "the note has no path for it");
}

/* Does a model of the mount have the file open? Its log then stays that model's. */
static bool is_mounted(const struct merge_lookup *lookup, const struct backing *file)
{
	bool mounted = file == lookup->model->base;

	for (uint32_t i = 0; i < lookup->n_models; i++)
		mounted |= file == model_latest(lookup->models[i])->base;
	return mounted;
}

int merge_lookup_open(void *context, const char *written, struct base *base, char **path,
		      struct error *err)
{
	struct merge_lookup *lookup = context;
	int rc;

	*base = (struct base){ .file = NULL };
	*path = NULL;
	rc = lookup->again ? open_again(lookup, written, base, path, err)
			   : open_written(lookup, written, base, path, err);
	if (rc == 0 && base->file)
		backing_announce(base->file, FILE_USE_DONOR);
	if (rc == 0 && base->file && !is_mounted(lookup, base->file))
		backing_set_log(base->file, lookup->model->log);
	return rc;
}
