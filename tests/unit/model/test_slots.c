/* SPDX-License-Identifier: MIT */
/* test_slots.c - fs/model/slots.c, by the invariants of slots.h. */
#include "fs/base/donor.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "tests/unit/temp_dir.h"

#include <pthread.h>

/* A content identified by its inode number. Any thread may call this. */
static struct content *make_content(void **state, uint64_t ino)
{
	struct organ organ = { .name = strdup("blk.0.ffn_up.weight"), .name_length = 19 };
	struct backing *file;
	struct content *content;

	if (!exists(in_temp(state, "organ").text))
		write_text(in_temp(state, "organ").text, "bytes");
	file = backing_open(in_temp(state, "organ").text, NULL);
	must(file);
	content = content_new(ino, &organ, file);
	must(content);
	return content;
}

/* Inode number of the content in a slot; 0 for the base's. */
static uint64_t now_in(struct slots *slots, uint32_t i)
{
	struct content *content = slots_get(slots, i);
	const uint64_t ino = content ? content->ino : 0;

	content_unref(content);
	return ino;
}

static void slots_begin_with_the_bases_content(void **state)
{
	struct slots *slots = slots_new(3);
	struct snapshot snapshot;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		assert_null(slots_get(slots, i));
	assert_int_equal(slots_generation(slots), 0);
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.n, 3);
	assert_int_equal(snapshot.grafts, 0);
	assert_null(snapshot.content[0]);
	snapshot_release(&snapshot);
	slots_free(slots);
}

static void a_model_without_tensors_has_no_slots(void **state)
{
	struct slots *slots = slots_new(0);
	struct snapshot snapshot;

	(void)state;
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.n, 0);
	snapshot_release(&snapshot);
	slots_free(slots);
	slots_free(NULL);
}

static void slot_returns_the_content_put_into_it(void **state)
{
	struct slots *slots = slots_new(3);

	slots_set(slots, 1, make_content(state, 11));
	assert_int_equal(now_in(slots, 0), 0);
	assert_int_equal(now_in(slots, 1), 11);
	slots_set(slots, 1, make_content(state, 12));
	assert_int_equal(now_in(slots, 1), 12);
	slots_set(slots, 1, NULL);
	assert_int_equal(now_in(slots, 1), 0);
	slots_free(slots);
}

/* Invariant 2. */
static void held_content_outlives_its_slot(void **state)
{
	struct slots *slots = slots_new(1);
	struct content *held;
	char bytes[5];

	slots_set(slots, 0, make_content(state, 11));
	held = slots_get(slots, 0);
	slots_set(slots, 0, make_content(state, 12));
	slots_free(slots);
	assert_int_equal(held->ino, 11);
	assert_string_equal(held->organ.name, "blk.0.ffn_up.weight");
	assert_int_equal(backing_read(held->file, bytes, 5, 0), 0);
	content_unref(held);
	content_unref(NULL);
}

/* Invariant 3. */
static void every_change_moves_the_generation_and_nothing_else_does(void **state)
{
	struct slots *slots = slots_new(2);
	struct snapshot snapshot;

	slots_set(slots, 0, make_content(state, 11));
	assert_int_equal(slots_generation(slots), 1);
	now_in(slots, 0);
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.generation, 1);
	assert_int_equal(slots_generation(slots), 1);
	slots_set(slots, 0, make_content(state, 12));
	slots_set(slots, 1, make_content(state, 13));
	slots_set(slots, 0, NULL);
	assert_int_equal(slots_generation(slots), 4);
	assert_int_equal(snapshot.generation, 1);
	snapshot_release(&snapshot);
	slots_free(slots);
}

static void a_snapshot_counts_the_grafts(void **state)
{
	struct slots *slots = slots_new(3);
	struct snapshot snapshot;

	slots_set(slots, 0, make_content(state, 11));
	slots_set(slots, 0, make_content(state, 12));
	slots_set(slots, 2, make_content(state, 13));
	slots_set(slots, 1, NULL);
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.grafts, 2);
	snapshot_release(&snapshot);
	slots_set(slots, 0, NULL);
	slots_set(slots, 0, NULL);
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.grafts, 1);
	snapshot_release(&snapshot);
	slots_free(slots);
}

