/* SPDX-License-Identifier: MIT */
/* test_layer.c - fs/layer/layer.c: the state that a mount takes up, by the invariants of
 * layer.h. */
#include "fs/layer/layer_internal.h"
#include "fs/storage/backing.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_layer.h"

#include <limits.h>
#include <pthread.h>

static void fill_layer(struct layer *layer)
{
	assert_int_equal(keep_text(layer, CLASS_ORGANS, "blk_0_ffn_up", "up"), 0);
	assert_int_equal(keep_text(layer, CLASS_NORM, "blk_0_ffn_norm", "norm"), 0);
}

#define FILLED "norm/blk_0_ffn_norm=norm organs/blk_0_ffn_up=up "

/* Invariant 4. */
static void a_mount_that_is_only_read_writes_nothing(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char path[PATH_MAX];

	assert_string_equal(layer_path(layer), site.state);
	assert_false(layer_directory(layer, path));
	assert_string_equal(path, "");
	assert_layer(layer, "");
	layer_close(layer);
	assert_false(exists(in_temp(state, "state").text));
	layer_close(NULL);
	close_site(&site);
}

static void a_directory_has_the_time_it_was_given(void **state)
{
	const struct timespec given = { .tv_sec = 1234567, .tv_nsec = 89 };
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct timespec time = { 0 };

	assert_false(layer_time(layer, CLASS_ORGANS, &time));
	fill_layer(layer);
	assert_int_equal(layer_set_time(layer, CLASS_ORGANS, &given), 0);
	assert_true(layer_time(layer, CLASS_ORGANS, &time));
	assert_int_equal(time.tv_sec, given.tv_sec);
	assert_int_equal(time.tv_nsec, given.tv_nsec);
	/* A directory without changes has no time in the layer, and gets none. */
	assert_int_equal(layer_set_time(layer, LAYER_METADATA_TIME, &given), 0);
	assert_false(layer_time(layer, LAYER_METADATA_TIME, &time));
	layer_close(layer);
	layer = open_layer(&site);
	assert_true(layer_time(layer, CLASS_ORGANS, &time));
	assert_int_equal(time.tv_sec, given.tv_sec);
	assert_int_equal(time.tv_nsec, given.tv_nsec);
	assert_int_equal(keep_text(layer, CLASS_ORGANS, "x", "x"), 0);
	assert_true(layer_time(layer, CLASS_ORGANS, &time));
	assert_true(time.tv_sec > given.tv_sec);
	layer_close(layer);
	close_site(&site);
}

/* Invariant 4. */
static void layer_is_made_with_its_first_stage(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct stat stat;
	uint64_t number;
	char path[PATH_MAX];
	const int fd = layer_stage(layer, &number);

	assert_between(fd, 0, INT_MAX);
	close(fd);
	assert_true(layer_directory(layer, path));
	assert_string_equal(path, layer_path(layer));
	assert_int_equal(lstat(layer_path(layer), &stat), 0);
	assert_int_equal(stat.st_mode, S_IFDIR | 0700);
	assert_int_equal(count_entries(path_in(layer_path(layer), "blobs").text), 1);
	assert_int_equal(lstat(path_in(layer_path(layer), "layer.db").text, &stat), 0);
	assert_int_equal(stat.st_mode, S_IFREG | 0600);
	assert_int_equal(ask_layer(layer, "SELECT name = 'base.gguf' AND path LIKE '/%/base.gguf' "
					  "AND length(fingerprint) = 32 FROM base"),
			 1);
	layer_unstage(layer, number);
	assert_int_equal(count_entries(path_in(layer_path(layer), "blobs").text), 0);
	layer_close(layer);
	close_site(&site);
}

static void a_layer_without_grafts_is_removed_at_close(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	uint64_t number;
	const int fd = layer_stage(layer, &number);

	close(fd);
	layer_close(layer);
	assert_int_equal(count_entries(site.state), 0);
	close_site(&site);
}

