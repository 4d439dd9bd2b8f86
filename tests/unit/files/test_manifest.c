/* SPDX-License-Identifier: MIT */
/* test_manifest.c - fs/files/manifest.c and fs/metadata/json_value.c: the manifest is valid JSON
 * for any model, and describes it. */
#include "fs/files/manifest.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/tensor_measures.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "gguf/bytes.h"
#include "gguf/reader.h"
#include "measure/sample.h"
#include "tests/unit/open_model.h"

#include <cjson/cJSON.h>

/* The current manifest, parsed; its text is valid to the last byte. */
static cJSON *manifest_of(struct model *model)
{
	struct memo *measures = tensor_measures_new(model, SAMPLE_DEFAULT, NULL);
	struct snapshot snapshot;
	struct view *view;
	const char *end;
	char *text;
	cJSON *manifest;

	must(measures);
	assert_int_equal(slots_snapshot(model->slots, &snapshot), 0);
	view = manifest_view(model, measures, &snapshot);
	snapshot_release(&snapshot);
	assert_non_null(view);
	text = read_view(view);
	assert_int_equal(strlen(text), view_size(view));
	manifest = cJSON_ParseWithOpts(text, &end, true);
	if (!manifest)
		fail_msg("no JSON at: %.60s", end);
	free(text);
	view_unref(view);
	memo_free(measures);
	return manifest;
}

static cJSON *find(cJSON *object, const char *key)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!item)
		fail_msg("there is no %s", key);
	return item;
}

static void assert_text(cJSON *object, const char *key, const char *expected)
{
	assert_true(cJSON_IsString(find(object, key)));
	assert_string_equal(find(object, key)->valuestring, expected);
}

static void assert_number(cJSON *object, const char *key, uint64_t expected)
{
	assert_true(cJSON_IsNumber(find(object, key)));
	assert_true((uint64_t)find(object, key)->valuedouble == expected);
}

static void manifest_describes_the_model(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	cJSON *manifest = manifest_of(o.model), *model = find(manifest, "model");

	assert_text(manifest, "organfs", ORGANFS_VERSION);
	assert_text(model, "name", "base");
	assert_text(model, "architecture", "llama");
	assert_text(model, "file", backing_path(o.model->base));
	assert_number(model, "size", backing_size(o.model->base));
	assert_number(model, "gguf_version", 3);
	assert_number(model, "alignment", 32);
	assert_number(model, "data_offset", o.model->gguf->data_offset);
	assert_number(model, "tensors", SMALL_TENSORS);
	assert_number(model, "grafts", 0);
	assert_number(model, "parameters", 4 * 32 + 8 + 64);
	cJSON_Delete(manifest);
	close_model(&o);
}

static void manifest_sums_the_classes(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	cJSON *manifest = manifest_of(o.model), *classes = find(manifest, "classes");

	assert_int_equal(cJSON_GetArraySize(classes), CLASSES);
	assert_number(find(classes, "organs"), "tensors", 3);
	assert_number(find(classes, "organs"), "parameters", 32 + 32 + 64);
	assert_number(find(classes, "organs"), "bytes", 128 + 128 + 68);
	assert_number(find(classes, "adapters"), "tensors", 0);
	cJSON_Delete(manifest);
	close_model(&o);
}

static void manifest_lists_tensors_in_file_order(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	cJSON *manifest = manifest_of(o.model), *tensors = find(manifest, "tensors");
	cJSON *down = cJSON_GetArrayItem(tensors, SMALL_DOWN);
	cJSON *embed = cJSON_GetArrayItem(tensors, SMALL_EMBED);

	assert_int_equal(cJSON_GetArraySize(tensors), SMALL_TENSORS);
	assert_text(down, "name", "blk.0.ffn_down.weight");
	assert_text(down, "file", "organs/blk_0_ffn_down.bin");
	assert_text(down, "class", "organs");
	assert_number(down, "block", 0);
	assert_text(down, "type", "Q8_0");
	assert_int_equal(cJSON_GetArraySize(find(down, "shape")), 2);
	assert_int_equal(cJSON_GetArrayItem(find(down, "shape"), 0)->valueint, 32);
	assert_number(down, "elements", 64);
	assert_number(down, "bytes", 68);
	assert_number(down, "offset", o.model->gguf->tensors[SMALL_DOWN].offset);
	assert_true(cJSON_IsNull(find(down, "graft")));
	assert_true(cJSON_IsNumber(find(down, "theta")));
	assert_number(down, "sampled", 64);
	assert_number(down, "nonfinite", 0);
	assert_true(cJSON_IsTrue(find(down, "low_n")));
	assert_text(down, "status", "ok");
	assert_true(cJSON_IsNull(find(embed, "block")));
	cJSON_Delete(manifest);
	close_model(&o);
}

