/* SPDX-License-Identifier: MIT */
/* test_open_files.c - fs/tree/open_files.c: nameless writers beside readers of the same inode; the
 * close that ends a writer. */
#include "fs/edit/stage.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/tree/inodes.h"
#include "fs/tree/open_files.h"
#include "fs/tree/read_modes.h"
#include "tests/unit/open_model.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene {
	struct opened o;
	struct model **models;
	struct inodes *inodes;
	struct read_modes *modes;
	struct open_files *handles;
	uint64_t ino;
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .o = open_small(state, "base.gguf") };

	scene.models = malloc(sizeof(*scene.models));
	must(scene.models);
	scene.models[0] = scene.o.model;
	scene.inodes = inodes_new(scene.models, 1, false);
	must(scene.inodes);
	scene.modes = read_modes_new();
	must(scene.modes);
	scene.handles = open_files_new(scene.inodes, scene.modes);
	must(scene.handles);
	scene.ino = inode_of(0, INODE_ORGAN, 1);
	return scene;
}

static void close_scene(struct scene *scene)
{
	open_files_free(scene->handles);
	read_modes_free(scene->modes);
	inodes_free(scene->inodes);
	free(scene->models);
	close_model(&scene->o);
}

static struct view *content(struct scene *scene)
{
	struct view *view = organ_file_view(scene->o.model, 1, NULL);

	must(view);
	return view;
}

static struct open_file *reader(struct scene *scene, uint64_t ino)
{
	struct open_file *handle = open_files_add(scene->handles, inodes_get(scene->inodes, ino),
						  content(scene), false, 0);

	must(handle);
	return handle;
}

static struct inode *staged(struct scene *scene, struct view *view)
{
	struct model *model = scene->o.model;
	const struct inode made = { .ino = inode_new(model),
				    .family = FAMILY_STAGE,
				    .index = 1,
				    .model = model,
				    .stage = stage_new(model->layer, view) };

	return inodes_add(scene->inodes, &made);
}

/* A writer that opened the file by name. */
static struct open_file *named(struct scene *scene, pid_t thread)
{
	struct view *view = content(scene);
	struct open_file *handle =
		open_files_add(scene->handles, staged(scene, view), view, true, thread);

	must(handle);
	return handle;
}

static struct open_file *writer(struct scene *scene, pid_t thread)
{
	struct view *view = content(scene);
	struct open_file *handle = open_files_add_nameless(scene->handles, staged(scene, view),
							   view, scene->ino, thread);

	must(handle);
	return handle;
}

static void the_stage_of_a_writer_without_a_name_is_found_by_its_thread(void **state)
{
	struct scene scene = open_scene(state);
	struct open_file *handle = writer(&scene, 7);
	struct inode *inode;

	assert_null(open_files_find_nameless(scene.handles, scene.ino, 8));
	assert_null(open_files_find_nameless(scene.handles, scene.ino + 1, 7));
	inode = open_files_find_nameless(scene.handles, scene.ino, 7);
	assert_ptr_equal(inode, handle->inode);
	inodes_put(scene.inodes, inode);
	open_files_close(scene.handles, handle);
	assert_null(open_files_find_nameless(scene.handles, scene.ino, 7));
	close_scene(&scene);
}

static void file_does_not_grow_under_a_reader(void **state)
{
	struct scene scene = open_scene(state);
	struct open_file *handle = writer(&scene, 7), *other = reader(&scene, scene.ino);
	const uint64_t size = view_size(handle->view);

	assert_true(open_files_may_write_to(scene.handles, handle, size));
	assert_false(open_files_may_write_to(scene.handles, handle, size + 1));
	open_files_close(scene.handles, other);
	other = reader(&scene, scene.ino + 1);
	assert_false(other->direct);
	assert_true(open_files_may_write_to(scene.handles, handle, size + 1));
	open_files_close(scene.handles, other);
	close_scene(&scene);
}

static void reader_of_grown_file_uses_direct_io(void **state)
{
	struct scene scene = open_scene(state);
	struct open_file *handle = writer(&scene, 7), *second = writer(&scene, 8), *other;
	const uint64_t size = view_size(handle->view);

	assert_true(open_files_may_write_to(scene.handles, handle, size + 1));
	other = reader(&scene, scene.ino);
	assert_true(other->direct);
	/* A direct reader does not block the writer. */
	assert_true(open_files_may_write_to(scene.handles, second, size + 1));
	open_files_close(scene.handles, other);
	open_files_close(scene.handles, handle);
	open_files_close(scene.handles, second);
	other = reader(&scene, scene.ino);
	assert_false(other->direct);
	open_files_close(scene.handles, other);
	close_scene(&scene);
}

