/* SPDX-License-Identifier: MIT */
/* test_check_donor.c - fs/check/check_donor.c: findings on a donor's bytes and norms, with
 * models whose norms are known. */
#include "fs/base/donor.h"
#include "fs/check/check.h"
#include "fs/edit/stage.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "tests/unit/open_model.h"

#define BLOCKS 2u

/* Tensors of a block, in file order. */
enum { NORM_Q, Q, K, NORM_UP, UP, PER_BLOCK };

static const char *const roles[PER_BLOCK] = { "attn_norm", "attn_q", "attn_k", "ffn_norm",
					      "ffn_up" };

/* Bytes of a matrix of 128 x 128 floats, of which the check compares four spots of 4 KiB. */
#define MATRIX ((size_t)65536)

/* Make a model whose norms are vectors of these values, the attention norm first in each block. */
static struct opened make(void **state, const char *name, const float norms[2 * BLOCKS])
{
	static const uint64_t matrix[2] = { 128, 128 }, row[1] = { 128 };
	struct mkgguf *m = mkgguf_new(3);
	char names[BLOCKS * PER_BLOCK][32];
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_u32(m, "llama.block_count", BLOCKS);
	for (uint32_t i = 0; i < BLOCKS * PER_BLOCK; i++) {
		const uint32_t part = i % PER_BLOCK;
		const bool norm = part == NORM_Q || part == NORM_UP;

		snprintf(names[i], sizeof(names[i]), "blk.%u.%s.weight", i / PER_BLOCK,
			 roles[part]);
		mkgguf_tensor(m, names[i], GGML_F32, norm ? 1 : 2, norm ? row : matrix);
	}
	file = mkgguf_finish(m);
	/* Sizes are multiples of the alignment. */
	for (uint32_t i = 0; i < 2 * BLOCKS; i++) {
		const size_t before = (i + 1) / 2 * 2 * MATRIX + i / 2 * MATRIX + i * 512;

		for (size_t k = 0; k < 128; k++)
			memcpy(file.bytes + file.data_at + before + 4 * k, &norms[i], 4);
	}
	save(state, name, &file);
	mk_file_free(&file);
	return open_model(state, name);
}

static void assert_says(struct model *model, const char *line)
{
	const atomic_bool no = false;
	struct snapshot snapshot;
	struct view *view;
	char *text;
	bool says;

	assert_int_equal(model_snapshot(model, &snapshot), 0);
	view = check_view(model, &snapshot, &no);
	snapshot_release(&snapshot);
	assert_non_null(view);
	text = read_view(view);
	view_unref(view);
	says = strstr(text, line) != NULL;
	if (!says)
		print_error("\"%s\" is not in\n%s", line, text);
	free(text);
	assert_true(says);
}

struct scene {
	struct opened o, donor;
};

static const float ones[] = { 1, 1, 1, 1 };

static struct scene begin(void **state, const float host[2 * BLOCKS], const float donor[2 * BLOCKS])
{
	struct scene scene = { make(state, "base.gguf", host), make(state, "donor.gguf", donor) };

	scene.donor.model->number = 1;
	return scene;
}

static void end(struct scene *scene)
{
	close_model(&scene->o);
	close_model(&scene->donor);
}

/* Graft tensor part of the donor's block from into block to. */
static void graft(const struct scene *scene, uint32_t part, uint32_t from, uint32_t to)
{
	const enum organ_class klass = part == UP ? CLASS_ORGANS : CLASS_SKELETON;
	char name[32];

	snprintf(name, sizeof(name), "blk_%u_%s", to, roles[part]);
	assert_int_equal(graft_link(scene->donor.model, from * PER_BLOCK + part, scene->o.model,
				    klass, name),
			 0);
}

static void norms_are_compared_in_grafted_blocks_only(void **state)
{
	static const float norms[] = { 3, .25f, 1, 1.5f };
	struct scene scene = begin(state, ones, norms);

	graft(&scene, UP, 1, 1);
	assert_says(scene.o.model, "\nok\tnorms\tdonor: those before the grafts are within 2 times "
				   "apart: at most in blk 1, where the donor's ffn_norm is 1.50 "
				   "times this one's");
	graft(&scene, Q, 0, 1);
	assert_says(scene.o.model, "\nrisky\tnorms\tdonor: those before the grafts are more than 2 "
				   "times apart: at most in blk 1, where the donor's attn_norm is "
				   "3.00 times this one's");
	graft(&scene, UP, 0, 0);
	assert_says(scene.o.model, "at most in blk 0, where the donor's ffn_norm is 0.25 times");
	end(&scene);
}

static void the_worst_of_several_in_one_block_counts(void **state)
{
	static const float norms[] = { 2, 1, 5, 1 };
	struct scene scene = begin(state, ones, norms);

	graft(&scene, Q, 0, 1);
	assert_says(scene.o.model, "\nok\tnorms\tdonor: those before the grafts are within 2 times "
				   "apart: at most in blk 1, where the donor's attn_norm is 2.00");
	graft(&scene, K, 1, 1);
	assert_says(scene.o.model, "at most in blk 1, where the donor's attn_norm is 5.00 times");
	end(&scene);
}

