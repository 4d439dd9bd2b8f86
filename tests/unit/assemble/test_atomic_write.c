/* SPDX-License-Identifier: MIT */
/* test_atomic_write.c - fs/assemble/atomic_write.c, by the invariants of atomic_write.h: possible
 * targets, and the remains of a failed assembly. */
#include "fs/assemble/atomic_write.h"
#include "fs/storage/backing.h"
#include "fs/storage/file_use.h"
#include "fs/storage/view.h"
#include "fs/util/progress.h"
#include "tests/unit/tasks.h"
#include "tests/unit/temp_dir.h"

#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <xxhash.h>

/* A view to write, and a directory "out" that holds its base. */
struct scene {
	char out[PATH_MAX];
	struct stat base;
	struct view *view;
	struct progress progress;
	struct error err;
	enum write_replace replace;
};

#define CONTENT "assembled bytes"
#define LENGTH	(sizeof(CONTENT) - 1)

static struct scene open_scene(void **state)
{
	struct scene scene = { .view = view_of_text(strdup(CONTENT), LENGTH) };

	snprintf(scene.out, sizeof(scene.out), "%s", in_temp(state, "out").text);
	must(mkdir(scene.out, 0700) == 0);
	write_text(path_in(scene.out, "base.gguf").text, "base");
	must(stat(path_in(scene.out, "base.gguf").text, &scene.base) == 0);
	return scene;
}

/* Check that the base is unchanged and that the directory has this number of other files. */
static void close_scene(struct scene *scene, int files)
{
	assert_file(path_in(scene->out, "base.gguf").text, "base", 4);
	assert_int_equal(count_entries(scene->out), files + 1);
	view_unref(scene->view);
}

static int assemble_at(struct scene *scene, int directory, const char *path)
{
	const struct write_target target = { .directory = directory,
					     .path = path,
					     .replace = scene->replace,
					     .base = &scene->base };
	int rc;

	scene->err = (struct error){ 0 };
	rc = atomic_write_view(scene->view, &target, &scene->progress, &scene->err);
	if (rc < 0) {
		assert_int_equal(scene->err.code, -rc);
		assert_int_not_equal(scene->err.text[0], '\0');
	}
	return rc;
}

static int assemble_to(struct scene *scene, const char *name)
{
	return assemble_at(scene, AT_FDCWD, path_in(scene->out, name).text);
}

/* Path of the temporary file for the target of that name. */
static struct path temporary_of(const struct scene *scene, const char *name)
{
	char temporary[48];

	snprintf(temporary, sizeof(temporary), ".organfs-%016llx.part",
		 (unsigned long long)XXH3_64bits(name, strlen(name)));
	return path_in(scene->out, temporary);
}

static void a_view_is_written_out(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(assemble_to(&scene, "new.gguf"), 0);
	assert_file(path_in(scene.out, "new.gguf").text, CONTENT, LENGTH);
	assert_int_equal(scene.progress.done, LENGTH);
	assert_int_equal(scene.progress.total, LENGTH);
	close_scene(&scene, 1);
}

static void an_empty_view_is_an_empty_file(void **state)
{
	struct scene scene = open_scene(state);

	view_unref(scene.view);
	scene.view = view_new(NULL, 0, NULL);
	assert_int_equal(assemble_to(&scene, "new.gguf"), 0);
	assert_file(path_in(scene.out, "new.gguf").text, "", 0);
	close_scene(&scene, 1);
}

static void the_new_file_is_handed_out_under_its_name(void **state)
{
	struct scene scene = open_scene(state);
	const struct path path = path_in(scene.out, "new.gguf");
	struct backing *written = NULL;
	const struct write_target target = {
		.directory = AT_FDCWD, .path = path.text, .base = &scene.base, .written = &written
	};
	char bytes[LENGTH];

	assert_int_equal(atomic_write_view(scene.view, &target, &scene.progress, &scene.err), 0);
	assert_non_null(written);
	assert_string_equal(backing_path(written), path.text);
	assert_int_equal(backing_read(written, bytes, LENGTH, 0), 0);
	assert_memory_equal(bytes, CONTENT, LENGTH);
	backing_unref(written);
	written = NULL;
	assert_int_equal(atomic_write_view(scene.view, &target, &scene.progress, &scene.err),
			 -EEXIST);
	assert_null(written);
	close_scene(&scene, 1);
}

