/* SPDX-License-Identifier: MIT */
/* test_layer.c - fs/layer.c: what a mount finds of the one before it, by the invariants of
 * layer.h. */
#include "fs_layer.h"

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

	assert_string_equal(layer_path(layer), site.state);
	assert_layer(layer, "");
	layer_close(layer);
	assert_false(exists(in_temp(state, "state").text));
	layer_close(NULL);
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
	char *text;
	const int fd = layer_stage(layer, &number);

	assert_in_range(fd, 0, INT_MAX);
	close(fd);
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
	int fd = layer_stage(layer, &number);
	char bytes[5];

	assert_int_equal(write(fd, "bytes", 5), 5);
	close(fd);
	fd = layer_keep(layer, number, CLASS_OTHER, "x");
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(pread(fd, bytes, 5, 0), 5);
	assert_memory_equal(bytes, "bytes", 5);
	close(fd);
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
	assert_in_range(fd, 0, INT_MAX);
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
	assert_int_equal(layer_drop(one), 0);
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

	assert_int_equal(layer_drop(layer), 0);
	fill_layer(layer);
	assert_int_equal(layer_drop(layer), 0);
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
	assert_int_equal(layer_drop(layer), 0);
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
	assert_layer(layer, "norm/blk_0_ffn_norm=norm organs/blk_0_ffn_up=up organs/broken! "
			    "organs/directory! organs/fifo! ");
	layer_close(layer);
	close_site(&site);
}

static void a_class_that_leads_elsewhere_is_not_followed(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);

	fill_layer(layer);
	assert_int_equal(mkdir(in_temp(state, "elsewhere").text, 0700), 0);
	write_text(in_temp(state, "elsewhere/x.bin").text, "x");
	assert_int_equal(symlink(in_temp(state, "elsewhere").text,
				 path_in(layer_path(layer), "embed").text),
			 0);
	assert_layer(layer, FILLED);
	assert_in_range(-keep_text(layer, CLASS_EMBED, "y", "y"), 1, INT_MAX);
	assert_false(exists(in_temp(state, "elsewhere/y.bin").text));
	layer_close(layer);
	close_site(&site);
}

static void a_stage_that_cannot_be_kept_is_still_there(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	unsigned number;
	int fd;

	fill_layer(layer);
	fd = layer_stage(layer, &number);
	close(fd);
	assert_int_equal(mkdir(path_in(layer_path(layer), "organs/x.bin").text, 0700), 0);
	assert_int_equal(layer_keep(layer, number, CLASS_ORGANS, "x"), -EISDIR);
	assert_int_equal(layer_keep(layer, number + 1, CLASS_ORGANS, "y"), -ENOENT);
	fd = layer_keep(layer, number, CLASS_ORGANS, "y");
	assert_in_range(fd, 0, INT_MAX);
	close(fd);
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
	assert_int_equal(count_entries(path_in(layer_path(layer), "other").text), 80);
	layer_close(layer);
	close_site(&site);
}

static const struct CMUnitTest tests[] = {
	FS_TEST(a_mount_that_is_only_read_writes_nothing),
	FS_TEST(the_layer_comes_with_its_first_stage),
	FS_TEST(a_layer_without_grafts_is_removed_at_close),
	FS_TEST(grafts_are_found_again_after_close),
	FS_TEST(a_later_graft_replaces_an_earlier_one),
	FS_TEST(a_kept_file_is_open_for_reading_only),
	FS_TEST(a_stage_that_was_not_kept_is_gone_at_the_next_mount),
	FS_TEST(a_layer_in_use_is_nobody_elses),
	FS_TEST(two_layers_that_were_left_go_to_two_mounts),
	FS_TEST(a_layer_is_found_though_the_one_before_it_is_gone),
	FS_TEST(a_dropped_layer_is_gone),
	FS_TEST(closing_a_dropped_layer_leaves_a_new_one_alone),
	FS_TEST(a_directory_without_its_description_holds_nothing),
	FS_TEST(a_layer_of_another_base_is_left_alone),
	FS_TEST(a_layer_of_another_format_is_left_alone),
	FS_TEST(what_is_no_organ_file_is_passed_over_or_told_of),
	FS_TEST(a_class_that_leads_elsewhere_is_not_followed),
	FS_TEST(a_stage_that_cannot_be_kept_is_still_there),
	FS_TEST(the_longest_name_can_be_kept),
	FS_TEST(without_a_place_for_layers_there_is_no_stage),
	FS_TEST(a_base_that_was_changed_gets_no_layer),
	FS_TEST(threads_may_stage_and_keep_at_once),
};

UNIT_MAIN(tests)
