/* SPDX-License-Identifier: MIT */
/* test_shards.c - fs/base/shards.c: search for the shards of a model, and their join. */
#include "fs/base/base.h"
#include "fs/base/shards.h"
#include "fs/storage/backing.h"
#include "fs/storage/page_cache.h"
#include "fs/util/log.h"
#include "gguf/reader.h"
#include "tests/unit/http_server.h"
#include "tests/unit/resident.h"

#define GGML_F32 0u

static const uint64_t row[GGML_AXES] = { 8, 1, 1, 1 };

static void put_u16(struct mkgguf *m, const char *key, unsigned value)
{
	const uint8_t bytes[2] = { (uint8_t)value, (uint8_t)(value >> 8) };

	mkgguf_kv(m, key, strlen(key), KV_U16, bytes, 2);
}

/* Save shard no of count, with one tensor of that name; total is the claimed number of tensors. */
static void save_shard(void **state, const char *file, unsigned no, unsigned count, unsigned total,
		       const char *tensor)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file made;

	if (no == 0)
		mkgguf_kv_string(m, "general.architecture", "llama");
	put_u16(m, "split.no", no);
	put_u16(m, "split.count", count);
	mkgguf_kv_u32(m, "split.tensors.count", total);
	mkgguf_tensor(m, tensor, GGML_F32, 1, row);
	made = mkgguf_finish(m);
	write_file(in_temp(state, file).text, made.bytes, made.size);
	mk_file_free(&made);
}

static const char *const files[] = { "x-00001-of-00003.gguf", "x-00002-of-00003.gguf",
				     "x-00003-of-00003.gguf" };
static const char *const names[] = { "token_embd.weight", "blk.0.ffn_up.weight", "output.weight" };

static void save_shards(void **state, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		save_shard(state, files[k], k, n, n, names[k]);
}

static struct base open_base(void **state, const char *file)
{
	struct error err = { 0 };
	struct base base;

	if (base_open(&base, in_temp(state, file).text, &err) < 0)
		fail_msg("%s", err.text);
	return base;
}

static void assert_missing(struct shards *shards, const char *text)
{
	char *missing = shards_missing_text(shards);

	assert_non_null(missing);
	assert_string_equal(missing, text);
	free(missing);
}

static void assert_summary(const struct shards *shards, const char *text)
{
	char *summary = shards_summary(shards);

	assert_non_null(summary);
	assert_string_equal(summary, text);
	free(summary);
}

static void any_shard_finds_the_others(void **state)
{
	save_shards(state, 3);
	for (unsigned k = 0; k < 3; k++) {
		struct base base = open_base(state, files[k]);

		assert_true(shards_are_complete(base.shards));
		assert_summary(base.shards, "3/3 tensors, shards 1-3 of 3");
		assert_int_equal(base.gguf->n_tensors, 3);
		for (unsigned i = 0; i < 3; i++)
			assert_string_equal(base.gguf->tensors[i].name, names[i]);
		base_close(&base);
	}
}

static void the_bytes_are_those_of_the_shards(void **state)
{
	struct base base;
	uint8_t bytes[32], expected[32];

	save_shards(state, 3);
	base = open_base(state, files[0]);
	for (unsigned k = 0; k < 3; k++) {
		const struct gguf_tensor *t = &base.gguf->tensors[k];
		uint64_t offset = t->offset, length = t->size;
		struct backing *part = backing_file_at(base.file, &offset, &length);

		assert_non_null(part);
		assert_int_equal(length, 32);
		assert_true(backing_is_plain(part));
		assert_non_null(strstr(backing_path(part), files[k]));
		assert_int_equal(backing_read(part, expected, 32, offset), 0);
		assert_int_equal(backing_read(base.file, bytes, 32, t->offset), 0);
		assert_memory_equal(bytes, expected, 32);
		assert_int_equal(backing_read_with(base.file, BACKING_SPANS | BACKING_UNCHECKED,
						   bytes, 32, t->offset),
				 0);
		assert_memory_equal(bytes, expected, 32);
	}
	assert_int_equal(backing_read(base.file, bytes, 32, base.gguf->size - 31), -EIO);
	assert_false(backing_is_plain(base.file));
	base_close(&base);
}

static void missing_shard_is_named(void **state)
{
	struct base base;

	save_shard(state, files[1], 1, 3, 3, names[1]);
	base = open_base(state, files[1]);
	assert_false(shards_are_complete(base.shards));
	assert_summary(base.shards, "1/3 tensors, shard 2 of 3");
	assert_missing(base.shards, "the model lacks x-00001-of-00003.gguf, x-00003-of-00003.gguf");
	assert_int_equal(base.gguf->n_kv, 0);
	base_close(&base);
}

