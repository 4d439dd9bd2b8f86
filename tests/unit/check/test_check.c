/* SPDX-License-Identifier: MIT */
/* test_check.c - fs/check/check.c and its parts, on an open model. */
#include "fs/check/check.h"
#include "fs/check/check_groups.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/log.h"
#include "tests/unit/measures.h"

static const atomic_bool no = false, yes = true;

/* Current text of .check, of the announced size; caller frees. */
static char *check_of(struct model *model)
{
	struct snapshot snapshot;
	struct view *view;
	char *text;

	assert_int_equal(model_snapshot(model, &snapshot), 0);
	view = check_view(model, &snapshot, &no);
	snapshot_release(&snapshot);
	assert_non_null(view);
	text = read_view(view);
	assert_int_equal(strlen(text), view_size(view));
	view_unref(view);
	return text;
}

#define assert_says(model, verdict, check, about) \
	unit_assert_says(model, verdict "\t" check "\t", about, __FILE__, __LINE__)

/* Check that a line with this verdict and check says this about its object. */
static void unit_assert_says(struct model *model, const char *begin, const char *about,
			     const char *file, int line)
{
	char *text = check_of(model), *copy = strdup(text), *rest = copy, *next;
	bool says = false;

	must(copy);
	while ((next = strsep(&rest, "\n")))
		says |= strncmp(next, begin, strlen(begin)) == 0 && strstr(next, about);
	if (!says)
		print_error("\"%s...%s\" is not in\n%s", begin, about, text);
	free(copy);
	free(text);
	if (!says)
		_fail(file, line);
}

static void without_a_graft_the_base_is_checked(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	char *text = check_of(o.model);

	assert_memory_equal(text, "ok\toverall\tno graft; of ", 23);
	free(text);
	assert_says(o.model, "ok", "blocks", "1 from 0 on, as block_count says");
	assert_says(o.model, "ok", "output", "tied: ");
	close_model(&o);
}

static void copy_without_donor_is_unknown(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(fill_up(o.model, 60), 0);
	assert_says(o.model, "unknown", "donor",
		    "copies: 1 graft: blk 0 ffn_up; the donor is unknown");
	assert_says(o.model, "unknown", "rope", "copies: ");
	assert_says(o.model, "ok", "shape", "copies: ");
	assert_says(o.model, "risky", "unit", "copies: ffn gate, up and down ");
	close_model(&o);
}

static void the_model_itself_can_be_the_donor(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(graft_link(o.model, SMALL_GATE, o.model, CLASS_ORGANS, "blk_0_ffn_up"), 0);
	assert_says(o.model, "ok", "donor", "this model: 1 graft: blk 0 ffn_up");
	assert_says(o.model, "ok", "norms", "this model: ");
	close_model(&o);
}

static void removed_tensor_leaves_an_incomplete_block(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	assert_says(o.model, "impossible", "overall", "0 grafts, 1 removed, 0 keys edited; of ");
	assert_says(o.model, "impossible", "complete",
		    "removed, while their blocks are there: blk 0 ffn_up");
	close_model(&o);
}

static void organ_of_another_role_is_impossible_and_logged(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(fill_organ(o.model, SMALL_UP, "blk.0.ffn_gate.weight", GGML_F32, 2,
				    small_ne, 60),
			 0);
	assert_says(o.model, "impossible", "role", "copies: 1 of 1: organs/blk_0_ffn_up.bin ");
	assert_true(
		log_says(o.log, "organs/blk_0_ffn_up.bin: its own name, blk.0.ffn_gate.weight, "));
	assert_int_equal(fill_organ(o.model, SMALL_UP, "nobody's", GGML_F32, 2, small_ne, 60), 0);
	assert_says(o.model, "unknown", "role", "organs/blk_0_ffn_up.bin");
	assert_int_equal(fill_up(o.model, 60), 0);
	assert_says(o.model, "ok", "role", "copies: ");
	close_model(&o);
}

static void an_added_block_has_to_be_whole(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(graft_link(o.model, SMALL_UP, o.model, CLASS_ORGANS, "blk_1_ffn_up"), 0);
	assert_says(o.model, "impossible", "complete", "blk 1 was added and lacks ");
	close_model(&o);
}

