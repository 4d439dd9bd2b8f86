/* SPDX-License-Identifier: MIT */
/* test_stage.c - fs/edit/stage.c: a file in writing, until it is put in force or dropped. */
#include "fs/edit/stage.h"
#include "fs/storage/backing.h"
#include "tests/unit/open_layer.h"

#include <pthread.h>

/* A stage over the content "0123456789". */
struct scene {
	struct site site;
	struct layer *layer;
	struct view *content;
	struct stage *stage;
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .site = small_site(state) };

	scene.layer = open_layer(&scene.site);
	scene.content = view_of_text(strdup("0123456789"), 10);
	scene.stage = stage_new(scene.layer, scene.content);
	assert_non_null(scene.stage);
	return scene;
}

static void close_scene(struct scene *scene)
{
	stage_free(scene->stage);
	view_unref(scene->content);
	layer_close(scene->layer);
	close_site(&scene->site);
}

/* Number of stage files; -1 before the first one. */
static int stages(const struct scene *scene)
{
	return count_entries(path_in(layer_path(scene->layer), "blobs").text);
}

#define assert_stage(stage, text) unit_assert_stage(stage, text, sizeof(text) - 1)

static void unit_assert_stage(struct stage *stage, const char *text, size_t n)
{
	char bytes[64];

	assert_int_equal(stage_shown(stage).size, n);
	assert_int_equal(stage_read(stage, bytes, sizeof(bytes), 0), n);
	assert_memory_equal(bytes, text, n);
}

static void a_stage_begins_with_the_content_and_writes_nothing(void **state)
{
	struct scene scene = open_scene(state);
	char bytes[4];

	assert_stage(scene.stage, "0123456789");
	assert_int_equal(stage_read(scene.stage, bytes, 4, 8), 2);
	assert_int_equal(stage_read(scene.stage, bytes, 4, 10), 0);
	assert_false(stage_written(scene.stage));
	assert_int_equal(stage_sync(scene.stage), 0);
	assert_false(exists(scene.site.state));
	close_scene(&scene);
}

static void writing_inside_takes_the_content_over_first(void **state)
{
	struct scene scene = open_scene(state);
	char *before;

	assert_int_equal(stage_write(scene.stage, "ab", 2, 4), 0);
	assert_stage(scene.stage, "0123ab6789");
	assert_true(stage_written(scene.stage));
	assert_int_equal(stages(&scene), 1);
	before = read_view(scene.content);
	assert_string_equal(before, "0123456789");
	free(before);
	close_scene(&scene);
}

static void writing_past_the_end_leaves_zeros_between(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(stage_write(scene.stage, "ab", 2, 12), 0);
	assert_stage(scene.stage, "0123456789\0\0ab");
	assert_int_equal(stage_write(scene.stage, "", 0, 20), 0);
	close_scene(&scene);
}

static void a_place_past_any_file_is_refused(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(stage_write(scene.stage, "ab", 2, INT64_MAX), -EFBIG);
	assert_int_equal(stage_write(scene.stage, "ab", 2, UINT64_MAX), -EFBIG);
	assert_stage(scene.stage, "0123456789");
	assert_false(stage_written(scene.stage));
	close_scene(&scene);
}

static void emptying_alone_is_not_writing(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(stage_truncate(scene.stage, 0), 0);
	assert_stage(scene.stage, "");
	assert_false(stage_written(scene.stage));
	assert_false(exists(scene.site.state));
	close_scene(&scene);
}

static void truncating_shrinks_and_grows(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(stage_truncate(scene.stage, 10), 0);
	assert_false(stage_written(scene.stage));
	assert_int_equal(stage_truncate(scene.stage, 3), 0);
	assert_true(stage_written(scene.stage));
	assert_stage(scene.stage, "012");
	assert_int_equal(stage_truncate(scene.stage, 6), 0);
	assert_stage(scene.stage, "012\0\0\0");
	assert_int_equal(stage_truncate(scene.stage, 0), 0);
	assert_stage(scene.stage, "");
	assert_int_equal(stages(&scene), 0);
	close_scene(&scene);
}

static void growing_the_content_keeps_it(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(stage_truncate(scene.stage, 12), 0);
	assert_stage(scene.stage, "0123456789\0\0");
	close_scene(&scene);
}

