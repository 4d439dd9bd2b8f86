/* SPDX-License-Identifier: MIT */
/* test_layer_origin.c - fs/layer/layer_origin.c: the name of a slot that was added and where its
 * organ came from, kept beside it. */
#include "tests/unit/open_layer.h"

#include "fs/base/donor.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_origin.h"

/* What is written in one place is read in another, where the layer's directory is the class. */
static bool read_back(struct layer *layer, const char *name, size_t n, struct layer_origin *got)
{
	const struct layer_origin origin = { .slot = name, .slot_length = n };

	must(layer_origin_is_known(&origin, "") &&
	     layer_origin_write(layer, "up" LAYER_ORIGIN_SUFFIX, &origin, "") == 0);
	return layer_origin_read(layer->dir, "up", "", got);
}

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

static void a_name_is_read_as_it_was_written(void **state)
{
	static const char *const names[] = { "blk.6.ffn_up.weight", "a b%\n\t\x01",
					     "\xce\xb8\xff" };
	struct site site = small_site(state);
	struct layer *layer = staged_layer(&site);
	struct layer_origin got;

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		assert_true(read_back(layer, names[i], strlen(names[i]), &got));
		assert_int_equal(got.slot_length, strlen(names[i]));
		assert_memory_equal(got.slot, names[i], got.slot_length + 1);
		assert_null(got.donor);
		layer_origin_release(&got);
	}
	layer_close(layer);
	close_site(&site);
}

static void write_origin(struct layer *layer, const char *text, size_t n)
{
	const int fd =
		openat(layer->dir, "up" LAYER_ORIGIN_SUFFIX, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
}

static void what_is_no_such_file_is_not_read(void **state)
{
	static const char *const texts[] = { "", "organfs origin 1\n", "organfs origin 1\nslot x",
					     "organfs origin 2\nslot x\n", "slot x\n" };
	static const char nul[] = "organfs origin 1\nslot x\0y\n";
	struct site site = small_site(state);
	struct layer *layer = staged_layer(&site);
	char *large = calloc(1, 5000);
	struct layer_origin got;

	must(large);
	assert_false(layer_origin_read(layer->dir, "up", "", &got));
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		write_origin(layer, texts[i], strlen(texts[i]));
		assert_false(layer_origin_read(layer->dir, "up", "", &got));
		assert_null(got.slot);
	}
	write_origin(layer, nul, sizeof(nul) - 1);
	assert_false(layer_origin_read(layer->dir, "up", "", &got));
	memset(large, 'x', 5000);
	memcpy(large, "organfs origin 1\nslot ", 22);
	large[4999] = '\n';
	write_origin(layer, large, 5000);
	assert_false(layer_origin_read(layer->dir, "up", "", &got));
	free(large);
	layer_close(layer);
	close_site(&site);
}

#define SUM   "0123456789abcdef0123456789abcdef"
#define PRINT "fedcba9876543210fedcba9876543210"

static void a_donor_is_read_as_it_was_written(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = staged_layer(&site);
	struct donor *tensor = donor_from_record("/a b/%", PRINT, "blk.\0.x", 7);
	struct donor *file = donor_from_record("/up.bin", "", NULL, 0);
	struct donor *view = donor_from_view(tensor, "spectral");
	struct donor *away = donor_from_record("don or.gguf", PRINT, "x", 1);
	struct layer_origin origin = { .slot = "t", .slot_length = 1, .fingerprint = PRINT }, got;
	struct error err;
	size_t n;

	must(tensor && file && view && away);
	/* It is not known where it lies. */
	origin.donor = away;
	origin.of = REFERENCE_OF_ANOTHER;
	must(layer_origin_write(layer, "up" LAYER_ORIGIN_SUFFIX, &origin, SUM) == 0);
	assert_true(layer_origin_read(layer->dir, "up", SUM, &got));
	assert_string_equal(donor_path(got.donor), "don or.gguf");
	assert_int_equal(got.of, REFERENCE_OF_ANOTHER);
	assert_null(donor_open(got.donor, &err));
	assert_int_equal(err.code, ENOENT);
	layer_origin_release(&got);
	donor_unref(away);
	origin.donor = view;
	must(layer_origin_write(layer, "up" LAYER_ORIGIN_SUFFIX, &origin, SUM) == 0);
	assert_true(layer_origin_read(layer->dir, "up", SUM, &got));
	assert_string_equal(got.slot, "t");
	assert_string_equal(donor_path(got.donor), "/a b/%");
	assert_memory_equal(donor_tensor(got.donor, &n), "blk.\0.x", 8);
	assert_int_equal(n, 7);
	assert_string_equal(donor_fingerprint(got.donor), PRINT);
	assert_string_equal(donor_view(got.donor), "spectral");
	layer_origin_release(&got);
	/* Beside another organ the slot's name alone counts. */
	assert_true(layer_origin_read(layer->dir, "up", PRINT, &got));
	assert_null(got.donor);
	layer_origin_release(&got);
	origin = (struct layer_origin){ .donor = file };
	must(layer_origin_is_known(&origin, SUM) && !layer_origin_is_known(&origin, ""));
	must(layer_origin_write(layer, "up" LAYER_ORIGIN_SUFFIX, &origin, SUM) == 0);
	assert_true(layer_origin_read(layer->dir, "up", SUM, &got));
	assert_null(got.slot);
	assert_null(donor_tensor(got.donor, &n));
	assert_string_equal(donor_fingerprint(got.donor), "");
	layer_origin_release(&got);
	/* A GGUF that could be any. */
	origin.donor = tensor;
	assert_false(layer_origin_is_known(&origin, SUM));
	donor_unref(tensor);
	donor_unref(file);
	donor_unref(view);
	layer_close(layer);
	close_site(&site);
}

static void what_no_donor_could_be_is_none(void **state)
{
#define HEAD "organfs origin 1\norgan " SUM "\n"
	static const char *const texts[] = {
		HEAD,
		HEAD "donor up.bin\n",
		HEAD "donor /a%00b\n",
		HEAD "donor /a",
		HEAD "donor /a\ntensor t\n",
		HEAD "donor /a\nfingerprint " PRINT "\n",
		HEAD "donor /a\nfingerprint x\ntensor t\n",
		HEAD "donor /a\ndonor /a\n",
		HEAD "donor /a\nview npy\n",
		"organfs origin 1\ndonor /a\n",
		"organfs origin 1\norgan x\ndonor /a\n",
	};
	struct site site = small_site(state);
	struct layer *layer = staged_layer(&site);
	struct layer_origin got;

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		write_origin(layer, texts[i], strlen(texts[i]));
		if (layer_origin_read(layer->dir, "up", SUM, &got))
			fail_msg("%s", texts[i]);
		assert_null(got.donor);
	}
	/* What a later version says is passed over. */
	write_origin(layer, HEAD "more\n\nlater x\ndonor /a\n", 79);
	assert_true(layer_origin_read(layer->dir, "up", SUM, &got));
	assert_string_equal(donor_path(got.donor), "/a");
	layer_origin_release(&got);
	layer_close(layer);
	close_site(&site);
}

static void a_fifo_is_not_waited_for(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = staged_layer(&site);
	struct layer_origin got;

	must(mkfifoat(layer->dir, "up" LAYER_ORIGIN_SUFFIX, 0600) == 0);
	assert_false(layer_origin_read(layer->dir, "up", "", &got));
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