/* Invariant 1. */
static void grafts_are_found_again_after_close(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char path[PATH_MAX];

	fill_layer(layer);
	assert_layer(layer, FILLED);
	snprintf(path, sizeof(path), "%s", layer_path(layer));
	layer_close(layer);
	layer = open_layer(&site);
	assert_string_equal(layer_path(layer), path);
	assert_layer(layer, FILLED);
	layer_close(layer);
	close_site(&site);
}

static void a_stage_that_was_not_kept_is_gone_at_the_next_mount(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	uint64_t number;
	int fd;

	fill_layer(layer);
	fd = layer_stage(layer, &number);
	assert_int_equal(write(fd, "half", 4), 4);
	close(fd);
	layer_close(layer);
	layer = open_layer(&site);
	assert_int_equal(count_entries(path_in(layer_path(layer), "blobs").text), 0);
	assert_layer(layer, FILLED);
	fd = layer_stage(layer, &number);
	assert_between(fd, 0, INT_MAX);
	close(fd);
	layer_close(layer);
	close_site(&site);
}

/* Invariant 3. */
static void layer_in_use_is_not_taken_up(void **state)
{
	struct site site = small_site(state);
	struct layer *one = open_layer(&site), *other;

	fill_layer(one);
	other = open_layer(&site);
	assert_layer(other, "");
	assert_int_equal(keep_text(other, CLASS_ORGANS, "blk_0_ffn_up", "other"), 0);
	assert_string_not_equal(layer_path(one), layer_path(other));
	assert_layer(one, FILLED);
	assert_layer(other, "organs/blk_0_ffn_up=other ");
	layer_close(other);
	layer_close(one);
	assert_int_equal(count_entries(site.state), 2);
	close_site(&site);
}

static void two_layers_that_were_left_go_to_two_mounts(void **state)
{
	struct site site = small_site(state);
	struct layer *one = open_layer(&site), *other = open_layer(&site);
	char *listed[2];
	int first;

	fill_layer(one);
	assert_int_equal(keep_text(other, CLASS_ORGANS, "blk_0_ffn_up", "other"), 0);
	layer_close(one);
	layer_close(other);
	one = open_layer(&site);
	other = open_layer(&site);
	listed[0] = list_layer(one);
	listed[1] = list_layer(other);
	first = strcmp(listed[0], FILLED) == 0 ? 0 : 1;
	assert_string_equal(listed[first], FILLED);
	assert_string_equal(listed[!first], "organs/blk_0_ffn_up=other ");
	free(listed[0]);
	free(listed[1]);
	layer_close(one);
	layer_close(other);
	close_site(&site);
}

static void a_layer_is_found_though_the_one_before_it_is_gone(void **state)
{
	struct site site = small_site(state);
	struct layer *one = open_layer(&site), *other = open_layer(&site);

	fill_layer(one);
	assert_int_equal(keep_text(other, CLASS_ORGANS, "blk_0_ffn_up", "other"), 0);
	layer_close(other);
	assert_int_equal(layer_delete(one), 0);
	layer_close(one);
	one = open_layer(&site);
	assert_layer(one, "organs/blk_0_ffn_up=other ");
	layer_close(one);
	close_site(&site);
}

static void a_dropped_layer_is_gone(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	assert_int_equal(layer_delete(layer), 0);
	fill_layer(layer);
	assert_int_equal(layer_delete(layer), 0);
	assert_int_equal(count_entries(site.state), 0);
	layer_close(layer);
	layer = open_layer(&site);
	assert_layer(layer, "");
	layer_close(layer);
	close_site(&site);
}