static void pages_that_such_a_writer_may_have_mapped_are_not_kept(void **state)
{
	struct scene scene = open_scene(state);
	struct open_file *handle, *other = reader(&scene, scene.ino);

	assert_false(other->fresh);
	open_files_close(scene.handles, other);
	handle = writer(&scene, 7);
	open_files_close(scene.handles, handle);
	other = reader(&scene, scene.ino);
	assert_true(other->fresh);
	open_files_close(scene.handles, other);
	other = reader(&scene, scene.ino + 1);
	assert_false(other->fresh);
	open_files_close(scene.handles, other);
	close_scene(&scene);
}

static pid_t pausing_child(void)
{
	const pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void the_close_of_the_process_that_opened_it_counts_until_another_writes(void **state)
{
	struct scene scene = open_scene(state);
	struct open_file *handle = named(&scene, getpid());
	const pid_t child = pausing_child();

	assert_false(open_file_record_close(handle, 5, child));
	assert_true(open_file_record_close(handle, 6, getpid()));
	open_file_record_write(handle, 5, child);
	assert_false(open_file_record_close(handle, 6, getpid()));
	assert_true(open_file_record_close(handle, 5, child));
	/* The last of two writers counts. */
	open_file_record_write(handle, 5, child);
	open_file_record_write(handle, 6, getpid());
	assert_false(open_file_record_close(handle, 5, child));
	assert_true(open_file_record_close(handle, 6, getpid()));
	open_files_close(scene.handles, handle);
	end_child(child);
	close_scene(&scene);
}

/* A write through the page cache has no lock owner, a page of a map has no process either. */
static void a_writer_is_known_by_its_owner_or_its_process(void **state)
{
	struct scene scene = open_scene(state);
	struct open_file *handle = named(&scene, getpid());
	const pid_t child = pausing_child();

	open_file_record_write(handle, 0, child);
	assert_false(open_file_record_close(handle, 6, getpid()));
	assert_true(open_file_record_close(handle, 5, child));
	/* The page counts as the opener's after the last writer's close. */
	open_file_record_write(handle, 0, 0);
	assert_false(open_file_record_close(handle, 5, child));
	assert_true(open_file_record_close(handle, 6, getpid()));
	open_file_record_write(handle, 0, child);
	open_file_record_write(handle, 0, 0);
	assert_false(open_file_record_close(handle, 6, getpid()));
	assert_true(open_file_record_close(handle, 5, child));
	/* The process of an ended thread is unknown, its lock owner is known. */
	open_file_record_write(handle, 5, -1);
	assert_false(open_file_record_close(handle, 6, getpid()));
	assert_true(open_file_record_close(handle, 5, -1));
	open_files_close(scene.handles, handle);
	/* If neither is known, any close counts. */
	handle = named(&scene, 0);
	open_file_record_write(handle, 0, -1);
	assert_true(open_file_record_close(handle, 6, getpid()));
	open_files_close(scene.handles, handle);
	end_child(child);
	close_scene(&scene);
}

static void the_last_of_several_writers_of_a_stage_ends_it(void **state)
{
	struct scene scene = open_scene(state);
	struct open_file *first = named(&scene, getpid()), *second, *read;

	second = open_files_add(scene.handles, inodes_get(scene.inodes, first->inode->ino),
				content(&scene), true, getpid());
	read = reader(&scene, first->inode->ino);
	must(second);
	open_file_record_write(read, 5, getpid());
	assert_false(open_file_record_close(read, 5, getpid()));
	assert_false(open_file_release(read));
	assert_false(open_file_record_close(first, 5, getpid()));
	assert_true(open_file_record_close(second, 5, getpid()));
	open_file_record_write(first, 5, getpid());
	open_file_record_write(first, 5, getpid());
	assert_false(open_file_record_close(second, 5, getpid()));
	assert_true(open_file_release(first));
	assert_true(open_file_release(second));
	open_files_close(scene.handles, read);
	open_files_close(scene.handles, first);
	open_files_close(scene.handles, second);
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