static void a_view_of_many_chunks_is_written_whole(void **state)
{
	struct scene scene = open_scene(state);
	const struct segment segments[] = {
		{ .kind = SEGMENT_ZEROS, .length = (9 << 20) + 1 },
		{ .kind = SEGMENT_MEMORY, .length = LENGTH, .memory = CONTENT },
	};
	size_t size;
	char *bytes;

	view_unref(scene.view);
	scene.view = view_new(segments, 2, NULL);
	assert_int_equal(assemble_to(&scene, "new.gguf"), 0);
	bytes = read_whole(path_in(scene.out, "new.gguf").text, &size);
	assert_int_equal(size, segments[0].length + LENGTH);
	assert_int_equal(strlen(bytes), 0);
	assert_string_equal(bytes + segments[0].length, CONTENT);
	free(bytes);
	close_scene(&scene, 1);
}

static void a_relative_path_starts_from_the_directory(void **state)
{
	struct scene scene = open_scene(state);
	const int directory = open(scene.out, O_RDONLY | O_DIRECTORY);

	assert_int_equal(mkdir(path_in(scene.out, "sub").text, 0700), 0);
	assert_int_equal(assemble_at(&scene, directory, "new.gguf"), 0);
	assert_int_equal(assemble_at(&scene, directory, "sub/new.gguf"), 0);
	assert_int_equal(assemble_at(&scene, directory, "./sub/../../out/third.gguf"), 0);
	assert_file(path_in(scene.out, "new.gguf").text, CONTENT, LENGTH);
	assert_file(path_in(scene.out, "sub/new.gguf").text, CONTENT, LENGTH);
	assert_file(path_in(scene.out, "third.gguf").text, CONTENT, LENGTH);
	close(directory);
	close_scene(&scene, 3);
}

static void the_longest_name_has_a_temporary_file_too(void **state)
{
	struct scene scene = open_scene(state);
	char name[NAME_MAX + 2], *path = calloc(1, PATH_MAX + 2);

	memset(name, 'n', sizeof(name));
	name[NAME_MAX + 1] = '\0';
	assert_int_equal(assemble_to(&scene, name), -ENAMETOOLONG);
	name[NAME_MAX] = '\0';
	assert_int_equal(assemble_to(&scene, name), 0);
	memset(path, '/', PATH_MAX + 1);
	path[PATH_MAX] = 'x';
	assert_int_equal(assemble_at(&scene, AT_FDCWD, path), -ENAMETOOLONG);
	free(path);
	close_scene(&scene, 1);
}

static void a_directory_is_no_target(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(mkdir(path_in(scene.out, "sub").text, 0700), 0);
	for (enum write_replace replace = 0; replace <= REPLACE_ANY; replace++) {
		scene.replace = replace;
		assert_int_equal(assemble_to(&scene, "sub"), -EISDIR);
		assert_int_equal(assemble_to(&scene, "sub/"), -EISDIR);
		assert_int_equal(assemble_to(&scene, "."), -EISDIR);
		assert_int_equal(assemble_to(&scene, ".."), -EISDIR);
		assert_int_equal(assemble_to(&scene, "sub/.."), -EISDIR);
		assert_int_equal(assemble_at(&scene, AT_FDCWD, "/"), -EISDIR);
	}
	close_scene(&scene, 1);
}

static void the_directory_of_a_target_must_be_there(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(assemble_to(&scene, "missing/new.gguf"), -ENOENT);
	assert_int_equal(assemble_to(&scene, "base.gguf/new.gguf"), -ENOTDIR);
	assert_int_equal(assemble_at(&scene, -1, "new.gguf"), -EBADF);
	close_scene(&scene, 0);
}

static void no_directory_of_a_target_is_found_through_proc(void **state)
{
	struct scene scene = open_scene(state);

	must(symlink("/proc/self/cwd", path_in(scene.out, "cwd").text) == 0);
	assert_int_equal(assemble_to(&scene, "cwd/new.gguf"), -ELOOP);
	assert_non_null(strstr(scene.err.text, "in /proc, which is not followed"));
	assert_int_equal(access("new.gguf", F_OK), -1);
	close_scene(&scene, 1);
}