/* Another mount may have made a directory of the same name meanwhile. */
static void closing_a_dropped_layer_leaves_a_new_one_alone(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char path[PATH_MAX];

	fill_layer(layer);
	snprintf(path, sizeof(path), "%s", layer_path(layer));
	assert_int_equal(layer_delete(layer), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	layer_close(layer);
	assert_true(exists(path));
	close_site(&site);
}

/* Invariant 2: an interrupted drop has removed the database, but nothing else yet. */
static void a_directory_without_its_database_holds_nothing(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char path[PATH_MAX];

	fill_layer(layer);
	snprintf(path, sizeof(path), "%s", layer_path(layer));
	layer_close(layer);
	assert_int_equal(unlink(path_in(path, "layer.db").text), 0);
	write_text(path_in(path, "blobs/3").text, "left");
	layer = open_layer(&site);
	assert_layer(layer, "");
	assert_int_equal(keep_text(layer, CLASS_OTHER, "new", "new"), 0);
	assert_string_equal(layer_path(layer), path);
	assert_layer(layer, "other/new=new ");
	layer_close(layer);
	layer = open_layer(&site);
	assert_layer(layer, "other/new=new ");
	layer_close(layer);
	close_site(&site);
}

/* Bases with the same key: they differ behind their first 64 KiB. */
static struct mk_file mk_large(uint8_t last)
{
	const uint64_t ne[1] = { 100000 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_tensor(m, "token_embd.weight", GGML_I8, 1, ne);
	file = mkgguf_finish(m);
	file.bytes[file.data_at + 99999] = last;
	return file;
}

static void a_layer_of_another_base_is_left_alone(void **state)
{
	struct mk_file mine = mk_large(1), other = mk_large(2);
	struct site site = open_site(state, "base.gguf", &mine);
	struct site stranger = open_site(state, "other.gguf", &other);
	struct layer *layer = open_layer(&site), *strange;
	char path[PATH_MAX];

	fill_layer(layer);
	snprintf(path, sizeof(path), "%s", layer_path(layer));
	layer_close(layer);
	strange = open_layer(&stranger);
	assert_layer(strange, "");
	assert_int_equal(keep_text(strange, CLASS_OTHER, "x", "x"), 0);
	assert_string_not_equal(layer_path(strange), path);
	layer_close(strange);
	layer = open_layer(&site);
	assert_layer(layer, FILLED);
	layer_close(layer);
	close_site(&site);
	close_site(&stranger);
	mk_file_free(&mine);
	mk_file_free(&other);
}

static void the_longest_name_can_be_kept(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char name[ANATOMY_NAME_MAX + 1];

	memset(name, 'n', ANATOMY_NAME_MAX);
	name[ANATOMY_NAME_MAX] = '\0';
	assert_int_equal(keep_text(layer, CLASS_ORGANS, name, "x"), 0);
	layer_close(layer);
	layer = open_layer(&site);
	assert_layer(layer, "organs/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn=x ");
	layer_close(layer);
	close_site(&site);
}

static void without_a_place_for_layers_there_is_no_stage(void **state)
{
	struct site site = small_site(state);
	struct layer *layer;
	uint64_t number;

	write_text(in_temp(state, "state").text, "a file in the way");
	layer = open_layer(&site);
	assert_layer(layer, "");
	assert_int_equal(layer_stage(layer, &number), -ENOTDIR);
	/* The layer can be made once the path is free. */
	assert_int_equal(unlink(in_temp(state, "state").text), 0);
	fill_layer(layer);
	layer_close(layer);
	close_site(&site);
}

static void a_base_that_was_changed_gets_no_layer(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	uint64_t number;

	assert_int_equal(truncate(in_temp(state, "base.gguf").text, 10), 0);
	assert_int_equal(layer_stage(layer, &number), -EIO);
	layer_close(layer);
	close_site(&site);
}

static void *stage_some(void *argument)
{
	for (int i = 0; i < 20; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%lx_%d", (unsigned long)pthread_self(), i);
		if (keep_text(argument, CLASS_OTHER, name, "x") < 0)
			return argument;
	}
	return NULL;
}

static void threads_may_stage_and_keep_at_once(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	pthread_t threads[4];
	void *failed;

	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, stage_some, layer), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(count_entries(site.state), 1);
	assert_int_equal(ask_layer(layer, "SELECT count(*) FROM slot"), 80);
	layer_close(layer);
	close_site(&site);
}

/* ## layers named by the user */

static struct layer *open_at(void **state, const struct site *site, struct error *err)
{
	return layer_open_at(in_temp(state, "deep/down/layer").text, &site->manner, site->base,
			     site->gguf, err);
}

static void a_named_layer_is_made_and_stays(void **state)
{
	struct site site = small_site(state);
	struct error err = { 0 };
	struct layer *layer = open_at(state, &site, &err);

	assert_non_null(layer);
	assert_string_equal(layer_path(layer), in_temp(state, "deep/down/layer").text);
	layer_close(layer);
	assert_true(exists(in_temp(state, "deep/down/layer/layer.db").text));
	layer = open_at(state, &site, &err);
	fill_layer(layer);
	assert_int_equal(layer_delete(layer), 0);
	layer_close(layer);
	layer = open_at(state, &site, &err);
	assert_layer(layer, FILLED);
	layer_close(layer);
	/* The directory has the database, blobs/ and the reserve, and no log. */
	assert_int_equal(count_entries(in_temp(state, "deep/down/layer").text), 3);
	close_site(&site);
}

static void assert_not_opened(void **state, const struct site *site, int code, const char *words)
{
	struct error err = { 0 };

	assert_null(open_at(state, site, &err));
	assert_int_equal(err.code, code);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" is not in: %s", words, err.text);
}

