/* SPDX-License-Identifier: MIT */
/* open_model.c - see open_model.h. */
#include "tests/unit/open_model.h"
#include "fs/edit/stage.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/log.h"

struct opened open_at(void **state, const char *name, const char *layer,
		      const struct model_options *options)
{
	struct opened o = { .log = log_new(true), .cache = zstd_cache_new() };
	struct model_params site = { .log = o.log, .cache = o.cache, .layer = layer };
	struct path path = in_temp(state, name);

	must(o.log && o.cache);
	o.model = model_open(options, path.text, &site, &o.err);
	if (o.model && recover(o.model, NULL, &o.err) < 0) {
		model_close(o.model);
		o.model = NULL;
	}
	return o;
}

struct opened open_with(void **state, const char *name, const struct model_options *options)
{
	return open_at(state, name, NULL, options);
}

struct opened try_model(void **state, const char *name)
{
	const struct model_options options = { 0 };

	return open_with(state, name, &options);
}

struct opened open_model(void **state, const char *name)
{
	struct opened o = try_model(state, name);

	if (!o.model)
		fail_msg("%s: %s", name, o.err.text);
	return o;
}

struct opened open_small(void **state, const char *name)
{
	save_small(state, name);
	return open_model(state, name);
}

void close_model(struct opened *o)
{
	model_close(o->model);
	zstd_cache_unref(o->cache);
	log_free(o->log);
}

bool log_says(struct log *log, const char *words)
{
	size_t size;
	char *text = log_text(log, &size);
	bool says;

	must(text);
	says = strstr(text, words) != NULL;
	free(text);
	return says;
}

struct stage *stage_over(struct model *model, uint32_t tensor)
{
	struct content *content = slots_get(model->slots, tensor);
	struct view *view = organ_file_view(model, tensor, content);
	struct stage *stage;

	must(view);
	stage = stage_new(model->layer, view);
	must(stage);
	view_unref(view);
	content_unref(content);
	return stage;
}

int fill(struct model *model, uint32_t tensor, const void *bytes, size_t n)
{
	struct stage *stage = stage_over(model, tensor);
	int rc;

	assert_int_equal(stage_truncate(stage, 0), 0);
	assert_int_equal(stage_write(stage, bytes, n, 0), 0);
	rc = graft_fill(model, tensor, stage);
	stage_free(stage);
	return rc;
}

int fill_organ(struct model *model, uint32_t tensor, const char *name, uint32_t type, uint32_t dims,
	       const uint64_t *ne, uint32_t seed)
{
	struct organ_file file = mk_organ(name, type, dims, ne, seed);
	const int rc = fill(model, tensor, file.bytes, file.size);

	free(file.bytes);
	return rc;
}

int fill_up(struct model *model, uint32_t seed)
{
	return fill_organ(model, SMALL_UP, "blk.0.ffn_up.weight", GGML_F32, 2, small_ne, seed);
}

char *read_organ(struct model *model, uint32_t tensor, size_t *size)
{
	struct content *content = slots_get(model->slots, tensor);
	struct view *view = organ_file_view(model, tensor, content);
	char *bytes;

	must(view);
	*size = (size_t)view_size(view);
	assert_int_equal(*size, organ_file_size(model, tensor, content));
	bytes = read_view(view);
	view_unref(view);
	content_unref(content);
	return bytes;
}

void unit_assert_organ(struct model *model, uint32_t tensor, const struct organ_file *file,
		       const char *where, int line)
{
	size_t size;
	char *bytes = read_organ(model, tensor, &size);
	const bool same = size == file->size && memcmp(bytes, file->bytes, size) == 0;

	free(bytes);
	if (same)
		return;
	print_error("slot %u holds something else\n", tensor);
	_fail(where, line);
}
