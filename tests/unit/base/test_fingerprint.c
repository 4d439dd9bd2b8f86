/* SPDX-License-Identifier: MIT */
/* test_fingerprint.c - fs/base/fingerprint.c: changes that a fingerprint covers, and changes that
 * it does not. */
#include "fs/base/fingerprint.h"
#include "fs/storage/backing.h"
#include "gguf/bytes.h"
#include "gguf/reader.h"
#include "tests/unit/small_gguf.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <xxhash.h>

#define SAMPLE ((size_t)65536)

/* A model with one tensor of that many bytes of data. */
static struct mk_file mk_bytes(size_t n)
{
	const uint64_t ne[1] = { n };
	struct mkgguf *m = mkgguf_new(3);

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "token_embd.weight", GGML_I8, 1, ne);
	return mkgguf_finish(m);
}

struct prints {
	char print[FINGERPRINT_TEXT], key[FINGERPRINT_KEY];
	uint32_t seconds;
	char times[FINGERPRINT_TEXT];
};

static void set_time(void **state, const char *name, long nanoseconds)
{
	const struct timespec times[2] = { { 1700000000, nanoseconds },
					   { 1700000000, nanoseconds } };

	assert_int_equal(utimensat(AT_FDCWD, in_temp(state, name).text, times, 0), 0);
}

/* Fingerprints of the file with an mtime of that many nanoseconds after a second. */
static struct prints prints_at(void **state, const struct mk_file *file, long nanoseconds)
{
	struct backing *base;
	struct source source;
	struct gguf *gguf;
	struct prints prints;

	unlink(in_temp(state, "base").text);
	save(state, "base", file);
	set_time(state, "base", nanoseconds);
	base = backing_open(in_temp(state, "base").text, NULL);
	source = backing_source(base);
	gguf = gguf_read(&source, NULL);
	assert_non_null(gguf);
	assert_int_equal(fingerprint_times(base, gguf, prints.times),
			 nanoseconds && gguf->n_tensors);
	assert_int_equal(fingerprint(base, gguf, prints.print), 0);
	assert_int_equal(fingerprint_key(base, prints.key), 0);
	prints.seconds = fingerprint_seconds(base, gguf);
	assert_in_range(prints.seconds, 1, FINGERPRINT_DAY);
	gguf_free(gguf);
	backing_unref(base);
	assert_int_equal(strlen(prints.print), 32);
	assert_int_equal(strspn(prints.print, "0123456789abcdef"), 32);
	assert_int_equal(strspn(prints.key, "0123456789abcdef"), 16);
	assert_int_equal(strlen(prints.key), 16);
	return prints;
}

static struct prints prints_of(void **state, const struct mk_file *file)
{
	return prints_at(state, file, 0);
}

/* Check that the fingerprint equals the hash of these bytes that the header describes. */
static void assert_described(const struct mk_file *file, const char *print)
{
	const size_t data = file->size - file->data_at, sample = data < SAMPLE ? data : SAMPLE;
	XXH3_state_t *hash = XXH3_createState();
	XXH128_hash_t value;
	char text[FINGERPRINT_TEXT];
	uint8_t size[8];

	store_u64(size, file->size);
	XXH3_128bits_reset(hash);
	XXH3_128bits_update(hash, file->bytes, file->data_at);
	XXH3_128bits_update(hash, size, 8);
	XXH3_128bits_update(hash, file->bytes + file->data_at, sample);
	XXH3_128bits_update(hash, file->bytes + file->size - sample, sample);
	value = XXH3_128bits_digest(hash);
	XXH3_freeState(hash);
	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, value.high64, value.low64);
	assert_string_equal(print, text);
}

static void fingerprint_matches_its_description(void **state)
{
	static const size_t sizes[] = { 1, 31, 65535, 65536, 65537, 131072, 131073, 400000 };

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct mk_file file = mk_bytes(sizes[i]);

		assert_described(&file, prints_of(state, &file).print);
		mk_file_free(&file);
	}
}

static void model_without_tensors_has_fingerprint(void **state)
{
	struct mk_file file = mkgguf_finish(mkgguf_new(3));

	prints_of(state, &file);
	mk_file_free(&file);
}

static void fingerprint_does_not_depend_on_the_path(void **state)
{
	struct mk_file file = mk_bytes(1000);
	const struct prints one = prints_of(state, &file), other = prints_of(state, &file);

	assert_string_equal(one.print, other.print);
	assert_string_equal(one.key, other.key);
	assert_int_equal(one.seconds, other.seconds);
	mk_file_free(&file);
}

static void byte_of_header_or_of_either_end_changes_fingerprint(void **state)
{
	struct mk_file file = mk_bytes(300000);
	const struct prints before = prints_of(state, &file);
	const size_t places[] = { file.kv_at[1] - 1, file.data_at, file.data_at + SAMPLE - 1,
				  file.size - SAMPLE, file.size - 1 };

	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		file.bytes[places[i]] ^= 1;
		assert_string_not_equal(prints_of(state, &file).print, before.print);
		file.bytes[places[i]] ^= 1;
	}
	assert_string_equal(prints_of(state, &file).print, before.print);
	mk_file_free(&file);
}

