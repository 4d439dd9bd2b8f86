/* SPDX-License-Identifier: MIT */
/* base.c - see base.h. */
#include "fs/base/base.h"
#include "fs/base/organ_files.h"
#include "fs/base/shards.h"
#include "fs/storage/backing.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/reader.h"
#include "gguf/shard.h"

#include <errno.h>
#include <stdlib.h>

int base_open_shards(struct base *base, struct shards *shards, struct error *err)
{
	*base = (struct base){ .shards = shards_ref(shards) };
	return shards_join(shards, &base->file, &base->gguf, err);
}

/* Open the shards that were found; NULL: err is set. */
static int open_found(struct base *base, struct shards *shards, struct error *err)
{
	const int rc = shards ? base_open_shards(base, shards, err) : -err->code;

	shards_unref(shards);
	return rc;
}

int base_open_with(struct base *base, const char *path, const struct base_options *options,
		   struct error *err)
{
	const bool remote = url_is_remote(path);
	char *directory = remote ? NULL : organ_files_directory(path);
	struct source source;
	struct split split;

	*base = (struct base){ .file = NULL };
	if (directory) {
		const int rc = open_found(base,
					  shards_find_organs(directory, options->header,
							     options->mounted, err),
					  err);

		free(directory);
		return rc;
	}

	base->file =
		remote ? backing_open_remote(path, options->remote, err) : backing_open(path, err);
	if (!base->file)
		return -err->code;
	if (options->mounted)
		backing_set_passing(base->file);
	backing_announce(base->file, options->mounted ? FILE_USE_BASE : FILE_USE_DONOR);
	source = backing_source(base->file);
	base->gguf = gguf_read(&source, err);
	/* The parser reports only that it could not read. */
	if (!base->gguf && err->code == EIO)
		backing_remote_error(base->file, err);
	if (!base->gguf)
		return -err->code;
	backing_keep(base->file, base->gguf->data_offset);
	if (!gguf_split(base->gguf, &split))
		return 0;
	base_close(base);
	return open_found(base, shards_find(path, &split, options->remote, options->mounted, err),
			  err);
}

int base_open(struct base *base, const char *path, struct error *err)
{
	return base_open_with(base, path, &(struct base_options){ .header = NULL }, err);
}

void base_close(struct base *base)
{
	gguf_free(base->gguf);
	backing_unref(base->file);
	shards_unref(base->shards);
	*base = (struct base){ .file = NULL };
}
