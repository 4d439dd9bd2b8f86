/* SPDX-License-Identifier: MIT */
/* test_layer_adapters.c - fs/layer/layer_adapters.c: what a layer keeps of adapters. */
#include "fs/layer/layer.h"
#include "fs/layer/layer_adapters.h"
#include "tests/unit/open_model.h"

#include <limits.h>

/* What was found, in the order of the names. */
struct listing {
	char text[1024];
	unsigned n;
};

static int note(void *context, const struct layer_adapter *what, struct error *err)
{
	struct listing *listing = context;
	char line[256], *at = listing->text;

	snprintf(line, sizeof(line), "%s%s%s\n", what->file, what->target ? " -> " : " = ",
		 what->target ? what->target
		 : what->text ? what->text
			      : "?");
	/* Lines that sort before it stay before it. */
	while (*at && strcmp(at, line) < 0)
		at = strchr(at, '\n') + 1;
	memmove(at + strlen(line), at, strlen(at) + 1);
	memcpy(at, line, strlen(line));
	listing->n++;
	(void)err;
	return 0;
}

static void assert_kept(struct model *model, const char *text)
{
	struct listing listing = { .n = 0 };
	struct error err = { 0 };

	assert_int_equal(layer_each_adapter(model->layer, note, &listing, &err), 0);
	assert_string_equal(listing.text, text);
}

static void what_was_kept_is_found_again(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	static const char *const both[] = { "a.gguf", "a.scale" };
	const struct timespec time = { 1234567890, 0 };
	struct layer *layer = o.model->layer;

	assert_kept(o.model, "");
	assert_int_equal(layer_remove_adapter(layer, both, 2), 0);
	assert_int_equal(layer_link_adapter(layer, "a.gguf", "/x y", getuid(), getgid(), &time), 0);
	assert_int_equal(layer_write_setting(layer, "a.scale", "0.5\n", &time), 0);
	assert_int_equal(layer_write_setting(layer, "lora.alpha", "16\n", &time), 0);
	assert_kept(o.model, "a.gguf -> /x y\na.scale = 0.5\n\nlora.alpha = 16\n\n");
	assert_int_equal(layer_link_adapter(layer, "a.gguf", "z", getuid(), getgid(), &time), 0);
	assert_int_equal(layer_write_setting(layer, "a.scale", "2\n", &time), 0);
	assert_kept(o.model, "a.gguf -> z\na.scale = 2\n\nlora.alpha = 16\n\n");
	assert_int_equal(layer_remove_adapter(layer, both, 2), 0);
	assert_kept(o.model, "lora.alpha = 16\n\n");
	assert_int_equal(layer_remove_adapter(layer, both, 2), 0);
	close_model(&o);
	o = open_model(state, "base.gguf");
	assert_kept(o.model, "lora.alpha = 16\n\n");
	close_model(&o);
}

static void what_is_somebody_elses_is_passed_over(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	const struct timespec time = { 0 };
	char path[PATH_MAX];

	assert_int_equal(layer_write_setting(o.model->layer, "lora.scale", "1\n", &time), 0);
	snprintf(path, sizeof(path), "%s/adapters/notes", layer_path(o.model->layer));
	write_text(path, "x");
	snprintf(path, sizeof(path), "%s/adapters/.hidden.scale", layer_path(o.model->layer));
	write_text(path, "1");
	snprintf(path, sizeof(path), "%s/adapters/b.scale", layer_path(o.model->layer));
	must(mkdir(path, 0700) == 0);
	assert_kept(o.model, "b.scale = ?\nlora.scale = 1\n\n");
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