static void a_snapshot_stays_as_it_was(void **state)
{
	struct slots *slots = slots_new(2);
	struct snapshot snapshot;

	slots_set(slots, 0, make_content(state, 11));
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	slots_set(slots, 0, make_content(state, 12));
	slots_set(slots, 1, make_content(state, 13));
	slots_free(slots);
	assert_int_equal(snapshot.content[0]->ino, 11);
	assert_null(snapshot.content[1]);
	assert_string_equal(snapshot.content[0]->organ.name, "blk.0.ffn_up.weight");
	snapshot_release(&snapshot);
}

static void content_has_the_mtime_of_its_file(void **state)
{
	struct content *content = make_content(state, 11);

	assert_int_equal(content->mtime.tv_sec, backing_stat(content->file)->st_mtim.tv_sec);
	assert_ptr_equal(content_ref(content), content);
	content_unref(content);
	content_unref(content);
}

/* Threads that read while others write. */
struct crowd {
	struct slots *slots;
	void **state;
	atomic_bool over, wrong;
};

#define CROWD_SLOTS 4

/* Write contents to slot i, numbered i + a multiple of CROWD_SLOTS and named alike. */
static void *write_slots(void *argument)
{
	struct crowd *crowd = argument;

	for (uint32_t k = 1; k <= 150; k++) {
		const uint32_t i = k % CROWD_SLOTS;

		slots_set(crowd->slots, i,
			  k % 7 ? make_content(crowd->state, i + k * CROWD_SLOTS) : NULL);
	}
	return NULL;
}

static bool is_sound(const struct content *content, uint32_t i)
{
	return !content || (content->ino % CROWD_SLOTS == i && content->organ.name_length == 19 &&
			    strcmp(content->organ.name, "blk.0.ffn_up.weight") == 0);
}

static void *read_slots(void *argument)
{
	struct crowd *crowd = argument;
	uint64_t before = 0;

	while (!crowd->over) {
		struct snapshot snapshot;
		uint32_t grafts = 0;

		must(slots_snapshot(crowd->slots, &snapshot) == 0);
		for (uint32_t i = 0; i < CROWD_SLOTS; i++) {
			struct content *content = slots_get(crowd->slots, i);

			if (!is_sound(content, i) || !is_sound(snapshot.content[i], i))
				crowd->wrong = true;
			grafts += snapshot.content[i] != NULL;
			content_unref(content);
		}
		if (grafts != snapshot.grafts || snapshot.generation < before)
			crowd->wrong = true;
		before = snapshot.generation;
		snapshot_release(&snapshot);
	}
	return NULL;
}

/* Invariant 1. */
static void readers_see_the_old_content_or_the_new_one(void **state)
{
	struct crowd crowd = { .slots = slots_new(CROWD_SLOTS), .state = state };
	pthread_t writers[2], readers[2];

	content_unref(make_content(state, 1));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&readers[i], NULL, read_slots, &crowd), 0);
		assert_int_equal(pthread_create(&writers[i], NULL, write_slots, &crowd), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	crowd.over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	assert_false(crowd.wrong);
	assert_int_equal(slots_generation(crowd.slots), 300);
	slots_free(crowd.slots);
}

/* ## added slots, and contents that are not in a layer */

/* A content that refers to a model's tensor, at offset 64 of make_content()'s file. */
static struct content *make_reference(void **state, uint64_t ino)
{
	const struct organ organ = { .name = "blk.\0.up", .name_length = 8, .data_size = 128 };
	struct backing *file;
	struct content *content;

	content_unref(make_content(state, 0));
	file = backing_open(in_temp(state, "organ").text, NULL);
	must(file);
	content = content_new_reference(ino, &organ, file, 64, "0123456789abcdef0123456789abcdef");
	backing_unref(file);
	must(content);
	return content;
}

static uint32_t grafts_of(struct slots *slots)
{
	struct snapshot snapshot;
	uint32_t grafts;

	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.n, slots_count(slots));
	grafts = snapshot.grafts;
	snapshot_release(&snapshot);
	return grafts;
}