/* A stage that is written anew never needs the old content, even if this is unreadable. */
static void writing_anew_never_reads_the_content(void **state)
{
	struct scene scene = open_scene(state);
	struct segment broken = { .kind = SEGMENT_EXTENT,
				  .length = 100,
				  .backing = scene.site.base };
	struct view *view = view_new(&broken, 1, NULL);
	struct stage *stage = stage_new(scene.layer, view);

	assert_int_equal(keep_text(scene.layer, CLASS_OTHER, "x", "x"), 0);
	assert_int_equal(truncate(in_temp(state, "base.gguf").text, 10), 0);
	assert_int_equal(stage_write(stage, "ab", 2, 4), -EIO);
	assert_int_equal(stages(&scene), 0);
	assert_int_equal(stage_shown(stage).size, 100);
	assert_false(stage_written(stage));
	assert_int_equal(stage_truncate(stage, 0), 0);
	assert_int_equal(stage_write(stage, "ab", 2, 0), 0);
	assert_stage(stage, "ab");
	stage_free(stage);
	view_unref(view);
	close_scene(&scene);
}

static void last_close_drops_uncommitted_bytes(void **state)
{
	struct scene scene = open_scene(state);

	stage_open(scene.stage);
	stage_open(scene.stage);
	assert_int_equal(stage_write(scene.stage, "ab", 2, 0), 0);
	stage_close(scene.stage);
	assert_stage(scene.stage, "ab23456789");
	assert_int_equal(stages(&scene), 1);
	stage_close(scene.stage);
	assert_int_equal(stages(&scene), 0);
	close_scene(&scene);
}

static void freeing_a_stage_drops_uncommitted_bytes(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(stage_write(scene.stage, "ab", 2, 0), 0);
	stage_free(scene.stage);
	scene.stage = NULL;
	assert_int_equal(stages(&scene), 0);
	close_scene(&scene);
}

/* Behaviour of the commit callback. */
struct committing {
	struct scene *scene;
	int check_rc, keep_errno;
	struct layer_seal *seal;
	char seen[64];
	size_t seen_size;
	int checks, keeps;
	struct timespec mtime; /* of the kept content */
};

static int check_staged(struct committing *committing, const struct source *source)
{
	committing->checks++;
	committing->seen_size = (size_t)source->size;
	must(source->read_at(source->context, committing->seen,
			     source->size < sizeof(committing->seen) ? (size_t)source->size
								     : sizeof(committing->seen),
			     0) == 0);
	return committing->check_rc;
}

static int keep_staged(struct committing *committing, struct view **view)
{
	const struct timespec mtime = stage_shown(committing->scene->stage).mtime;
	struct segment whole = { .kind = SEGMENT_EXTENT };

	committing->keeps++;
	if (committing->keep_errno >= 0)
		return -committing->keep_errno;
	must(commit_seal(committing->scene->layer, committing->seal, CLASS_ORGANS, "kept", NULL,
			 &mtime, &whole.backing) == 0);
	whole.length = backing_size(whole.backing);
	committing->mtime = backing_stat(whole.backing)->st_mtim;
	*view = view_new(&whole, 1, NULL);
	backing_unref(whole.backing);
	return 0;
}

static int commit_with(struct committing *committing)
{
	struct stage *stage = committing->scene->stage;
	struct view *view = NULL;
	struct source staged;
	int rc = stage_commit_begin(stage, &staged);

	if (rc == 0)
		rc = check_staged(committing, &staged);
	if (rc == 0)
		rc = stage_seal(stage, &committing->seal);
	if (rc == 0)
		rc = keep_staged(committing, &view);
	return stage_commit_end(stage, rc, view);
}

static void commit_checks_and_keeps_the_staged_bytes(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = -1 };

	assert_int_equal(stage_write(scene.stage, "ab", 2, 4), 0);
	assert_int_equal(commit_with(&committing), 0);
	assert_int_equal(committing.seen_size, 10);
	assert_memory_equal(committing.seen, "0123ab6789", 10);
	assert_layer(scene.layer, "organs/kept=0123ab6789 ");
	assert_int_equal(stages(&scene), 0);
	assert_false(stage_written(scene.stage));
	assert_stage(scene.stage, "0123ab6789");
	close_scene(&scene);
}

static void a_refused_commit_keeps_the_stage_for_another_try(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .check_rc = -EINVAL, .keep_errno = -1 };

	assert_int_equal(stage_write(scene.stage, "ab", 2, 4), 0);
	assert_int_equal(commit_with(&committing), -EINVAL);
	assert_int_equal(committing.keeps, 0);
	assert_stage(scene.stage, "0123ab6789");
	assert_true(stage_written(scene.stage));
	assert_int_equal(stage_write(scene.stage, "cd", 2, 10), 0);
	committing.check_rc = 0;
	assert_int_equal(commit_with(&committing), 0);
	assert_layer(scene.layer, "organs/kept=0123ab6789cd ");
	close_scene(&scene);
}