static void another_shape_is_impossible(void **state)
{
	const struct model_options options = { .any_shape = true };
	static const uint64_t ne[2] = { 8, 5 };
	struct opened o;

	save_small(state, "base.gguf");
	o = open_with(state, "base.gguf", &options);
	assert_non_null(o.model);
	assert_int_equal(fill_organ(o.model, SMALL_UP, "blk.0.ffn_up.weight", GGML_F32, 2, ne, 60),
			 0);
	assert_says(o.model, "impossible", "shape", "organs/blk_0_ffn_up.bin");
	close_model(&o);
}

static void donor_is_opened_at_first_read(void **state)
{
	struct opened o = open_small(state, "base.gguf"), donor = open_small(state, "donor.gguf");

	donor.model->number = 1;
	assert_int_equal(graft_link(donor.model, SMALL_UP, o.model, CLASS_ORGANS, "blk_0_ffn_up"),
			 0);
	assert_says(o.model, "ok", "architecture", "donor: ");
	assert_says(o.model, "ok", "bytes", "donor: ");
	/* The log outlives its readers, like a mount's log. */
	model_close(donor.model);
	assert_says(o.model, "ok", "architecture", "donor: ");
	write_text(in_temp(state, "donor.gguf").text, "no model any more");
	assert_says(o.model, "unknown", "architecture", "donor: ");
	close_model(&o);
	zstd_cache_unref(donor.cache);
	log_free(donor.log);
}

/* Check the name shown for the donor in that file. */
static void assert_donor_shown(void **state, const char *file, const char *title)
{
	struct opened o = open_small(state, "base.gguf"), donor = open_small(state, file);

	donor.model->number = 1;
	assert_int_equal(graft_link(donor.model, SMALL_UP, o.model, CLASS_ORGANS, "blk_0_ffn_up"),
			 0);
	assert_says(o.model, "ok", "architecture", title);
	close_model(&o);
	close_model(&donor);
}

static void a_donor_is_shown_by_a_short_name_of_plain_letters(void **state)
{
	assert_donor_shown(state, "a b\tc\x7f\xc3\xa4.gguf", "\ta?b?c???: ");
	assert_donor_shown(state, "0123456789012345678901234567890123.gguf",
			   "\t0123456789012345678901234567890123: ");
	assert_donor_shown(state, "012345678901234567890123456789012345678901234567.gguf",
			   "\t01234567890123456789012345678901...: ");
}

static void check_ends_at_unmount_and_can_be_read_again(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct snapshot snapshot;
	struct view *view;
	char byte;

	assert_int_equal(fill_up(o.model, 60), 0);
	assert_int_equal(model_snapshot(o.model, &snapshot), 0);
	view = check_view(o.model, &snapshot, &yes);
	assert_non_null(view);
	assert_int_equal(view_read(view, &byte, 1, 0), -EINTR);
	view_unref(view);
	view = check_view(o.model, &snapshot, &no);
	assert_non_null(view);
	assert_int_equal(view_read_cancellable(view, &byte, 1, 0, &yes), -EINTR);
	assert_int_equal(view_read(view, &byte, 1, 0), 1);
	assert_int_equal(byte, 'r');
	/* The text is made once. */
	assert_int_equal(view_read_cancellable(view, &byte, 1, 0, &yes), 1);
	snapshot_release(&snapshot);
	view_unref(view);
	close_model(&o);
}

static void numbers_and_slots_are_named_in_few_words(void **state)
{
	static const uint32_t slots[] = { SMALL_EMBED, SMALL_Q, SMALL_UP, SMALL_GATE };
	struct opened o = open_small(state, "base.gguf");
	const bool marked[] = { true, true, true, false, true, false, true, true };
	struct check_groups groups = { .model = o.model };
	char text[64];

	assert_string_equal(check_groups_numbers(marked, 8, text, sizeof(text)), "0-2, 4, 6-7");
	assert_string_equal(check_groups_numbers(marked, 8, text, 8), "0-2,...");
	assert_string_equal(check_groups_numbers(marked, 0, text, sizeof(text)), "");
	assert_string_equal(check_groups_slots(&groups, slots, 4, text, sizeof(text)),
			    "blk 0 attn_q, ffn_*, token_embd");
	assert_string_equal(check_groups_slots(&groups, slots + 2, 1, text, sizeof(text)),
			    "blk 0 ffn_up");
	close_model(&o);
}

static void truncated_list_ends_in_dots(void **state)
{
	static const char whole[] = "0-2, 4, 6-7";
	const bool marked[] = { true, true, true, false, true, false, true, true };
	char text[16], expected[16];

	(void)state;
	for (size_t size = 5; size <= sizeof(whole); size++) {
		snprintf(expected, sizeof(expected), "%.*s...", (int)size - 4, whole);
		assert_string_equal(check_groups_numbers(marked, 8, text, size),
				    size == sizeof(whole) ? whole : expected);
	}
}

