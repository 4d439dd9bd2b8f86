/* SPDX-License-Identifier: MIT */
/* test_graft.c - fs/edit/graft.c: organs that fill a slot, refusals, and the state at the next
 * mount. */
#include "fs/base/donor.h"
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "fs/util/log.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/open_model.h"

#include <limits.h>
#include <sys/wait.h>

static struct organ_file up_with(uint32_t seed)
{
	return mk_organ("blk.0.ffn_up.weight", GGML_F32, 2, small_ne, seed);
}

/* Check that the slot has the base's content, and that this can be read. */
static void assert_base(struct model *model, uint32_t tensor)
{
	struct content *content = slots_get(model->slots, tensor);
	size_t size;

	assert_null(content);
	free(read_organ(model, tensor, &size));
}

static void an_organ_that_fits_fills_the_slot(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);

	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	assert_organ(o.model, SMALL_UP, &up);
	assert_int_equal(slots_generation(o.model->slots), 1);
	assert_base(o.model, SMALL_GATE);
	assert_base(o.model, SMALL_DOWN);
	free(up.bytes);
	close_model(&o);
}

static void a_later_graft_replaces_an_earlier_one(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file first = up_with(50), second = up_with(51);

	assert_int_equal(fill(o.model, SMALL_UP, first.bytes, first.size), 0);
	assert_int_equal(fill(o.model, SMALL_UP, second.bytes, second.size), 0);
	assert_organ(o.model, SMALL_UP, &second);
	close_model(&o);
	o = open_model(state, "base.gguf");
	assert_organ(o.model, SMALL_UP, &second);
	free(first.bytes);
	free(second.bytes);
	close_model(&o);
}

static void whoever_opened_the_old_content_goes_on_reading_it(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file first = up_with(50);
	struct content *content;
	struct view *view;
	char *bytes;

	assert_int_equal(fill(o.model, SMALL_UP, first.bytes, first.size), 0);
	content = slots_get(o.model->slots, SMALL_UP);
	view = organ_file_view(o.model, SMALL_UP, content);
	content_unref(content);
	assert_int_equal(fill_up(o.model, 51), 0);
	bytes = read_view(view);
	assert_memory_equal(bytes, first.bytes, first.size);
	free(bytes);
	view_unref(view);
	free(first.bytes);
	close_model(&o);
}

static void every_graft_is_a_new_inode(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	uint64_t before = 0;

	for (uint32_t i = 0; i < 3; i++) {
		struct content *content;

		assert_int_equal(fill_up(o.model, 50), 0);
		content = slots_get(o.model->slots, SMALL_UP);
		assert_int_not_equal(content->ino, before);
		before = content->ino;
		content_unref(content);
	}
	close_model(&o);
}

static void the_name_in_the_header_does_not_have_to_agree(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file gate = mk_organ("blk.7.ffn_gate.weight", GGML_F32, 2, small_ne, 50);

	assert_int_equal(fill(o.model, SMALL_UP, gate.bytes, gate.size), 0);
	assert_organ(o.model, SMALL_UP, &gate);
	free(gate.bytes);
	close_model(&o);
}

static void the_type_may_differ_from_the_slots(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(fill_organ(o.model, SMALL_DOWN, "x", GGML_F32, 2, small_blocks, 50), 0);
	assert_int_equal(fill_organ(o.model, SMALL_DOWN, "x", GGML_Q4_0, 2, small_blocks, 50), 0);
	assert_int_equal(fill_organ(o.model, SMALL_UP, "x", GGML_F16, 2, small_ne, 50), 0);
	close_model(&o);
}

/* Check that SMALL_UP refuses these bytes, and that the log gives a reason with this word. */
static void assert_refused_bytes(struct opened *o, const void *bytes, size_t n, const char *word)
{
	const uint64_t before = slots_generation(o->model->slots), logged = log_count(o->log);

	assert_int_equal(fill(o->model, SMALL_UP, bytes, n), -EINVAL);
	assert_int_equal(slots_generation(o->model->slots), before);
	assert_int_equal(log_count(o->log), logged + 1);
	assert_true(log_says(o->log, "organs/blk_0_ffn_up.bin: graft refused: "));
	assert_true(log_says(o->log, word));
}

