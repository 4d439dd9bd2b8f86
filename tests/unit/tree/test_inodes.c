/* SPDX-License-Identifier: MIT */
/* test_inodes.c - fs/tree/inodes.c: the objects behind inode numbers, and their lifetime. */
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/model/inode.h"
#include "fs/storage/backing.h"
#include "fs/tensor/organ_views.h"
#include "fs/tree/inodes.h"
#include "tests/unit/open_model.h"

#include <limits.h>
#include <pthread.h>

struct scene {
	struct opened o;
	struct model **models;
	struct inodes *inodes;
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .o = open_small(state, "base.gguf") };

	scene.models = malloc(sizeof(*scene.models));
	must(scene.models);
	scene.models[0] = scene.o.model;
	scene.inodes = inodes_new(scene.models, 1, false);
	assert_non_null(scene.inodes);
	return scene;
}

static void close_scene(struct scene *scene)
{
	inodes_free(scene->inodes);
	free(scene->models);
	close_model(&scene->o);
}

static void assert_node(struct scene *scene, uint64_t ino, enum family_number family,
			uint32_t index)
{
	struct inode *inode = inodes_get(scene->inodes, ino);

	assert_non_null(inode);
	assert_true(inode->ino == ino);
	assert_int_equal(inode->family, family);
	assert_int_equal(inode->index, index);
	assert_null(inode->content);
	assert_int_equal(inode->mtime.tv_sec,
			 family == FAMILY_ORGAN || family == FAMILY_THETA
				 ? model_time(scene->o.model).tv_sec
				 : backing_stat(scene->o.model->base)->st_mtim.tv_sec);
	inodes_put(scene->inodes, inode);
}

static void inode_numbers_of_the_base_encode_their_object(void **state)
{
	struct scene scene = open_scene(state);

	assert_node(&scene, INODE_ROOT, FAMILY_ROOT, 0);
	for (uint32_t klass = 0; klass < CLASSES; klass++)
		assert_node(&scene, inode_of(0, INODE_CLASS, klass), FAMILY_CLASS, klass);
	for (uint32_t tensor = 0; tensor < SMALL_TENSORS; tensor++)
		assert_node(&scene, inode_of(0, INODE_ORGAN, tensor), FAMILY_ORGAN, tensor);
	assert_node(&scene, inode_of(0, INODE_BASE, INODE_BLOCKS), FAMILY_BLOCKS, 0);
	assert_node(&scene, inode_of(0, INODE_BASE, INODE_BLOCK | 7), FAMILY_BLOCK, 7);
	assert_node(&scene,
		    inode_of(0, INODE_BASE,
			     INODE_BLOCK | (uint64_t)(INODE_BLOCK_NUMBER + 1) << INODE_BLOCK_SHIFT |
				     INODE_BLOCK_NUMBER),
		    FAMILY_BLOCK, INODE_BLOCK_NUMBER);
	close_scene(&scene);
}

static void other_numbers_have_no_object(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t numbers[] = { 0,
				     2,
				     inode_of(0, INODE_CLASS, CLASSES),
				     inode_of(0, INODE_ORGAN, SMALL_TENSORS),
				     inode_of(0, INODE_BASE, INODE_BLOCKS + 1),
				     inode_of(1, INODE_ORGAN, 0),
				     inode_of(0, 15, 0),
				     INODE_NEW - 1,
				     INODE_NEW,
				     INODE_NEW + 1,
				     UINT64_MAX };

	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
		assert_null(inodes_get(scene.inodes, numbers[i]));
	inodes_put(scene.inodes, NULL);
	inodes_free(NULL);
	close_scene(&scene);
}

static void forget_of_a_base_inode_does_nothing(void **state)
{
	struct scene scene = open_scene(state);
	struct inode *inode = inodes_get(scene.inodes, inode_of(0, INODE_ORGAN, 0));

	inodes_count_lookup(scene.inodes, inode);
	inodes_put(scene.inodes, inode);
	inodes_forget(scene.inodes, inode_of(0, INODE_ORGAN, 0), 1);
	inodes_forget(scene.inodes, inode_of(0, INODE_ORGAN, 0), 1000);
	assert_node(&scene, inode_of(0, INODE_ORGAN, 0), FAMILY_ORGAN, 0);
	close_scene(&scene);
}

static void an_organ_is_the_bases_until_it_is_grafted(void **state)
{
	int rc;
	struct scene scene = open_scene(state);
	struct inode *before =
			     inodes_organ(scene.inodes, FAMILY_ORGAN, scene.o.model, SMALL_UP, &rc),
		     *after;

	assert_true(before->ino == inode_of(0, INODE_ORGAN, SMALL_UP));
	assert_int_equal(fill_up(scene.o.model, 50), 0);
	after = inodes_organ(scene.inodes, FAMILY_ORGAN, scene.o.model, SMALL_UP, &rc);
	assert_between(after->ino, INODE_NEW, UINT64_MAX);
	assert_int_equal(after->family, FAMILY_ORGAN);
	assert_int_equal(after->index, SMALL_UP);
	assert_non_null(after->content);
	assert_null(before->content);
	inodes_put(scene.inodes, before);
	inodes_put(scene.inodes, after);
	close_scene(&scene);
}

