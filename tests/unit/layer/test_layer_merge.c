/* SPDX-License-Identifier: MIT */
/* test_layer_merge.c - fs/layer/layer_merge.c. */
#include "fs/layer/layer_merge.h"
#include "tests/unit/open_layer.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static const char text[] = "organfs merge 1\n";

#define assert_merge(layer, expected)                                      \
	do {                                                               \
		struct stat stat_of;                                       \
		int rc_of = 1;                                             \
		char *read_of = layer_read_merge(layer, &stat_of, &rc_of); \
		assert_int_equal(rc_of, 0);                                \
		assert_non_null(read_of);                                  \
		assert_string_equal(read_of, expected);                    \
		assert_int_equal(stat_of.st_uid, getuid());                \
		free(read_of);                                             \
	} while (0)

static struct layer_merge of(const char *merge)
{
	return (struct layer_merge){ merge, getuid(), getgid(), { .tv_sec = 1700000000 } };
}

static int read_rc(struct layer *layer)
{
	struct stat stat;
	int rc;

	assert_null(layer_read_merge(layer, &stat, &rc));
	return rc;
}

static struct string_of_path {
	char text[PATH_MAX + 16];
} merge_of(struct layer *layer)
{
	struct string_of_path path;

	snprintf(path.text, sizeof(path.text), "%s/MERGE", layer_path(layer));
	return path;
}

static void a_merge_is_kept_for_the_next_mount(void **state)
{
	struct site site = small_site(state);
	const struct layer_merge old = of("old\n"), new = of(text);
	struct layer *layer = open_layer(&site);

	assert_int_equal(read_rc(layer), 0);
	assert_int_equal(layer_drop_merge(layer, NULL), 0);
	assert_int_equal(layer_write_merge(layer, &old, NULL), 0);
	assert_int_equal(layer_write_merge(layer, &new, &old), 0);
	assert_merge(layer, text);
	/* It is a change: the layer stays. */
	layer_close(layer);
	layer = open_layer(&site);
	assert_merge(layer, text);
	assert_int_equal(layer_drop_merge(layer, NULL), 0);
	assert_int_equal(layer_drop_merge(layer, NULL), 0);
	assert_int_equal(read_rc(layer), 0);
	layer_close(layer);
	close_site(&site);
}

static void a_merge_goes_with_its_layer(void **state)
{
	struct site site = small_site(state);
	const struct layer_merge new = of(text);
	struct layer *layer = open_layer(&site);
	char path[PATH_MAX];

	assert_int_equal(layer_write_merge(layer, &new, NULL), 0);
	assert_true(layer_directory(layer, path));
	assert_int_equal(layer_delete(layer), 0);
	assert_int_equal(access(path, F_OK), -1);
	layer_close(layer);
	close_site(&site);
}

/* As that mount goes on with it, so does the next one. */
static void what_the_disk_refuses_changes_nothing(void **state)
{
	struct site site = small_site(state);
	const struct layer_merge old = of("old\n"), new = of(text);
	struct layer *layer = open_layer(&site);

	/* There is a layer, which takes more of them. */
	assert_int_equal(layer_write_merge(layer, &old, NULL), 0);
	assert_int_equal(layer_drop_merge(layer, &old), 0);
	for (uint64_t k = 1; k <= 2; k++) {
		fsync_fails_from(k);
		assert_int_equal(layer_write_merge(layer, &new, NULL), -EIO);
		assert_true(fsync_failed());
		assert_int_equal(read_rc(layer), 0);
	}
	assert_int_equal(layer_write_merge(layer, &old, NULL), 0);
	for (uint64_t k = 1; k <= 2; k++) {
		fsync_fails_from(k);
		assert_int_equal(layer_write_merge(layer, &new, &old), -EIO);
		assert_true(fsync_failed());
		assert_merge(layer, "old\n");
	}
	fsync_fails_from(1);
	assert_int_equal(layer_drop_merge(layer, &old), -EIO);
	assert_true(fsync_failed());
	assert_merge(layer, "old\n");
	layer_close(layer);
	layer = open_layer(&site);
	assert_merge(layer, "old\n");
	layer_close(layer);
	close_site(&site);
}

static void what_would_be_too_long_to_be_read_is_not_written(void **state)
{
	struct site site = small_site(state);
	struct layer *layer = open_layer(&site);
	const struct layer_merge old = of("old\n");
	char *long_text = malloc(LAYER_MERGE_MAX + 2);
	struct layer_merge new = of(long_text);

	must(long_text);
	memset(long_text, 'a', LAYER_MERGE_MAX + 1);
	long_text[LAYER_MERGE_MAX + 1] = '\0';
	assert_int_equal(layer_write_merge(layer, &old, NULL), 0);
	assert_int_equal(layer_write_merge(layer, &new, &old), -EFBIG);
	assert_merge(layer, "old\n");
	free(long_text);
	layer_close(layer);
	close_site(&site);
}

static void what_is_no_text_is_refused(void **state)
{
	struct site site = small_site(state);
	const struct layer_merge new = of(text);
	struct layer *layer = open_layer(&site);
	FILE *file;

	assert_int_equal(layer_write_merge(layer, &new, NULL), 0);
	file = fopen(merge_of(layer).text, "w");
	must(file);
	must(fwrite("a\0b", 3, 1, file) == 1 && fclose(file) == 0);
	assert_int_equal(read_rc(layer), -EBADMSG);
	must(truncate(merge_of(layer).text, (off_t)LAYER_MERGE_MAX + 1) == 0);
	assert_int_equal(read_rc(layer), -EBADMSG);
	must(unlink(merge_of(layer).text) == 0 && symlink("/dev/null", merge_of(layer).text) == 0);
	assert_true(read_rc(layer) < 0);
	layer_close(layer);
	close_site(&site);
}

UNIT_MAIN(temp_setup, temp_teardown)