static void shard_number_is_that_of_its_metadata(void **state)
{
	struct base base;

	save_shard(state, files[0], 2, 3, 3, names[2]);
	save_shard(state, files[1], 1, 3, 3, names[1]);
	save_shard(state, files[2], 0, 3, 3, names[0]);
	base = open_base(state, files[1]);
	assert_true(shards_are_complete(base.shards));
	assert_string_equal(base.gguf->tensors[0].name, names[0]);
	assert_string_equal(base.gguf->tensors[2].name, names[2]);
	base_close(&base);
}

static void a_tensor_tells_its_shard(void **state)
{
	struct base base;
	struct shards *less;
	uint32_t no = 9;

	save_shard(state, files[0], 0, 3, 3, names[0]);
	save_shard(state, files[2], 2, 3, 3, names[2]);
	base = open_base(state, files[0]);
	assert_false(shards_find_tensor(base.shards, names[1], strlen(names[1]), &no));
	assert_false(shards_find_tensor(base.shards, names[2], strlen(names[2]) - 1, &no));
	assert_int_equal(no, 9);
	assert_true(shards_find_tensor(base.shards, names[0], strlen(names[0]), &no));
	assert_int_equal(no, 0);
	must(unlink(in_temp(state, files[2]).text) == 0);
	less = shards_rescan(base.shards);
	assert_non_null(less);
	/* A tensor whose shard is gone stays known. */
	assert_true(shards_find_tensor(less, names[2], strlen(names[2]), &no));
	assert_int_equal(no, 2);
	shards_unref(less);
	base_close(&base);
}

/* Scan for shards again. Returns the result (caller unrefs); *text is the log (caller frees). */
static struct shards *rescan(const struct base *base, char **text)
{
	struct log *log = log_new(false);
	struct shards *now = shards_rescan(base->shards);
	size_t size;

	must(log && now);
	shards_log(now, base->shards, log);
	*text = log_text(log, &size);
	must(*text);
	log_free(log);
	return now;
}

static void log_names_missing_shards(void **state)
{
	struct shards *less;
	struct base base;
	char *text;

	save_shard(state, files[0], 0, 3, 3, names[0]);
	save_shard(state, files[1], 1, 3, 3, names[1]);
	base = open_base(state, files[1]);
	must(unlink(in_temp(state, files[0]).text) == 0);
	less = rescan(&base, &text);
	assert_non_null(strstr(text, "x-00001-of-00003.gguf is gone"));
	assert_null(strstr(text, "x-00002-of-00003.gguf is"));
	assert_null(strstr(text, "x-00003-of-00003.gguf is"));
	free(text);
	shards_unref(less);
	base_close(&base);
}

static void shard_that_is_a_link_ring_is_kept(void **state)
{
	struct base base;
	struct shards *more;
	char *text;

	save_shard(state, files[0], 0, 3, 3, names[0]);
	save_shard(state, files[1], 1, 3, 3, names[1]);
	base = open_base(state, files[0]);
	/* A link to itself is neither present nor missing. */
	must(unlink(in_temp(state, files[1]).text) == 0);
	must(symlink(files[1], in_temp(state, files[1]).text) == 0);
	save_shard(state, files[2], 2, 3, 3, names[2]);
	more = rescan(&base, &text);
	assert_true(shards_are_complete(more));
	assert_non_null(strstr(text, "x-00003-of-00003.gguf is there now"));
	assert_null(strstr(text, "passed over"));
	free(text);
	shards_unref(more);
	base_close(&base);
}

static void name_decides_between_shards_of_one_number(void **state)
{
	struct base base;

	save_shards(state, 3);
	save_shard(state, files[0], 1, 3, 3, "other");
	base = open_base(state, files[1]);
	assert_false(shards_are_complete(base.shards));
	assert_int_equal(base.gguf->n_tensors, 2);
	assert_string_equal(base.gguf->tensors[0].name, names[1]);
	assert_missing(base.shards, "the model lacks x-00001-of-00003.gguf (it says that it is "
				    "shard 2, as another file does)");
	base_close(&base);
}

static void a_tensor_is_in_one_shard_only(void **state)
{
	struct base base;

	save_shards(state, 3);
	save_shard(state, files[2], 2, 3, 3, names[0]);
	base = open_base(state, files[1]);
	assert_missing(base.shards, "the model lacks x-00003-of-00003.gguf (its tensor "
				    "\"token_embd.weight\" is in shard 1 as well)");
	base_close(&base);
}

