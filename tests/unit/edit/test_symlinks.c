/* SPDX-License-Identifier: MIT */
/* test_symlinks.c - fs/edit/symlinks.c, fs/paths/path_probe.c, graft_symlink(): targets of
 * symbolic links, now, later and at the next mount. */
#include "fs/assemble/model_view.h"
#include "fs/base/reference.h"
#include "fs/edit/symlinks.h"
#include "fs/layer/layer.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/paths/path_probe.h"
#include "fs/paths/path_resolve.h"
#include "fs/paths/probe_threads.h"
#include "fs/storage/backing.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/open_model.h"

#include <time.h>

/* A model in a mount at TEMP/mnt, with a device number that no file has. */
struct scene {
	struct opened o;
	struct model **models;
	struct symlinks *links;
};

static void set_up(void **state, struct scene *scene)
{
	scene->models = malloc(sizeof(*scene->models));
	must(scene->models);
	scene->models[0] = scene->o.model;
	scene->links = symlinks_new(scene->models, 1, false);
	must(scene->links);
	symlinks_set_mount(scene->links, in_temp(state, "mnt").text, (dev_t)-1);
	scene->o.model->links = scene->links;
}

static struct scene open_scene(void **state)
{
	struct scene scene = { .o = open_small(state, "base.gguf") };

	set_up(state, &scene);
	return scene;
}

static void close_scene(struct scene *scene)
{
	close_model(&scene->o);
	symlinks_free(scene->links);
	free(scene->models);
}

/* Mount again; no link has been followed yet. */
static void mount_again(void **state, struct scene *scene)
{
	close_scene(scene);
	scene->o = open_model(state, "base.gguf");
	set_up(state, scene);
}

static struct organ_file up_with(uint32_t seed)
{
	return mk_organ("donor.ffn_up.weight", GGML_F32, 2, small_ne, seed);
}

static void save_organ(void **state, const char *name, const struct organ_file *organ)
{
	write_file(in_temp(state, name).text, organ->bytes, organ->size);
}

static int link_to(struct scene *scene, const char *name, const char *target)
{
	return graft_symlink(scene->o.model, CLASS_ORGANS, name, target, getuid(), getgid());
}

static void assert_broken(struct scene *scene, uint32_t tensor, const char *why)
{
	struct content *content = slots_get(scene->o.model->slots, tensor);

	assert_true(content_is_link(content));
	assert_non_null(content->broken);
	if (!strstr(content->broken, why))
		fail_msg("\"%s\" is not in \"%s\"", why, content->broken);
	content_unref(content);
}

static void assert_whole(struct scene *scene, uint32_t tensor, const struct organ_file *organ)
{
	struct content *content = slots_get(scene->o.model->slots, tensor);

	assert_true(content_is_link(content));
	if (content->broken)
		fail_msg("%s", content->broken);
	content_unref(content);
	assert_organ(scene->o.model, tensor, organ);
}

static void a_link_leads_to_an_organ_file(void **state)
{
	struct scene scene = open_scene(state);
	struct organ_file up = up_with(50);

	save_organ(state, "up.bin", &up);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", in_temp(state, "up.bin").text), 0);
	assert_whole(&scene, SMALL_UP, &up);
	assert_int_equal(link_to(&scene, "blk_0_ffn_gate", "../../up.bin"), 0);
	assert_whole(&scene, SMALL_GATE, &up);
	assert_int_equal(slots_links(scene.o.model->slots), 2);
	free(up.bytes);
	close_scene(&scene);
}

