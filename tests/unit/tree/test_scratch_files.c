/* SPDX-License-Identifier: MIT */
/* test_scratch_files.c - fs/tree/scratch_files.c, family_scratch.c: names outside of slots, their
 * inodes, and their commit. */
#include "fs/edit/graft.h"
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/model/inode.h"
#include "fs/tree/family.h"
#include "fs/tree/name_locks.h"
#include "fs/tree/scratch_files.h"
#include "fs/tree/tree.h"
#include "tests/unit/open_model.h"

#include <limits.h>
#include <pthread.h>

enum { HERE = 20, THERE = 21 };

struct scene {
	struct opened o;
	struct model **models;
	struct inodes *inodes;
	struct scratch_files *scratches;
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .o = open_small(state, "base.gguf") };

	scene.models = malloc(sizeof(*scene.models));
	must(scene.models);
	scene.models[0] = scene.o.model;
	scene.inodes = inodes_new(scene.models, 1, false);
	scene.scratches = scratch_files_new(scene.inodes);
	must(scene.inodes && scene.scratches);
	return scene;
}

static void close_scene(struct scene *scene)
{
	scratch_files_free(scene->scratches);
	inodes_free(scene->inodes);
	free(scene->models);
	close_model(&scene->o);
}

/* A file with text and without a name yet; the caller puts its inode. */
static struct inode *make_file(struct scene *scene, const char *text)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct inode made = { .ino = inodes_new_ino(scene->inodes, scene->o.model),
			      .family = FAMILY_SCRATCH,
			      .model = scene->o.model };
	struct inode *inode;

	must(empty);
	made.stage = stage_new(scene->o.model->layer, empty);
	view_unref(empty);
	must(made.stage);
	inode = inodes_add(scene->inodes, &made);
	must(inode && stage_write(inode->stage, text, strlen(text), 0) == 0);
	return inode;
}

/* Add a file of that name without other references. Returns its number. */
static uint64_t add_file(struct scene *scene, uint64_t directory, const char *name)
{
	struct inode *inode = make_file(scene, name);
	const uint64_t ino = inode->ino;

	assert_int_equal(scratch_files_add(scene->scratches, directory, name, inode), 0);
	inodes_put(scene->inodes, inode);
	return ino;
}

static enum scratch_kind kind_of(struct scene *scene, uint64_t directory, const char *name)
{
	struct inode *inode = NULL;
	const enum scratch_kind kind =
		scratch_files_find(scene->scratches, directory, name, &inode);

	assert_true((kind == SCRATCH_FILE) == (inode != NULL));
	inodes_put(scene->inodes, inode);
	return kind;
}

/* Number of the file of that name. */
static uint64_t file_at(struct scene *scene, uint64_t directory, const char *name)
{
	struct inode *inode = NULL;
	uint64_t ino;

	assert_int_equal(scratch_files_find(scene->scratches, directory, name, &inode),
			 SCRATCH_FILE);
	ino = inode->ino;
	inodes_put(scene->inodes, inode);
	return ino;
}

static void assert_gone(struct scene *scene, uint64_t ino)
{
	struct inode *inode = inodes_get(scene->inodes, ino);

	assert_null(inode);
}

static void assert_stages(struct scene *scene, int n)
{
	assert_int_equal(count_entries(path_in(layer_path(scene->o.model->layer), "blobs").text),
			 n);
}

static void a_file_is_found_by_its_name_and_directory(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t a = add_file(&scene, HERE, "a"), b = add_file(&scene, THERE, "a");

	assert_true(a != b);
	assert_true(file_at(&scene, HERE, "a") == a);
	assert_true(file_at(&scene, THERE, "a") == b);
	assert_int_equal(kind_of(&scene, HERE, "b"), SCRATCH_NONE);
	assert_int_equal(kind_of(&scene, HERE, "A"), SCRATCH_NONE);
	assert_int_equal(kind_of(&scene, HERE, ""), SCRATCH_NONE);
	assert_int_equal(kind_of(&scene, 22, "a"), SCRATCH_NONE);
	close_scene(&scene);
}