static void nothing_in_a_slot_of_the_base_is_a_graft(void **state)
{
	struct slots *slots = slots_new(2);
	struct content *nothing = content_new_whiteout(), *got;

	(void)state;
	assert_true(content_is_whiteout(nothing));
	assert_false(content_is_whiteout(NULL));
	assert_string_equal(content_kind_name(nothing), "removed");
	slots_set(slots, 1, nothing);
	assert_int_equal(grafts_of(slots), 1);
	got = slots_get(slots, 1);
	assert_true(content_is_whiteout(got));
	slots_set(slots, 1, NULL);
	assert_int_equal(grafts_of(slots), 0);
	content_unref(got);
	slots_free(slots);
}

/* Invariant 4. */
static void an_added_slot_stays_and_with_nothing_in_it_is_no_graft(void **state)
{
	struct slots *slots = slots_new(2);
	struct content *got;
	uint32_t i = 77;

	assert_int_equal(slots_count(slots), 2);
	assert_int_equal(slots_add(slots, make_content(state, 11), &i), 0);
	assert_int_equal(i, 2);
	assert_int_equal(slots_count(slots), 3);
	assert_int_equal(slots_generation(slots), 1);
	assert_int_equal(now_in(slots, 2), 11);
	assert_int_equal(grafts_of(slots), 1);
	slots_set(slots, 2, content_new_whiteout());
	assert_int_equal(slots_generation(slots), 2);
	assert_int_equal(slots_count(slots), 3);
	assert_int_equal(grafts_of(slots), 0);
	got = slots_get(slots, 2);
	assert_true(content_is_whiteout(got));
	content_unref(got);
	slots_set(slots, 2, make_content(state, 12));
	assert_int_equal(grafts_of(slots), 1);
	assert_int_equal(slots_add(slots, content_new_whiteout(), &i), 0);
	assert_int_equal(i, 3);
	assert_int_equal(grafts_of(slots), 1);
	slots_free(slots);
}

static void many_slots_can_be_added(void **state)
{
	struct slots *slots = slots_new(0);
	struct snapshot before;
	uint32_t i;

	assert_int_equal(slots_add(slots, make_content(state, 1), &i), 0);
	assert_int_equal(slots_snapshot(slots, &before), 0);
	for (uint32_t k = 1; k < 300; k++) {
		assert_int_equal(slots_add(slots, make_content(state, k + 1), &i), 0);
		assert_int_equal(i, k);
	}
	for (uint32_t k = 0; k < 300; k++)
		assert_int_equal(now_in(slots, k), k + 1);
	assert_int_equal(before.n, 1);
	assert_int_equal(before.content[0]->ino, 1);
	snapshot_release(&before);
	slots_free(slots);
}

static void a_reference_is_to_a_place_in_a_model(void **state)
{
	struct content *content = make_reference(state, 11);

	assert_int_equal(content->kind, CONTENT_REFERENCE);
	assert_string_equal(content_kind_name(content), "reference");
	assert_true(content->ino == 11);
	assert_true(content->offset == 64);
	assert_int_equal(content->organ.name_length, 8);
	assert_memory_equal(content->organ.name, "blk.\0.up", 9);
	assert_string_equal(content->fingerprint, "0123456789abcdef0123456789abcdef");
	assert_null(content->broken);
	content_set_broken(content, "the model is gone");
	assert_string_equal(content->broken, "the model is gone");
	assert_string_equal(content_kind_name(content), "broken reference");
	content_unref(content);
}

