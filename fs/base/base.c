/* SPDX-License-Identifier: MIT */
/* base.c - see base.h. */
#include "fs/base/base.h"

int base_open_shards(struct base *base, struct shards *shards, struct error *err)
{
	*base = (struct base){ .shards = shards_ref(shards) };
	return shards_join(shards, &base->file, &base->gguf, err);
}

int base_open(struct base *base, const char *path, struct error *err)
{
	struct source source;
	struct shards *shards;
	struct split split;
	int rc;

	*base = (struct base){ .file = backing_open(path, err) };
	if (!base->file)
		return -err->code;
	source = backing_source(base->file);
	base->gguf = gguf_read(&source, err);
	if (!base->gguf)
		return -err->code;
	if (!gguf_split(base->gguf, &split))
		return 0;
	base_close(base);
	shards = shards_find(path, &split, err);
	if (!shards)
		return -err->code;
	rc = base_open_shards(base, shards, err);
	shards_unref(shards);
	return rc;
}

void base_close(struct base *base)
{
	gguf_free(base->gguf);
	backing_unref(base->file);
	shards_unref(base->shards);
	*base = (struct base){ .file = NULL };
}