/* Invariant 3. */
static void a_named_layer_in_use_is_refused_but_two_may_read_it(void **state)
{
	struct site site = small_site(state), reader;
	struct error err = { 0 };
	struct layer *layer = open_at(state, &site, &err), *other;

	fill_layer(layer);
	assert_not_opened(state, &site, EBUSY, "another mount uses this layer");
	reader = site;
	reader.manner.read_only = true;
	assert_not_opened(state, &reader, EBUSY, "another mount uses this layer");
	layer_close(layer);
	layer = open_at(state, &reader, &err);
	other = open_at(state, &reader, &err);
	assert_layer(layer, FILLED);
	assert_layer(other, FILLED);
	assert_not_opened(state, &site, EBUSY, "another mount uses this layer");
	layer_close(layer);
	layer_close(other);
	close_site(&site);
}

/* Copy the directory as a killed mount leaves it, with a write-ahead log. */
static void copy_layer(void **state, struct layer *layer, const char *to)
{
	static const char *const files[] = { "layer.db", "layer.db-wal" };

	must(mkdir(in_temp(state, to).text, 0700) == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		size_t n;
		char *bytes = read_whole(path_in(layer_path(layer), files[i]).text, &n);

		write_file(path_in(in_temp(state, to).text, files[i]).text, bytes, n);
		free(bytes);
	}
}

static void a_log_that_a_killed_mount_left_is_written_back(void **state)
{
	struct site site = small_site(state);
	struct error err = { 0 };
	struct layer *layer = open_at(state, &site, &err), *copy;

	fill_layer(layer);
	copy_layer(state, layer, "copy");
	copy_layer(state, layer, "other");
	copy = layer_open_at(in_temp(state, "copy").text, &site.manner, site.base, site.gguf, &err);
	assert_layer(copy, FILLED);
	layer_close(copy);
	assert_false(exists(in_temp(state, "copy/layer.db-wal").text));
	/* A read-only mount reads the write-ahead log too. */
	site.manner.read_only = true;
	copy = layer_open_at(in_temp(state, "other").text, &site.manner, site.base, site.gguf,
			     &err);
	assert_layer(copy, FILLED);
	layer_close(copy);
	assert_false(exists(in_temp(state, "other/layer.db-wal").text));
	layer_close(layer);
	close_site(&site);
}

