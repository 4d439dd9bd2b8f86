/* SPDX-License-Identifier: MIT */
/* test_handles.c - fs/handles.c: writers without a name, beside readers of the same inode. */
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/tree/open_files.h"
#include "tests/unit/fs_model.h"

struct scene {
	struct opened o;
	struct model **models;
	struct nodes *nodes;
	struct handles *handles;
	uint64_t ino;
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .o = open_small(state, "base.gguf") };

	scene.models = malloc(sizeof(*scene.models));
	must(scene.models);
	scene.models[0] = scene.o.model;
	scene.nodes = nodes_new(scene.models, 1, false);
	must(scene.nodes);
	scene.handles = handles_new(scene.nodes);
	must(scene.handles);
	scene.ino = inode_of(0, INODE_ORGAN, 1);
	return scene;
}

static void close_scene(struct scene *scene)
{
	handles_free(scene->handles);
	nodes_free(scene->nodes);
	free(scene->models);
	close_model(&scene->o);
}

static struct view *content(struct scene *scene)
{
	struct view *view = files_organ(scene->o.model, 1, NULL);

	must(view);
	return view;
}

static struct handle *reader(struct scene *scene, uint64_t ino)
{
	struct handle *handle = handles_open(scene->handles, nodes_get(scene->nodes, ino),
					     content(scene), false);

	must(handle);
	return handle;
}

static struct handle *writer(struct scene *scene, pid_t thread)
{
	struct model *model = scene->o.model;
	struct view *view = content(scene);
	const struct node made = { .ino = inode_new(model),
				   .kind = NODE_STAGE,
				   .index = 1,
				   .model = model,
				   .stage = stage_new(model->layer, view) };
	struct handle *handle = handles_open_nameless(
		scene->handles, nodes_add(scene->nodes, &made), view, scene->ino, thread);

	must(handle);
	return handle;
}

static void the_stage_of_a_writer_without_a_name_is_found_by_its_thread(void **state)
{
	struct scene scene = open_scene(state);
	struct handle *handle = writer(&scene, 7);
	struct node *node;

	assert_null(handles_nameless(scene.handles, scene.ino, 8));
	assert_null(handles_nameless(scene.handles, scene.ino + 1, 7));
	node = handles_nameless(scene.handles, scene.ino, 7);
	assert_ptr_equal(node, handle->node);
	nodes_put(scene.nodes, node);
	handles_close(scene.handles, handle);
	assert_null(handles_nameless(scene.handles, scene.ino, 7));
	close_scene(&scene);
}

static void it_does_not_grow_under_a_reader(void **state)
{
	struct scene scene = open_scene(state);
	struct handle *handle = writer(&scene, 7), *other = reader(&scene, scene.ino);
	const uint64_t size = view_size(handle->view);

	assert_true(handles_may_reach(scene.handles, handle, size));
	assert_false(handles_may_reach(scene.handles, handle, size + 1));
	handles_close(scene.handles, other);
	other = reader(&scene, scene.ino + 1);
	assert_false(other->direct);
	assert_true(handles_may_reach(scene.handles, handle, size + 1));
	handles_close(scene.handles, other);
	close_scene(&scene);
}

static void who_reads_it_after_it_has_grown_uses_no_pages(void **state)
{
	struct scene scene = open_scene(state);
	struct handle *handle = writer(&scene, 7), *second = writer(&scene, 8), *other;
	const uint64_t size = view_size(handle->view);

	assert_true(handles_may_reach(scene.handles, handle, size + 1));
	other = reader(&scene, scene.ino);
	assert_true(other->direct);
	/* Such a reader is not in the way. */
	assert_true(handles_may_reach(scene.handles, second, size + 1));
	handles_close(scene.handles, other);
	handles_close(scene.handles, handle);
	handles_close(scene.handles, second);
	other = reader(&scene, scene.ino);
	assert_false(other->direct);
	handles_close(scene.handles, other);
	close_scene(&scene);
}

static void pages_that_such_a_writer_may_have_mapped_are_not_kept(void **state)
{
	struct scene scene = open_scene(state);
	struct handle *handle, *other = reader(&scene, scene.ino);

	assert_false(other->fresh);
	handles_close(scene.handles, other);
	handle = writer(&scene, 7);
	handles_close(scene.handles, handle);
	other = reader(&scene, scene.ino);
	assert_true(other->fresh);
	handles_close(scene.handles, other);
	other = reader(&scene, scene.ino + 1);
	assert_false(other->fresh);
	handles_close(scene.handles, other);
	close_scene(&scene);
}

static const struct CMUnitTest tests[] = {
	FS_TEST(the_stage_of_a_writer_without_a_name_is_found_by_its_thread),
	FS_TEST(it_does_not_grow_under_a_reader),
	FS_TEST(who_reads_it_after_it_has_grown_uses_no_pages),
	FS_TEST(pages_that_such_a_writer_may_have_mapped_are_not_kept),
};

UNIT_MAIN(tests)