static void the_theta_file_of_an_organ_moves_on_with_it(void **state)
{
	int rc;
	struct scene scene = open_scene(state);
	struct inode *before =
			     inodes_organ(scene.inodes, FAMILY_THETA, scene.o.model, SMALL_UP, &rc),
		     *after, *organ;

	assert_true(before->ino == inode_of(0, INODE_THETA, SMALL_UP));
	assert_int_equal(before->family, FAMILY_THETA);
	assert_node(&scene, inode_of(0, INODE_THETA, SMALL_UP), FAMILY_THETA, SMALL_UP);
	assert_int_equal(fill_up(scene.o.model, 50), 0);
	organ = inodes_organ(scene.inodes, FAMILY_ORGAN, scene.o.model, SMALL_UP, &rc);
	after = inodes_organ(scene.inodes, FAMILY_THETA, scene.o.model, SMALL_UP, &rc);
	assert_int_equal(after->family, FAMILY_THETA);
	assert_int_equal(after->index, SMALL_UP);
	assert_ptr_equal(after->content, organ->content);
	assert_true(after->ino != organ->ino);
	assert_true(after->ino ==
		    inodes_organ_ino(scene.o.model, FAMILY_THETA, SMALL_UP, organ->content));
	assert_null(
		inodes_get(scene.inodes, inode_of(0, INODE_THETA, scene.o.model->gguf->n_tensors)));
	inodes_put(scene.inodes, before);
	inodes_put(scene.inodes, after);
	inodes_put(scene.inodes, organ);
	close_scene(&scene);
}

static void a_graft_looked_up_twice_is_one_node(void **state)
{
	int rc;
	struct scene scene = open_scene(state);
	struct inode *one, *other;
	uint64_t ino;

	assert_int_equal(fill_up(scene.o.model, 50), 0);
	one = inodes_organ(scene.inodes, FAMILY_ORGAN, scene.o.model, SMALL_UP, &rc);
	other = inodes_organ(scene.inodes, FAMILY_ORGAN, scene.o.model, SMALL_UP, &rc);
	ino = one->ino;
	assert_ptr_equal(one, other);
	inodes_put(scene.inodes, one);
	one = inodes_get(scene.inodes, ino);
	assert_ptr_equal(one, other);
	inodes_put(scene.inodes, one);
	inodes_put(scene.inodes, other);
	assert_null(inodes_get(scene.inodes, ino));
	close_scene(&scene);
}

/* An inode that the kernel holds keeps its content after any later graft. */
static void inode_held_by_kernel_keeps_its_content(void **state)
{
	int rc;
	struct scene scene = open_scene(state);
	struct inode *inode;
	uint64_t first;

	assert_int_equal(fill_up(scene.o.model, 50), 0);
	inode = inodes_organ(scene.inodes, FAMILY_ORGAN, scene.o.model, SMALL_UP, &rc);
	first = inode->ino;
	inodes_count_lookup(scene.inodes, inode);
	inodes_put(scene.inodes, inode);
	assert_int_equal(fill_up(scene.o.model, 51), 0);
	inode = inodes_organ(scene.inodes, FAMILY_ORGAN, scene.o.model, SMALL_UP, &rc);
	assert_true(inode->ino != first);
	inodes_put(scene.inodes, inode);
	inode = inodes_get(scene.inodes, first);
	assert_non_null(inode);
	assert_true(inode->content->ino == first);
	inodes_put(scene.inodes, inode);
	inodes_forget(scene.inodes, first, 1);
	assert_null(inodes_get(scene.inodes, first));
	close_scene(&scene);
}

/* The slot may have another organ when a process that looked it up asks for a view. */
static void absent_view_of_organ_has_no_inode(void **state)
{
	struct scene scene = open_scene(state);
	int rc;

	for (int grafted = 0; grafted < 2; grafted++) {
		assert_null(inodes_computed(scene.inodes, FAMILY_EXPERT, scene.o.model, SMALL_UP, 0,
					    &rc));
		assert_int_equal(rc, -ENOENT);
		assert_null(inodes_computed(scene.inodes, FAMILY_FORMED, scene.o.model, SMALL_UP,
					    ORGAN_VIEW_EXPERTS, &rc));
		assert_int_equal(rc, -ENOENT);
		assert_int_equal(fill_up(scene.o.model, 50), 0);
	}
	close_scene(&scene);
}

/* Add an inode whose view identifies it. */
static struct inode *add_one(struct scene *scene, uint64_t n)
{
	struct inode made = { .ino = INODE_NEW | n,
			      .family = FAMILY_GENERATED,
			      .index = (uint32_t)n };
	char *text = NULL;

	must(asprintf(&text, "%llu", (unsigned long long)n) > 0);
	made.view = view_of_text(text, strlen(text));
	must(made.view);
	return inodes_add(scene->inodes, &made);
}