static void a_name_is_given_once(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t a = add_file(&scene, HERE, "a");
	struct inode *other = make_file(&scene, "other");

	assert_int_equal(scratch_files_add(scene.scratches, HERE, "a", other), -EEXIST);
	assert_int_equal(scratch_files_add(scene.scratches, HERE, "a", NULL), -EEXIST);
	assert_int_equal(stage_opens(other->stage), 0);
	inodes_put(scene.inodes, other);
	assert_true(file_at(&scene, HERE, "a") == a);
	close_scene(&scene);
}

static void prepared_entry_takes_the_name_or_is_dropped(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t a = add_file(&scene, HERE, "a");
	struct inode *other = make_file(&scene, "other"), *third = make_file(&scene, "third");
	const uint64_t ino = other->ino, gone = third->ino;
	struct scratch_file *entry = scratch_files_prepare(scene.scratches, HERE, "a", other);
	struct scratch_file *dropped = scratch_files_prepare(scene.scratches, HERE, "b", third);

	must(entry && dropped);
	inodes_put(scene.inodes, other);
	inodes_put(scene.inodes, third);
	assert_true(file_at(&scene, HERE, "a") == a);
	scratch_files_enter(scene.scratches, entry);
	assert_true(file_at(&scene, HERE, "a") == ino);
	assert_gone(&scene, a);
	scratch_files_drop(scene.scratches, dropped);
	scratch_files_drop(scene.scratches, NULL);
	assert_int_equal(kind_of(&scene, HERE, "b"), SCRATCH_NONE);
	assert_gone(&scene, gone);
	close_scene(&scene);
}

static void the_name_keeps_the_file_and_its_bytes(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t ino = add_file(&scene, HERE, "bytes");
	struct inode *inode;
	char bytes[8];

	assert_int_equal(scratch_files_find(scene.scratches, HERE, "bytes", &inode), SCRATCH_FILE);
	assert_int_equal(stage_read(inode->stage, bytes, sizeof(bytes), 0), 5);
	assert_memory_equal(bytes, "bytes", 5);
	inodes_put(scene.inodes, inode);
	assert_stages(&scene, 1);
	assert_true(scratch_files_remove(scene.scratches, HERE, "bytes"));
	assert_false(scratch_files_remove(scene.scratches, HERE, "bytes"));
	assert_int_equal(kind_of(&scene, HERE, "bytes"), SCRATCH_NONE);
	assert_gone(&scene, ino);
	assert_stages(&scene, 0);
	close_scene(&scene);
}

static void removed_file_stays_readable_while_open(void **state)
{
	struct scene scene = open_scene(state);
	struct inode *inode;
	uint64_t directory;
	char bytes[8], name[NAME_MAX + 1];

	add_file(&scene, HERE, "bytes");
	assert_int_equal(scratch_files_find(scene.scratches, HERE, "bytes", &inode), SCRATCH_FILE);
	stage_open(inode->stage);
	assert_true(scratch_files_remove(scene.scratches, HERE, "bytes"));
	assert_int_equal(stage_read(inode->stage, bytes, sizeof(bytes), 0), 5);
	assert_false(scratch_files_name(scene.scratches, inode, &directory, name));
	assert_stages(&scene, 1);
	stage_close(inode->stage);
	assert_stages(&scene, 0);
	inodes_put(scene.inodes, inode);
	close_scene(&scene);
}

static void each_of_two_names_keeps_the_file(void **state)
{
	struct scene scene = open_scene(state);
	struct inode *inode = make_file(&scene, "x");
	const uint64_t ino = inode->ino;

	assert_int_equal(scratch_files_add(scene.scratches, HERE, "a", inode), 0);
	assert_int_equal(scratch_files_add(scene.scratches, THERE, "b", inode), 0);
	assert_int_equal(stage_opens(inode->stage), 2);
	inodes_put(scene.inodes, inode);
	assert_true(scratch_files_remove(scene.scratches, HERE, "a"));
	assert_stages(&scene, 1);
	assert_true(file_at(&scene, THERE, "b") == ino);
	assert_true(scratch_files_remove(scene.scratches, THERE, "b"));
	assert_stages(&scene, 0);
	assert_gone(&scene, ino);
	close_scene(&scene);
}