static void manifest_shows_the_current_graft(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	cJSON *manifest, *down;

	assert_int_equal(fill_organ(o.model, SMALL_DOWN, "donor.\"x\"", GGML_F32, 2, small_blocks,
				    50),
			 0);
	manifest = manifest_of(o.model);
	down = cJSON_GetArrayItem(find(manifest, "tensors"), SMALL_DOWN);
	assert_number(find(manifest, "model"), "grafts", 1);
	assert_text(down, "name", "blk.0.ffn_down.weight");
	assert_text(down, "type", "F32");
	assert_number(down, "bytes", 256);
	assert_text(find(down, "graft"), "how", "copy");
	assert_text(find(down, "graft"), "from", "donor.\"x\"");
	cJSON_Delete(manifest);
	close_model(&o);
}

/* Open a model with that metadata, and return its manifest. */
static cJSON *metadata_of(void **state, struct mkgguf *m, struct opened *o)
{
	struct mk_file file = mkgguf_finish(m);

	save(state, "base.gguf", &file);
	mk_file_free(&file);
	*o = open_model(state, "base.gguf");
	return manifest_of(o->model);
}

static void scalars_and_strings_stand_as_they_are(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	const uint32_t nan = 0x7fc00000;
	const uint64_t large = UINT64_MAX;
	struct opened o;
	cJSON *manifest, *metadata;

	mkgguf_kv_string(m, "s", "text \"quoted\"\n");
	mkgguf_kv_string(m, "empty", "");
	mkgguf_kv_u32(m, "u32", 7);
	mkgguf_kv(m, "u64", 3, KV_U64, &large, 8);
	mkgguf_kv(m, "nan", 3, KV_F32, &nan, 4);
	mkgguf_kv(m, "yes", 3, KV_BOOL, "\1", 1);
	mkgguf_kv(m, "i8", 2, KV_I8, "\xff", 1);
	manifest = metadata_of(state, m, &o);
	metadata = find(manifest, "metadata");
	assert_text(metadata, "s", "text \"quoted\"\n");
	assert_text(metadata, "empty", "");
	assert_number(metadata, "u32", 7);
	assert_true(cJSON_IsNumber(find(metadata, "u64")));
	assert_text(metadata, "nan", "NaN");
	assert_true(cJSON_IsTrue(find(metadata, "yes")));
	assert_int_equal(find(metadata, "i8")->valueint, -1);
	cJSON_Delete(manifest);
	close_model(&o);
}

static void arrays_are_cut_after_their_beginning(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	uint32_t numbers[20];
	struct opened o;
	cJSON *manifest, *array;

	for (uint32_t i = 0; i < 20; i++)
		numbers[i] = i * i;
	mkgguf_kv_array(m, "numbers", KV_U32, 20, numbers, sizeof(numbers));
	mkgguf_kv_array(m, "none", KV_F32, 0, "", 0);
	mkgguf_kv_array(m, "bools", KV_BOOL, 2, "\1\0", 2);
	manifest = metadata_of(state, m, &o);
	array = find(find(manifest, "metadata"), "numbers");
	assert_text(array, "type", "array");
	assert_text(array, "element", "u32");
	assert_number(array, "length", 20);
	assert_int_equal(cJSON_GetArraySize(find(array, "first")), 8);
	assert_int_equal(cJSON_GetArrayItem(find(array, "first"), 7)->valueint, 49);
	array = find(find(manifest, "metadata"), "none");
	assert_number(array, "length", 0);
	assert_int_equal(cJSON_GetArraySize(find(array, "first")), 0);
	array = find(find(find(manifest, "metadata"), "bools"), "first");
	assert_true(cJSON_IsTrue(cJSON_GetArrayItem(array, 0)));
	assert_true(cJSON_IsFalse(cJSON_GetArrayItem(array, 1)));
	cJSON_Delete(manifest);
	close_model(&o);
}

/* Add an array of strings: "", "0", "11", ...; the last one is long enough to be cut. */
static void add_strings(struct mkgguf *m, uint32_t version, uint64_t count)
{
	uint8_t bytes[4096], *at = bytes;

	for (uint64_t i = 0; i < count; i++) {
		const size_t n = i + 1 < count ? (size_t)i : 300;

		at = version == 1 ? store_u32(at, (uint32_t)n) : store_u64(at, n);
		memset(at, (int)('0' + i), n);
		at += n;
	}
	mkgguf_kv_array(m, "strings", KV_STRING, count, bytes, (size_t)(at - bytes));
}