static void fill_with_no_organ_fails_and_keeps_slot(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);
	uint8_t *longer = mk_copy(up.bytes, up.size);

	longer = realloc(longer, up.size + 1);
	longer[up.size] = 0;
	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	assert_refused_bytes(&o, "", 0, "header");
	assert_refused_bytes(&o, "junk of some length", 19, "organ");
	assert_refused_bytes(&o, up.bytes, up.size - 1, "127");
	assert_refused_bytes(&o, longer, up.size + 1, "129");
	assert_refused_bytes(&o, up.bytes, 9, "organ");
	assert_true(log_says(o.log, "; the slot keeps its content"));
	assert_organ(o.model, SMALL_UP, &up);
	free(longer);
	free(up.bytes);
	close_model(&o);
}

static void another_shape_is_refused_unless_any_is_accepted(void **state)
{
	static const uint64_t turned[2] = { 4, 8 };
	const struct model_options options = { .any_shape = true };
	struct opened o = open_small(state, "base.gguf");
	struct organ_file organ = mk_organ("x", GGML_F32, 2, turned, 50);

	assert_refused_bytes(&o, organ.bytes, organ.size, "4x8");
	assert_base(o.model, SMALL_UP);
	close_model(&o);
	o = open_with(state, "base.gguf", &options);
	assert_int_equal(fill(o.model, SMALL_UP, organ.bytes, organ.size), 0);
	assert_organ(o.model, SMALL_UP, &organ);
	free(organ.bytes);
	close_model(&o);
}

static void a_refused_stage_can_be_mended(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);
	struct stage *stage = stage_over(o.model, SMALL_UP);

	assert_int_equal(stage_truncate(stage, 0), 0);
	assert_int_equal(stage_write(stage, up.bytes, up.size - 4, 0), 0);
	assert_int_equal(graft_fill(o.model, SMALL_UP, stage), -EINVAL);
	assert_int_equal(stage_write(stage, up.bytes + up.size - 4, 4, up.size - 4), 0);
	assert_int_equal(graft_fill(o.model, SMALL_UP, stage), 0);
	assert_organ(o.model, SMALL_UP, &up);
	stage_free(stage);
	free(up.bytes);
	close_model(&o);
}

static void writing_inside_a_file_is_a_graft_of_the_rest(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct stage *stage = stage_over(o.model, SMALL_UP);
	size_t size;
	char *before = read_organ(o.model, SMALL_UP, &size), *after;

	assert_int_equal(stage_write(stage, "\0\0\0\0", 4, size - 4), 0);
	assert_int_equal(graft_fill(o.model, SMALL_UP, stage), 0);
	stage_free(stage);
	after = read_organ(o.model, SMALL_UP, &size);
	assert_memory_equal(after, before, size - 4);
	assert_memory_equal(after + size - 4, "\0\0\0\0", 4);
	free(before);
	free(after);
	close_model(&o);
}

static void grafts_are_taken_up_by_the_next_mount(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);
	struct organ_file down = mk_organ("down", GGML_F32, 2, small_blocks, 51);

	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	assert_int_equal(fill(o.model, SMALL_DOWN, down.bytes, down.size), 0);
	assert_int_equal(fill(o.model, SMALL_DOWN, "junk", 4), -EINVAL);
	close_model(&o);
	o = open_model(state, "base.gguf");
	assert_int_equal(o.model->recovered, 2);
	assert_organ(o.model, SMALL_UP, &up);
	assert_organ(o.model, SMALL_DOWN, &down);
	assert_base(o.model, SMALL_GATE);
	free(up.bytes);
	free(down.bytes);
	close_model(&o);
}

static void without_grafts_nothing_is_logged_and_no_layer_stays(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(fill(o.model, SMALL_UP, "junk", 4), -EINVAL);
	close_model(&o);
	assert_int_equal(count_entries(in_temp(state, "state/organfs").text), 0);
	o = open_model(state, "base.gguf");
	assert_int_equal(log_count(o.log), 0);
	close_model(&o);
}