static void link_into_the_mount_follows_its_target(void **state)
{
	struct scene scene = open_scene(state);
	struct organ_file up = up_with(50);
	struct organ_file other = mk_organ("x", GGML_F32, 2, small_ne, 51);

	save_organ(state, "up.bin", &up);
	assert_int_equal(link_to(&scene, "blk_0_ffn_gate", "blk_0_ffn_up.bin"), 0);
	assert_int_equal(fill(scene.o.model, SMALL_UP, other.bytes, other.size), 0);
	symlinks_refresh(scene.links, NULL);
	assert_whole(&scene, SMALL_GATE, &other);
	/* A link to a link. */
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../up.bin"), 0);
	symlinks_refresh(scene.links, scene.o.model);
	assert_whole(&scene, SMALL_GATE, &up);
	assert_int_equal(graft_remove(scene.o.model, SMALL_UP), 0);
	symlinks_refresh(scene.links, NULL);
	assert_broken(&scene, SMALL_GATE, "No such file");
	assert_int_equal(link_to(&scene, "blk_0_ffn_gate", "../.base/organs/blk_0_ffn_up.bin"), 0);
	free(up.bytes);
	free(other.bytes);
	close_scene(&scene);
}

static void link_loops_are_broken(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "blk_0_ffn_gate.bin"), 0);
	assert_int_equal(link_to(&scene, "blk_0_ffn_gate", "blk_0_ffn_up.bin"), 0);
	symlinks_refresh(scene.links, NULL);
	assert_broken(&scene, SMALL_UP, "Too many levels");
	assert_broken(&scene, SMALL_GATE, "Too many levels");
	close_scene(&scene);
}

static void broken_link_is_mended_when_its_target_appears(void **state)
{
	struct scene scene = open_scene(state);
	struct organ_file up = up_with(50);

	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../up.bin"), 0);
	assert_broken(&scene, SMALL_UP, "No such file");
	assert_true(log_says(scene.o.log, "organs/blk_0_ffn_up.bin: a link to ../../up.bin: No"));
	save_organ(state, "up.bin", &up);
	symlinks_refresh(scene.links, NULL);
	assert_whole(&scene, SMALL_UP, &up);
	must(unlink(in_temp(state, "up.bin").text) == 0);
	symlinks_refresh(scene.links, NULL);
	assert_broken(&scene, SMALL_UP, "No such file");
	free(up.bytes);
	close_scene(&scene);
}

static void link_to_unfit_target_is_refused(void **state)
{
	struct scene scene = open_scene(state);
	const uint64_t ne[2] = { 4, 8 };
	struct organ_file turned = mk_organ("x", GGML_F32, 2, ne, 50);

	save_organ(state, "turned.bin", &turned);
	write_text(in_temp(state, "junk").text, "junk");
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../junk"), -EINVAL);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../turned.bin"), -EINVAL);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", ".."), 0);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../.."), -EINVAL);
	assert_int_equal(link_to(&scene, "nonsense", "../../nothing"), -ENOENT);
	assert_int_equal(slots_links(scene.o.model->slots), 1);
	assert_broken(&scene, SMALL_UP, "No such file");
	free(turned.bytes);
	close_scene(&scene);
}

static void a_new_slot_is_like_that_of_another_block(void **state)
{
	struct scene scene = open_scene(state);
	uint32_t added;

	assert_int_equal(link_to(&scene, "blk_1_ffn_up", "/nowhere"), 0);
	assert_true(model_find_slot(scene.o.model, CLASS_ORGANS, "blk_1_ffn_up", 12, &added));
	assert_broken(&scene, added, "No such file");
	assert_string_equal(scene.o.model->places[added].tensor, "blk.1.ffn_up.weight");
	mount_again(state, &scene);
	assert_true(model_find_slot(scene.o.model, CLASS_ORGANS, "blk_1_ffn_up", 12, &added));
	assert_broken(&scene, added, "was not followed yet");
	symlinks_refresh(scene.links, NULL);
	assert_broken(&scene, added, "No such file");
	close_scene(&scene);
}

