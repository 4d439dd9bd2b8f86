/* SPDX-License-Identifier: MIT */
/* test_layer_seen.c - fs/layer/layer_seen.c: where a link led, kept beside it. */
#include "tests/unit/open_layer.h"

#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_seen.h"

/* Read and written where the layer's directory is the class. */
static struct layer *staged_layer(struct site *site)
{
	struct layer *layer = open_layer(site);
	unsigned number;
	const int fd = layer_stage(layer, &number);

	must(fd >= 0);
	close(fd);
	layer_unstage(layer, number);
	return layer;
}

static void assert_none(struct layer *layer, const char *target)
{
	int rc;
	char *text = layer_seen_read(layer->dir, "up", target, &rc);

	assert_int_equal(rc, 0);
	if (text)
		fail_msg("\"%s\"", text);
}

static void it_is_read_for_its_own_target(void **state)
{
	static const char *const targets[] = { "/a/b.bin", "../x y%\n\xff", "" };
	struct site site = small_site(state);
	struct layer *layer = staged_layer(&site);
	char *text;
	int rc;

	for (size_t i = 0; i < ARRAY_LENGTH(targets); i++) {
		assert_none(layer, targets[i]);
		must(layer_seen_write(layer, "up" LAYER_SEEN_SUFFIX, targets[i], "some\ntext\n") ==
		     0);
		text = layer_seen_read(layer->dir, "up", targets[i], &rc);
		assert_non_null(text);
		assert_string_equal(text, "some\ntext\n");
		free(text);
		assert_none(layer, "/a/b");
		assert_none(layer, "/a/b.bin/");
	}
	layer_close(layer);
	close_site(&site);
}

/* The longest name that a tensor has in a GGUF, which takes three bytes for one. */
static void a_long_name_is_kept(void **state)
{
	const size_t n = (size_t)3 << 16;
	struct site site = small_site(state);
	struct layer *layer = staged_layer(&site);
	char *name = malloc(n + 1), *text;
	int rc;

	must(name);
	memset(name, 'x', n);
	name[n] = '\0';
	assert_int_equal(layer_seen_write(layer, "up" LAYER_SEEN_SUFFIX, "/a", name), 0);
	text = layer_seen_read(layer->dir, "up", "/a", &rc);
	assert_non_null(text);
	assert_string_equal(text, name);
	free(text);
	free(name);
	layer_close(layer);
	close_site(&site);
}

static void write_seen(struct layer *layer, const char *text, size_t n)
{
	const int fd =
		openat(layer->dir, "up" LAYER_SEEN_SUFFIX, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
}

static void what_is_no_such_file_is_not_read(void **state)
{
	static const char *const texts[] = { "", "organfs seen 1\n", "organfs seen 1\ntarget /a",
					     "organfs seen 2\ntarget /a\nx\n", "target /a\n" };
	static const char nul[] = "organfs seen 1\ntarget /a\nx\0y\n";
	const size_t much = (size_t)1 << 18;
	struct site site = small_site(state);
	struct layer *layer = staged_layer(&site);
	char *large = malloc(much);

	must(large);
	assert_none(layer, "/a");
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		write_seen(layer, texts[i], strlen(texts[i]));
		assert_none(layer, "/a");
	}
	write_seen(layer, nul, sizeof(nul) - 1);
	assert_none(layer, "/a");
	memset(large, 'x', much);
	memcpy(large, "organfs seen 1\ntarget /a\n", 25);
	write_seen(layer, large, much);
	assert_none(layer, "/a");
	large[much - 1] = '\0';
	assert_int_equal(layer_seen_write(layer, "up" LAYER_SEEN_SUFFIX, "/a", large), -EFBIG);
	must(unlinkat(layer->dir, "up" LAYER_SEEN_SUFFIX, 0) == 0);
	/* Not waited for. */
	must(mkfifoat(layer->dir, "up" LAYER_SEEN_SUFFIX, 0600) == 0);
	assert_none(layer, "/a");
	free(large);
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