static void a_hidden_name_is_no_file_until_it_is_shown_again(void **state)
{
	struct scene scene = open_scene(state);
	char name[NAME_MAX + 1];
	uint64_t number = 0, ino;

	assert_int_equal(scratch_files_add(scene.scratches, HERE, "x.theta", NULL), 0);
	assert_int_equal(kind_of(&scene, HERE, "x.theta"), SCRATCH_HIDDEN);
	assert_int_equal(kind_of(&scene, THERE, "x.theta"), SCRATCH_NONE);
	assert_false(scratch_files_next(scene.scratches, HERE, &number, name, &ino));
	assert_true(scratch_files_remove(scene.scratches, HERE, "x.theta"));
	assert_int_equal(kind_of(&scene, HERE, "x.theta"), SCRATCH_NONE);
	close_scene(&scene);
}

static void a_renamed_file_is_at_the_new_name_alone(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t a = add_file(&scene, HERE, "a");
	struct inode *inode = inodes_get(scene.inodes, a);
	uint64_t directory;
	char name[NAME_MAX + 1];

	assert_int_equal(scratch_files_rename(scene.scratches, HERE, "a", THERE, "b"), 0);
	assert_int_equal(kind_of(&scene, HERE, "a"), SCRATCH_NONE);
	assert_true(file_at(&scene, THERE, "b") == a);
	assert_true(scratch_files_name(scene.scratches, inode, &directory, name));
	assert_int_equal(directory, THERE);
	assert_string_equal(name, "b");
	inodes_put(scene.inodes, inode);
	assert_int_equal(scratch_files_rename(scene.scratches, HERE, "a", THERE, "c"), -ENOENT);
	close_scene(&scene);
}

static void rename_removes_file_under_new_name(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t a = add_file(&scene, HERE, "a"), b = add_file(&scene, HERE, "b");

	assert_int_equal(scratch_files_rename(scene.scratches, HERE, "a", HERE, "b"), 0);
	assert_true(file_at(&scene, HERE, "b") == a);
	assert_gone(&scene, b);
	assert_stages(&scene, 1);
	/* A rename onto itself changes nothing. */
	assert_int_equal(scratch_files_rename(scene.scratches, HERE, "b", HERE, "b"), 0);
	assert_true(file_at(&scene, HERE, "b") == a);
	/* A rename of a missing file removes nothing. */
	assert_int_equal(scratch_files_rename(scene.scratches, HERE, "no", HERE, "b"), -ENOENT);
	assert_true(file_at(&scene, HERE, "b") == a);
	close_scene(&scene);
}

static bool is_empty(struct model *model, uint32_t slot)
{
	struct content *content = slots_get(model->slots, slot);
	const bool empty = content_is_whiteout(content);

	content_unref(content);
	return empty;
}

static struct file_name named(uint64_t directory, const char *name)
{
	return (struct file_name){ directory, name };
}

static void place(struct scene *scene, const struct inode *inode, const char *from, const char *to)
{
	const struct file_name old = named(HERE, from), new = named(HERE, to);

	scratch_files_place(scene->scratches, inode, &old, &new);
}

/* Name of a file; empty without a name. */
static const char *name_of(struct scene *scene, const struct inode *inode, char name[NAME_MAX + 1])
{
	uint64_t directory;

	name[0] = '\0';
	if (scratch_files_name(scene->scratches, inode, &directory, name))
		assert_int_equal(directory, HERE);
	return name;
}

/* Open the file of that name; the caller closes it. */
static struct inode *open_file(struct scene *scene, const char *name)
{
	struct inode *inode = NULL;

	assert_int_equal(scratch_files_find(scene->scratches, HERE, name, &inode), SCRATCH_FILE);
	stage_open(inode->stage);
	return inode;
}

/* Close like ops_free_open_file(). Returns whether this was the last open file. */
static bool close_file(struct scene *scene, struct inode *inode)
{
	char text[NAME_MAX + 1];
	struct file_name name = { .name = text };
	bool open;

	stage_close(inode->stage);
	open = scratch_files_is_open(scene->scratches, inode);
	if (!open && stage_has_ended(inode->stage) &&
	    scratch_files_name(scene->scratches, inode, &name.directory, text))
		scratch_files_end(scene->scratches, inode, &name);
	inodes_put(scene->inodes, inode);
	return !open;
}

