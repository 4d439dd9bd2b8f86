/* SPDX-License-Identifier: MIT */
/* test_layer.c - fs/layer/layer.c: what a mount finds of the one before it, by the invariants of
 * layer.h. */
#include "fs/layer/layer_internal.h"
#include "fs/storage/backing.h"
#include "fs/util/log.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/zstd_file.h"

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

	assert_false(layer_time(layer, "organs", &time));
	fill_layer(layer);
	layer_set_time(layer, "organs", &given);
	assert_true(layer_time(layer, "organs", &time));
	assert_int_equal(time.tv_sec, given.tv_sec);
	assert_int_equal(time.tv_nsec, given.tv_nsec);
	/* A file is none. */
	assert_false(layer_time(layer, "LAYER", &time));
	assert_int_equal(time.tv_sec, given.tv_sec);
	layer_close(layer);
	close_site(&site);
}

/* Invariant 4. */
static void the_layer_comes_with_its_first_stage(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct stat stat;
	unsigned number;
	size_t size;
	char *text, path[PATH_MAX];
	const int fd = layer_stage(layer, &number);

	assert_between(fd, 0, INT_MAX);
	close(fd);
	assert_true(layer_directory(layer, path));
	assert_string_equal(path, layer_path(layer));
	assert_int_equal(lstat(layer_path(layer), &stat), 0);
	assert_int_equal(stat.st_mode, S_IFDIR | 0700);
	assert_int_equal(count_entries(path_in(layer_path(layer), ".stage").text), 1);
	text = read_whole(path_in(layer_path(layer), "LAYER").text, &size);
	assert_non_null(strstr(text, "\nbase base.gguf\nfingerprint "));
	free(text);
	layer_unstage(layer, number);
	assert_int_equal(count_entries(path_in(layer_path(layer), ".stage").text), 0);
	layer_close(layer);
	close_site(&site);
}