static void next_mount_has_the_links(void **state)
{
	struct scene scene = open_scene(state);
	struct organ_file up = mk_organ("blk.0.ffn_gate.weight", GGML_F32, 2, small_ne, 50);
	struct timespec made = { 0 };
	struct content *content;

	save_organ(state, "up.bin", &up);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../up.bin"), 0);
	assert_int_equal(graft_move(scene.o.model, SMALL_UP, CLASS_ORGANS, "blk_0_ffn_gate"), 0);
	assert_int_equal(graft_link(scene.o.model, SMALL_GATE, scene.o.model, CLASS_ORGANS,
				    "blk_1_ffn_gate"),
			 0);
	for (int i = 0; i < 2; i++) {
		assert_whole(&scene, SMALL_GATE, &up);
		content = slots_get(scene.o.model->slots, SMALL_GATE);
		assert_string_equal(content->target, "../../up.bin");
		assert_int_equal(content->uid, getuid());
		if (i == 0)
			made = content->mtime;
		assert_int_equal(content->mtime.tv_sec, made.tv_sec);
		assert_int_equal(content->mtime.tv_nsec, made.tv_nsec);
		content_unref(content);
		content = slots_get(scene.o.model->slots, SMALL_UP);
		assert_true(content_is_whiteout(content));
		content_unref(content);
		assert_int_equal(slots_links(scene.o.model->slots), 2);
		mount_again(state, &scene);
		symlinks_refresh(scene.links, NULL);
	}
	free(up.bytes);
	close_scene(&scene);
}

static void look_with_same_result_changes_nothing(void **state)
{
	struct scene scene = open_scene(state);
	struct organ_file up = up_with(50);
	uint64_t generation;

	save_organ(state, "up.bin", &up);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../up.bin"), 0);
	assert_int_equal(link_to(&scene, "blk_0_ffn_gate", "/nowhere"), 0);
	generation = slots_generation(scene.o.model->slots);
	for (int i = 0; i < 3; i++)
		symlinks_refresh(scene.links, NULL);
	assert_int_equal(slots_generation(scene.o.model->slots), generation);
	free(up.bytes);
	close_scene(&scene);
}

/* Make a path to the organ through a link that the test can remove, unlike the organ's own path. */
static void make_way(void **state, const char *to)
{
	unlink(in_temp(state, "way").text);
	must(symlink(to, in_temp(state, "way").text) == 0);
}

static void last_good_target_is_used_when_its_path_is_gone(void **state)
{
	struct scene scene = open_scene(state);
	struct organ_file up = up_with(50), other = up_with(51);
	uint64_t generation;

	save_organ(state, "up.bin", &up);
	make_way(state, "up.bin");
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../way"), 0);
	assert_int_equal(link_to(&scene, "blk_0_ffn_gate", "blk_0_ffn_up.bin"), 0);
	generation = slots_generation(scene.o.model->slots);
	unlink(in_temp(state, "way").text);
	symlinks_refresh(scene.links, NULL);
	symlinks_refresh_last(scene.links);
	assert_whole(&scene, SMALL_UP, &up);
	assert_whole(&scene, SMALL_GATE, &up);
	assert_int_equal(slots_generation(scene.o.model->slots), generation);
	for (int i = 0; i < 2; i++) {
		mount_again(state, &scene);
		symlinks_refresh(scene.links, NULL);
		assert_whole(&scene, SMALL_UP, &up);
		assert_whole(&scene, SMALL_GATE, &up);
	}
	/* The path wins; the layer then records its target for the next mount too. */
	save_organ(state, "other.bin", &other);
	make_way(state, "other.bin");
	symlinks_refresh(scene.links, NULL);
	assert_whole(&scene, SMALL_UP, &other);
	unlink(in_temp(state, "way").text);
	mount_again(state, &scene);
	symlinks_refresh(scene.links, NULL);
	assert_whole(&scene, SMALL_UP, &other);
	assert_int_equal(graft_move(scene.o.model, SMALL_UP, CLASS_ORGANS, "blk_0_ffn_gate"), 0);
	mount_again(state, &scene);
	symlinks_refresh(scene.links, NULL);
	assert_whole(&scene, SMALL_GATE, &other);
	free(up.bytes);
	free(other.bytes);
	close_scene(&scene);
}