static void without_memory_nothing_changes(void **state)
{
	struct content *content;
	struct slots *slots;
	struct backing *file;
	uint32_t i, n;

	needs_failing_allocations();
	for (uint64_t k = 1; k <= 2; k++) {
		allocation_fails(k);
		assert_null(slots_new(2));
		assert_true(allocation_failed());
	}
	allocation_fails(1);
	assert_null(content_new_whiteout());
	assert_true(allocation_failed());
	content = make_reference(state, 11);
	file = backing_open(in_temp(state, "organ").text, NULL);
	for (uint64_t k = 1; k <= 2; k++) {
		allocation_fails(k);
		assert_null(
			content_new_reference(1, &content->organ, file, 0, content->fingerprint));
		assert_true(allocation_failed());
	}
	backing_unref(file);
	slots = slots_new(0);
	/* The content is released if, and only if, there is no room for it. */
	for (n = 0;; n++) {
		int rc;

		content_ref(content);
		allocation_fails(1);
		rc = slots_add(slots, content, &i);
		if (allocation_failed()) {
			assert_int_equal(rc, -ENOMEM);
			break;
		}
		assert_int_equal(rc, 0);
	}
	assert_int_equal(slots_count(slots), n);
	assert_int_equal(slots_generation(slots), n);
	assert_int_equal(atomic_load(&content->refs), n + 1);
	slots_free(slots);
	assert_int_equal(atomic_load(&content->refs), 1);
	content_unref(content);
}

/* Slot 1 shows the merge of slot 0's content. */
static bool follow(void *context, uint32_t i, struct content *content, struct slot_content *showing)
{
	(void)context;
	if (i != 0 || !content)
		return false;
	showing->slot = 1;
	showing->content = content_new_merged(content->ino + 100, &content->organ,
					      backing_ref(content->file), NULL, NULL);
	must(showing->content);
	return true;
}

static void listener_shows_a_content_without_a_graft(void **state)
{
	struct slots *slots = slots_new(2);
	struct content *content;
	struct snapshot snapshot;

	slots_set_listener(slots, follow, NULL);
	slots_set(slots, 0, make_content(state, 5));
	assert_int_equal(slots_generation(slots), 1);
	assert_int_equal(now_in(slots, 0), 5);
	assert_int_equal(now_in(slots, 1), 105);
	assert_null(slots_get_own(slots, 1));
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.grafts, 2);
	assert_null(content_own(snapshot.content[1]));
	assert_string_equal(content_kind_name(snapshot.content[1]), "merged");
	snapshot_release(&snapshot);
	/* A new content of the slot ends the shown one. */
	slots_set(slots, 1, make_content(state, 6));
	assert_int_equal(now_in(slots, 1), 6);
	content = slots_get_own(slots, 1);
	assert_int_equal(content->ino, 6);
	content_unref(content);
	slots_set_shown(slots, NULL, 0);
	assert_int_equal(slots_generation(slots), 3);
	slots_free(slots);
}

static void shown_content_can_be_withdrawn(void **state)
{
	struct slots *slots = slots_new(1);
	struct content *held = make_content(state, 5);
	struct slot_content showing = {
		0, content_new_merged(9, &held->organ, backing_ref(held->file), NULL, held)
	};
	struct snapshot snapshot;

	slots_set(slots, 0, held);
	slots_set_shown(slots, &showing, 1);
	assert_int_equal(now_in(slots, 0), 9);
	showing.content = NULL;
	slots_set_shown(slots, &showing, 1);
	assert_int_equal(now_in(slots, 0), 5);
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.grafts, 1);
	snapshot_release(&snapshot);
	slots_free(slots);
}

static void a_reference_knows_its_donor_and_another_may_be_set(void **state)
{
	const struct organ organ = { .name = "blk.0.ffn_up.weight",
				     .name_length = 19,
				     .header_size = 47 };
	struct backing *file;
	struct content *content;
	size_t n;

	write_text(in_temp(state, "a.gguf").text, "bytes");
	write_text(in_temp(state, "b.bin").text, "bytes");
	file = backing_open(in_temp(state, "a.gguf").text, NULL);
	must(file);
	content = content_new_reference(1, &organ, file, 4096, "");
	must(content);
	assert_string_equal(donor_path(content->donor), backing_path(file));
	assert_string_equal(donor_tensor(content->donor, &n), organ.name);
	content_set_donor(content, donor_from_path(in_temp(state, "b.bin").text, NULL, NULL, 0));
	assert_null(donor_tensor(content->donor, &n));
	content_set_donor(content, NULL);
	assert_null(content->donor);
	content_unref(content);
	/* The target of a link is an organ file if its data begin right behind such a header. */
	content = content_new_link(1, &organ, file, 47, "there");
	must(content);
	assert_null(donor_tensor(content->donor, &n));
	content_unref(content);
	content = content_new_link(1, &organ, file, 4096, "there");
	must(content);
	assert_non_null(donor_tensor(content->donor, &n));
	content_unref(content);
	backing_unref(file);
}

