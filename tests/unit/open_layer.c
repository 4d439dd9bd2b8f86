/* SPDX-License-Identifier: MIT */
/* open_layer.c - see open_layer.h. */
#include "tests/unit/open_layer.h"
#include "fs/storage/backing.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/log.h"
#include "gguf/reader.h"

struct site open_site(void **state, const char *name, const struct mk_file *file)
{
	struct site site;
	struct source source;

	save(state, name, file);
	site.base = backing_open(in_temp(state, name).text, NULL);
	must(site.base);
	source = backing_source(site.base);
	site.gguf = gguf_read(&source, NULL);
	must(site.gguf);
	snprintf(site.state, sizeof(site.state), "%s", in_temp(state, "state/organfs").text);
	site.manner = (struct layer_options){ .log = log_new(true), .cache = zstd_cache_new() };
	must(site.manner.log && site.manner.cache);
	return site;
}

struct site small_site(void **state)
{
	struct mk_file file = mk_small();
	struct site site = open_site(state, "base.gguf", &file);

	mk_file_free(&file);
	return site;
}

void close_site(struct site *site)
{
	gguf_free(site->gguf);
	backing_unref(site->base);
	zstd_cache_unref(site->manner.cache);
	log_free(site->manner.log);
}

struct layer *open_layer(const struct site *site)
{
	struct layer *layer =
		layer_open_private(site->state, &site->manner, site->base, site->gguf, NULL);

	must(layer);
	return layer;
}

int seal_stage(struct layer *layer, unsigned number, struct layer_seal *seal)
{
	char path[PATH_MAX];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/.stage/%u", layer_path(layer), number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = layer_seal_stage(layer, number, fd, false, seal);
	close(fd);
	return rc;
}

int keep_stage(struct layer *layer, unsigned number, enum organ_class klass, const char *name,
	       struct backing **file)
{
	struct layer_seal seal;
	const int rc = seal_stage(layer, number, &seal);

	return rc < 0 ? rc : layer_commit(layer, number, &seal, klass, name, NULL, file);
}

int keep_text(struct layer *layer, enum organ_class klass, const char *name, const char *text)
{
	unsigned number;
	const int fd = layer_stage(layer, &number);
	struct backing *file;
	int rc;

	if (fd < 0)
		return fd;
	must(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	rc = keep_stage(layer, number, klass, name, &file);
	if (rc == 0)
		backing_unref(file);
	return rc;
}

static int list_one(void *context, const struct layer_entry *entry, struct error *err)
{
	struct listing *listing = context;
	const enum organ_class klass = entry->klass;
	const char *name = entry->name;
	struct backing *file = entry->file;
	char bytes[32] = "";

	must(listing->n < ARRAY_LENGTH(listing->items));
	if (entry->kind == LAYER_LINK) {
		snprintf(listing->items[listing->n++], sizeof(listing->items[0]), "%s/%.32s>%.32s ",
			 class_name(klass), name, entry->target);
		return 0;
	}
	if (!file) {
		must(err->code);
		snprintf(listing->items[listing->n++], sizeof(listing->items[0]), "%s/%.32s! ",
			 class_name(klass), name);
		return 0;
	}
	must(backing_size(file) < sizeof(bytes) &&
	     backing_read(file, bytes, (size_t)backing_size(file), 0) == 0);
	snprintf(listing->items[listing->n++], sizeof(listing->items[0]), "%s/%.32s=%s ",
		 class_name(klass), name, bytes);
	backing_unref(file);
	return 0;
}

int compare_items(const void *a, const void *b)
{
	return strcmp(a, b);
}

char *list_layer(struct layer *layer)
{
	struct listing listing = { .n = 0 };
	char *text = calloc(1, sizeof(listing.items) + 1);
	struct error err = { 0 };

	must(text);
	must(layer_each(layer, list_one, &listing, &err) == 0);
	qsort(listing.items, listing.n, sizeof(listing.items[0]), compare_items);
	for (size_t i = 0; i < listing.n; i++)
		strcat(text, listing.items[i]);
	return text;
}