static void strings_of_an_array_are_read_in_every_version(void **state)
{
	for (uint32_t version = 1; version <= 3; version++) {
		struct mkgguf *m = mkgguf_new(version);
		struct opened o;
		cJSON *manifest, *first;

		add_strings(m, version, 5);
		manifest = metadata_of(state, m, &o);
		first = find(find(find(manifest, "metadata"), "strings"), "first");
		assert_int_equal(cJSON_GetArraySize(first), 5);
		assert_string_equal(cJSON_GetArrayItem(first, 0)->valuestring, "");
		assert_string_equal(cJSON_GetArrayItem(first, 3)->valuestring, "333");
		assert_int_equal(strlen(cJSON_GetArrayItem(first, 4)->valuestring), 200);
		cJSON_Delete(manifest);
		close_model(&o);
	}
}

static void very_long_string_is_cut_after_its_beginning(void **state)
{
	const size_t n = ((size_t)1 << 20) + 1;
	char *text = calloc(1, n + 1);
	struct mkgguf *m = mkgguf_new(3);
	struct opened o;
	cJSON *manifest, *metadata;

	memset(text, 'x', n);
	mkgguf_kv_string(m, "long", text);
	text[n - 1] = '\0';
	mkgguf_kv_string(m, "fits", text);
	manifest = metadata_of(state, m, &o);
	metadata = find(manifest, "metadata");
	assert_text(metadata, "fits", text);
	assert_text(find(metadata, "long"), "type", "string");
	assert_number(find(metadata, "long"), "length", n);
	assert_int_equal(strlen(find(find(metadata, "long"), "first")->valuestring), 200);
	cJSON_Delete(manifest);
	free(text);
	close_model(&o);
}

static void hostile_bytes_are_still_json_and_keys_stay_apart(void **state)
{
	static const struct {
		const char *bytes, *key;
		size_t n;
	} keys[] = {
		{ "a\0b", "a%00b", 3 },	   { "a%00b", "a%2500b", 5 }, { "\xff", "%FF", 1 },
		{ "%FF", "%25FF", 3 },	   { "\"", "\"", 1 },	      { "\\", "\\", 1 },
		{ "\n\x01", "\n\x01", 2 }, { "\xc3", "%C3", 1 },      { "}", "}", 1 },
	};
	struct mkgguf *m = mkgguf_new(3);
	struct opened o;
	cJSON *manifest, *tensors;

	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		mkgguf_kv(m, keys[i].bytes, keys[i].n, KV_STRING,
			  "\x06\0\0\0\0\0\0\0\xff\0\"\\\n\x80", 14);
	mkgguf_tensor(m, "\xff\"\\\n", GGML_F32, 1, small_row);
	mkgguf_tensor(m, "a", GGML_F32, 1, small_row)->name_length = 2;
	mkgguf_tensor(m, "\xed\xa0\x80", 999, 1, small_row);
	manifest = metadata_of(state, m, &o);
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		assert_text(find(manifest, "metadata"), keys[i].key,
			    "\xef\xbf\xbd\xef\xbf\xbd\"\\\n\xef\xbf\xbd");
	tensors = find(manifest, "tensors");
	assert_text(cJSON_GetArrayItem(tensors, 0), "name", "\xef\xbf\xbd\"\\\n");
	assert_text(cJSON_GetArrayItem(tensors, 1), "name", "a\xef\xbf\xbd");
	assert_text(cJSON_GetArrayItem(tensors, 2), "type", "type-999");
	cJSON_Delete(manifest);
	close_model(&o);
}

static void an_architecture_may_be_of_any_type_or_missing(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct opened o;
	cJSON *manifest = metadata_of(state, m, &o);

	assert_true(cJSON_IsNull(find(find(manifest, "model"), "architecture")));
	assert_int_equal(cJSON_GetArraySize(find(manifest, "tensors")), 0);
	assert_int_equal(cJSON_GetArraySize(find(manifest, "metadata")), 0);
	assert_number(find(manifest, "model"), "bits_per_weight", 0);
	cJSON_Delete(manifest);
	close_model(&o);
	m = mkgguf_new(3);
	mkgguf_kv_u32(m, "general.architecture", 7);
	manifest = metadata_of(state, m, &o);
	assert_number(find(manifest, "model"), "architecture", 7);
	cJSON_Delete(manifest);
	close_model(&o);
}

static void manifest_of_changed_base_lacks_theta_only(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = tensor_measures_new(o.model, SAMPLE_DEFAULT, NULL);
	struct snapshot snapshot;
	struct view *view;
	char head[100], *whole;

	assert_int_equal(truncate(in_temp(state, "base.gguf").text, 40), 0);
	assert_int_equal(slots_snapshot(o.model->slots, &snapshot), 0);
	view = manifest_view(o.model, measures, &snapshot);
	snapshot_release(&snapshot);
	assert_non_null(view);
	whole = malloc(view_size(view));
	assert_int_equal(view_read(view, head, sizeof(head), 0), sizeof(head));
	assert_int_equal(view_read(view, whole, view_size(view), 0), -EIO);
	free(whole);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