static void target_that_is_not_regular_is_refused(void **state)
{
	struct scene scene = open_scene(state);

	scene.replace = REPLACE_ANY;
	assert_int_equal(mkfifo(path_in(scene.out, "fifo").text, 0600), 0);
	assert_int_equal(assemble_to(&scene, "fifo"), -EINVAL);
	close_scene(&scene, 1);
}

/* Invariant 3. */
static void the_base_is_no_target_under_any_name(void **state)
{
	struct scene scene = open_scene(state);

	scene.replace = REPLACE_ANY;
	assert_int_equal(symlink("base.gguf", path_in(scene.out, "symbolic").text), 0);
	assert_int_equal(link(path_in(scene.out, "base.gguf").text,
			      path_in(scene.out, "hard").text),
			 0);
	assert_int_equal(assemble_to(&scene, "base.gguf"), -EINVAL);
	assert_int_equal(assemble_to(&scene, "symbolic"), -EINVAL);
	assert_int_equal(assemble_to(&scene, "hard"), -EINVAL);
	assert_non_null(strstr(scene.err.text, "the target is the base"));
	close_scene(&scene, 2);
}

static void nothing_is_written_into_the_mount(void **state)
{
	struct scene scene = open_scene(state);
	struct path path = path_in(scene.out, "new.gguf");
	const struct write_target target = { .directory = AT_FDCWD,
					     .path = path.text,
					     .replace = REPLACE_ANY,
					     .base = &scene.base,
					     .mount = scene.base.st_dev };

	assert_int_equal(atomic_write_view(scene.view, &target, &scene.progress, &scene.err),
			 -EINVAL);
	close_scene(&scene, 0);
}

static void an_existing_file_is_replaced_only_where_that_is_wanted(void **state)
{
	struct scene scene = open_scene(state);
	const struct path path = path_in(scene.out, "old.gguf");

	write_text(path.text, "old");
	assert_int_equal(link(path.text, path_in(scene.out, "kept").text), 0);
	assert_int_equal(assemble_to(&scene, "old.gguf"), -EEXIST);
	assert_file(path.text, "old", 3);
	scene.replace = REPLACE_ANY;
	assert_int_equal(assemble_to(&scene, "old.gguf"), 0);
	assert_file(path.text, CONTENT, LENGTH);
	/* The target is replaced, not written to: an open descriptor reads the old file. */
	assert_file(path_in(scene.out, "kept").text, "old", 3);
	close_scene(&scene, 2);
}

static void only_an_earlier_assembly_is_replaced_unless_any_file_may_be(void **state)
{
	struct scene scene = open_scene(state);
	const struct path path = path_in(scene.out, "old.gguf");

	scene.replace = REPLACE_MARKED;
	write_text(path.text, "old");
	assert_int_equal(assemble_to(&scene, "old.gguf"), -EEXIST);
	assert_non_null(strstr(scene.err.text, "organfs did not write its content"));
	assert_file(path.text, "old", 3);
	scene.replace = REPLACE_ANY;
	assert_int_equal(assemble_to(&scene, "old.gguf"), 0);
	scene.replace = REPLACE_MARKED;
	assert_int_equal(assemble_to(&scene, "old.gguf"), 0);
	assert_file(path.text, CONTENT, LENGTH);
	/* A file that another program has written to belongs to that program. */
	write_text(path.text, "new");
	assert_int_equal(assemble_to(&scene, "old.gguf"), -EEXIST);
	assert_file(path.text, "new", 3);
	close_scene(&scene, 1);
}

static void a_file_in_use_is_no_target(void **state)
{
	struct scene scene = open_scene(state);
	const struct path path = path_in(scene.out, "donor.gguf");
	int fd;

	scene.replace = REPLACE_ANY;
	write_text(path.text, "old");
	fd = open(path.text, O_RDONLY);
	must(fd >= 0);
	file_use_announce(fd, FILE_USE_DONOR);
	assert_int_equal(assemble_to(&scene, "donor.gguf"), -EBUSY);
	assert_non_null(strstr(scene.err.text, "the target is the base or a donor"));
	assert_file(path.text, "old", 3);
	close(fd);
	assert_int_equal(assemble_to(&scene, "donor.gguf"), 0);
	close_scene(&scene, 1);
}