static void a_stage_that_cannot_be_kept_stays(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = ENOSPC };

	assert_int_equal(stage_write(scene.stage, "ab", 2, 4), 0);
	assert_int_equal(commit_with(&committing), -ENOSPC);
	assert_stage(scene.stage, "0123ab6789");
	assert_true(stage_written(scene.stage));
	committing.keep_errno = -1;
	assert_int_equal(commit_with(&committing), 0);
	assert_int_equal(committing.keeps, 2);
	close_scene(&scene);
}

static void unpublished_stage_refuses_next_commit(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = 0 };

	assert_int_equal(stage_write(scene.stage, "ab", 2, 4), 0);
	assert_int_equal(commit_with(&committing), 0);
	assert_false(stage_written(scene.stage));
	assert_stage(scene.stage, "");
	assert_int_equal(stage_write(scene.stage, "cd", 2, 0), 0);
	committing.keep_errno = -1;
	assert_int_equal(commit_with(&committing), -ENOMEM);
	assert_int_equal(committing.keeps, 1);
	close_scene(&scene);
}

static void write_after_commit_does_not_change_kept_bytes(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = -1 };

	assert_int_equal(stage_write(scene.stage, "ab", 2, 0), 0);
	assert_int_equal(commit_with(&committing), 0);
	assert_int_equal(stage_write(scene.stage, "cd", 2, 2), 0);
	assert_stage(scene.stage, "abcd456789");
	assert_layer(scene.layer, "organs/kept=ab23456789 ");
	assert_true(stage_written(scene.stage));
	assert_int_equal(commit_with(&committing), 0);
	assert_layer(scene.layer, "organs/kept=abcd456789 ");
	close_scene(&scene);
}

static void a_commit_of_the_untouched_content_keeps_a_copy(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = -1 };

	assert_int_equal(commit_with(&committing), 0);
	assert_layer(scene.layer, "organs/kept=0123456789 ");
	close_scene(&scene);
}

static void the_time_that_was_set_is_the_time_that_is_kept(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = -1 };
	const struct timespec then = { 1234567890, 123456789 };

	stage_set_mtime(scene.stage, &then);
	assert_int_equal(stage_write(scene.stage, "ab", 2, 0), 0);
	assert_int_equal(stage_shown(scene.stage).mtime.tv_sec, then.tv_sec);
	assert_int_equal(commit_with(&committing), 0);
	assert_int_equal(committing.mtime.tv_sec, then.tv_sec);
	assert_int_equal(stage_shown(scene.stage).mtime.tv_nsec, then.tv_nsec);
	close_scene(&scene);
}

static void without_set_time_mtime_is_that_of_the_write(void **state)
{
	struct scene scene = open_scene(state);
	const time_t before = time(NULL);

	assert_between(stage_shown(scene.stage).mtime.tv_sec, before - 1, before + 3600);
	assert_int_equal(stage_write(scene.stage, "ab", 2, 0), 0);
	assert_between(stage_shown(scene.stage).mtime.tv_sec, before - 1, before + 3600);
	close_scene(&scene);
}

static void without_a_place_for_layers_nothing_can_be_written(void **state)
{
	struct scene scene = open_scene(state);

	write_text(in_temp(state, "state").text, "a file in the way");
	assert_int_equal(stage_write(scene.stage, "ab", 2, 0), -ENOTDIR);
	assert_int_equal(stage_truncate(scene.stage, 3), -ENOTDIR);
	assert_stage(scene.stage, "0123456789");
	close_scene(&scene);
}

static void a_content_of_many_chunks_is_taken_over_whole(void **state)
{
	struct scene scene = open_scene(state);
	const size_t n = ((size_t)5 << 19) + 3;
	char *text = malloc(n), *bytes = malloc(n + 1);
	struct view *view;
	struct stage *stage;

	for (size_t i = 0; i < n; i++)
		text[i] = (char)mk_byte(1, i);
	view = view_of_text(text, n);
	stage = stage_new(scene.layer, view);
	assert_int_equal(stage_write(stage, "x", 1, n), 0);
	assert_int_equal(stage_read(stage, bytes, n + 1, 0), n + 1);
	assert_memory_equal(bytes, text, n);
	assert_int_equal(bytes[n], 'x');
	stage_free(stage);
	view_unref(view);
	free(bytes);
	close_scene(&scene);
}