static void host_norm_is_the_current_one(void **state)
{
	static const float norms[] = { 4, 1, 1, 1 };
	struct scene scene = begin(state, ones, norms);

	graft(&scene, Q, 0, 0);
	assert_says(scene.o.model, "blk 0, where the donor's attn_norm is 4.00 times");
	assert_int_equal(graft_link(scene.donor.model, NORM_Q, scene.o.model, CLASS_NORM,
				    "blk_0_attn_norm"),
			 0);
	assert_says(scene.o.model, "blk 0, where the donor's attn_norm is 1.00 times");
	assert_int_equal(graft_remove(scene.o.model, NORM_Q), 0);
	assert_says(scene.o.model, "\nunknown\tnorms\tdonor: no norms before the grafts in both");
	end(&scene);
}

/* A copy of the donor's ffn_up of block 0 with bytes changed by exclusive or, at these offsets
 * from the begin of its data. */
struct change {
	ptrdiff_t at;
	uint8_t bits;
};

/* Donor that stands for the donor's ffn_up of block 0. */
static struct donor *donor_of_up(const struct scene *scene)
{
	static const char tensor[] = "blk.0.ffn_up.weight";

	return donor_from_backing(scene->donor.model->base, tensor, sizeof(tensor) - 1);
}

/* Fill the slot with a changed copy of the donor's organ; consumes donor. */
static void copy_as_from(const struct scene *scene, struct donor *donor,
			 const struct change *changes, size_t n)
{
	struct model *model = scene->o.model;
	struct stage *stage = stage_over(model, UP);
	struct content *was = slots_get_own(model->slots, UP);
	bool moved_on;
	size_t size;
	char *bytes = read_organ(scene->donor.model, UP, &size);

	must(donor && size > MATRIX);
	for (size_t i = 0; i < n; i++)
		bytes[(ptrdiff_t)(size - MATRIX) + changes[i].at] ^= (char)changes[i].bits;
	assert_int_equal(stage_truncate(stage, 0), 0);
	assert_int_equal(stage_write(stage, bytes, size, 0), 0);
	assert_int_equal(graft_fill_over(model, UP, was, stage, donor, &moved_on), 0);
	content_unref(was);
	stage_free(stage);
	donor_unref(donor);
	free(bytes);
}

static void copy_with(const struct scene *scene, const struct change *changes, size_t n)
{
	copy_as_from(scene, donor_of_up(scene), changes, n);
}

static void copy_changed(const struct scene *scene, ptrdiff_t at, uint8_t bits)
{
	copy_with(scene, &(struct change){ at, bits }, 1);
}

static void a_copy_is_compared_with_its_donor_at_four_spots(void **state)
{
	static const ptrdiff_t seen[] = { 0, 4095, 20480, 24575, 40960, 45055, 61440, 65535 };
	static const ptrdiff_t unseen[] = { 4096, 20479, 24576, 61439 };
	struct scene scene = begin(state, ones, ones);

	for (size_t i = 0; i < ARRAY_LENGTH(seen); i++) {
		copy_changed(&scene, seen[i], 1);
		assert_says(scene.o.model,
			    "\nunknown\tbytes\tdonor: not the donor's bytes, so other "
			    "checks may not hold for them: blk 0 ffn_up");
	}
	for (size_t i = 0; i < ARRAY_LENGTH(unseen); i++) {
		copy_changed(&scene, unseen[i], 1);
		assert_says(scene.o.model,
			    "\nok\tbytes\tdonor: the donor's, as far as samples show");
	}
	end(&scene);
}

/* The header ends with the axes, of 8 bytes each, and the type. */
static void the_same_bytes_of_another_type_or_shape_are_not_the_donor_s(void **state)
{
	static const struct change shape[] = { { -20, 128 ^ 64 }, { -12, 128 }, { -11, 1 } };
	struct scene scene = begin(state, ones, ones);

	copy_changed(&scene, -4, GGML_F32 ^ GGML_I32);
	assert_says(scene.o.model, "\nunknown\tbytes\tdonor: not the donor's");
	copy_with(&scene, shape, ARRAY_LENGTH(shape));
	assert_says(scene.o.model, "organs/blk_0_ffn_up.bin is 64x256, the slot 128x128");
	assert_says(scene.o.model, "\nunknown\tbytes\tdonor: not the donor's");
	end(&scene);
}

static void donor_bytes_made_by_a_view_are_recognised(void **state)
{
	struct scene scene = begin(state, ones, ones);
	struct donor *of = donor_of_up(&scene);

	copy_as_from(&scene, donor_from_view(of, "purified"), &(struct change){ 0, 1 }, 1);
	donor_unref(of);
	assert_says(scene.o.model, "\nok\tbytes\tdonor: the donor's, made by a view of them");
	graft(&scene, Q, 0, 0);
	assert_says(scene.o.model,
		    "\nok\tbytes\tdonor: the donor's, or made by a view, as far as samples show");
	end(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