static void link_is_replaced_and_not_its_target(void **state)
{
	struct scene scene = open_scene(state);
	const struct path link = path_in(scene.out, "link");
	struct stat stat;

	write_text(path_in(scene.out, "other").text, "other");
	assert_int_equal(symlink("other", link.text), 0);
	assert_int_equal(symlink("nowhere", path_in(scene.out, "broken").text), 0);
	assert_int_equal(assemble_to(&scene, "link"), -EEXIST);
	assert_int_equal(assemble_to(&scene, "broken"), -EEXIST);
	scene.replace = REPLACE_ANY;
	assert_int_equal(assemble_to(&scene, "link"), 0);
	assert_int_equal(assemble_to(&scene, "broken"), 0);
	assert_int_equal(lstat(link.text, &stat), 0);
	assert_true(S_ISREG(stat.st_mode));
	assert_file(link.text, CONTENT, LENGTH);
	assert_file(path_in(scene.out, "other").text, "other", 5);
	close_scene(&scene, 3);
}

/* Invariants 1 and 2. */
static void a_cancelled_assembly_leaves_the_target_and_no_temporary(void **state)
{
	struct scene scene = open_scene(state);
	const atomic_bool cancel = true;

	write_text(path_in(scene.out, "old.gguf").text, "old");
	scene.replace = REPLACE_ANY;
	scene.progress.cancel = &cancel;
	assert_int_equal(assemble_to(&scene, "old.gguf"), -EINTR);
	assert_int_equal(assemble_to(&scene, "new.gguf"), -EINTR);
	assert_file(path_in(scene.out, "old.gguf").text, "old", 3);
	close_scene(&scene, 1);
}

/* Invariants 1 and 2. */
static void a_base_that_cannot_be_read_leaves_the_target_and_no_temporary(void **state)
{
	struct scene scene = open_scene(state);
	struct segment segment = { .kind = SEGMENT_EXTENT, .length = 4 };

	write_text(path_in(scene.out, "old.gguf").text, "old");
	write_text(in_temp(state, "organ").text, "organ");
	segment.backing = backing_open(in_temp(state, "organ").text, NULL);
	view_unref(scene.view);
	scene.view = view_new(&segment, 1, NULL);
	backing_unref(segment.backing);
	assert_int_equal(truncate(in_temp(state, "organ").text, 2), 0);
	scene.replace = REPLACE_ANY;
	assert_int_equal(assemble_to(&scene, "old.gguf"), -EIO);
	assert_non_null(strstr(scene.err.text, "changed on disk"));
	assert_file(path_in(scene.out, "old.gguf").text, "old", 3);
	close_scene(&scene, 1);
}

