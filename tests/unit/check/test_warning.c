/* SPDX-License-Identifier: MIT */
/* test_warning.c - fs/check/warning.c: the verdict of .check as one line. */
#include "fs/base/donor.h"
#include "fs/check/warning.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "tests/unit/open_model.h"

static void assert_text(const char *check, const char *expected)
{
	char *copy = strdup(check), text[WARNING_TEXT];

	warning_of(copy, text);
	assert_string_equal(text, expected);
	free(copy);
}

static void ok_and_unknown_give_no_warning(void **state)
{
	(void)state;
	assert_text("", "");
	assert_text("ok\toverall\tno graft   \nok\tblocks\tas it says\n", "");
	assert_text("unknown\toverall\tx\nunknown\tdonor\tit was not seen\n", "");
}

static void warning_is_first_line_of_worst_verdict(void **state)
{
	(void)state;
	assert_text("risky\toverall\t1 graft   \nok\tblocks\ta\nrisky\tunit\tb: c  d   \n",
		    "risky: unit: b: c  d");
	assert_text("impossible\toverall\tx\nrisky\tunit\ta\nimpossible\tshape\tb\n"
		    "impossible\ttype\tc\nimpossible\tblocks\td\n",
		    "impossible: shape: b (and 2 more)");
}

static void malformed_check_gives_no_warning(void **state)
{
	char line[2 * WARNING_TEXT + 64], text[WARNING_TEXT];

	(void)state;
	assert_text("risky", "");
	assert_text("risky\n\n\t\t\n", "");
	assert_text("risky\toverall\nrisky", "risky: : ");
	snprintf(line, sizeof(line), "risky\toverall\tx\nrisky\t%0*d\ty\n", 2 * WARNING_TEXT, 0);
	warning_of(line, text);
	assert_int_equal(strlen(text), WARNING_TEXT - 1);
}

/* Check the warning for that model. */
static void assert_warning(struct opened *o, const char *words)
{
	struct snapshot snapshot;
	struct warning *warning;
	char text[WARNING_TEXT];

	assert_int_equal(model_snapshot(o->model, &snapshot), 0);
	warning = warning_begin(o->model, &snapshot);
	snapshot_release(&snapshot);
	warning_end(warning, 60, text);
	if (words ? !strstr(text, words) : text[0])
		fail_msg("it says: %s", text);
}

static void model_gets_the_warning_of_its_check(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_warning(&o, NULL);
	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	assert_warning(&o, "impossible: complete: ");
	close_model(&o);
}

/* A layer that another user made may name a device as a donor. */
static void a_donor_that_is_no_regular_file_is_not_opened(void **state)
{
	const struct path fifo = in_temp(state, "fifo");
	const int opens = watched_fifo(fifo.text);
	struct opened o = open_small(state, "base.gguf");
	struct content *content;

	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	content = slots_get_own(o.model->slots, SMALL_UP);
	content_set_donor(content, donor_from_record(fifo.text, "print", "t", 1));
	assert_warning(&o, "impossible: complete: ");
	assert_unopened(opens);
	content_unref(content);
	close_model(&o);
}

/* Without memory there is no warning, or the same verdict of the same check. */
static void without_memory_warning_is_same_or_missing(void **state)
{
	struct opened o;
	struct snapshot snapshot;
	char text[WARNING_TEXT];
	bool failed = true;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	assert_int_equal(model_snapshot(o.model, &snapshot), 0);
	for (uint64_t k = 1; failed; k++) {
		struct warning *warning;

		allocation_fails(k);
		warning = warning_begin(o.model, &snapshot);
		warning_end(warning, 60, text);
		failed = allocation_failed();
		if (text[0] || !failed)
			assert_true(strncmp(text, "impossible: complete: ", 22) == 0);
	}
	snapshot_release(&snapshot);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