static void a_reader_of_a_named_layer_writes_nothing(void **state)
{
	struct site site = small_site(state);
	struct error err = { 0 };
	struct layer *layer;
	uint64_t number;

	site.manner.read_only = true;
	layer = open_at(state, &site, &err);
	assert_layer(layer, "");
	assert_between(-layer_stage(layer, &number), 1, INT_MAX);
	layer_close(layer);
	assert_false(exists(in_temp(state, "deep").text));
	site.manner.read_only = false;
	layer = open_at(state, &site, &err);
	fill_layer(layer);
	layer_close(layer);
	write_text(in_temp(state, "deep/down/layer/blobs/77").text, "left");
	site.manner.read_only = true;
	layer = open_at(state, &site, &err);
	assert_layer(layer, FILLED);
	assert_int_equal(white_out(layer, CLASS_ORGANS, "x"), -EROFS);
	assert_int_equal(layer_record_seen(layer, CLASS_ORGANS, "x", "y", "z"), 0);
	layer_close(layer);
	assert_true(exists(in_temp(state, "deep/down/layer/blobs/77").text));
	assert_int_equal(count_entries(in_temp(state, "deep/down/layer").text), 3);
	close_site(&site);
}

static void a_directory_that_is_no_layer_is_refused_and_left_as_it_is(void **state)
{
	struct site site = small_site(state);
	struct error err = { 0 };

	must(mkdir(in_temp(state, "deep").text, 0700) == 0);
	must(mkdir(in_temp(state, "deep/down").text, 0700) == 0);
	must(mkdir(in_temp(state, "deep/down/layer").text, 0700) == 0);
	write_text(in_temp(state, "deep/down/layer/mine").text, "mine");
	for (int read_only = 0; read_only < 2; read_only++) {
		site.manner.read_only = read_only;
		assert_not_opened(state, &site, ENOTEMPTY, "it has no layer.db");
	}
	assert_int_equal(count_entries(in_temp(state, "deep/down/layer").text), 1);
	/* The file is of a layer of organfs 0.2, with any content. */
	write_text(in_temp(state, "deep/down/layer/LAYER").text, "organfs layer 1\n");
	for (int read_only = 0; read_only < 2; read_only++) {
		site.manner.read_only = read_only;
		assert_not_opened(state, &site, ENOTSUP, "of organfs 0.2 or older");
	}
	assert_int_equal(count_entries(in_temp(state, "deep/down/layer").text), 2);
	must(unlink(in_temp(state, "deep/down/layer/LAYER").text) == 0);
	must(unlink(in_temp(state, "deep/down/layer/mine").text) == 0);
	/* The files are left by an interrupted mount. */
	site.manner.read_only = false;
	write_text(in_temp(state, "deep/down/layer/layer.new").text, "SQLite");
	write_text(in_temp(state, "deep/down/layer/layer.new-wal").text, "");
	write_text(in_temp(state, "deep/down/layer/layer.new-journal").text, "x");
	layer_close(open_at(state, &site, &err));
	assert_int_equal(err.code, 0);
	assert_int_equal(count_entries(in_temp(state, "deep/down/layer").text), 2);
	remove_tree(in_temp(state, "deep/down/layer").text);
	must(mkdir(in_temp(state, "deep/down/layer").text, 0700) == 0);
	must(mkfifo(in_temp(state, "deep/down/layer/layer.db").text, 0600) == 0);
	assert_not_opened(state, &site, EBADMSG, "not a regular file");
	remove_tree(in_temp(state, "deep/down/layer").text);
	write_text(in_temp(state, "deep/down/layer").text, "a file");
	assert_not_opened(state, &site, ENOTDIR, "Not a directory");
	close_site(&site);
}