/* Invariants 1 and 2. A limit stands in for a full disk. */
static void a_full_disk_leaves_the_target_and_no_temporary(void **state)
{
	struct scene scene = open_scene(state);
	struct rlimit before, little;
	int rc;

	write_text(path_in(scene.out, "old.gguf").text, "old");
	scene.replace = REPLACE_ANY;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = (struct rlimit){ LENGTH - 1, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	rc = assemble_to(&scene, "old.gguf");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(rc, -EFBIG);
	assert_file(path_in(scene.out, "old.gguf").text, "old", 3);
	close_scene(&scene, 1);
}

/* Invariant 2. */
static void next_assembly_removes_remains_of_a_killed_one(void **state)
{
	struct scene scene = open_scene(state);

	write_text(temporary_of(&scene, "new.gguf").text, "left over, and longer than the new");
	assert_int_equal(assemble_to(&scene, "new.gguf"), 0);
	assert_file(path_in(scene.out, "new.gguf").text, CONTENT, LENGTH);
	close_scene(&scene, 1);
}

/* Invariant 2. */
static void remains_of_killed_assembly_to_other_target_are_removed(void **state)
{
	struct scene scene = open_scene(state);
	const struct path busy = temporary_of(&scene, "busy.gguf");
	int fd;

	write_text(temporary_of(&scene, "other.gguf").text, "left over");
	write_text(busy.text, "under way");
	write_text(path_in(scene.out, ".organfs-mine.part").text, "mine");
	fd = open(busy.text, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(assemble_to(&scene, "new.gguf"), 0);
	assert_false(exists(temporary_of(&scene, "other.gguf").text));
	assert_file(busy.text, "under way", 9);
	close(fd);
	close_scene(&scene, 3);
}

static void a_second_assembly_to_the_same_target_is_refused(void **state)
{
	struct scene scene = open_scene(state);
	const struct path temporary = temporary_of(&scene, "new.gguf");
	int fd;

	write_text(temporary.text, "under way");
	fd = open(temporary.text, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(assemble_to(&scene, "new.gguf"), -EBUSY);
	/* Also --unpack and --pack say so. */
	assert_string_equal(scene.err.text, "another process of organfs is writing this file: try "
					    "again when it has ended");
	assert_file(temporary.text, "under way", 9);
	assert_int_equal(assemble_to(&scene, "other.gguf"), 0);
	close(fd);
	assert_int_equal(assemble_to(&scene, "new.gguf"), 0);
	close_scene(&scene, 2);
}

static void a_link_in_the_temporary_files_place_is_not_followed(void **state)
{
	struct scene scene = open_scene(state);

	write_text(path_in(scene.out, "other").text, "other");
	assert_int_equal(symlink("other", temporary_of(&scene, "new.gguf").text), 0);
	assemble_to(&scene, "new.gguf");
	assert_file(path_in(scene.out, "other").text, "other", 5);
	unlink(temporary_of(&scene, "new.gguf").text);
	unlink(path_in(scene.out, "new.gguf").text);
	close_scene(&scene, 1);
}

/* Make a file of that name in the test's directory, and note it. */
static struct path note(void **state, struct written_files *written, const char *name)
{
	const struct path path = in_temp(state, name);
	const int directory = open(in_temp(state, ".").text, O_RDONLY | O_DIRECTORY);
	const int fd = open(path.text, O_WRONLY | O_CREAT | O_EXCL, 0600);

	must(directory >= 0 && fd >= 0 && write(fd, "model", 5) == 5);
	written_files_add(written, directory, name, fd);
	close(fd);
	close(directory);
	return path;
}

static void empty_record_does_not_count_as_existing_files(void **state)
{
	struct written_files written = { 0 };

	(void)state;
	assert_false(written_files_exist(&written));
	written_files_release(&written);
}

static void recorded_files_exist_only_if_all_do(void **state)
{
	struct written_files written = { 0 };
	const struct path first = note(state, &written, "first"),
			  second = note(state, &written, "second");

	assert_true(written_files_exist(&written));
	assert_int_equal(written.n, 2);
	assert_string_equal(written.files[0].path, first.text);
	must(rename(second.text, in_temp(state, "third").text) == 0);
	assert_false(written_files_exist(&written));
	written_files_release(&written);
	assert_int_equal(written.n, 0);
}

/* mtime tells of a change that keeps the size, and ctime of one that sets mtime back. */
static void changed_file_does_not_count_as_recorded_one(void **state)
{
	struct written_files written = { 0 };
	const struct path path = note(state, &written, "file");
	const struct timespec then[2] = { written.files[0].stat.st_mtim,
					  written.files[0].stat.st_mtim };
	const int fd = open(path.text, O_WRONLY);
	struct stat now;

	/* Repeat until the filesystem's clock has advanced. */
	do {
		tick();
		must(fd >= 0 && pwrite(fd, "M", 1, 0) == 1 && futimens(fd, then) == 0);
		must(fstat(fd, &now) == 0);
	} while (now.st_ctim.tv_sec == written.files[0].stat.st_ctim.tv_sec &&
		 now.st_ctim.tv_nsec == written.files[0].stat.st_ctim.tv_nsec);
	close(fd);
	assert_false(written_files_exist(&written));
	written_files_release(&written);
}

static void link_in_place_of_file_is_another_file(void **state)
{
	struct written_files written = { 0 };
	const struct path path = note(state, &written, "file"), moved = in_temp(state, "moved");

	must(rename(path.text, moved.text) == 0 && symlink(moved.text, path.text) == 0);
	assert_false(written_files_exist(&written));
	written_files_release(&written);
}

static void unrecordable_file_counts_as_absent(void **state)
{
	struct written_files written = { 0 };

	note(state, &written, "file");
	assert_true(written_files_exist(&written));
	written_files_add(&written, -1, "other", -1);
	assert_true(written.unknown);
	assert_false(written_files_exist(&written));
	written_files_release(&written);
	assert_false(written.unknown);
}

UNIT_MAIN(temp_setup, temp_teardown)