static void block_number_of_no_model_is_not_counted(void **state)
{
	static const uint32_t slots[] = { 0, 1 };
	struct mkgguf *m = mkgguf_new(3);
	struct check_groups groups = { .model = NULL };
	struct mk_file file;
	struct opened o;
	char text[64];

	mkgguf_tensor(m, "blk.99999.ffn_up.weight", GGML_F32, 2, small_ne);
	mkgguf_tensor(m, "blk.100000.ffn_gate.weight", GGML_F32, 2, small_ne);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	groups.model = o.model;
	assert_string_equal(check_groups_slots(&groups, slots, 2, text, sizeof(text)),
			    "blk 99999 ffn_up, ffn_gate");
	close_model(&o);
}

static void assert_group(const struct check_group *group, enum group_kind kind, uint32_t n,
			 uint32_t first, uint32_t last)
{
	assert_int_equal(group->kind, kind);
	assert_int_equal(group->n, n);
	assert_int_equal(group->slots[0], first);
	assert_int_equal(group->slots[n - 1], last);
}

/* The grafts are two copies without a known donor, two organs of one file, one of another file,
 * and one of the model itself. */
static void grafts_are_grouped_by_donor_with_the_unknown_behind(void **state)
{
	struct opened o = open_small(state, "base.gguf"), one = open_small(state, "one.gguf");
	struct opened other;
	struct check_groups *groups;
	struct snapshot snapshot;
	struct model *model = o.model;

	/* The size equals that of the others; the bytes differ. */
	save_many(state, "other.gguf", 3);
	other = open_model(state, "other.gguf");
	one.model->number = 1;
	other.model->number = 2;
	assert_int_equal(fill_organ(model, SMALL_EMBED, "token_embd.weight", GGML_F32, 2, small_ne,
				    60),
			 0);
	assert_int_equal(graft_link(one.model, SMALL_Q, model, CLASS_SKELETON, "blk_0_attn_q"), 0);
	assert_int_equal(graft_link(model, SMALL_GATE, model, CLASS_ORGANS, "blk_0_ffn_up"), 0);
	assert_int_equal(graft_link(one.model, SMALL_GATE, model, CLASS_ORGANS, "blk_0_ffn_gate"),
			 0);
	assert_int_equal(graft_link(other.model, 0, model, CLASS_ORGANS, "blk_7_ffn_up"), 0);
	assert_int_equal(fill_organ(model, SMALL_DOWN, "blk.0.ffn_down.weight", GGML_Q8_0, 2,
				    small_blocks, 60),
			 0);
	assert_int_equal(graft_remove(model, SMALL_NORM), 0);
	assert_int_equal(model_snapshot(model, &snapshot), 0);
	groups = check_groups_new(model, &snapshot);
	assert_non_null(groups);
	assert_int_equal(groups->n, 4);
	assert_int_equal(groups->grafts, 6);
	assert_int_equal(groups->removed, 1);
	assert_group(&groups->groups[0], GROUP_MODEL, 2, SMALL_Q, SMALL_GATE);
	assert_string_equal(groups->groups[0].title, "one");
	assert_group(&groups->groups[1], GROUP_SELF, 1, SMALL_UP, SMALL_UP);
	assert_group(&groups->groups[2], GROUP_MODEL, 1, SMALL_TENSORS, SMALL_TENSORS);
	assert_string_equal(groups->groups[2].title, "other");
	assert_group(&groups->groups[3], GROUP_UNKNOWN, 2, SMALL_EMBED, SMALL_DOWN);
	check_groups_free(groups);
	snapshot_release(&snapshot);
	close_model(&o);
	close_model(&one);
	close_model(&other);
}

static void without_memory_there_is_no_check(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct snapshot snapshot;
	struct view *view = NULL;

	needs_failing_allocations();
	assert_int_equal(fill_up(o.model, 60), 0);
	assert_int_equal(model_snapshot(o.model, &snapshot), 0);
	for (uint64_t k = 1; !view; k++) {
		assert_between(k, 1, 1000);
		allocation_fails(k);
		view = check_view(o.model, &snapshot, &no);
		if (allocation_failed()) {
			view_unref(view);
			view = NULL;
		}
	}
	view_unref(view);
	snapshot_release(&snapshot);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