/* A thread that writes every fourth byte. */
struct hand {
	struct stage *stage;
	uint64_t first;
	int rc;
};

static void *write_some(void *argument)
{
	struct hand *hand = argument;

	for (uint64_t at = hand->first; at < 400; at += 4)
		if (stage_write(hand->stage, "x", 1, at) < 0)
			hand->rc = -1;
	return NULL;
}

static void threads_may_write_at_once(void **state)
{
	struct scene scene = open_scene(state);
	struct hand hands[4];
	pthread_t threads[4];
	char bytes[401];

	for (uint64_t i = 0; i < 4; i++) {
		hands[i] = (struct hand){ scene.stage, i, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, write_some, &hands[i]), 0);
	}
	for (size_t i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(hands[i].rc, 0);
	}
	assert_int_equal(stage_read(scene.stage, bytes, sizeof(bytes), 0), 400);
	for (size_t i = 0; i < 400; i++)
		assert_int_equal(bytes[i], 'x');
	assert_int_equal(stages(&scene), 1);
	close_scene(&scene);
}

static void small_brief_stage_has_no_file_before_commit(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = -1 };

	stage_set_brief(scene.stage);
	assert_int_equal(stage_write(scene.stage, "ab", 2, 4), 0);
	assert_stage(scene.stage, "0123ab6789");
	assert_int_equal(stage_sync(scene.stage), 0);
	assert_int_equal(stages(&scene), 0);
	assert_int_equal(commit_with(&committing), 0);
	assert_layer(scene.layer, "organs/kept=0123ab6789 ");
	assert_int_equal(stages(&scene), 0);
	assert_stage(scene.stage, "0123ab6789");
	close_scene(&scene);
}

static void failed_commit_of_brief_stage_leaves_no_file(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = ENOSPC };

	stage_set_brief(scene.stage);
	assert_int_equal(stage_write(scene.stage, "ab", 2, 4), 0);
	assert_int_equal(commit_with(&committing), -ENOSPC);
	assert_int_equal(stages(&scene), 0);
	assert_stage(scene.stage, "0123ab6789");
	assert_int_equal(stage_write(scene.stage, "x", 1, LAYER_SMALL), 0);
	assert_int_equal(stages(&scene), 1);
	assert_int_equal(stage_truncate(scene.stage, 0), 0);
	assert_int_equal(stages(&scene), 0);
	close_scene(&scene);
}

static void growing_brief_stage_moves_to_a_file(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = -1 };
	char bytes[16] = "";

	stage_set_brief(scene.stage);
	assert_int_equal(stage_write(scene.stage, "ab", 2, 4), 0);
	assert_int_equal(stage_truncate(scene.stage, LAYER_SMALL), 0);
	assert_int_equal(stages(&scene), 0);
	assert_int_equal(stage_truncate(scene.stage, LAYER_SMALL + 1), 0);
	assert_int_equal(stages(&scene), 1);
	assert_int_equal(stage_shown(scene.stage).size, LAYER_SMALL + 1);
	assert_int_equal(stage_read(scene.stage, bytes, 11, 0), 11);
	assert_string_equal(bytes, "0123ab6789");
	assert_int_equal(stage_truncate(scene.stage, 10), 0);
	assert_int_equal(commit_with(&committing), 0);
	assert_layer(scene.layer, "organs/kept=0123ab6789 ");
	close_scene(&scene);
}

/* A second fsync() would return 0 although data are lost. */
static void commit_stays_refused_after_failed_fsync(void **state)
{
	struct scene scene = open_scene(state);
	struct committing committing = { .scene = &scene, .keep_errno = -1 };

	assert_int_equal(stage_write(scene.stage, "bytes", 5, 0), 0);
	/* The size exceeds a row's. */
	assert_int_equal(stage_truncate(scene.stage, 100000), 0);
	fsync_fails(1);
	assert_int_equal(commit_with(&committing), -EIO);
	assert_true(fsync_failed());
	assert_int_equal(commit_with(&committing), -EIO);
	assert_int_equal(committing.keeps, 0);
	assert_int_equal(stage_truncate(scene.stage, 0), 0);
	assert_int_equal(stage_write(scene.stage, "again", 5, 0), 0);
	assert_int_equal(commit_with(&committing), 0);
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