static void key_covers_size_and_first_bytes(void **state)
{
	struct mk_file file = mk_bytes(300000), larger = mk_bytes(300032);
	const struct prints before = prints_of(state, &file);

	assert_string_not_equal(prints_of(state, &larger).key, before.key);
	file.bytes[file.size - 1] ^= 1;
	assert_string_equal(prints_of(state, &file).key, before.key);
	file.bytes[SAMPLE - 1] ^= 1;
	assert_string_not_equal(prints_of(state, &file).key, before.key);
	mk_file_free(&larger);
	mk_file_free(&file);
}

/* Changed bytes are the first and last ones of the data, and of either tensor. */
static void the_seconds_are_of_the_header_and_the_middle_of_each_tensor(void **state)
{
	const uint64_t ne[1] = { 200000 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	uint32_t before;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "a", GGML_I8, 1, ne);
	mkgguf_tensor(m, "b", GGML_I8, 1, ne);
	file = mkgguf_finish(m);
	before = prints_of(state, &file).seconds;
	const size_t places[] = { file.kv_at[1] - 1, file.data_at + 100000, file.size - 100000 };

	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		file.bytes[places[i]] ^= 1;
		assert_int_not_equal(prints_of(state, &file).seconds, before);
		file.bytes[places[i]] ^= 1;
	}
	assert_int_equal(prints_of(state, &file).seconds, before);
	mk_file_free(&file);
}

static void nanoseconds_stand_for_the_tensor_data(void **state)
{
	const uint64_t ne[1] = { 200000 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct prints before, after;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "a", GGML_I8, 1, ne);
	file = mkgguf_finish(m);
	before = prints_at(state, &file, 1000);
	after = prints_at(state, &file, 2000);
	assert_string_not_equal(after.times, before.times);
	assert_int_not_equal(after.seconds, before.seconds);
	file.bytes[file.data_at + 100000] ^= 1;
	after = prints_at(state, &file, 1000);
	assert_string_equal(after.times, before.times);
	assert_int_equal(after.seconds, before.seconds);
	file.bytes[file.kv_at[1] - 1] ^= 1;
	assert_int_not_equal(prints_at(state, &file, 1000).seconds, before.seconds);
	mk_file_free(&file);
}

static void changed_base_has_no_fingerprint(void **state)
{
	struct mk_file file = mk_bytes(1000);
	struct backing *base;
	struct source source;
	struct gguf *gguf;
	char print[FINGERPRINT_TEXT], key[FINGERPRINT_KEY];

	save(state, "base", &file);
	base = backing_open(in_temp(state, "base").text, NULL);
	source = backing_source(base);
	gguf = gguf_read(&source, NULL);
	assert_int_equal(truncate(in_temp(state, "base").text, 100), 0);
	assert_int_equal(fingerprint(base, gguf, print), -EIO);
	assert_int_equal(fingerprint_key(base, key), -EIO);
	assert_in_range(fingerprint_seconds(base, gguf), 1, FINGERPRINT_DAY);
	gguf_free(gguf);
	backing_unref(base);
	mk_file_free(&file);
}

/* Fingerprint of the contents of a file with a stack of experts, after a change of one byte. */
static void contents_of(void **state, uint64_t at, char print[FINGERPRINT_TEXT],
			char contents[FINGERPRINT_TEXT])
{
	static const uint64_t small[1] = { 100000 }, stack[3] = { 1000, 20, 8 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct backing *base;
	struct source source;
	struct gguf *gguf;

	mkgguf_tensor(m, "token_embd.weight", GGML_I8, 1, small);
	mkgguf_tensor(m, "blk.0.ffn_up_exps.weight", GGML_I8, 3, stack);
	mkgguf_tensor(m, "output.weight", GGML_I8, 1, small);
	file = mkgguf_finish(m);
	if (at)
		file.bytes[file.data_at + at] ^= 1;
	unlink(in_temp(state, "base").text);
	save(state, "base", &file);
	mk_file_free(&file);
	base = backing_open(in_temp(state, "base").text, NULL);
	source = backing_source(base);
	gguf = gguf_read(&source, NULL);
	assert_non_null(gguf);
	assert_int_equal(fingerprint(base, gguf, print), 0);
	assert_int_equal(fingerprint_contents(base, gguf, contents), 0);
	gguf_free(gguf);
	backing_unref(base);
}

static void contents_hash_covers_each_tensor_and_expert(void **state)
{
	/* Places in the data: the ends of the stack, the begin of an expert in its middle, within
	 * the first tensor, within an expert. */
	static const struct {
		uint64_t at;
		bool seen;
	} cases[] = { { 100010, true },
		      { 100000 + 159999, true },
		      { 100000 + 5 * 20000 + 10, true },
		      { 80000, false },
		      { 100000 + 5 * 20000 + 10000, false } };
	char print[FINGERPRINT_TEXT], contents[FINGERPRINT_TEXT], again[FINGERPRINT_TEXT],
		changed[FINGERPRINT_TEXT];

	contents_of(state, 0, print, contents);
	assert_int_equal(strspn(contents, "0123456789abcdef"), 32);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		contents_of(state, cases[i].at, again, changed);
		assert_string_equal(again, print);
		if ((strcmp(changed, contents) != 0) != cases[i].seen)
			fail_msg("case %zu", i);
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