/* fs/layer/layer_base.c */
static void a_layer_of_another_base_is_refused_in_words(void **state)
{
	static const struct {
		const char *sql;
		int code;
		const char *words;
	} cases[] = {
		{ "UPDATE base SET name = 'other.gguf', fingerprint = 'abc'", ESTALE,
		  "made for another base, other.gguf, with the fingerprint abc; the model" },
		{ "UPDATE base SET times = NULL, contents = 'abc'", ESTALE,
		  "with the contents abc; the model has" },
		{ "UPDATE base SET fingerprint = CAST(x'6100' AS TEXT)", EBADMSG,
		  "no valid fingerprint" },
		{ "DELETE FROM base", EBADMSG, "no row for its base" },
		{ "DROP TABLE base", EBADMSG, "layer.db" },
		{ "PRAGMA user_version = 3", ENOTSUP,
		  "format version 3, and this organfs knows only 2: mount it with a newer "
		  "organfs" },
		{ "PRAGMA user_version = 1", EBADMSG, "not the database of a layer" },
		{ "PRAGMA application_id = 1", EBADMSG, "not the database of a layer" },
	};
	struct site site = small_site(state);

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct error err = { 0 };
		struct layer *layer = open_at(state, &site, &err);

		fill_layer(layer);
		layer_close(layer);
		alter_rows(in_temp(state, "deep/down/layer").text, cases[i].sql);
		assert_not_opened(state, &site, cases[i].code, cases[i].words);
		assert_int_equal(ask_rows(in_temp(state, "deep/down/layer").text,
					  "SELECT count(*) FROM slot"),
				 2);
		remove_tree(in_temp(state, "deep/down/layer").text);
	}
	/* Unknown contents are not compared. */
	{
		struct error err = { 0 };
		struct layer *layer = open_at(state, &site, &err);

		fill_layer(layer);
		layer_close(layer);
		alter_rows(in_temp(state, "deep/down/layer").text,
			   "UPDATE base SET times = NULL, contents = NULL");
		layer = open_at(state, &site, &err);
		assert_layer(layer, FILLED);
		layer_close(layer);
	}
	close_site(&site);
}