static void replaced_last_good_target_is_not_used(void **state)
{
	struct scene scene = open_scene(state);
	struct organ_file up = up_with(50), other = up_with(51);

	save_organ(state, "up.bin", &up);
	make_way(state, "up.bin");
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../way"), 0);
	unlink(in_temp(state, "way").text);
	save_organ(state, "new.bin", &other);
	must(rename(in_temp(state, "new.bin").text, in_temp(state, "up.bin").text) == 0);
	for (int i = 0; i < 2; i++) {
		symlinks_refresh(scene.links, NULL);
		assert_broken(&scene, SMALL_UP, "way: No such file or directory");
		mount_again(state, &scene);
	}
	/* The organ is back. */
	save_organ(state, "up.bin", &up);
	symlinks_refresh(scene.links, NULL);
	assert_whole(&scene, SMALL_UP, &up);
	make_way(state, "../nothing/up.bin");
	symlinks_refresh(scene.links, NULL);
	assert_whole(&scene, SMALL_UP, &up);
	/* A target that is no organ is an error, unlike a missing target. */
	save_organ(state, "way2", &up);
	must(truncate(in_temp(state, "way2").text, 3) == 0);
	make_way(state, "way2");
	symlinks_refresh(scene.links, NULL);
	assert_broken(&scene, SMALL_UP, "header of an organ");
	free(up.bytes);
	free(other.bytes);
	close_scene(&scene);
}

/* Does the layer record the organ that the slot's link led to? */
static bool is_seen(struct scene *scene)
{
	return ask_layer(scene->o.model->layer,
			 "SELECT count(*) FROM slot WHERE name = 'blk_0_ffn_up' AND reference IS "
			 "NOT NULL") == 1;
}

static void organ_that_was_seen_goes_with_the_link(void **state)
{
	struct scene scene = open_scene(state);
	struct organ_file up = up_with(50);

	save_organ(state, "up.bin", &up);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../up.bin"), 0);
	assert_true(is_seen(&scene));
	assert_int_equal(fill_up(scene.o.model, 52), 0);
	assert_false(is_seen(&scene));
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../up.bin"), 0);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "/nowhere"), 0);
	assert_false(is_seen(&scene));
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../up.bin"), 0);
	assert_int_equal(graft_remove(scene.o.model, SMALL_UP), 0);
	assert_false(is_seen(&scene));
	free(up.bytes);
	close_scene(&scene);
}

static void deleted_target_is_broken_at_last_refresh(void **state)
{
	struct scene scene = open_scene(state);
	struct organ_file up = up_with(50);

	save_organ(state, "up.bin", &up);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "../../up.bin"), 0);
	assert_int_equal(link_to(&scene, "blk_0_ffn_gate", in_temp(state, "mnt/x").text), 0);
	unlink(in_temp(state, "up.bin").text);
	symlinks_refresh_last(scene.links);
	assert_broken(&scene, SMALL_UP, "No such file");
	free(up.bytes);
	close_scene(&scene);
}

static void a_model_with_a_broken_link_is_not_assembled(void **state)
{
	struct scene scene = open_scene(state);
	struct snapshot snapshot;
	struct error err = { 0 };
	struct view *view;
	char byte;

	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "/nowhere"), 0);
	must(slots_snapshot(scene.o.model->slots, &snapshot) == 0);
	assert_null(model_view(scene.o.model, &snapshot, true, &err));
	assert_non_null(strstr(err.text, "organs/blk_0_ffn_up.bin: a link to /nowhere"));
	view = model_view(scene.o.model, &snapshot, false, &err);
	assert_non_null(view);
	assert_int_equal(view_read(view, &byte, 1, 0), 1);
	view_unref(view);
	snapshot_release(&snapshot);
	close_scene(&scene);
}

static void a_long_target_is_cut_in_the_log(void **state)
{
	struct scene scene = open_scene(state);
	char target[102] = "/nowhere", text[128];

	memset(target + 8, 'x', 93);
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", target), 0);
	snprintf(text, sizeof(text), "a link to %.100s...: No", target);
	assert_true(log_says(scene.o.log, text));
	target[100] = '\0';
	assert_int_equal(link_to(&scene, "blk_0_ffn_gate", target), 0);
	snprintf(text, sizeof(text), "a link to %s: No", target);
	assert_true(log_says(scene.o.log, text));
	close_scene(&scene);
}

/* ## look() */

static struct timespec in_seconds(time_t seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	return until;
}

