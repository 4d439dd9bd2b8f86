/* SPDX-License-Identifier: MIT */
/* test_assembly.c - fs/files/assembly.c: targets, messages, and the assembly at unmount. */
#include "fs/assemble/model_view.h"
#include "fs/files/assembly.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "fs/util/credentials.h"
#include "tests/unit/open_model.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* A model in models/ with one graft, and its assemblies. */
struct scene {
	struct opened o;
	struct assembly *assembly;
	char dir[PATH_MAX];
};

static struct scene open_scene(void **state, const char *output)
{
	struct scene scene;

	must(mkdir(in_temp(state, "models").text, 0700) == 0);
	snprintf(scene.dir, sizeof(scene.dir), "%s", in_temp(state, "models").text);
	scene.o = open_small(state, "models/base.gguf");
	assert_int_equal(fill_up(scene.o.model, 50), 0);
	scene.assembly = assembly_new(scene.o.model, output, NULL);
	assert_non_null(scene.assembly);
	return scene;
}

/* Check the number of files beside the base. */
static void close_scene(struct scene *scene, int files)
{
	struct mk_file base = mk_small();

	assert_file(path_in(scene->dir, "base.gguf").text, base.bytes, base.size);
	assert_int_equal(count_entries(scene->dir), files + 1);
	mk_file_free(&base);
	assembly_free(scene->assembly);
	close_model(&scene->o);
}

static int run(struct scene *scene, const char *path)
{
	return assembly_run(scene->assembly, path, REPLACE_MARKED, 0, NULL);
}

/* Run the assembly over any file, even one that another program has written to. */
static int run_over(struct scene *scene, const char *path)
{
	return assembly_run(scene->assembly, path, REPLACE_ANY, 0, NULL);
}

/* Check that the file is the model's current state. */
static void assert_assembled(struct scene *scene, const char *path)
{
	struct snapshot snapshot;
	struct view *view;
	char *bytes;

	assert_int_equal(slots_snapshot(scene->o.model->slots, &snapshot), 0);
	view = model_view(scene->o.model, &snapshot, true, NULL);
	snapshot_release(&snapshot);
	bytes = read_view(view);
	assert_file(path, bytes, (size_t)view_size(view));
	free(bytes);
	view_unref(view);
}

static void assert_says(struct scene *scene, const char *words)
{
	size_t size;
	char *text = assembly_status(scene->assembly, &size);

	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	assert_int_equal(text[size - 1], '\n');
	assert_ptr_equal(strchr(text, '\n'), text + size - 1);
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in: %s", words, text);
	free(text);
}

static void before_first_assembly_text_tells_how(void **state)
{
	struct scene scene = open_scene(state, NULL);

	assert_says(&scene, "write a file name here");
	assert_int_equal(assembly_status_generation(scene.assembly),
			 assembly_status_generation(scene.assembly));
	close_scene(&scene, 0);
}

static void the_default_target_lies_beside_the_base(void **state)
{
	struct scene scene = open_scene(state, NULL);
	const uint64_t stamp = assembly_status_generation(scene.assembly);

	assert_int_equal(run(&scene, ""), 0);
	assert_assembled(&scene, path_in(scene.dir, "base.grafted.gguf").text);
	assert_says(&scene, "assembled: ");
	assert_says(&scene, "/models/base.grafted.gguf: ");
	assert_says(&scene, " 1 graft,");
	assert_says(&scene, " MB/s; 0 shared, ");
	assert_true(log_says(scene.o.log, "/models/base.grafted.gguf: "));
	assert_int_not_equal(assembly_status_generation(scene.assembly), stamp);
	close_scene(&scene, 1);
}

static void a_default_name_never_overwrites(void **state)
{
	struct scene scene = open_scene(state, NULL);

	write_text(path_in(scene.dir, "base.grafted.gguf").text, "mine");
	assert_int_equal(symlink("nowhere", path_in(scene.dir, "base.grafted-2.gguf").text), 0);
	assert_int_equal(run(&scene, ""), 0);
	assert_file(path_in(scene.dir, "base.grafted.gguf").text, "mine", 4);
	assert_assembled(&scene, path_in(scene.dir, "base.grafted-3.gguf").text);
	assert_int_equal(run(&scene, ""), 0);
	assert_assembled(&scene, path_in(scene.dir, "base.grafted-4.gguf").text);
	assert_says(&scene, "base.grafted-4.gguf");
	close_scene(&scene, 4);
}