/* Change the layer at path, and leave the change in the log, as a killed mount does. */
static void alter_in_log(const char *path, const char *sql)
{
	sqlite3 *rows;

	must(sqlite3_open(path_in(path, "layer.db").text, &rows) == SQLITE_OK);
	must(sqlite3_exec(rows, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK);
	must(sqlite3_exec(rows, sql, NULL, NULL, NULL) == SQLITE_OK);
	must(sqlite3_db_config(rows, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK);
	must(sqlite3_close(rows) == SQLITE_OK);
}

static void a_layer_of_a_later_version_keeps_its_files_when_it_is_refused(void **state)
{
	static const char *const files[] = { "layer.db", "layer.db-wal" };
	const struct path path = in_temp(state, "deep/down/layer");
	struct site site = small_site(state);
	struct error err = { 0 };
	struct layer *layer = open_at(state, &site, &err);
	char *before[ARRAY_LENGTH(files)];
	size_t n[ARRAY_LENGTH(files)];
	int entries;

	fill_layer(layer);
	layer_close(layer);
	alter_in_log(path.text, "PRAGMA user_version = 3");
	entries = count_entries(path.text);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
		before[i] = read_whole(path_in(path.text, files[i]).text, &n[i]);
	for (int read_only = 0; read_only < 2; read_only++) {
		site.manner.read_only = read_only;
		assert_not_opened(state, &site, ENOTSUP, "mount it with a newer organfs");
		assert_int_equal(count_entries(path.text), entries);
		for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
			assert_file(path_in(path.text, files[i]).text, before[i], n[i]);
	}
	/* Without a log none is left. */
	alter_rows(path.text, "PRAGMA user_version = 3");
	site.manner.read_only = false;
	assert_not_opened(state, &site, ENOTSUP, "mount it with a newer organfs");
	assert_int_equal(count_entries(path.text), entries - 1);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
		free(before[i]);
	close_site(&site);
}

static void a_layer_that_breaks_a_constraint_is_refused(void **state)
{
	struct site site = small_site(state);
	struct error err = { 0 };
	struct layer *layer = open_at(state, &site, &err);

	fill_layer(layer);
	layer_close(layer);
	alter_rows(in_temp(state, "deep/down/layer").text, "UPDATE slot SET kind = 'strange'");
	assert_not_opened(state, &site, EBADMSG, "layer.db is damaged: CHECK");
	close_site(&site);
}

/* ## a disk that fails: each fsync() of a file or directory, and each write of the database */

#define BEFORE "organs/ref@r organs/up=old "

static int replace_organ(struct layer *layer)
{
	return keep_text(layer, CLASS_ORGANS, "up", "xxxxxxxxxxxxxxxxxxxx");
}

static int replace_reference(struct layer *layer)
{
	return keep_text(layer, CLASS_ORGANS, "ref", "organ");
}

static int add_organ(struct layer *layer)
{
	return keep_text(layer, CLASS_ORGANS, "new", "organ");
}

static int remove_organ(struct layer *layer)
{
	return white_out(layer, CLASS_ORGANS, "up");
}

static int forget(struct layer *layer)
{
	return revert(layer, CLASS_ORGANS, "up");
}

static int share(struct layer *layer)
{
	struct backing *file;
	const int rc = layer_link(layer, CLASS_ORGANS, "up", layer,
				  &(struct layer_entry){ .klass = CLASS_ORGANS, .name = "ref" },
				  NULL, &file);

	if (rc == 0)
		backing_unref(file);
	return rc;
}

static void a_change_that_cannot_be_made_durable_changes_nothing(void **state)
{
	static const struct {
		int (*act)(struct layer *layer);
		const char *after;
	} cases[] = {
		{ replace_organ, "organs/ref@r organs/up=xxxxxxxxxxxxxxxxxxxx " },
		{ replace_reference, "organs/ref=organ organs/up=old " },
		{ add_organ, "organs/new=organ " BEFORE },
		{ forget, "organs/ref@r " },
		{ share, "organs/ref=old organs/up=old " },
		{ remove_organ, "organs/ref@r organs/up- " },
	};
	static const int codes[] = { EIO, ENOSPC, EDQUOT };
	const struct layer_entry reference = { .klass = CLASS_ORGANS,
					       .kind = LAYER_REFERENCE,
					       .name = "ref",
					       .mtime = { .tv_sec = 1000 },
					       .reference = "r" };
	struct site site = small_site(state);

	for (size_t i = 0; i < ARRAY_LENGTH(cases) * ARRAY_LENGTH(codes); i++) {
		const int code = codes[i % ARRAY_LENGTH(codes)];
		struct layer *layer = open_layer(&site);

		assert_int_equal(revert(layer, CLASS_ORGANS, "new"), 0);
		assert_int_equal(keep_text(layer, CLASS_ORGANS, "up", "old"), 0);
		assert_int_equal(layer_put(layer, &reference, NULL), 0);
		database_writes_fail(code, NULL);
		assert_int_equal(cases[i / ARRAY_LENGTH(codes)].act(layer), -code);
		assert_true(database_write_failed());
		assert_layer(layer, BEFORE);
		layer_close(layer);
		layer = open_layer(&site);
		assert_layer(layer, BEFORE);
		assert_int_equal(cases[i / ARRAY_LENGTH(codes)].act(layer), 0);
		assert_layer(layer, cases[i / ARRAY_LENGTH(codes)].after);
		layer_close(layer);
	}
	close_site(&site);
}

static void a_layer_that_cannot_be_made_durable_is_not_made(void **state)
{
	struct site site = small_site(state);
	bool failed = true;

	needs_failing_allocations();
	/* The parents exist, so that no fsync() of theirs counts. */
	must(mkdir(in_temp(state, "state").text, 0700) == 0 && mkdir(site.state, 0700) == 0);
	for (uint64_t k = 1; failed; k++) {
		struct layer *layer = open_layer(&site);
		uint64_t number;
		int fd;

		fsync_fails(k);
		fd = layer_stage(layer, &number);
		failed = fsync_failed();
		if (failed ? fd != -EIO : fd < 0)
			fail_msg("fsync %u: %d", (unsigned)k, fd);
		if (failed) {
			assert_int_equal(count_entries(site.state), 0);
			fd = layer_stage(layer, &number);
			assert_true(fd >= 0);
		}
		close(fd);
		layer_close(layer);
	}
	close_site(&site);
}

static void closed_database_is_reopened_at_next_change(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	layer_rest(layer);
	fill_layer(layer);
	layer_rest(layer);
	layer_rest(layer);
	assert_layer(layer, FILLED);
	assert_int_equal(keep_text(layer, CLASS_OTHER, "x", "x"), 0);
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