static void confirmed_graft_survives_stricter_shape_option(void **state)
{
	static const uint64_t turned[2] = { 4, 8 };
	const struct model_options options = { .any_shape = true };
	struct organ_file organ = mk_organ("x", GGML_F32, 2, turned, 50);
	struct opened o;

	save_small(state, "base.gguf");
	o = open_with(state, "base.gguf", &options);
	assert_int_equal(fill(o.model, SMALL_UP, organ.bytes, organ.size), 0);
	close_model(&o);
	o = open_model(state, "base.gguf");
	assert_organ(o.model, SMALL_UP, &organ);
	free(organ.bytes);
	close_model(&o);
}

/* The row of an existing slot becomes an unreadable graft. */
static void layer_row_that_is_no_graft_is_skipped(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);
	struct content *content;
	char layer[PATH_MAX], byte;

	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	assert_int_equal(keep_text(o.model->layer, CLASS_ORGANS, "nonsense", "text"), 0);
	assert_int_equal(keep_text(o.model->layer, CLASS_ORGANS, "blk_0_ffn_gate", "half"), 0);
	snprintf(layer, sizeof(layer), "%s", layer_path(o.model->layer));
	close_model(&o);
	o = open_model(state, "base.gguf");
	assert_organ(o.model, SMALL_UP, &up);
	content = slots_get(o.model->slots, SMALL_GATE);
	assert_string_equal(content_kind_name(content), "broken copy");
	assert_int_equal(backing_read(content->file, &byte, 1, 0), -EIO);
	content_unref(content);
	assert_int_equal(o.model->recovered, 2);
	assert_true(log_says(o.log, "nonsense.bin is left alone: "));
	assert_true(log_says(o.log, "blk_0_ffn_gate.bin: broken: "));
	close_model(&o);
	assert_int_equal(ask_rows(layer, "SELECT count(*) FROM slot"), 3);
	free(up.bytes);
}

static void a_slot_of_any_name_can_be_filled_and_found_again(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct organ_file organ = mk_organ("x", GGML_F32, 1, small_row, 50);
	struct mk_file file;
	struct opened o;

	mkgguf_tensor(m, "../../../a\nb", GGML_F32, 1, small_row);
	mkgguf_tensor(m, ".hidden", GGML_F32, 1, small_row);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	assert_int_equal(fill(o.model, 0, organ.bytes, organ.size), 0);
	assert_int_equal(fill(o.model, 1, organ.bytes, organ.size), 0);
	close_model(&o);
	o = open_model(state, "base.gguf");
	assert_organ(o.model, 0, &organ);
	assert_organ(o.model, 1, &organ);
	free(organ.bytes);
	close_model(&o);
}

static void the_time_of_the_file_is_kept(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	const struct timespec then = { 1234567890, 0 };
	struct stage *stage = stage_over(o.model, SMALL_UP);
	struct content *content;

	assert_int_equal(stage_write(stage, "", 0, 0), 0);
	stage_set_mtime(stage, &then);
	assert_int_equal(graft_fill(o.model, SMALL_UP, stage), 0);
	stage_free(stage);
	for (int i = 0; i < 2; i++) {
		content = slots_get(o.model->slots, SMALL_UP);
		assert_int_equal(content->mtime.tv_sec, then.tv_sec);
		content_unref(content);
		close_model(&o);
		o = open_model(state, "base.gguf");
	}
	close_model(&o);
}

static void a_graft_that_cannot_be_kept_leaves_the_slot(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);

	assert_int_equal(fill(o.model, SMALL_GATE, up.bytes, up.size), 0);
	database_writes_fail(ENOSPC, NULL);
	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), -ENOSPC);
	assert_true(database_write_failed());
	assert_base(o.model, SMALL_UP);
	assert_true(log_says(o.log, "organs/blk_0_ffn_up.bin: graft refused: "));
	free(up.bytes);
	close_model(&o);
}