/* A merge's content for a slot. */
static struct content *make_blend(void **state, uint64_t ino)
{
	static const struct organ organ = { .name = "blk.0.ffn_up.weight", .name_length = 19 };
	struct content *copy = make_content(state, 1);
	struct content *blend = content_new_blend(ino, &organ, copy->file, 5);

	must(blend);
	content_unref(copy);
	return blend;
}

static void put_beneath(struct slots *slots, uint32_t i, struct content *content)
{
	struct slot_content put = { i, content };

	slots_set_beneath(slots, &put, 1);
}

static void content_beneath_is_held_without_a_graft(void **state)
{
	struct slots *slots = slots_new(2);
	struct content *own;
	struct snapshot snapshot;

	put_beneath(slots, 1, make_blend(state, 21));
	assert_int_equal(slots_generation(slots), 1);
	assert_int_equal(now_in(slots, 1), 21);
	own = slots_get_own(slots, 1);
	assert_false(content_is_graft(own));
	assert_string_equal(content_kind_name(own), "blend");
	assert_null(own->donor);
	content_unref(own);
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.grafts, 1);
	snapshot_release(&snapshot);
	slots_set(slots, 1, make_content(state, 11));
	own = slots_get_own(slots, 1);
	assert_true(content_is_graft(own));
	content_unref(own);
	slots_set(slots, 1, NULL);
	assert_int_equal(now_in(slots, 1), 21);
	put_beneath(slots, 1, NULL);
	assert_int_equal(now_in(slots, 1), 0);
	slots_free(slots);
}

static void graft_stays_over_changed_content_beneath(void **state)
{
	struct slots *slots = slots_new(2);
	struct slot_content puts[2] = { { 0, NULL }, { 1, NULL } };

	slots_set(slots, 0, make_content(state, 11));
	slots_set(slots, 1, content_new_whiteout());
	puts[0].content = make_blend(state, 21);
	puts[1].content = make_blend(state, 22);
	slots_set_beneath(slots, puts, 2);
	assert_int_equal(now_in(slots, 0), 11);
	assert_int_equal(now_in(slots, 1), 0);
	puts[0] = (struct slot_content){ 0, NULL };
	puts[1] = (struct slot_content){ 1, NULL };
	slots_set_all(slots, puts, 2);
	assert_int_equal(now_in(slots, 0), 21);
	assert_int_equal(now_in(slots, 1), 22);
	slots_free(slots);
}

static void a_slot_of_a_merge_that_ended_holds_nothing(void **state)
{
	struct slots *slots = slots_new(1);
	struct content *own;
	struct snapshot snapshot;
	uint32_t i;

	assert_int_equal(slots_add(slots, content_new_blend_whiteout(), &i), 0);
	put_beneath(slots, i, make_blend(state, 21));
	assert_int_equal(now_in(slots, i), 21);
	put_beneath(slots, i, content_new_blend_whiteout());
	own = slots_get_own(slots, i);
	assert_true(content_is_whiteout(own));
	content_unref(own);
	assert_int_equal(slots_snapshot(slots, &snapshot), 0);
	assert_int_equal(snapshot.grafts, 0);
	snapshot_release(&snapshot);
	/* The next merge does not respect the removal of an added slot. */
	slots_set(slots, i, content_new_whiteout());
	put_beneath(slots, i, make_blend(state, 22));
	assert_int_equal(now_in(slots, i), 22);
	own = slots_get_beneath(slots, i);
	assert_int_equal(own->ino, 22);
	content_unref(own);
	slots_free(slots);
}

UNIT_MAIN(temp_setup, temp_teardown)
