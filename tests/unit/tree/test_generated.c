/* SPDX-License-Identifier: MIT */
/* test_generated.c - fs/tree/generated.c, with the files of fs/tree/model_files.c: a file is made
 * once for each state, and does not change. */
#include "fs/files/assembly.h"
#include "fs/model/inode.h"
#include "fs/tree/generated.h"
#include "fs/tree/inodes.h"
#include "fs/tree/model_files.h"
#include "fs/util/log.h"
#include "measure/sample.h"
#include "tests/unit/open_model.h"

/* A model as in a mount, allocated because its generated files point to it. */
struct scene {
	struct opened o;
	struct model **models;
	struct inodes *inodes;
	struct model_files *mounted;
	struct generated *generated;
};

static struct scene open_scene(void **state)
{
	struct scene scene = { .o = open_small(state, "base.gguf") };
	struct model_files_params params = { .samples = SAMPLE_DEFAULT };

	scene.models = malloc(sizeof(*scene.models));
	must(scene.models);
	scene.models[0] = scene.o.model;
	scene.inodes = inodes_new(scene.models, 1, false);
	scene.mounted = malloc(sizeof(*scene.mounted));
	must(scene.inodes && scene.mounted);
	params.inodes = scene.inodes;
	must(model_files_init(scene.mounted, scene.o.model, &params) == 0);
	scene.generated = scene.mounted->generated;
	return scene;
}

static void close_scene(struct scene *scene)
{
	model_files_release(scene->mounted);
	free(scene->mounted);
	inodes_free(scene->inodes);
	free(scene->models);
	close_model(&scene->o);
}

static struct inode *node_of(struct scene *scene, enum generated_kind kind)
{
	int rc = 0;
	struct inode *inode = generated_inode(scene->generated, kind, &rc);

	assert_non_null(inode);
	assert_int_equal(rc, 0);
	assert_int_equal(inode->index, kind);
	return inode;
}

static uint64_t ino_of(struct scene *scene, enum generated_kind kind)
{
	struct inode *inode = node_of(scene, kind);
	const uint64_t ino = inode->ino;

	inodes_put(scene->inodes, inode);
	return ino;
}

static void each_generated_file_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(generated_name(GENERATED_MANIFEST), "manifest.json");
	assert_string_equal(generated_name(GENERATED_MODEL), "model.gguf");
	assert_string_equal(generated_name(GENERATED_ASSEMBLE), ".assemble");
	assert_string_equal(generated_name(GENERATED_GRAFTS), ".grafts");
	assert_string_equal(generated_name(GENERATED_LOG), ".log");
	assert_string_equal(generated_name(GENERATED_PICTURE), "theta.svg");
	assert_string_equal(generated_name(GENERATED_THETA), ".theta");
	assert_string_equal(generated_name(GENERATED_TABLE), ".table");
	assert_string_equal(generated_name(GENERATED_CHECK), ".check");
	assert_string_equal(generated_name(GENERATED_UNDO), ".undo");
	assert_string_equal(generated_name(GENERATED_CHECKSUMS), "checksums.xxh128");
	assert_string_equal(generated_name(GENERATED_GGUF_HASH), "gguf-hash.xxh64");
	for (enum generated_kind kind = GENERATED_CLASS_THETA; kind < GENERATED_LOSSES; kind++)
		assert_string_equal(generated_name(kind), ".theta");
	for (enum generated_kind kind = GENERATED_LOSSES; kind < GENERATED_KINDS; kind++)
		assert_string_equal(generated_name(kind), "loss.tsv");
}

static void unchanged_file_keeps_its_inode(void **state)
{
	struct scene scene = open_scene(state);

	for (enum generated_kind kind = 0; kind < GENERATED_KINDS; kind++)
		assert_true(ino_of(&scene, kind) == ino_of(&scene, kind));
	close_scene(&scene);
}

static void graft_makes_new_files_and_old_ones_stay_readable(void **state)
{
	struct scene scene = open_scene(state);
	struct mk_file base = mk_small();
	struct inode *before = node_of(&scene, GENERATED_MODEL), *after;
	const uint64_t manifest = ino_of(&scene, GENERATED_MANIFEST);
	const uint64_t log = ino_of(&scene, GENERATED_LOG);
	char *bytes;

	assert_int_equal(fill_up(scene.o.model, 50), 0);
	after = node_of(&scene, GENERATED_MODEL);
	assert_ptr_not_equal(before, after);
	assert_true(before->ino != after->ino);
	assert_true(manifest != ino_of(&scene, GENERATED_MANIFEST));
	assert_true(log == ino_of(&scene, GENERATED_LOG));
	bytes = read_view(before->view);
	assert_memory_equal(bytes, base.bytes, base.size);
	free(bytes);
	bytes = read_view(after->view);
	assert_memory_not_equal(bytes, base.bytes, base.size);
	free(bytes);
	inodes_put(scene.inodes, before);
	inodes_put(scene.inodes, after);
	mk_file_free(&base);
	close_scene(&scene);
}

static void before_first_graft_files_have_mtime_of_organs(void **state)
{
	struct scene scene = open_scene(state);
	struct inode *inode = node_of(&scene, GENERATED_MODEL);
	const time_t base = model_time(scene.o.model).tv_sec;

	assert_int_equal(inode->mtime.tv_sec, base);
	assert_true(inode->ino < (INODE_NEW | INODE_FIRST));
	inodes_put(scene.inodes, inode);
	assert_int_equal(fill_up(scene.o.model, 50), 0);
	inode = node_of(&scene, GENERATED_MODEL);
	assert_int_not_equal(inode->mtime.tv_sec, base);
	inodes_put(scene.inodes, inode);
	close_scene(&scene);
}

static void a_message_makes_a_new_log(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t before = ino_of(&scene, GENERATED_LOG);
	struct inode *inode;
	char *text;

	log_add(scene.o.log, "something was refused");
	assert_true(before != ino_of(&scene, GENERATED_LOG));
	inode = node_of(&scene, GENERATED_LOG);
	text = read_view(inode->view);
	assert_non_null(strstr(text, "something was refused\n"));
	free(text);
	inodes_put(scene.inodes, inode);
	close_scene(&scene);
}

static void an_assembly_makes_a_new_report(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t before = ino_of(&scene, GENERATED_ASSEMBLE);
	struct inode *inode;
	char *text;

	assert_int_equal(assembly_run(scene.mounted->assembly, "", REPLACE_MARKED, 0, NULL), 0);
	inode = node_of(&scene, GENERATED_ASSEMBLE);
	assert_true(before != inode->ino);
	text = read_view(inode->view);
	assert_non_null(strstr(text, "assembled: "));
	free(text);
	inodes_put(scene.inodes, inode);
	close_scene(&scene);
}

static void forgotten_outdated_inode_is_freed(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t before = ino_of(&scene, GENERATED_GRAFTS);
	struct inode *inode;

	assert_int_equal(fill_up(scene.o.model, 50), 0);
	inode = inodes_get(scene.inodes, before);
	assert_non_null(inode);
	inodes_put(scene.inodes, inode);
	ino_of(&scene, GENERATED_GRAFTS);
	assert_null(inodes_get(scene.inodes, before));
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