/* Fill one slot, write half of another one, and die as in a crash. */
static _Noreturn void fill_and_die(void **state)
{
	struct opened o = open_model(state, "base.gguf");
	struct organ_file up = up_with(50);
	struct stage *stage = stage_over(o.model, SMALL_GATE);

	if (fill(o.model, SMALL_UP, up.bytes, up.size) < 0 ||
	    stage_write(stage, up.bytes, up.size / 2, 0) < 0)
		_exit(1);
	_exit(0);
}

static void after_a_crash_every_confirmed_graft_is_there_and_none_half_done(void **state)
{
	struct organ_file up = up_with(50);
	struct opened o;
	int status;
	pid_t child;

	save_small(state, "base.gguf");
	child = fork();
	assert_between(child, 0, INT_MAX);
	if (child == 0)
		fill_and_die(state);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	o = open_model(state, "base.gguf");
	assert_int_equal(o.model->recovered, 1);
	assert_organ(o.model, SMALL_UP, &up);
	assert_base(o.model, SMALL_GATE);
	free(up.bytes);
	close_model(&o);
}

#define UP "blk_0_ffn_up"

/* Does the layer's record of the origin of a slot's organ meet this condition? */
static bool origin_says(struct opened *o, const char *name, const char *condition)
{
	char sql[500];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM slot WHERE name = '%s' AND %s", name,
		 condition);
	return ask_layer(o->model->layer, sql) == 1;
}

static bool has_fingerprint(struct opened *o, const char *name, const char *fingerprint)
{
	char condition[200];

	snprintf(condition, sizeof(condition), "donor_fingerprint = '%s'", fingerprint);
	return origin_says(o, name, condition);
}

/* Fill SMALL_UP with an organ of that donor, which the function consumes. */
static void fill_from(struct opened *o, struct donor *donor)
{
	struct stage *stage = stage_over(o->model, SMALL_UP);
	struct organ_file up = up_with(50);

	assert_non_null(donor);
	assert_int_equal(stage_truncate(stage, 0), 0);
	assert_int_equal(stage_write(stage, up.bytes, up.size, 0), 0);
	assert_int_equal(graft_fill_place(o->model,
					  &(struct graft_place){ .klass = CLASS_ORGANS,
								 .name = "blk_0_ffn_up" },
					  stage, donor),
			 0);
	assert_organ(o->model, SMALL_UP, &up);
	stage_free(stage);
	donor_unref(donor);
	free(up.bytes);
}

/* Check that a graft from that GGUF records its path and its fingerprint. */
static void assert_origin(struct opened *o, const char *path, const char *fingerprint,
			  const char *of)
{
	fill_from(o, donor_from_record(path, fingerprint, "x", 1));
	assert_true(origin_says(o, UP, of) && has_fingerprint(o, UP, fingerprint));
}

/* A donor without a known GGUF is asked for it. */
static void graft_keeps_the_gguf_of_its_donor(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct backing *other;
	struct error err;

	mkgguf_tensor(m, "x", GGML_F32, 1, small_row);
	file = mkgguf_finish(m);
	save(state, "other.gguf", &file);
	mk_file_free(&file);
	other = backing_open(in_temp(state, "other.gguf").text, &err);
	assert_non_null(other);

	fill_from(&o, donor_from_backing(o.model->base, "x", 1));
	assert_true(origin_says(&o, UP, "donor_of = 'base'"));
	assert_true(has_fingerprint(&o, UP, model_fingerprint(o.model)));
	fill_from(&o, donor_from_backing(other, "x", 1));
	assert_true(origin_says(&o, UP, "donor_of = 'another'"));
	assert_true(origin_says(&o, UP, "donor_fingerprint IS NOT NULL"));
	assert_false(has_fingerprint(&o, UP, model_fingerprint(o.model)));
	backing_unref(other);
	close_model(&o);
}

