/* SPDX-License-Identifier: MIT */
/* test_merge_note.c - fs/merge/merge_note.c: printed notes read back, other texts are refused. */
#include "fs/merge/merge_note.h"
#include "tests/unit/unit.h"

static const uint64_t square[GGML_AXES] = { 32, 4, 1, 1 };

static void printed_note_is_read(void **state)
{
	char a[] = "clerk", b[] = "/models/a b%.gguf", empty[] = "", c[] = "base\nx";
	struct merge_note_model models[2] = { { a, b, "0123456789abcdef0123456789abcdef" },
					      { c, empty, "" } };
	struct merge_note_tensor tensors[2] = { { .gone = false }, { .gone = true } };
	struct merge_note note = { .n_models = 2,
				   .n = 2,
				   .models = models,
				   .tensors = tensors,
				   .chat_template = "{{ a }}\n100 %",
				   .text = "merge_method: linear\n",
				   .size = 21 };
	struct merge_note again;
	struct error err = { 0 };
	char *text;

	(void)state;
	assert_true(merge_note_organ("a\0b", 3, 8, 2, square, &tensors[0].organ));
	tensors[1].organ.name = "blk.1.attn_q.weight";
	tensors[1].organ.name_length = 19;
	text = merge_note_print(&note);
	assert_non_null(text);
	assert_int_equal(merge_note_read(text, &again, &err), 0);
	assert_int_equal(again.n_models, 2);
	assert_string_equal(again.models[0].written, a);
	assert_string_equal(again.models[0].path, b);
	assert_string_equal(again.models[0].fingerprint, models[0].fingerprint);
	assert_string_equal(again.models[1].written, c);
	assert_string_equal(again.models[1].path, "");
	assert_string_equal(again.models[1].fingerprint, "");
	assert_string_equal(again.chat_template, note.chat_template);
	assert_int_equal(again.n, 2);
	assert_false(again.tensors[0].gone);
	assert_int_equal(again.tensors[0].organ.name_length, 3);
	assert_memory_equal(again.tensors[0].organ.name, "a\0b", 4);
	assert_int_equal(again.tensors[0].organ.type, 8);
	assert_int_equal(again.tensors[0].organ.dims, 2);
	assert_memory_equal(again.tensors[0].organ.ne, square, sizeof(square));
	assert_int_equal(again.tensors[0].organ.data_size, 4 * 34);
	assert_true(again.tensors[1].gone);
	assert_string_equal(again.tensors[1].organ.name, "blk.1.attn_q.weight");
	assert_string_equal(again.text, note.text);
	assert_int_equal(again.size, 21);
	merge_note_release(&again);
}

/* A text has "-" for an empty name. */
static void a_name_that_is_a_hyphen_is_read(void **state)
{
	char hyphen[] = "-";
	struct merge_note_model model = { hyphen, hyphen, "" };
	struct merge_note_tensor tensors[2] = { { .gone = false }, { .gone = true } };
	struct merge_note note = {
		.n_models = 1, .n = 2, .models = &model, .tensors = tensors, .text = ""
	};
	struct merge_note again;
	struct error err = { 0 };
	char *text;

	(void)state;
	assert_true(merge_note_organ("-", 1, 8, 2, square, &tensors[0].organ));
	tensors[1].organ = tensors[0].organ;
	text = merge_note_print(&note);
	assert_non_null(text);
	assert_int_equal(merge_note_read(text, &again, &err), 0);
	assert_string_equal(again.models[0].written, "-");
	assert_string_equal(again.models[0].path, "-");
	assert_string_equal(again.tensors[0].organ.name, "-");
	assert_int_equal(again.tensors[0].organ.name_length, 1);
	assert_string_equal(again.tensors[1].organ.name, "-");
	merge_note_release(&again);
}

#define BEGIN "organfs merge 1\n"
#define END   "config 0\n"

static void text_that_is_no_note_is_refused(void **state)
{
	static const char *const texts[] = { "",
					     "organfs merge 2\n" END,
					     BEGIN,
					     BEGIN "config 1\n",
					     BEGIN "config 0\nx",
					     BEGIN "config 18446744073709551616\n",
					     BEGIN "config -1\n",
					     BEGIN "other\n" END,
					     BEGIN "model a\n" END,
					     BEGIN "model a b c\n" END,
					     BEGIN "model a%00 b\n" END,
					     BEGIN "gone\n" END,
					     BEGIN "gone a b\n" END,
					     BEGIN "tensor 0 4 \n" END,
					     BEGIN "tensor 0 4x a\n" END,
					     BEGIN "tensor 0 4x1x1x1x1 a\n" END,
					     BEGIN "tensor x 4 a\n" END,
					     BEGIN "tensor 4294967296 4 a\n" END,
					     BEGIN "model a b 0123\n" END,
					     BEGIN
					     "model a b 0123456789abcdef0123456789abcdeg\n" END,
					     BEGIN
					     "model a b 0123456789abcdef0123456789abcdef \n" END,
					     BEGIN "tensor 9999 4 a\n" END,
					     BEGIN "tensor 8 31 a\n" END,
					     BEGIN "tensor 0 9223372036854775807x3 a\n" END };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct merge_note note;
		struct error err = { 0 };
		char *text = strdup(texts[i]);

		assert_non_null(text);
		if (merge_note_read(text, &note, &err) != -EBADMSG)
			fail_msg("\"%s\" is read", texts[i]);
		assert_non_null(strstr(err.text, "is not a line of a merge note"));
		merge_note_release(&note);
	}
}

static void a_note_without_memory_is_none(void **state)
{
	static const char lines[] = BEGIN "model a b\ntensor 0 4 t\ngone u\n" END;

	(void)state;
	needs_failing_allocations();
	for (uint64_t k = 1;; k++) {
		struct merge_note note;
		struct error err = { 0 };
		char *text = strdup(lines);
		int rc;

		assert_non_null(text);
		allocation_fails(k);
		rc = merge_note_read(text, &note, &err);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			merge_note_release(&note);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
		merge_note_release(&note);
	}
}

UNIT_MAIN(NULL, NULL)