static void a_layer_without_grafts_is_removed_at_close(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	unsigned number;
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

static void a_later_graft_replaces_an_earlier_one(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	fill_layer(layer);
	assert_int_equal(keep_text(layer, CLASS_ORGANS, "blk_0_ffn_up", "again"), 0);
	layer_close(layer);
	layer = open_layer(&site);
	assert_layer(layer, "norm/blk_0_ffn_norm=norm organs/blk_0_ffn_up=again ");
	assert_int_equal(keep_text(layer, CLASS_ORGANS, "blk_0_ffn_up", "third"), 0);
	assert_layer(layer, "norm/blk_0_ffn_norm=norm organs/blk_0_ffn_up=third ");
	layer_close(layer);
	close_site(&site);
}

static void a_kept_file_is_open_for_reading_only(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	unsigned number;
	const int fd = layer_stage(layer, &number);
	struct backing *file;
	char bytes[5];

	assert_int_equal(write(fd, "bytes", 5), 5);
	close(fd);
	assert_int_equal(keep_stage(layer, number, CLASS_OTHER, "x", &file), 0);
	assert_int_equal(fcntl(backing_fd_get(file), F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(backing_read(file, bytes, 5, 0), 0);
	assert_memory_equal(bytes, "bytes", 5);
	backing_unref(file);
	layer_close(layer);
	close_site(&site);
}

static void a_stage_that_was_not_kept_is_gone_at_the_next_mount(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	unsigned number;
	int fd;

	fill_layer(layer);
	fd = layer_stage(layer, &number);
	assert_int_equal(write(fd, "half", 4), 4);
	close(fd);
	layer_close(layer);
	layer = open_layer(&site);
	assert_int_equal(count_entries(path_in(layer_path(layer), ".stage").text), -1);
	assert_layer(layer, FILLED);
	fd = layer_stage(layer, &number);
	assert_between(fd, 0, INT_MAX);
	close(fd);
	layer_close(layer);
	close_site(&site);
}

/* Invariant 3. */
static void a_layer_in_use_is_nobody_elses(void **state)
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

/* Between the two another mount may have made a directory of the same name. */
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

/* Invariant 2: an interrupted drop has removed LAYER and not yet the rest. */
static void a_directory_without_its_description_holds_nothing(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char path[PATH_MAX];

	fill_layer(layer);
	snprintf(path, sizeof(path), "%s", layer_path(layer));
	layer_close(layer);
	assert_int_equal(unlink(path_in(path, "LAYER").text), 0);
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

/* Two bases of one key: they differ behind their first 64 KiB. */
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

static void a_layer_of_another_format_is_left_alone(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char path[PATH_MAX], *text;
	size_t size;

	fill_layer(layer);
	snprintf(path, sizeof(path), "%s", layer_path(layer));
	layer_close(layer);
	text = read_whole(path_in(path, "LAYER").text, &size);
	assert_memory_equal(text, "organfs layer 1\n", 16);
	text[14] = '2';
	write_file(path_in(path, "LAYER").text, text, size);
	free(text);
	layer = open_layer(&site);
	assert_layer(layer, "");
	assert_int_equal(keep_text(layer, CLASS_OTHER, "x", "x"), 0);
	assert_string_not_equal(layer_path(layer), path);
	assert_true(exists(path_in(path, "organs/blk_0_ffn_up.bin").text));
	layer_close(layer);
	close_site(&site);
}

static void what_is_no_organ_file_is_passed_over_or_told_of(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	const char *path;

	fill_layer(layer);
	path = layer_path(layer);
	write_text(path_in(path, "organs/.bin").text, "no name");
	write_text(path_in(path, "organs/notes.txt").text, "no organ");
	write_text(path_in(path, "organs/bin").text, "no organ");
	write_text(path_in(path, "stray.bin").text, "in no class");
	assert_int_equal(mkdir(path_in(path, "organs/directory.bin").text, 0700), 0);
	assert_int_equal(mkfifo(path_in(path, "organs/fifo.bin").text, 0600), 0);
	assert_int_equal(symlink("nowhere", path_in(path, "organs/broken.bin").text), 0);
	assert_layer(layer, "norm/blk_0_ffn_norm=norm organs/blk_0_ffn_up=up organs/broken>nowhere "
			    "organs/directory! organs/fifo! ");
	layer_close(layer);
	close_site(&site);
}

static void a_stage_that_cannot_be_kept_is_still_there(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct backing *file;
	unsigned number;

	fill_layer(layer);
	close(layer_stage(layer, &number));
	assert_int_equal(mkdir(path_in(layer_path(layer), "organs/x.bin").text, 0700), 0);
	assert_int_equal(keep_stage(layer, number, CLASS_ORGANS, "x", &file), -EISDIR);
	assert_int_equal(keep_stage(layer, number + 1, CLASS_ORGANS, "y", &file), -ENOENT);
	assert_int_equal(keep_stage(layer, number, CLASS_ORGANS, "y", &file), 0);
	backing_unref(file);
	layer_close(layer);
	close_site(&site);
}

static void the_longest_name_can_be_kept(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char name[ANATOMY_NAME_MAX + 1], path[ANATOMY_NAME_MAX + 32];

	memset(name, 'n', ANATOMY_NAME_MAX);
	name[ANATOMY_NAME_MAX] = '\0';
	assert_int_equal(keep_text(layer, CLASS_ORGANS, name, "x"), 0);
	snprintf(path, sizeof(path), "organs/%s.bin", name);
	assert_true(exists(path_in(layer_path(layer), path).text));
	layer_close(layer);
	close_site(&site);
}

static void without_a_place_for_layers_there_is_no_stage(void **state)
{
	struct site site = small_site(state);
	struct layer *layer;
	unsigned number;

	write_text(in_temp(state, "state").text, "a file in the way");
	layer = open_layer(&site);
	assert_layer(layer, "");
	assert_int_equal(layer_stage(layer, &number), -ENOTDIR);
	/* Once the way is free, it goes on. */
	assert_int_equal(unlink(in_temp(state, "state").text), 0);
	fill_layer(layer);
	layer_close(layer);
	close_site(&site);
}

static void a_base_that_was_changed_gets_no_layer(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	unsigned number;

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
	/* With as many checksums. */
	assert_int_equal(count_entries(path_in(layer_path(layer), "other").text), 160);
	layer_close(layer);
	close_site(&site);
}

/* ## organs that are compressed */

#define LARGE (ZSTD_FRAME_BYTES + 5000)

/* Put bytes in force, as close() would. */
static struct backing *keep_bytes(struct layer *layer, const char *name, const void *bytes,
				  size_t n)
{
	struct backing *file = NULL;
	unsigned number;
	const int fd = layer_stage(layer, &number);

	must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	close(fd);
	must(keep_stage(layer, number, CLASS_ORGANS, name, &file) == 0);
	return file;
}

static void assert_bytes(struct backing *file, const uint8_t *bytes, size_t n)
{
	uint8_t *got = malloc(n + 1);

	must(got);
	assert_int_equal(backing_size(file), n);
	assert_int_equal(backing_read(file, got, n, 0), 0);
	assert_memory_equal(got, bytes, n);
	free(got);
}

/* The organ of that name that layer_each() finds, with the reason in err. */
struct looking {
	const char *name;
	struct backing *file;
	struct error err;
	unsigned found;
};

static int look_at(void *context, const struct layer_entry *entry, struct error *err)
{
	struct looking *looking = context;

	if (strcmp(entry->name, looking->name) == 0) {
		looking->found++;
		looking->err = *err;
		looking->file = entry->file;
	} else {
		backing_unref(entry->file);
	}
	return 0;
}

static void a_class_that_leads_elsewhere_is_not_followed(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct looking looking = { .name = "x" };
	struct error err = { 0 };

	fill_layer(layer);
	assert_int_equal(mkdir(in_temp(state, "elsewhere").text, 0700), 0);
	write_text(in_temp(state, "elsewhere/x.bin").text, "x");
	assert_int_equal(symlink(in_temp(state, "elsewhere").text,
				 path_in(layer_path(layer), "embed").text),
			 0);
	assert_int_equal(layer_each(layer, look_at, &looking, &err), -ENOTDIR);
	assert_int_equal(looking.found, 0);
	assert_non_null(strstr(err.text, "/embed: Not a directory"));
	assert_between(-keep_text(layer, CLASS_EMBED, "y", "y"), 1, INT_MAX);
	assert_false(exists(in_temp(state, "elsewhere/y.bin").text));
	layer_close(layer);
	close_site(&site);
}

static struct looking find(struct layer *layer, const char *name)
{
	struct looking looking = { .name = name };
	struct error err = { 0 };

	assert_int_equal(layer_each(layer, look_at, &looking, &err), 0);
	return looking;
}

static void assert_found(struct layer *layer, const char *name, const uint8_t *bytes, size_t n)
{
	struct looking looking = find(layer, name);

	assert_int_equal(looking.found, 1);
	assert_non_null(looking.file);
	assert_bytes(looking.file, bytes, n);
	backing_unref(looking.file);
}

static bool has(struct layer *layer, const char *file)
{
	return exists(path_in(layer_path(layer), file).text);
}

static void what_shrinks_is_compressed_and_found_again(void **state)
{
	struct site site = small_site(state);
	uint8_t *shrinks = mk_shrinking(LARGE, 1), *does_not = mk_random(LARGE, 2, 255);
	struct backing *file;
	struct layer *layer;
	struct stat stat;

	site.manner.level = 1;
	layer = open_layer(&site);
	file = keep_bytes(layer, "a", shrinks, LARGE);
	assert_bytes(file, shrinks, LARGE);
	assert_false(backing_is_plain(file));
	backing_unref(file);
	file = keep_bytes(layer, "b", does_not, LARGE);
	assert_bytes(file, does_not, LARGE);
	backing_unref(file);
	assert_true(has(layer, "organs/a.bin.zst") && !has(layer, "organs/a.bin"));
	assert_true(has(layer, "organs/b.bin") && !has(layer, "organs/b.bin.zst"));
	must(lstat(path_in(layer_path(layer), "organs/a.bin.zst").text, &stat) == 0);
	assert_between(stat.st_size, 1, LARGE * 6 / 10);
	assert_int_equal(count_entries(path_in(layer_path(layer), ".stage").text), 0);
	layer_close(layer);
	layer = open_layer(&site);
	assert_found(layer, "a", shrinks, LARGE);
	assert_found(layer, "b", does_not, LARGE);
	layer_close(layer);
	close_site(&site);
	free(shrinks);
	free(does_not);
}

/* The first MiB decides, unless that was a mistake. */
static void what_begins_well_and_goes_on_badly_is_kept_as_it_is(void **state)
{
	struct site site = small_site(state);
	uint8_t *bytes = mk_random(LARGE, 3, 255);
	struct layer *layer;

	site.manner.level = 19;
	layer = open_layer(&site);
	memset(bytes + ZSTD_FRAME_BYTES, 0, 5000);
	backing_unref(keep_bytes(layer, "badly", bytes, LARGE));
	assert_true(has(layer, "organs/badly.bin"));
	memset(bytes, 0, ZSTD_FRAME_BYTES / 10);
	backing_unref(keep_bytes(layer, "well", bytes, LARGE));
	assert_true(has(layer, "organs/well.bin.zst"));
	assert_found(layer, "well", bytes, LARGE);
	layer_close(layer);
	close_site(&site);
	free(bytes);
}

static void one_form_replaces_the_other(void **state)
{
	struct site site = small_site(state);
	uint8_t *shrinks = mk_shrinking(LARGE, 1), *does_not = mk_random(LARGE, 2, 255);
	struct layer *layer;

	site.manner.level = 1;
	layer = open_layer(&site);
	for (int i = 0; i < 2; i++) {
		backing_unref(keep_bytes(layer, "x", shrinks, LARGE));
		assert_int_equal(count_entries(path_in(layer_path(layer), "organs").text), 2);
		assert_found(layer, "x", shrinks, LARGE);
		backing_unref(keep_bytes(layer, "x", does_not, LARGE));
		assert_int_equal(count_entries(path_in(layer_path(layer), "organs").text), 2);
		assert_found(layer, "x", does_not, LARGE);
	}
	backing_unref(keep_bytes(layer, "x", shrinks, LARGE));
	assert_int_equal(layer_revert(layer, CLASS_ORGANS, "x"), 0);
	assert_int_equal(count_entries(path_in(layer_path(layer), "organs").text), 0);
	backing_unref(keep_bytes(layer, "x", shrinks, LARGE));
	assert_int_equal(layer_write(layer, LAYER_WHITEOUT, CLASS_ORGANS, "x", NULL, "", NULL), 0);
	assert_int_equal(count_entries(path_in(layer_path(layer), "organs").text), 1);
	assert_true(has(layer, "organs/.wh.x.bin"));
	layer_close(layer);
	close_site(&site);
	free(shrinks);
	free(does_not);
}

static void both_forms_can_be_shared(void **state)
{
	struct site site = small_site(state);
	uint8_t *shrinks = mk_shrinking(LARGE, 1), *does_not = mk_random(LARGE, 2, 255);
	struct backing *file;
	struct layer *layer;
	struct stat stat;

	site.manner.level = 1;
	layer = open_layer(&site);
	backing_unref(keep_bytes(layer, "a", shrinks, LARGE));
	backing_unref(keep_bytes(layer, "b", does_not, LARGE));
	assert_int_equal(layer_link(layer, CLASS_ORGANS, "a", layer, CLASS_OTHER, "c", NULL, &file),
			 0);
	assert_bytes(file, shrinks, LARGE);
	backing_unref(file);
	assert_int_equal(layer_link(layer, CLASS_ORGANS, "b", layer, CLASS_OTHER, "d", NULL, &file),
			 0);
	assert_bytes(file, does_not, LARGE);
	backing_unref(file);
	assert_int_equal(layer_link(layer, CLASS_ORGANS, "b", layer, CLASS_OTHER, "c", NULL, &file),
			 0);
	backing_unref(file);
	/* And once more onto itself. */
	assert_int_equal(layer_link(layer, CLASS_ORGANS, "b", layer, CLASS_OTHER, "c", NULL, &file),
			 0);
	backing_unref(file);
	must(lstat(path_in(layer_path(layer), "other/c.bin").text, &stat) == 0);
	assert_int_equal(stat.st_nlink, 3);
	assert_false(has(layer, "other/c.bin.zst"));
	assert_int_equal(layer_link(layer, CLASS_ORGANS, "e", layer, CLASS_OTHER, "f", NULL, &file),
			 -ENOENT);
	assert_int_equal(count_entries(path_in(layer_path(layer), ".stage").text), 0);
	layer_close(layer);
	layer = open_layer(&site);
	assert_found(layer, "c", does_not, LARGE);
	assert_found(layer, "d", does_not, LARGE);
	layer_close(layer);
	close_site(&site);
	free(shrinks);
	free(does_not);
}

static void a_compressed_file_that_is_wrong_is_told_of(void **state)
{
	struct site site = small_site(state);
	uint8_t *shrinks = mk_shrinking(LARGE, 1);
	struct looking looking;
	struct layer *layer;

	site.manner.level = 1;
	layer = open_layer(&site);
	backing_unref(keep_bytes(layer, "a", shrinks, LARGE));
	must(truncate(path_in(layer_path(layer), "organs/a.bin.zst").text, 3000) == 0);
	write_text(path_in(layer_path(layer), "organs/b.bin.zst").text, "");
	looking = find(layer, "a");
	assert_null(looking.file);
	assert_int_equal(looking.err.code, EBADMSG);
	looking = find(layer, "b");
	assert_null(looking.file);
	assert_int_equal(looking.err.code, EBADMSG);
	layer_close(layer);
	close_site(&site);
	free(shrinks);
}

/* ## checksums */

static void what_was_changed_in_between_is_not_read(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	struct looking looking;
	char path[PATH_MAX], byte;

	fill_layer(layer);
	snprintf(path, sizeof(path), "%s", layer_path(layer));
	layer_close(layer);
	write_text(path_in(path, "organs/blk_0_ffn_up.bin").text, "uq");
	layer = open_layer(&site);
	looking = find(layer, "blk_0_ffn_up");
	assert_int_equal(looking.found, 1);
	assert_int_equal(backing_read(looking.file, &byte, 1, 0), -EIO);
	assert_int_equal(log_count(site.manner.log), 1);
	backing_unref(looking.file);
	assert_found(layer, "blk_0_ffn_norm", (const uint8_t *)"norm", 4);
	layer_close(layer);
	close_site(&site);
}

static void what_has_no_checksum_is_read_as_it_is(void **state)
{
	static const char *const sums[] = {
		NULL, "", "0123", "0123456789abcdef0123456789abcdeg  organs/blk_0_ffn_up.bin\n",
		"0123456789abcdef0123456789abcdef\n"
	};
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	char path[PATH_MAX], sum[PATH_MAX];

	fill_layer(layer);
	snprintf(path, sizeof(path), "%s", layer_path(layer));
	snprintf(sum, sizeof(sum), "%s", path_in(path, "organs/blk_0_ffn_up.bin.xxh128").text);
	layer_close(layer);
	write_text(path_in(path, "organs/blk_0_ffn_up.bin").text, "by hand");
	write_text(path_in(path, "organs/dropped.bin").text, "dropped in");
	for (size_t i = 0; i < ARRAY_LENGTH(sums); i++) {
		unlink(sum);
		if (sums[i])
			write_text(sum, sums[i]);
		layer = open_layer(&site);
		assert_found(layer, "blk_0_ffn_up", (const uint8_t *)"by hand", 7);
		assert_found(layer, "dropped", (const uint8_t *)"dropped in", 10);
		layer_close(layer);
	}
	close_site(&site);
}

/* ## layers that the user names */

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
	assert_true(has(layer, "LAYER"));
	assert_string_equal(layer_path(layer), in_temp(state, "deep/down/layer").text);
	layer_close(layer);
	assert_int_equal(count_entries(in_temp(state, "deep/down/layer").text), 1);
	layer = open_at(state, &site, &err);
	fill_layer(layer);
	assert_int_equal(layer_delete(layer), 0);
	layer_close(layer);
	layer = open_at(state, &site, &err);
	assert_layer(layer, FILLED);
	layer_close(layer);
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

static void a_reader_of_a_named_layer_writes_nothing(void **state)
{
	struct site site = small_site(state);
	const char *text = "organs/blk_0_ffn_up\norgans/blk_1_ffn_up\n";
	struct error err = { 0 };
	struct layer *layer;
	char note[100];
	unsigned number;

	site.manner.read_only = true;
	layer = open_at(state, &site, &err);
	assert_layer(layer, "");
	assert_between(-layer_stage(layer, &number), 1, INT_MAX);
	layer_close(layer);
	assert_false(exists(in_temp(state, "deep").text));
	site.manner.read_only = false;
	layer = open_at(state, &site, &err);
	fill_layer(layer);
	assert_int_equal(layer_journal_write(layer, text), 0);
	close(layer_stage(layer, &number));
	write_text(path_in(layer_path(layer), ".stage/left").text, "left");
	site.manner.read_only = true;
	layer_close(layer);
	must(mkdir(in_temp(state, "deep/down/layer/.stage").text, 0700) == 0);
	write_text(in_temp(state, "deep/down/layer/.stage/left").text, "left");
	layer = open_at(state, &site, &err);
	assert_layer(layer, FILLED);
	assert_int_equal(layer_journal_read(layer, note, sizeof(note)), 0);
	layer_close(layer);
	assert_true(exists(in_temp(state, "deep/down/layer/.stage/left").text));
	assert_true(exists(in_temp(state, "deep/down/layer/MOVING").text));
	close_site(&site);
}

static void a_directory_that_is_no_layer_is_refused_and_left_as_it_is(void **state)
{
	struct site site = small_site(state);
	struct error err = { 0 };
	struct layer *layer = open_at(state, &site, &err);

	layer_close(layer);
	must(unlink(in_temp(state, "deep/down/layer/LAYER").text) == 0);
	write_text(in_temp(state, "deep/down/layer/LAYER.new").text, "half");
	layer = open_at(state, &site, &err);
	assert_non_null(layer);
	layer_close(layer);
	must(unlink(in_temp(state, "deep/down/layer/LAYER").text) == 0);
	must(mkdir(in_temp(state, "deep/down/layer/.stage").text, 0700) == 0);
	write_text(in_temp(state, "deep/down/layer/.stage/mine").text, "mine");
	assert_not_opened(state, &site, ENOTEMPTY, "no file LAYER");
	site.manner.read_only = true;
	assert_not_opened(state, &site, ENOTEMPTY, "no file LAYER");
	site.manner.read_only = false;
	assert_true(exists(in_temp(state, "deep/down/layer/.stage/mine").text));
	remove_tree(in_temp(state, "deep/down/layer").text);
	write_text(in_temp(state, "deep/down/layer").text, "a file");
	assert_not_opened(state, &site, ENOTDIR, "Not a directory");
	close_site(&site);
}

static void write_label(void **state, const char *text)
{
	write_text(in_temp(state, "deep/down/layer/LAYER").text, text);
}

static void a_label_that_does_not_suit_is_refused_in_words(void **state)
{
	struct site site = small_site(state);
	struct error err = { 0 };
	struct layer *layer = open_at(state, &site, &err);

	fill_layer(layer);
	layer_close(layer);
	write_label(state, "");
	assert_not_opened(state, &site, EBADMSG, "none that organfs wrote");
	write_label(state, "organfs layer 1");
	assert_not_opened(state, &site, EBADMSG, "none that organfs wrote");
	write_label(state, "organfs layer x\n");
	assert_not_opened(state, &site, EBADMSG, "no format version");
	write_label(state, "organfs layer 2\nwhatever\n");
	assert_not_opened(state, &site, ENOTSUP, "format version 2, and this organfs knows only 1");
	write_label(state, "organfs layer 1\nbase other.gguf\n");
	assert_not_opened(state, &site, EBADMSG, "for which base");
	write_label(state, "organfs layer 1\nbase other.gguf\nfingerprint abc\n");
	assert_not_opened(state, &site, ESTALE,
			  "made for another base, other.gguf, with the fingerprint abc; the model");
	assert_true(exists(in_temp(state, "deep/down/layer/organs/blk_0_ffn_up.bin").text));
	close_site(&site);
}

/* The name of a base can hold what looks like a line of the label. */
static void a_base_of_any_name_has_a_label(void **state)
{
	struct mk_file file = mk_small();
	struct site site = open_site(state, "a\nfingerprint 00\nb.gguf", &file);
	struct error err = { 0 };
	struct layer *layer = open_at(state, &site, &err);

	fill_layer(layer);
	layer_close(layer);
	layer = open_at(state, &site, &err);
	assert_layer(layer, FILLED);
	layer_close(layer);
	mk_file_free(&file);
	close_site(&site);
}

/* ## a disk that fails. Invariant 5: each fsync() in turn. */

/* A filesystem that keeps changes in order, or one that does not, whatever the test runs on. */
static struct layer *open_ordered(const struct site *site, int order)
{
	struct layer *layer = open_layer(site);

	atomic_store(&layer->order, order);
	return layer;
}

/* Until nothing fails any more: act(), which is refused, and what was before is there still. */
static void assert_refusals_on(struct site *site, int order, int (*act)(struct layer *layer),
			       const char *before, const char *after)
{
	bool failed = true;

	for (uint64_t k = 1; failed; k++) {
		struct layer *layer = open_ordered(site, order);
		int rc;

		assert_int_equal(layer_revert(layer, CLASS_ORGANS, "new"), 0);
		assert_int_equal(layer_revert(layer, CLASS_ORGANS, "ref"), 0);
		assert_int_equal(keep_text(layer, CLASS_ORGANS, "up", "old"), 0);
		assert_int_equal(layer_write(layer, LAYER_REFERENCE, CLASS_ORGANS, "ref", NULL, "r",
					     NULL),
				 0);
		fsync_fails(k);
		rc = act(layer);
		failed = fsync_failed();
		assert_int_equal(rc, failed ? -EIO : 0);
		layer_close(layer);
		layer = open_layer(site);
		assert_layer(layer, rc < 0 ? before : after);
		layer_close(layer);
	}
}

static void assert_refusals(void **state, int (*act)(struct layer *layer), const char *before,
			    const char *after)
{
	struct site site = small_site(state);

	assert_refusals_on(&site, LAYER_UNORDERED, act, before, after);
	assert_refusals_on(&site, LAYER_ORDERED, act, before, after);
	close_site(&site);
}

#define BEFORE "organs/ref=r organs/up=old "

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

static int add_class(struct layer *layer)
{
	char path[PATH_MAX];

	/* From the round before. */
	snprintf(path, sizeof(path), "%s/norm", layer_path(layer));
	remove_tree(path);
	return keep_text(layer, CLASS_NORM, "new", "organ");
}

static int white_out(struct layer *layer)
{
	return layer_write(layer, LAYER_WHITEOUT, CLASS_ORGANS, "up", NULL, "", NULL);
}

static int forget(struct layer *layer)
{
	return layer_revert(layer, CLASS_ORGANS, "up");
}

static int share(struct layer *layer)
{
	struct backing *file;
	const int rc =
		layer_link(layer, CLASS_ORGANS, "up", layer, CLASS_ORGANS, "ref", NULL, &file);

	if (rc == 0)
		backing_unref(file);
	return rc;
}

static void what_cannot_be_made_durable_is_taken_back(void **state)
{
	assert_refusals(state, replace_organ, BEFORE,
			"organs/ref=r organs/up=xxxxxxxxxxxxxxxxxxxx ");
	assert_refusals(state, replace_reference, BEFORE, "organs/ref=organ organs/up=old ");
	assert_refusals(state, add_organ, BEFORE, "organs/new=organ " BEFORE);
	assert_refusals(state, forget, BEFORE, "organs/ref=r ");
	assert_refusals(state, share, BEFORE, "organs/ref=old organs/up=old ");
	assert_refusals(state, white_out, BEFORE, "organs/ref=r organs/up= ");
}

static int remove_organ(struct layer *layer)
{
	return layer_remove(layer, CLASS_ORGANS, "up", true);
}

static int remove_added(struct layer *layer)
{
	return layer_remove(layer, CLASS_ORGANS, "up", false);
}

static void a_removed_graft_waits_for_the_disk_where_order_is_not_kept(void **state)
{
	struct site site = small_site(state);

	assert_refusals_on(&site, LAYER_UNORDERED, remove_organ, BEFORE,
			   "organs/ref=r organs/up= ");
	assert_refusals_on(&site, LAYER_UNORDERED, remove_added, BEFORE, "organs/ref=r ");
	close_site(&site);
}

static void what_the_base_has_is_removed_later_where_order_is_not_kept(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_ordered(&site, LAYER_UNORDERED);
	struct stat a, b;
	char path[PATH_MAX];

	assert_int_equal(keep_text(layer, CLASS_ORGANS, "up", "old"), 0);
	assert_int_equal(layer_remove(layer, CLASS_ORGANS, "a", true), 0);
	assert_int_equal(layer_flush(layer), 0);
	fsync_fails(1);
	assert_int_equal(layer_remove(layer, CLASS_ORGANS, "b", true), 0);
	assert_int_equal(layer_flush(layer), -EIO);
	assert_true(fsync_failed());
	assert_int_equal(layer_flush(layer), 0);
	assert_layer(layer, "organs/a= organs/b= organs/up=old ");
	/* Names of one empty file; or a file, where it is gone. */
	snprintf(path, sizeof(path), "%s/organs/.wh.a.bin", layer_path(layer));
	must(stat(path, &a) == 0);
	snprintf(path, sizeof(path), "%s/organs/.wh.b.bin", layer_path(layer));
	must(stat(path, &b) == 0);
	assert_int_equal(a.st_ino, b.st_ino);
	snprintf(path, sizeof(path), "%s/organs/.wh.a.bin", layer_path(layer));
	must(unlink(path) == 0);
	assert_int_equal(layer_remove(layer, CLASS_ORGANS, "c", true), 0);
	assert_int_equal(layer_remove(layer, CLASS_ORGANS, "c", true), 0);
	assert_int_equal(layer_remove(layer, CLASS_ORGANS, "d", true), 0);
	assert_layer(layer, "organs/b= organs/c= organs/d= organs/up=old ");
	layer_close(layer);
	close_site(&site);
}

static void where_it_is_kept_a_flush_makes_it_durable(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_ordered(&site, LAYER_ORDERED);

	assert_int_equal(layer_flush(layer), 0);
	assert_int_equal(keep_text(layer, CLASS_ORGANS, "up", "old"), 0);
	assert_int_equal(remove_organ(layer), 0);
	assert_layer(layer, "organs/up= ");
	assert_int_equal(layer_flush(layer), 0);
	/* Once more, and then nothing is said about it. */
	assert_int_equal(remove_organ(layer), 0);
	assert_layer(layer, "organs/up= ");
	assert_int_equal(remove_added(layer), 0);
	assert_layer(layer, "");
	assert_int_equal(layer_flush(layer), 0);
	layer_close(layer);
	close_site(&site);
}

static void what_cannot_be_removed_stays_whole(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_ordered(&site, LAYER_ORDERED);
	char path[PATH_MAX];

	assert_int_equal(keep_text(layer, CLASS_ORGANS, "up", "old"), 0);
	/* What is set aside finds a directory that is not empty in its place. */
	for (unsigned number = 0; number < 8; number++) {
		snprintf(path, sizeof(path), "%s/.stage/%u.1/x", layer_path(layer), number);
		*strrchr(path, '/') = '\0';
		must(mkdir(path, 0700) == 0);
	}
	assert_int_equal(remove_organ(layer), -EISDIR);
	assert_layer(layer, "organs/up=old ");
	layer_close(layer);
	close_site(&site);
}

static void a_class_that_cannot_be_made_durable_is_taken_back(void **state)
{
	assert_refusals(state, add_class, BEFORE, "norm/new=organ " BEFORE);
}

static void the_same_for_what_is_compressed(void **state)
{
	struct site site = small_site(state);
	uint8_t *old = mk_shrinking(LARGE, 1), *new = mk_shrinking(LARGE, 2);
	bool failed = true;

	site.manner.level = 1;
	for (uint64_t k = 2; failed; k++) {
		struct layer *layer = open_layer(&site);
		struct layer_seal seal;
		struct backing *file;
		unsigned number;
		int fd, rc;

		backing_unref(keep_bytes(layer, "up", old, LARGE));
		fd = layer_stage(layer, &number);
		must(write(fd, new, LARGE) == (ssize_t)LARGE);
		close(fd);
		fsync_fails(k);
		rc = seal_stage(layer, number, &seal);
		if (rc == 0)
			rc = layer_commit(layer, number, &seal, CLASS_ORGANS, "up", NULL, &file);
		failed = fsync_failed();
		assert_int_equal(rc, failed ? -EIO : 0);
		if (rc == 0)
			backing_unref(file);
		layer_close(layer);
		layer = open_layer(&site);
		assert_found(layer, "up", failed ? old : new, LARGE);
		layer_close(layer);
	}
	close_site(&site);
	free(old);
	free(new);
}

static void only_so_many_stages_are_in_memory_at_a_time(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	unsigned number;
	int fds[100], n = 0;

	while (n < 100 && (fds[n] = layer_stage_in_memory(layer, &number)) >= 0)
		n++;
	assert_between(n, 8, 99);
	assert_int_equal(fds[n], -ENOMEM);
	layer_close_in_memory(layer, fds[--n]);
	fds[n] = layer_stage_in_memory(layer, &number);
	assert_true(fds[n++] >= 0);
	while (n)
		layer_close_in_memory(layer, fds[--n]);
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