static void a_node_is_known_until_it_was_forgotten_as_often_as_told(void **state)
{
	struct scene scene = open_scene(state);
	struct inode *inode = add_one(&scene, 7);

	for (int i = 0; i < 5; i++)
		inodes_count_lookup(scene.inodes, inode);
	inodes_put(scene.inodes, inode);
	inodes_forget(scene.inodes, INODE_NEW | 7, 2);
	inode = inodes_get(scene.inodes, INODE_NEW | 7);
	assert_non_null(inode);
	inodes_forget(scene.inodes, INODE_NEW | 7, 3);
	/* The test's reference is the last one. */
	assert_int_equal(view_size(inode->view), 1);
	inodes_put(scene.inodes, inode);
	assert_null(inodes_get(scene.inodes, INODE_NEW | 7));
	close_scene(&scene);
}

static void forgetting_more_than_was_told_frees_it_once(void **state)
{
	struct scene scene = open_scene(state);
	struct inode *inode = add_one(&scene, 7);

	inodes_count_lookup(scene.inodes, inode);
	inodes_put(scene.inodes, inode);
	inodes_forget(scene.inodes, INODE_NEW | 7, UINT64_MAX);
	inodes_forget(scene.inodes, INODE_NEW | 7, 1);
	inodes_forget(scene.inodes, INODE_NEW | 8, 1);
	assert_null(inodes_get(scene.inodes, INODE_NEW | 7));
	close_scene(&scene);
}

static void a_table_that_grew_finds_every_node(void **state)
{
	enum { MANY = 2000 };
	struct scene scene = open_scene(state);

	for (uint64_t i = 0; i < MANY; i++)
		assert_non_null(add_one(&scene, i * 64));
	for (uint64_t i = 0; i < MANY; i += 2)
		inodes_forget(scene.inodes, INODE_NEW | (i * 64), 1);
	for (uint64_t i = 0; i < MANY; i++) {
		struct inode *inode = inodes_get(scene.inodes, INODE_NEW | (i * 64));

		assert_int_equal(inode != NULL, i % 2);
		if (inode)
			assert_int_equal(inode->index, i * 64);
		inodes_put(scene.inodes, inode);
	}
	/* The table frees the remaining inodes. */
	close_scene(&scene);
}

static void a_number_that_is_taken_keeps_its_node(void **state)
{
	struct scene scene = open_scene(state);
	struct inode *first = add_one(&scene, 7), *second = add_one(&scene, 7);

	assert_ptr_equal(first, second);
	inodes_put(scene.inodes, first);
	inodes_put(scene.inodes, second);
	assert_null(inodes_get(scene.inodes, INODE_NEW | 7));
	close_scene(&scene);
}

static void a_stage_goes_with_its_node(void **state)
{
	struct scene scene = open_scene(state);
	struct inode made = { .ino = inode_new(scene.o.model),
			      .family = FAMILY_STAGE,
			      .index = SMALL_UP };
	struct inode *inode;
	char stages[PATH_MAX];

	made.stage = stage_over(scene.o.model, SMALL_UP);
	inode = inodes_add(scene.inodes, &made);
	assert_int_equal(stage_write(inode->stage, "x", 1, 0), 0);
	snprintf(stages, sizeof(stages), "%s",
		 path_in(layer_path(scene.o.model->layer), "blobs").text);
	assert_int_equal(count_entries(stages), 1);
	inodes_put(scene.inodes, inode);
	assert_int_equal(count_entries(stages), 0);
	close_scene(&scene);
}

static void new_numbers_are_never_given_twice(void **state)
{
	struct scene scene = open_scene(state);
	uint64_t before = inode_new(scene.o.model);

	assert_between(before, INODE_NEW, UINT64_MAX);
	for (int i = 0; i < 100; i++) {
		const uint64_t ino = inode_new(scene.o.model);

		assert_true(ino > before);
		before = ino;
	}
	close_scene(&scene);
}

/* Threads that look up and forget during grafts. */
struct crowd {
	struct scene *scene;
	atomic_bool over, wrong;
};

static void *look_up(void *argument)
{
	int rc;
	struct crowd *crowd = argument;
	struct inodes *inodes = crowd->scene->inodes;

	while (!crowd->over) {
		struct inode *inode = inodes_organ(inodes, FAMILY_ORGAN, crowd->scene->o.model,
						   SMALL_UP, &rc),
			     *same;
		const uint64_t ino = inode->ino;

		inodes_count_lookup(inodes, inode);
		inodes_put(inodes, inode);
		same = inodes_get(inodes, ino);
		if (!same || same->ino != ino || same->index != SMALL_UP)
			crowd->wrong = true;
		inodes_forget(inodes, ino, 1);
		inodes_put(inodes, same);
	}
	return NULL;
}

static void threads_may_look_up_and_forget_while_grafts_are_made(void **state)
{
	struct scene scene = open_scene(state);
	struct crowd crowd = { .scene = &scene };
	pthread_t threads[3];

	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_up, &crowd), 0);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(fill_up(scene.o.model, i), 0);
	crowd.over = true;
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	assert_false(crowd.wrong);
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