static void shards_of_other_models_are_passed_over(void **state)
{
	struct base base;

	save_shards(state, 3);
	save_shard(state, files[0], 0, 4, 3, names[0]);
	save_shard(state, files[2], 2, 3, 9, names[2]);
	base = open_base(state, files[1]);
	assert_missing(base.shards,
		       "the model lacks x-00001-of-00003.gguf (it is of another model: one with 4 "
		       "shards), x-00003-of-00003.gguf (it is of another model: one with 9 "
		       "tensors, not 3)");
	base_close(&base);
}

static void too_few_tensors_are_no_whole_model(void **state)
{
	struct base base;

	for (unsigned k = 0; k < 3; k++)
		save_shard(state, files[k], k, 3, 4, names[k]);
	base = open_base(state, files[1]);
	assert_false(shards_are_complete(base.shards));
	assert_missing(base.shards, "the shards should have 4 tensors together, and have 3");
	base_close(&base);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
	struct error err = { 0 };
	struct base base;

	save_shard(state, files[0], 3, 3, 3, names[0]);
	assert_refused(base_open(&base, in_temp(state, files[0]).text, &err), &err, EBADMSG,
		       ERROR_NO_OFFSET);
	base_close(&base);
}

static void rescan_without_new_shard_returns_null(void **state)
{
	struct base base;

	save_shard(state, files[1], 1, 3, 3, names[1]);
	base = open_base(state, files[1]);
	assert_null(shards_rescan(base.shards));
	/* An unusable shard is logged, but is not new. */
	write_file(in_temp(state, files[0]).text, "junk", 4);
	assert_null(shards_rescan(base.shards));
	assert_missing(base.shards,
		       "the model lacks x-00001-of-00003.gguf (at byte 0: not a GGUF file: it "
		       "does not begin with \"GGUF\"), x-00003-of-00003.gguf");
	base_close(&base);
}

static void added_shard_is_found(void **state)
{
	struct base base, next;
	struct shards *more;
	struct error err = { 0 };

	save_shard(state, files[1], 1, 3, 3, names[1]);
	base = open_base(state, files[1]);
	save_shard(state, files[0], 0, 3, 3, names[0]);
	save_shard(state, files[2], 2, 3, 3, names[2]);
	more = shards_rescan(base.shards);
	assert_non_null(more);
	assert_int_equal(base_open_shards(&next, more, &err), 0);
	shards_unref(more);
	assert_true(shards_are_complete(next.shards));
	assert_int_equal(next.gguf->n_tensors, 3);
	assert_int_equal(base.gguf->n_tensors, 1);
	base_close(&base);
	base_close(&next);
}

static void removed_shard_stays_known_and_unreadable(void **state)
{
	struct base base, next;
	struct shards *less;
	struct error err = { 0 };
	uint8_t bytes[32];

	save_shard(state, files[0], 0, 3, 3, names[0]);
	save_shard(state, files[1], 1, 3, 3, names[1]);
	base = open_base(state, files[1]);
	must(unlink(in_temp(state, files[0]).text) == 0);
	less = shards_rescan(base.shards);
	assert_non_null(less);
	assert_int_equal(base_open_shards(&next, less, &err), 0);
	shards_revoke_gone(less);
	assert_summary(next.shards, "1/3 tensors, shard 2 of 3");
	assert_int_equal(next.gguf->n_tensors, 2);
	assert_non_null(gguf_find(next.gguf, "general.architecture"));
	assert_int_equal(backing_read(next.file, bytes, 32, next.gguf->tensors[0].offset), -EIO);
	assert_int_equal(backing_read(base.file, bytes, 32, base.gguf->tensors[0].offset), -EIO);
	assert_int_equal(backing_read(next.file, bytes, 32, next.gguf->tensors[1].offset), 0);
	/* A second scan finds nothing new. */
	assert_null(shards_rescan(less));
	shards_unref(less);
	base_close(&base);
	base_close(&next);
}

static void replaced_shard_is_another(void **state)
{
	struct base base;
	struct shards *other;

	save_shard(state, files[0], 0, 3, 3, names[0]);
	save_shard(state, files[1], 1, 3, 3, names[1]);
	base = open_base(state, files[1]);
	must(unlink(in_temp(state, files[0]).text) == 0);
	save_shard(state, files[0], 0, 3, 3, "another.weight");
	other = shards_rescan(base.shards);
	assert_non_null(other);
	assert_summary(other, "2/3 tensors, shards 1-2 of 3");
	shards_unref(other);
	base_close(&base);
}

static void a_single_file_has_no_shards(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file made;
	struct base base;

	mkgguf_tensor(m, "t", GGML_F32, 1, row);
	made = mkgguf_finish(m);
	write_file(in_temp(state, files[0]).text, made.bytes, made.size);
	mk_file_free(&made);
	base = open_base(state, files[0]);
	assert_null(base.shards);
	assert_true(backing_is_plain(base.file));
	base_close(&base);
}