/* A donor with the base's path and fingerprint is the base. */
static void a_donor_seen_from_outside_is_the_base_or_another(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	const char *base = backing_path(o.model->base), *own = model_fingerprint(o.model);
	char *fingerprint = strdup(own);

	assert_non_null(fingerprint);
	fingerprint[0] = fingerprint[0] == '0' ? '1' : '0';
	assert_origin(&o, base, own, "donor_of = 'base'");
	assert_origin(&o, base, fingerprint, "donor_of = 'another'");
	assert_origin(&o, in_temp(state, "other.gguf").text, own, "donor_of = 'another'");
	free(fingerprint);
	close_model(&o);
}

/* A file that is no GGUF has no fingerprint to find it by. */
static void a_donor_that_is_no_gguf_is_not_kept(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct backing *junk;
	struct error err;

	write_text(in_temp(state, "junk").text, "no GGUF at all, but long enough for a header");
	junk = backing_open(in_temp(state, "junk").text, &err);
	assert_non_null(junk);
	fill_from(&o, donor_from_backing(junk, "x", 1));
	assert_false(origin_says(&o, UP, "donor IS NOT NULL"));
	backing_unref(junk);
	close_model(&o);
}

static bool is_graft(struct opened *o, uint32_t tensor)
{
	struct content *content = slots_get(o->model->slots, tensor);

	content_unref(content);
	return content != NULL;
}

/* Five MiB and some bytes; the comparison takes one MiB at a time. */
static const uint64_t long_row[1] = { ((uint64_t)5 << 18) + 3 };

/* An organ equal to the base's ends a graft. The comparison covers all bytes, wherever they
 * differ. */
static void a_long_organ_is_the_bases_if_every_byte_is(void **state)
{
	const size_t bytes = long_row[0] * sizeof(float), mib = (size_t)1 << 20;
	const size_t others[] = { bytes, bytes - mib, bytes - mib + 1, 5000, 1 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct opened o;
	size_t size;
	char *organ;

	mkgguf_tensor(m, "first", GGML_F32, 1, small_row);
	mkgguf_tensor(m, "blk.0.ffn_norm.weight", GGML_F32, 1, long_row);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	organ = read_organ(o.model, 1, &size);
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		char *other = organ + (size - others[i]);

		*other ^= 1;
		assert_int_equal(fill(o.model, 1, organ, size), 0);
		assert_true(is_graft(&o, 1));
		*other ^= 1;
		assert_int_equal(fill(o.model, 1, organ, size), 0);
		assert_false(is_graft(&o, 1));
	}
	free(organ);
	close_model(&o);
}

/* Fill a slot by file name with an organ of SMALL_UP's shape and that name in its header. */
static int fill_name(struct opened *o, const char *name, const char *tensor, uint32_t seed)
{
	struct organ_file organ = mk_organ(tensor, GGML_F32, 2, small_ne, seed);
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(o->model->layer, empty);
	int rc;

	assert_non_null(stage);
	view_unref(empty);
	assert_int_equal(stage_write(stage, organ.bytes, organ.size, 0), 0);
	rc = graft_fill_name(o->model, CLASS_ORGANS, name, stage);
	stage_free(stage);
	free(organ.bytes);
	return rc;
}

/* A file name of an added slot belongs to that slot until the slot is removed. */
static void an_added_slot_takes_any_organ_until_it_is_removed(void **state)
{
	const char *name = "blk_1_ffn_up";
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(fill_name(&o, name, "token_embd.weight", 50), -EINVAL);
	assert_true(log_says(o.log, "organs/blk_1_ffn_up.bin: graft refused: no slot has that "
				    "name; the organ token_embd.weight belongs in "
				    "embed/token_embd.bin"));
	assert_int_equal(fill_name(&o, name, "blk.7.ffn_up.weight", 50), 0);
	assert_true(is_graft(&o, SMALL_TENSORS));
	assert_true(origin_says(&o, name, "tensor = CAST('blk.1.ffn_up.weight' AS BLOB)"));
	assert_int_equal(fill_name(&o, name, "token_embd.weight", 51), 0);
	assert_true(origin_says(&o, name, "tensor = CAST('blk.1.ffn_up.weight' AS BLOB)"));
	assert_int_equal(graft_remove(o.model, SMALL_TENSORS), 0);
	assert_int_equal(fill_name(&o, name, "token_embd.weight", 52), -EINVAL);
	assert_int_equal(fill_name(&o, name, "blk.7.ffn_up.weight", 53), 0);
	close_model(&o);
}