static void no_lookup_finds_a_file_in_force_which_knows_its_name(void **state)
{
	struct scene scene = open_scene(state);
	char name[NAME_MAX + 1];
	uint64_t number = 0, ino;
	struct inode *inode, *again;

	add_file(&scene, HERE, "slot");
	inode = open_file(&scene, "slot");
	assert_false(scratch_files_has_ended(scene.scratches, inode));
	place(&scene, inode, "slot", "slot");
	assert_true(scratch_files_has_ended(scene.scratches, inode));
	assert_int_equal(kind_of(&scene, HERE, "slot"), SCRATCH_NONE);
	assert_false(scratch_files_next(scene.scratches, HERE, &number, name, &ino));
	assert_string_equal(name_of(&scene, inode, name), "slot");
	/* A second call comes from a release after a map has changed pages. */
	place(&scene, inode, "slot", "slot");
	assert_string_equal(name_of(&scene, inode, name), "slot");
	again = inodes_get(scene.inodes, inode->ino);
	ino = inode->ino;
	assert_true(close_file(&scene, inode));
	inodes_put(scene.inodes, again);
	assert_gone(&scene, ino);
	assert_stages(&scene, 0);
	close_scene(&scene);
}

static void last_close_ends_a_file_in_force_beside_another_of_its_name(void **state)
{
	struct scene scene = open_scene(state);
	struct inode *inode, *again;
	char name[NAME_MAX + 1];
	uint64_t ino;

	add_file(&scene, HERE, "slot");
	inode = open_file(&scene, "slot");
	place(&scene, inode, "slot", "slot");
	add_file(&scene, HERE, "slot");
	again = inodes_get(scene.inodes, inode->ino);
	stage_open(again->stage);
	assert_false(close_file(&scene, again));
	assert_string_equal(name_of(&scene, inode, name), "slot");
	ino = inode->ino;
	assert_true(close_file(&scene, inode));
	assert_gone(&scene, ino);
	assert_int_equal(kind_of(&scene, HERE, "slot"), SCRATCH_FILE);
	assert_stages(&scene, 1);
	close_scene(&scene);
}

static void a_file_that_no_process_has_open_ends_when_it_is_in_force(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t ino = add_file(&scene, HERE, "a");
	struct inode *inode = inodes_get(scene.inodes, ino), *other = make_file(&scene, "x");
	char name[NAME_MAX + 1];

	/* A name of another inode has no effect. */
	place(&scene, inode, "b", "b");
	place(&scene, other, "a", "b");
	assert_true(file_at(&scene, HERE, "a") == ino);
	place(&scene, inode, "a", "slot");
	assert_string_equal(name_of(&scene, inode, name), "");
	assert_true(scratch_files_has_ended(scene.scratches, inode));
	inodes_put(scene.inodes, other);
	inodes_put(scene.inodes, inode);
	assert_gone(&scene, ino);
	assert_stages(&scene, 0);
	close_scene(&scene);
}

static void another_file_loses_the_name_that_is_filled_or_removed(void **state)
{
	struct scene scene = open_scene(state);
	struct inode *first, *second, *third;
	char name[NAME_MAX + 1];

	add_file(&scene, HERE, "temporary");
	first = open_file(&scene, "temporary");
	add_file(&scene, HERE, "slot");
	second = open_file(&scene, "slot");
	place(&scene, first, "temporary", "slot");
	assert_string_equal(name_of(&scene, first, name), "slot");
	assert_string_equal(name_of(&scene, second, name), "");
	assert_false(scratch_files_has_ended(scene.scratches, second));
	assert_int_equal(kind_of(&scene, HERE, "temporary"), SCRATCH_NONE);
	add_file(&scene, HERE, "slot");
	third = open_file(&scene, "slot");
	place(&scene, third, "slot", "slot");
	assert_string_equal(name_of(&scene, first, name), "");
	assert_string_equal(name_of(&scene, third, name), "slot");
	/* scratch_files_remove() finds no file, but the name is gone. */
	assert_false(scratch_files_remove(scene.scratches, HERE, "slot"));
	assert_string_equal(name_of(&scene, third, name), "");
	assert_true(close_file(&scene, first));
	assert_true(close_file(&scene, second));
	assert_true(close_file(&scene, third));
	assert_stages(&scene, 0);
	close_scene(&scene);
}