static void many_places_are_looked_at_together(void **state)
{
	const struct path_resolve_mount own = { .point = NULL };
	const struct timespec until = in_seconds(30);
	const struct path good = in_temp(state, "up.bin"), none = in_temp(state, "none");
	struct organ_file up = up_with(50);
	struct path_probe places[100];
	struct path_probe_result found[ARRAY_LENGTH(places)];
	struct probe_threads *probes = probe_threads_new();

	save_organ(state, "up.bin", &up);
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++)
		places[i] = (struct path_probe){ .path = i % 2 ? good.text : none.text,
						 .uid = getuid(),
						 .gid = getgid() };
	path_probe(probes, &own, places, ARRAY_LENGTH(places), &until, found);
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		assert_int_equal(found[i].err.code, i % 2 ? 0 : ENOENT);
		if (i % 2) {
			assert_string_equal(found[i].organ.name, "donor.ffn_up.weight");
			assert_int_equal(found[i].offset, up.data_at);
		}
		path_probe_result_release(&found[i]);
	}
	probe_threads_unref(probes);
	free(up.bytes);
}

static void look_ends_at_its_deadline(void **state)
{
	const struct path_resolve_mount own = { .point = NULL };
	const struct timespec past = { 0 };
	const struct path file = in_temp(state, "file");
	const struct path_probe place = { .path = file.text, .uid = getuid(), .gid = getgid() };
	struct path_probe_result found;
	struct probe_threads *probes = probe_threads_new();

	/* The answer may or may not be in time; a late answer must not become another one. */
	for (int i = 0; i < 200; i++) {
		path_probe(probes, &own, &place, 1, &past, &found);
		assert_true(found.err.code == ETIMEDOUT || found.err.code == ENOENT);
		path_probe_result_release(&found);
	}
	probe_threads_unref(probes);
}

/* A layer may contain any name. */
static void recorded_name_may_have_any_bytes(void **state)
{
	const struct path_resolve_mount own = { .point = NULL };
	const struct timespec until = in_seconds(30);
	const struct path path = in_temp(state, "up.bin");
	struct probe_threads *probes = probe_threads_new();
	struct organ_file up = up_with(50);
	struct organ organ = { .name = "a\0b", .name_length = 3, .ne = { 1, 1, 1, 1 } };
	struct path_probe place = { .uid = getuid(), .gid = getgid(), .offset = 7 };
	struct path_probe_result found;

	save_organ(state, "up.bin", &up);
	organ.data_size = 4;
	place.file = backing_open(path.text, NULL);
	place.seen = reference_print(path.text, "0123456789abcdef0123456789abcdef", &organ,
				     REFERENCE_OF_UNKNOWN);
	must(place.file && place.seen && probes);
	path_probe(probes, &own, &place, 1, &until, &found);
	assert_int_equal(found.err.code, 0);
	assert_ptr_equal(found.file, place.file);
	assert_int_equal(found.offset, 7);
	assert_int_equal(found.organ.name_length, 3);
	assert_memory_equal(found.organ.name, "a\0b", 4);
	path_probe_result_release(&found);
	backing_unref(place.file);
	free((char *)place.seen);
	probe_threads_unref(probes);
	free(up.bytes);
}

static void link_to_added_slot_fails_when_slots_are_exhausted(void **state)
{
	struct scene scene = open_scene(state);
	struct model *model = scene.o.model;

	for (uint32_t i = 0; i < MODEL_ADDED_MAX; i++) {
		char name[32], tensor[32];

		snprintf(name, sizeof(name), "blk_%u_ffn_up", i + 2);
		snprintf(tensor, sizeof(tensor), "blk.%u.ffn_up.weight", i + 2);
		assert_int_equal(model_add_slot(model, CLASS_ORGANS, name, tensor,
						(uint32_t)strlen(tensor), content_new_whiteout()),
				 0);
	}
	/* The layer exists before the failure. */
	assert_int_equal(link_to(&scene, "blk_0_ffn_up", "/nowhere"), 0);
	assert_int_equal(link_to(&scene, "blk_1_ffn_up", "/nowhere"), -ENOSPC);
	assert_int_equal(ask_layer(model->layer, "SELECT count(*) FROM slot"), 1);
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