/* Serve the shards of a set of that many tensors; the third file has the first shard. */
static struct http_server serve_shards(void **state, unsigned total)
{
	must(mkdir(in_temp(state, "www").text, 0700) == 0);
	for (unsigned k = 0; k < 3; k++)
		save_shard(state, path_in("www", files[k]).text, (k + 1) % 3, 3, total, names[k]);
	return http_server_start(state);
}

/* Open the base of the served shards by the first file. */
static int open_served(struct base *base, const struct http_server *server, struct error *err)
{
	const struct path what = path_in("good", files[0]);

	return base_open(base, http_server_url(server, what.text).text, err);
}

static void secrets_of_a_url_are_not_kept(void **state)
{
	struct http_server server = serve_shards(state, 3);
	struct log *log = log_new(false);
	struct error err = { 0 };
	struct base base;
	char url[200], shown[200], *text;
	size_t size;

	must(log);
	snprintf(url, sizeof(url), "http://me:pass%%20word@127.0.0.1:%u/secret/%s?token=sesame",
		 server.port, files[1]);
	if (base_open(&base, url, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(shown, sizeof(shown), "http://127.0.0.1:%u/secret/%s", server.port, files[2]);
	assert_true(shards_are_complete(base.shards));
	assert_string_equal(backing_path(base.file), shown);
	shards_log(base.shards, NULL, log);
	text = log_text(log, &size);
	must(text);
	assert_non_null(strstr(text, "x-00001-of-00003.gguf: taken for shard 2"));
	assert_null(strstr(text, "pass"));
	assert_null(strstr(text, "sesame"));
	free(text);
	base_close(&base);
	log_free(log);
	http_server_stop(&server);
}

static void rescan_sends_no_request_to_a_server(void **state)
{
	struct http_server server = serve_shards(state, 3);
	struct error err = { 0 };
	struct base base;

	if (open_served(&base, &server, &err) < 0)
		fail_msg("%s", err.text);
	assert_null(shards_rescan(base.shards));
	base_close(&base);
	http_server_stop(&server);
}

static void incomplete_shards_on_a_server_are_refused(void **state)
{
	struct http_server server = serve_shards(state, 4);
	struct error err = { 0 };
	struct base base;
	const int rc = open_served(&base, &server, &err);

	assert_refused(rc, &err, ENODATA, ERROR_NO_OFFSET);
	assert_string_equal(err.text, "the shards should have 4 tensors together, and have 3");
	base_close(&base);
	http_server_stop(&server);
}

static void each_failing_allocation_is_survived(void **state)
{
	needs_failing_allocations();
	save_shards(state, 3);
	for (uint64_t k = 1;; k++) {
		struct error err = { 0 };
		struct base base;
		bool failed;
		int rc;

		allocation_fails(k);
		rc = base_open(&base, in_temp(state, files[1]).text, &err);
		failed = allocation_failed();
		/* A shard is skipped if memory for it runs out, as a broken one is. */
		if (rc < 0)
			assert_int_equal(err.code, ENOMEM);
		else if (!failed)
			assert_true(shards_are_complete(base.shards));
		base_close(&base);
		if (!failed)
			break;
	}
}

static void save_whole(void **state, const char *file)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file made;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, names[0], GGML_F32, 1, row);
	made = mkgguf_finish(m);
	write_file(in_temp(state, file).text, made.bytes, made.size);
	mk_file_free(&made);
}

/* Drop the pages of the first tensor. Do its readers have to drop them? */
static bool passes(const struct base *base, const struct path *path)
{
	uint64_t at = base->gguf->tensors[0].offset, length = base->gguf->tensors[0].size;
	struct backing *file = backing_file_at(base->file, &at, &length);
	struct page_range range;
	const int fd = open(path->text, O_RDONLY);

	must(fd >= 0 && fsync(fd) == 0);
	close(fd);
	forget_pages(path->text);
	must(file != NULL);
	return backing_absent(file, at, length, &range, 1) == 1;
}

static void donor_shards_keep_their_pages(void **state)
{
	static const char *const bases[] = { "whole.gguf", "x-00001-of-00003.gguf" };

	write_pages(in_temp(state, "pages").text, 4096);
	save_shards(state, 3);
	save_whole(state, bases[0]);
	for (size_t i = 0; i < ARRAY_LENGTH(bases); i++) {
		const struct path path = in_temp(state, bases[i]);
		struct base mounted, donor = open_base(state, bases[i]);
		struct error err;

		assert_int_equal(base_open_with(&mounted, path.text,
						&(struct base_options){ .mounted = true }, &err),
				 0);
		assert_true(passes(&mounted, &path));
		assert_false(passes(&donor, &path));
		base_close(&mounted);
		base_close(&donor);
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