/* The file is a private one under its other name. */
static void a_file_with_another_name_is_not_in_force(void **state)
{
	struct scene scene = open_scene(state);
	char name[NAME_MAX + 1];
	struct inode *inode;

	add_file(&scene, HERE, "slot");
	inode = open_file(&scene, "slot");
	assert_int_equal(scratch_files_add(scene.scratches, HERE, "b", inode), 0);
	place(&scene, inode, "slot", "slot");
	assert_string_equal(name_of(&scene, inode, name), "b");
	assert_false(scratch_files_has_ended(scene.scratches, inode));
	assert_int_equal(kind_of(&scene, HERE, "slot"), SCRATCH_NONE);
	assert_int_equal(kind_of(&scene, HERE, "b"), SCRATCH_FILE);
	assert_true(close_file(&scene, inode));
	assert_stages(&scene, 1);
	close_scene(&scene);
}

/* The last close() does not remove another file that has the name by then. */
static void a_name_is_removed_of_that_file_alone(void **state)
{
	struct scene scene = open_scene(state);
	const struct file_name name = named(HERE, "a");
	const uint64_t ino = add_file(&scene, HERE, "a");
	struct inode *inode = open_file(&scene, "a"), *other = make_file(&scene, "x");

	scratch_files_end(scene.scratches, other, &name);
	assert_true(file_at(&scene, HERE, "a") == ino);
	/* A file that another process has opened meanwhile stays too. */
	scratch_files_end(scene.scratches, inode, &name);
	assert_int_equal(kind_of(&scene, HERE, "a"), SCRATCH_FILE);
	assert_false(scratch_files_has_ended(scene.scratches, inode));
	stage_close(inode->stage);
	scratch_files_end(scene.scratches, inode, &name);
	assert_int_equal(kind_of(&scene, HERE, "a"), SCRATCH_NONE);
	assert_true(scratch_files_has_ended(scene.scratches, inode));
	inodes_put(scene.inodes, inode);
	inodes_put(scene.inodes, other);
	close_scene(&scene);
}

static void a_symbolic_link_ends_when_it_is_in_force(void **state)
{
	struct scene scene = open_scene(state);
	const struct inode made = { .ino = inodes_new_ino(scene.inodes, scene.o.model),
				    .family = FAMILY_SCRATCH_LINK,
				    .model = scene.o.model };
	struct inode *link = inodes_add(scene.inodes, &made);
	const uint64_t ino = made.ino;

	must(link);
	assert_int_equal(scratch_files_add(scene.scratches, HERE, "link", link), 0);
	place(&scene, link, "link", "slot");
	inodes_put(scene.inodes, link);
	assert_gone(&scene, ino);
	assert_int_equal(kind_of(&scene, HERE, "link"), SCRATCH_NONE);
	assert_int_equal(kind_of(&scene, HERE, "slot"), SCRATCH_NONE);
	close_scene(&scene);
}

/* A rename has overtaken the release. */
static void renamed_file_in_force_is_not_committed_again(void **state)
{
	struct scene scene = open_scene(state);
	struct model *model = scene.o.model;
	const uint64_t organs = inode_of_directory(model, INODE_CLASS, CLASS_ORGANS);
	struct organ_file up = mk_organ("blk.0.ffn_up.weight", GGML_F32, 2, small_ne, 60);
	struct tree tree = { .inodes = scene.inodes,
			     .scratches = scene.scratches,
			     .names = name_locks_new() };
	struct inode *inode;

	must(tree.names);
	assert_int_equal(graft_remove(model, SMALL_UP), 0);
	add_file(&scene, organs, "blk_0_ffn_up.bin");
	assert_int_equal(scratch_files_find(scene.scratches, organs, "blk_0_ffn_up.bin", &inode),
			 SCRATCH_FILE);
	stage_open(inode->stage);
	assert_int_equal(stage_truncate(inode->stage, 0), 0);
	must(stage_write(inode->stage, up.bytes, up.size, 0) == 0);
	assert_int_equal(family_of(inode)->commit(&tree, inode), 0);
	assert_organ(model, SMALL_UP, &up);
	assert_int_equal(kind_of(&scene, organs, "blk_0_ffn_up.bin"), SCRATCH_NONE);
	assert_int_equal(graft_remove(model, SMALL_UP), 0);
	assert_int_equal(family_of(inode)->commit(&tree, inode), 0);
	assert_true(is_empty(model, SMALL_UP));
	/* A page that a map changes later does count. */
	must(stage_write(inode->stage, up.bytes + up.size - 1, 1, up.size - 1) == 0);
	assert_int_equal(family_of(inode)->commit(&tree, inode), 0);
	assert_organ(model, SMALL_UP, &up);
	assert_true(close_file(&scene, inode));
	name_locks_free(tree.names);
	free(up.bytes);
	close_scene(&scene);
}