static void the_output_option_is_the_default_target_and_is_replaced(void **state)
{
	const struct path output = in_temp(state, "output.gguf");
	struct scene scene = open_scene(state, output.text);

	write_text(output.text, "old");
	assert_int_equal(run(&scene, ""), 0);
	assert_assembled(&scene, output.text);
	assert_int_equal(fill_up(scene.o.model, 51), 0);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_assembled(&scene, output.text);
	close_scene(&scene, 0);
}

static void a_given_target_is_replaced_where_that_is_wanted(void **state)
{
	struct scene scene = open_scene(state, NULL);
	const struct path target = in_temp(state, "given.gguf");

	write_text(target.text, "old");
	assert_int_equal(run(&scene, target.text), -EEXIST);
	assert_file(target.text, "old", 3);
	assert_int_equal(assembly_run(scene.assembly, target.text, REPLACE_ANY, 0, NULL), 0);
	assert_assembled(&scene, target.text);
	assert_int_equal(run(&scene, target.text), 0);
	assert_assembled(&scene, target.text);
	close_scene(&scene, 0);
}

/* Start a process in that working directory, which lives until it is killed. */
static pid_t start_in(const char *directory)
{
	int ready[2];
	char byte;
	pid_t child;

	must(pipe(ready) == 0);
	child = fork();
	must(child >= 0);
	if (child == 0) {
		if (chdir(directory) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	must(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void a_relative_target_starts_where_the_caller_is(void **state)
{
	struct scene scene = open_scene(state, NULL);
	pid_t child;

	assert_int_equal(mkdir(in_temp(state, "there").text, 0700), 0);
	child = start_in(in_temp(state, "there").text);
	assert_int_equal(assembly_run(scene.assembly, "a.gguf", REPLACE_MARKED, child, NULL), 0);
	assert_int_equal(assembly_run(scene.assembly, "../b.gguf", REPLACE_MARKED, child, NULL), 0);
	assert_int_equal(assembly_run(scene.assembly, "sub/a.gguf", REPLACE_MARKED, child, NULL),
			 -ENOENT);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_assembled(&scene, in_temp(state, "there/a.gguf").text);
	assert_assembled(&scene, in_temp(state, "b.gguf").text);
	close_scene(&scene, 0);
}

static void a_relative_target_of_nobody_is_refused(void **state)
{
	struct scene scene = open_scene(state, NULL);

	assert_int_equal(run(&scene, "a.gguf"), -EINVAL);
	assert_says(&scene, "give a name that begins with /");
	close_scene(&scene, 0);
}

static void failure_tells_reason_and_unchanged_target(void **state)
{
	struct scene scene = open_scene(state, NULL);

	assert_int_equal(run(&scene, in_temp(state, "missing/a.gguf").text), -ENOENT);
	assert_says(&scene, "failed: ");
	assert_says(&scene, "/missing/a.gguf: ");
	assert_says(&scene, "No such file or directory; the target is as it was");
	assert_true(log_says(scene.o.log, "/missing/a.gguf: "));
	assert_int_equal(run(&scene, path_in(scene.dir, "base.gguf").text), -EINVAL);
	assert_says(&scene, "the target is the base");
	assert_int_equal(run(&scene, in_temp(state, "a.gguf").text), 0);
	assert_says(&scene, "assembled: ");
	close_scene(&scene, 0);
}

static void a_name_of_any_bytes_can_be_given(void **state)
{
	struct scene scene = open_scene(state, NULL);

	assert_int_equal(run(&scene, in_temp(state, "a\nb\t\x1b.gguf").text), 0);
	assert_assembled(&scene, in_temp(state, "a\nb\t\x1b.gguf").text);
	assert_true(log_says(scene.o.log, "/a?b??.gguf: "));
	close_scene(&scene, 0);
}

static void a_cancelled_assembly_is_interrupted(void **state)
{
	struct scene scene = open_scene(state, NULL);
	atomic_bool cancel = true;

	assert_int_equal(assembly_run(scene.assembly, "", REPLACE_MARKED, 0, &cancel), -EINTR);
	assert_says(&scene, "interrupted");
	/* The unmount's assembly is not interrupted. */
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	close_scene(&scene, 1);
}

static void cancelled_assembly_stays_cancelled_at_unmount(void **state)
{
	struct scene scene = open_scene(state, NULL);
	atomic_bool cancel = false;

	assembly_cancel(scene.assembly);
	assert_int_equal(assembly_run(scene.assembly, "", REPLACE_MARKED, 0, &cancel), -EINTR);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), -EINTR);
	assert_says(&scene, "interrupted; the target is as it was");
	close_scene(&scene, 0);
}

static void progress_is_that_of_the_running_assembly(void **state)
{
	struct scene scene = open_scene(state, NULL);
	struct assembly_progress progress;

	assert_false(assembly_progress(scene.assembly, &progress));
	assert_int_equal(run(&scene, ""), 0);
	assert_false(assembly_progress(scene.assembly, &progress));
	assert_true(progress.total > 0);
	assert_int_equal(progress.done, progress.total);
	close_scene(&scene, 1);
}

static void no_target_lies_in_the_mount_while_it_is_there(void **state)
{
	struct scene scene = open_scene(state, NULL);

	assembly_set_mount(scene.assembly, backing_stat(scene.o.model->base)->st_dev, NULL, 0);
	assert_int_equal(run(&scene, in_temp(state, "a.gguf").text), -EINVAL);
	assert_int_equal(run(&scene, ""), -EINVAL);
	assert_says(&scene, "lies in this mount itself");
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_assembled(&scene, path_in(scene.dir, "base.grafted.gguf").text);
	close_scene(&scene, 1);
}

static void the_base_of_no_model_in_the_mount_is_a_target(void **state)
{
	struct scene scene = open_scene(state, NULL);
	struct opened other = open_small(state, "other.gguf");
	struct model *const models[] = { scene.o.model, other.model };
	const struct path linked = in_temp(state, "link.gguf");
	struct mk_file base = mk_small();

	must(symlink("other.gguf", linked.text) == 0);
	assembly_set_mount(scene.assembly, 0, models, ARRAY_LENGTH(models));
	assert_int_equal(run(&scene, in_temp(state, "other.gguf").text), -EINVAL);
	assert_says(&scene, "the target is the base of an open model");
	assert_int_equal(run(&scene, linked.text), -EINVAL);
	assert_file(in_temp(state, "other.gguf").text, base.bytes, base.size);
	assert_int_equal(run(&scene, in_temp(state, "third.gguf").text), 0);
	/* A default name that belongs to an open base is skipped. */
	must(link(in_temp(state, "other.gguf").text,
		  path_in(scene.dir, "base.grafted.gguf").text) == 0);
	assert_int_equal(run(&scene, ""), 0);
	assert_assembled(&scene, path_in(scene.dir, "base.grafted-2.gguf").text);
	mk_file_free(&base);
	close_model(&other);
	close_scene(&scene, 2);
}

static void unmount_writes_the_grafted_model(void **state)
{
	struct scene scene = open_scene(state, NULL);

	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_assembled(&scene, path_in(scene.dir, "base.grafted.gguf").text);
	close_scene(&scene, 1);
}

static void the_unmount_does_not_write_the_same_twice(void **state)
{
	struct scene scene = open_scene(state, NULL);

	assert_int_equal(run(&scene, ""), 0);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_int_equal(count_entries(scene.dir), 2);
	assert_says(&scene, "already assembled: ");
	assert_int_equal(fill_up(scene.o.model, 51), 0);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_assembled(&scene, path_in(scene.dir, "base.grafted-2.gguf").text);
	close_scene(&scene, 2);
}

static void unmount_does_not_repeat_assembly_under_other_name(void **state)
{
	struct scene scene = open_scene(state, NULL);
	const struct path copy = in_temp(state, "copy.gguf");
	const struct path shards = in_temp(state, "s-%05d-of-%05d.gguf split=100");

	assert_int_equal(run(&scene, copy.text), 0);
	/* A later failed assembly does not count. */
	assert_int_equal(run(&scene, in_temp(state, "missing/a.gguf").text), -ENOENT);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_says(&scene, "copy.gguf: nothing was changed since");
	assert_int_equal(fill_up(scene.o.model, 51), 0);
	assert_int_equal(run(&scene, shards.text), 0);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_says(&scene, "more shard");
	close_scene(&scene, 0);
}

static void append(const char *path)
{
	const int fd = open(path, O_WRONLY | O_APPEND);

	must(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
}

/* Replace a file by another one of the same size and time. */
static void replace_file(const char *path)
{
	char other[PATH_MAX + 8];
	struct timespec times[2];
	struct stat stat_of;
	int fd;

	must(stat(path, &stat_of) == 0);
	snprintf(other, sizeof(other), "%s.new", path);
	fd = open(other, O_WRONLY | O_CREAT | O_EXCL, 0600);
	times[0] = times[1] = stat_of.st_mtim;
	must(fd >= 0 && ftruncate(fd, stat_of.st_size) == 0 && futimens(fd, times) == 0);
	close(fd);
	must(rename(other, path) == 0);
}

/* A removed, changed or replaced file does not count as assembled. */
static void unmount_repeats_assembly_if_its_file_is_gone(void **state)
{
	struct scene scene = open_scene(state, NULL);
	const struct path copy = in_temp(state, "copy.gguf");

	assert_int_equal(run(&scene, copy.text), 0);
	append(copy.text);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_int_equal(count_entries(scene.dir), 2);
	assert_int_equal(run_over(&scene, copy.text), 0);
	must(unlink(copy.text) == 0);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_int_equal(count_entries(scene.dir), 3);
	assert_int_equal(run(&scene, copy.text), 0);
	replace_file(copy.text);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_int_equal(count_entries(scene.dir), 4);
	close_scene(&scene, 3);
}

static void given_output_is_written_once(void **state)
{
	const struct path output = in_temp(state, "out.gguf"), other = in_temp(state, "copy.gguf");
	const struct path same = in_temp(state, "models/../out.gguf");
	struct scene scene = open_scene(state, output.text);
	struct stat before, after;

	assert_int_equal(run(&scene, other.text), 0);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_assembled(&scene, output.text);
	must(unlink(output.text) == 0);
	assert_int_equal(run(&scene, same.text), 0);
	must(stat(output.text, &before) == 0);
	/* A later copy does not matter. */
	assert_int_equal(run(&scene, other.text), 0);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_says(&scene, "already assembled: ");
	must(stat(output.text, &after) == 0);
	assert_int_equal(before.st_ino, after.st_ino);
	close_scene(&scene, 0);
}

static void a_given_output_may_be_shards(void **state)
{
	const struct path output = in_temp(state, "o-%05d-of-%05d.gguf split=100");
	struct scene scene = open_scene(state, output.text);

	assert_int_equal(run(&scene, in_temp(state, "p-%05d-of-%05d.gguf split=100").text), 0);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_says(&scene, "assembled: ");
	assert_int_equal(fill_up(scene.o.model, 51), 0);
	/* The shards exist, and an assembly replaces no shards. */
	assert_int_equal(assembly_run_at_unmount(scene.assembly), -EEXIST);
	close_scene(&scene, 0);
}

static void without_a_graft_the_unmount_writes_nothing(void **state)
{
	struct scene scene = open_scene(state, NULL);

	slots_set(scene.o.model->slots, SMALL_UP, NULL);
	assert_int_equal(assembly_run_at_unmount(scene.assembly), 0);
	assert_says(&scene, "nothing was assembled yet");
	assert_int_equal(count_entries(scene.dir), 1);
	/* An explicit request names the base. */
	assert_int_equal(run(&scene, ""), 0);
	assert_assembled(&scene, path_in(scene.dir, "base.grafted.gguf").text);
	close_scene(&scene, 1);
}

/* Check that the forecast is nothing to write, or a file of that name and size. */
static void assert_forecast(struct scene *scene, const char *path)
{
	struct snapshot snapshot;
	char expected[PATH_MAX];
	uint64_t size = 0;
	struct stat stat;

	assert_int_equal(model_snapshot(scene->o.model, &snapshot), 0);
	assert_int_equal(assembly_forecast(scene->assembly, &snapshot, &size, expected), !!path);
	snapshot_release(&snapshot);
	if (!path)
		return;
	assert_string_equal(expected, path);
	assert_int_equal(assembly_run_at_unmount(scene->assembly), 0);
	must(lstat(path, &stat) == 0);
	assert_int_equal(size, stat.st_size);
}

static void forecast_equals_the_model_that_unmount_writes(void **state)
{
	struct scene scene = open_scene(state, NULL);

	write_text(path_in(scene.dir, "base.grafted.gguf").text, "taken");
	must(symlink("nowhere", path_in(scene.dir, "base.grafted-2.gguf").text) == 0);
	assert_forecast(&scene, path_in(scene.dir, "base.grafted-3.gguf").text);
	assert_forecast(&scene, NULL);
	assert_int_equal(fill_up(scene.o.model, 51), 0);
	assert_forecast(&scene, path_in(scene.dir, "base.grafted-4.gguf").text);
	slots_set(scene.o.model->slots, SMALL_UP, NULL);
	assert_forecast(&scene, NULL);
	close_scene(&scene, 4);
}

static void forecast_names_the_given_output(void **state)
{
	const struct path output = in_temp(state, "out.gguf");
	struct scene scene = open_scene(state, output.text);

	write_text(output.text, "to be replaced");
	assert_forecast(&scene, output.text);
	close_scene(&scene, 0);
}

static void a_failed_unmount_says_so(void **state)
{
	const struct path output = in_temp(state, "missing/output.gguf");
	struct scene scene = open_scene(state, output.text);

	assert_int_equal(assembly_run_at_unmount(scene.assembly), -ENOENT);
	assert_says(&scene, "failed: ");
	close_scene(&scene, 0);
}

static void graft_that_contradicts_its_row_fails_assembly(void **state)
{
	struct scene scene = open_scene(state, NULL);
	struct content *graft = slots_get(scene.o.model->slots, SMALL_UP);

	backing_expect_hash(graft->file, "0123456789abcdef0123456789abcdef");
	content_unref(graft);
	assert_int_equal(run(&scene, ""), -EIO);
	assert_says(&scene, "not those that were put in force");
	assert_int_equal(assembly_run_at_unmount(scene.assembly), -EIO);
	close_scene(&scene, 0);
}

static void *run_default(void *argument)
{
	struct scene *scene = argument;
	bool good = true;

	for (int i = 0; i < 3; i++)
		good = run(scene, "") == 0 && good;
	return good ? NULL : argument;
}

static void status_can_be_read_during_assembly(void **state)
{
	struct scene scene = open_scene(state, NULL);
	pthread_t thread;
	void *failed;
	size_t size;

	assert_int_equal(pthread_create(&thread, NULL, run_default, &scene), 0);
	for (int i = 0; i < 100; i++) {
		free(assembly_status(scene.assembly, &size));
		assembly_status_generation(scene.assembly);
	}
	pthread_join(thread, &failed);
	assert_null(failed);
	assert_assembled(&scene, path_in(scene.dir, "base.grafted-3.gguf").text);
	close_scene(&scene, 3);
}

/* ## the assembled file as a source */

/* View of the assembled file, with the bytes of the model; or NULL unless expected. */
static struct view *kept_view(struct scene *scene, bool expected)
{
	const uint64_t generation = model_generation(scene->o.model);
	struct view *view = assembly_view(scene->assembly, generation, NULL);

	assert_int_equal(view != NULL, expected);
	return view;
}

static void assembled_file_serves_the_model(void **state)
{
	struct scene scene = open_scene(state, NULL);
	const struct path path = path_in(scene.dir, "base.grafted.gguf");
	struct extent extent;
	struct view *view;

	assert_int_equal(run(&scene, ""), 0);
	kept_view(&scene, false);
	assembly_keep(scene.assembly);
	assert_int_equal(assembly_view_generation(scene.assembly), 0);
	assert_int_equal(run(&scene, path.text), 0);
	assert_int_equal(assembly_view_generation(scene.assembly), 1);
	view = kept_view(&scene, true);
	assert_true(view_extent(view, 0, &extent));
	assert_int_equal(extent.length, view_size(view));
	assert_string_equal(backing_path(extent.backing), path.text);
	view_unref(view);
	view_unref(kept_view(&scene, true));
	assert_int_equal(assembly_view_generation(scene.assembly), 1);
	/* A failed assembly changes nothing. */
	assert_int_equal(run(&scene, in_temp(state, "missing/a.gguf").text), -ENOENT);
	view_unref(kept_view(&scene, true));
	close_scene(&scene, 1);
}

static void change_model(struct scene *scene, const char *path)
{
	(void)path;
	assert_int_equal(fill_up(scene->o.model, 52), 0);
}

static void change_file(struct scene *scene, const char *path)
{
	(void)scene;
	append(path);
}

static void remove_file(struct scene *scene, const char *path)
{
	(void)scene;
	must(unlink(path) == 0);
}

static void move_file(struct scene *scene, const char *path)
{
	must(rename(path, path_in(scene->dir, "moved.gguf").text) == 0);
	must(link(path_in(scene->dir, "base.gguf").text, path) == 0);
}

static void assembled_file_is_not_served_after_a_change(void **state)
{
	static void (*const changes[])(struct scene * scene,
				       const char *path) = { change_model, change_file, remove_file,
							     move_file };
	struct scene scene = open_scene(state, NULL);
	const struct path path = in_temp(state, "a.gguf");

	assembly_keep(scene.assembly);
	for (size_t i = 0; i < ARRAY_LENGTH(changes); i++) {
		uint64_t stamp;

		assert_int_equal(run_over(&scene, path.text), 0);
		stamp = assembly_view_generation(scene.assembly);
		view_unref(kept_view(&scene, true));
		changes[i](&scene, path.text);
		assert_int_equal(assembly_view_generation(scene.assembly), stamp + 1);
		kept_view(&scene, false);
		assert_int_equal(assembly_view_generation(scene.assembly), stamp + 1);
	}
	close_scene(&scene, 1);
}

/* The new file has the mode of the base. */
static void a_file_that_others_may_write_is_not_kept(void **state)
{
	static const mode_t modes[] = { 0660, 0602 };

	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
		struct scene scene = open_scene(state, NULL);
		const struct path path = in_temp(state, "a.gguf");
		const mode_t mask = umask(0);

		must(chmod(path_in(scene.dir, "base.gguf").text, modes[i]) == 0);
		close_model(&scene.o);
		scene.o = open_model(state, "models/base.gguf");
		assembly_free(scene.assembly);
		scene.assembly = assembly_new(scene.o.model, NULL, NULL);
		must(scene.assembly);
		assert_int_equal(fill_up(scene.o.model, 51), 0);
		assembly_keep(scene.assembly);
		assert_int_equal(run(&scene, path.text), 0);
		kept_view(&scene, false);
		umask(mask);
		close_scene(&scene, 0);
		must(unlink(path.text) == 0 && unlink(path_in(scene.dir, "base.gguf").text) == 0);
		must(rmdir(scene.dir) == 0);
	}
}

static void a_file_of_another_user_is_not_kept(void **state)
{
	struct scene scene = open_scene(state, NULL);
	const struct path path = in_temp(state, "a.gguf");
	struct credentials before;

	if (geteuid() != 0)
		skip();
	must(chmod(in_temp(state, "").text, 0777) == 0);
	assembly_keep(scene.assembly);
	assert_int_equal(credentials_assume(65534, 65534, &before), 0);
	assert_int_equal(run(&scene, path.text), 0);
	credentials_restore(&before);
	kept_view(&scene, false);
	must(unlink(path.text) == 0);
	assert_int_equal(run(&scene, path.text), 0);
	view_unref(kept_view(&scene, true));
	close_scene(&scene, 0);
}

UNIT_MAIN(temp_setup, temp_teardown)