/* Two tensors with the same short name have files of their exact names. */
static void a_tensor_that_is_there_is_not_added_under_another_name(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct opened o;

	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.0.ffn.up.weight", GGML_F32, 2, small_ne);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	assert_int_equal(fill_name(&o, "blk_0_ffn_up", "blk.0.ffn_up.weight", 50), -EINVAL);
	assert_true(log_says(o.log, "the model has the tensor blk.0.ffn_up.weight under another "
				    "file name"));
	assert_int_equal(fill_name(&o, "blk.0.ffn_up.weight", "blk.0.ffn_up.weight", 50), 0);
	close_model(&o);
}

/* The base's own bytes are no graft with its time, and a graft with another time. */
static void the_bases_organ_with_another_time_is_a_graft(void **state)
{
	static const struct timespec later[] = { { 0, 0 }, { 0, 1 }, { 1, 0 } };
	struct opened o = open_small(state, "base.gguf");
	size_t size;
	char *base = read_organ(o.model, SMALL_UP, &size);

	for (size_t i = 0; i < ARRAY_LENGTH(later); i++) {
		struct timespec mtime = model_time(o.model);
		struct stage *stage = stage_over(o.model, SMALL_UP);

		mtime.tv_sec += later[i].tv_sec;
		mtime.tv_nsec ^= later[i].tv_nsec;
		assert_int_equal(stage_truncate(stage, 0), 0);
		assert_int_equal(stage_write(stage, base, size, 0), 0);
		stage_set_mtime(stage, &mtime);
		assert_int_equal(graft_fill(o.model, SMALL_UP, stage), 0);
		assert_int_equal(is_graft(&o, SMALL_UP), i > 0);
		stage_free(stage);
	}
	free(base);
	close_model(&o);
}

/* The graft has the base's data and another header. */
static void the_bases_bytes_in_another_form_are_a_graft(void **state)
{
	static const struct {
		const char *name;
		uint32_t type, dims;
		uint64_t ne[3];
		bool graft;
	} cases[] = {
		{ "blk.0.ffn_up.weight", GGML_F32, 2, { 8, 4 }, false },
		{ "blk.0.ffn_up.bias", GGML_F32, 2, { 8, 4 }, true },
		{ "blk.0.ffn_up.weigh", GGML_F32, 2, { 8, 4 }, true },
		{ "blk.0.ffn_xx.weight", GGML_F32, 2, { 8, 4 }, true },
		{ "blk.0.ffn_up.weight", GGML_I32, 2, { 8, 4 }, true },
		{ "blk.0.ffn_up.weight", GGML_F32, 2, { 4, 8 }, true },
		{ "blk.0.ffn_up.weight", GGML_F32, 1, { 32 }, true },
		{ "blk.0.ffn_up.weight", GGML_F32, 3, { 8, 4, 1 }, true },
	};
	const struct model_options options = { .any_shape = true };
	struct opened o;
	size_t size;
	char *base;

	save_small(state, "base.gguf");
	o = open_with(state, "base.gguf", &options);
	base = read_organ(o.model, SMALL_UP, &size);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct organ_file organ =
			mk_organ(cases[i].name, cases[i].type, cases[i].dims, cases[i].ne, 1);

		memcpy(organ.bytes + organ.data_at, base + size - 128, 128);
		assert_int_equal(fill(o.model, SMALL_UP, organ.bytes, organ.size), 0);
		if (is_graft(&o, SMALL_UP) != cases[i].graft)
			fail_msg("case %zu", i);
		assert_organ(o.model, SMALL_UP, &organ);
		free(organ.bytes);
	}
	free(base);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
