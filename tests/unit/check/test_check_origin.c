/* SPDX-License-Identifier: MIT */
/* test_check_origin.c - fs/check/check_origin.c: slots with grafts of unrecorded origin. */
#include "fs/check/check_origin.h"
#include "fs/base/base.h"
#include "fs/base/donor.h"
#include "fs/model/slots.h"
#include "tests/unit/open_model.h"

#include <errno.h>

/* A model, and a donor with the same tensors in another file. */
struct scene {
	struct opened o;
	struct base donor;
};

static struct scene begin(void **state)
{
	struct scene scene = { .o = open_small(state, "base.gguf") };

	save_small(state, "donor.gguf");
	must(base_open(&scene.donor, in_temp(state, "donor.gguf").text, NULL) == 0);
	return scene;
}

static void end(struct scene *scene)
{
	base_close(&scene->donor);
	close_model(&scene->o);
}

/* Bit mask of the slots whose grafts were found. */
static unsigned found_in(struct model *model)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < slots_count(model->slots); i++) {
		struct content *content = slots_get_own(model->slots, i);

		if (content && content->found)
			found |= 1u << i;
		content_unref(content);
	}
	return found;
}

static void equal_tensors_are_grafts_without_a_record(void **state)
{
	struct scene scene = begin(state);
	struct model *model = scene.o.model;
	const unsigned all = (1u << slots_count(model->slots)) - 1;
	struct content *content;
	size_t n;

	assert_int_equal(check_origin_find(model, NULL, 0, NULL), 0);
	assert_int_equal(found_in(model), 0);
	assert_int_equal(check_origin_find(model, &scene.donor, 1, NULL), 0);
	assert_int_equal(found_in(model), all);
	content = slots_get_own(model->slots, SMALL_UP);
	assert_string_equal(donor_path(content->donor), in_temp(state, "donor.gguf").text);
	assert_string_equal(donor_tensor(content->donor, &n), "blk.0.ffn_up.weight");
	content_unref(content);
	end(&scene);
}

static void unchanged_slots_are_no_grafts(void **state)
{
	struct scene scene = begin(state);
	struct model *model = scene.o.model;
	bool unchanged[8];

	memset(unchanged, true, sizeof(unchanged));
	unchanged[SMALL_GATE] = false;
	assert_int_equal(check_origin_find(model, &scene.donor, 1, unchanged), 0);
	assert_int_equal(found_in(model), 1u << SMALL_GATE);
	end(&scene);
}

static void changed_slot_without_donor_is_of_unknown_origin(void **state)
{
	struct scene scene = begin(state);
	struct model *model = scene.o.model;
	bool unchanged[8];
	struct content *content;

	memset(unchanged, true, sizeof(unchanged));
	unchanged[SMALL_UP] = false;
	assert_int_equal(check_origin_find(model, NULL, 0, unchanged), 0);
	assert_int_equal(found_in(model), 1u << SMALL_UP);
	content = slots_get_own(model->slots, SMALL_UP);
	assert_null(content->donor);
	content_unref(content);
	end(&scene);
}

static void recorded_graft_and_removal_stay(void **state)
{
	struct scene scene = begin(state);
	struct model *model = scene.o.model;

	assert_int_equal(graft_link(model, SMALL_GATE, model, CLASS_ORGANS, "blk_0_ffn_up"), 0);
	assert_int_equal(graft_remove(model, SMALL_GATE), 0);
	assert_int_equal(check_origin_find(model, &scene.donor, 1, NULL), 0);
	assert_int_equal(found_in(model) & (1u << SMALL_UP | 1u << SMALL_GATE), 0);
	end(&scene);
}

static void failing_allocation_ends_check(void **state)
{
	struct scene scene = begin(state);

	needs_failing_allocations();
	for (uint64_t k = 1;; k++) {
		assert_between(k, 1, 1000);
		int rc;

		allocation_fails(k);
		rc = check_origin_find(scene.o.model, &scene.donor, 1, NULL);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			break;
		}
		/* A donor that cannot be recorded is unknown. */
		assert_true(rc == -ENOMEM || rc == 0);
	}
	end(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