static void a_listing_goes_on_where_it_stopped(void **state)
{
	struct scene scene = open_scene(state);
	char name[NAME_MAX + 1], names[64] = "";
	uint64_t number = 0, ino;

	add_file(&scene, HERE, "a");
	add_file(&scene, THERE, "no");
	add_file(&scene, HERE, "b");
	add_file(&scene, HERE, "c");
	assert_true(scratch_files_remove(scene.scratches, HERE, "b"));
	while (scratch_files_next(scene.scratches, HERE, &number, name, &ino)) {
		assert_true(file_at(&scene, HERE, name) == ino);
		strcat(names, name);
		/* A file made meanwhile is seen once, and a removed one is not seen again. */
		if (strcmp(name, "a") == 0)
			add_file(&scene, HERE, "d");
		if (strcmp(name, "c") == 0)
			assert_true(scratch_files_remove(scene.scratches, HERE, "a"));
		number++;
	}
	assert_string_equal(names, "acd");
	close_scene(&scene);
}

static void the_longest_name_has_room(void **state)
{
	struct scene scene = open_scene(state);
	char longest[NAME_MAX + 1], name[NAME_MAX + 1];
	uint64_t number = 0, ino;

	memset(longest, 'n', NAME_MAX);
	longest[NAME_MAX] = '\0';
	add_file(&scene, HERE, longest);
	assert_true(scratch_files_next(scene.scratches, HERE, &number, name, &ino));
	assert_string_equal(name, longest);
	close_scene(&scene);
}

static void without_memory_a_name_stays_as_it_is(void **state)
{
	struct scene scene;
	struct inode *inode;
	uint64_t ino, k;
	int rc;

	needs_failing_allocations();
	scene = open_scene(state);
	inode = make_file(&scene, "x");
	ino = inode->ino;
	for (k = 1;; k++) {
		allocation_fails(k);
		rc = scratch_files_add(scene.scratches, HERE, "a", inode);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(kind_of(&scene, HERE, "a"), SCRATCH_NONE);
		assert_int_equal(stage_opens(inode->stage), 0);
	}
	assert_int_equal(rc, 0);
	assert_true(k > 1);
	inodes_put(scene.inodes, inode);
	/* A linked file gets further names without a link of its own. */
	inode = open_file(&scene, "a");
	allocation_fails(1);
	assert_int_equal(scratch_files_rename(scene.scratches, HERE, "a", HERE, "b"), 0);
	place(&scene, inode, "b", "c");
	assert_false(allocation_failed());
	assert_true(close_file(&scene, inode));
	assert_gone(&scene, ino);
	allocation_fails(1);
	assert_null(scratch_files_new(scene.inodes));
	assert_true(allocation_failed());
	close_scene(&scene);
}

struct crowd {
	struct scene *scene;
	int number;
};

static void *rename_some(void *argument)
{
	struct crowd *crowd = argument;
	char name[16], name2[16];

	snprintf(name, sizeof(name), "%d", crowd->number);
	for (int i = 0; i < 200; i++) {
		snprintf(name2, sizeof(name2), "%d", i % 3);
		if (scratch_files_add(crowd->scene->scratches, HERE, name, NULL) < 0)
			return argument;
		scratch_files_rename(crowd->scene->scratches, HERE, name, THERE, name2);
		kind_of(crowd->scene, THERE, name2);
		scratch_files_remove(crowd->scene->scratches, THERE, name2);
	}
	return NULL;
}

static void threads_may_change_names_at_once(void **state)
{
	struct scene scene = open_scene(state);
	struct crowd crowds[4];
	pthread_t threads[4];
	void *failed;

	for (int i = 0; i < 4; i++) {
		crowds[i] = (struct crowd){ &scene, i };
		assert_int_equal(pthread_create(&threads[i], NULL, rename_some, &crowds[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	for (int i = 0; i < 4; i++)
		assert_false(scratch_files_remove(scene.scratches, HERE,
						  (char[]){ (char)('0' + i), 0 }));
	close_scene(&scene);
	scratch_files_free(NULL);
}

UNIT_MAIN(temp_setup, temp_teardown)
