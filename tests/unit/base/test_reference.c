/* SPDX-License-Identifier: MIT */
/* test_reference.c - fs/base/reference.c: the layer's text for a slot that holds a model's
 * tensor. */
#include "fs/base/reference.h"
#include "gguf/reader.h"
#include "tests/unit/unit.h"

#include <limits.h>

#define PRINT "0123456789abcdef0123456789abcdef"

/* Text for a tensor of that name in a model at that path. */
static char *text_for(const char *path, const char *name, uint32_t length,
		      const struct gguf_tensor *shape)
{
	struct gguf_tensor tensor = *shape;
	struct organ organ;

	tensor.name = name;
	tensor.name_length = length;
	organ = organ_of_tensor(&tensor);
	return reference_print(path, PRINT, &organ, REFERENCE_OF_UNKNOWN);
}

static const struct gguf_tensor up = {
	.type = GGML_F32, .dims = 2, .ne = { 8, 4, 1, 1 }, .size = 128
};

static void written_reference_is_read(void **state)
{
	char *text = text_for("/base.gguf", "blk.0.ffn_up.weight", 19, &up);
	struct reference reference;

	(void)state;
	assert_int_equal(reference_parse(text, &reference, NULL), 0);
	assert_string_equal(reference.model, "/base.gguf");
	assert_string_equal(reference.tensor, "blk.0.ffn_up.weight");
	assert_int_equal(reference.tensor_length, 19);
	assert_string_equal(reference.fingerprint, PRINT);
	assert_int_equal(reference.organ.type, GGML_F32);
	assert_int_equal(reference.organ.dims, 2);
	assert_memory_equal(reference.organ.ne, up.ne, sizeof(up.ne));
	assert_int_equal(reference.organ.data_size, 128);
	assert_string_equal(reference.organ.name, "blk.0.ffn_up.weight");
	reference_release(&reference);
	reference_release(&reference);
	free(text);
}

static void names_of_any_bytes_come_back(void **state)
{
	static const char name[] = "a b%41\n\0\xff\x7f\\=é";
	char *text = text_for("/a 100% model\nof two lines.gguf", name, sizeof(name) - 1, &up);
	struct reference reference;

	(void)state;
	for (const char *at = text; *at; at++)
		assert_true(*at == '\n' || (*at >= ' ' && *at < 0x7f));
	assert_int_equal(reference_parse(text, &reference, NULL), 0);
	assert_string_equal(reference.model, "/a 100% model\nof two lines.gguf");
	assert_int_equal(reference.tensor_length, sizeof(name) - 1);
	assert_memory_equal(reference.tensor, name, sizeof(name));
	reference_release(&reference);
	free(text);
}

static void scalars_and_types_that_are_not_known_have_their_size(void **state)
{
	const struct gguf_tensor scalar = { .type = GGML_F32, .ne = { 1, 1, 1, 1 }, .size = 4 };
	const struct gguf_tensor strange = {
		.type = 4000000000, .dims = 4, .ne = { 2, 3, 4, 5 }, .size = 77
	};
	struct reference reference;
	char *text = text_for("/base.gguf", "x", 1, &scalar);

	(void)state;
	assert_non_null(strstr(text, "\nshape \n"));
	assert_int_equal(reference_parse(text, &reference, NULL), 0);
	assert_int_equal(reference.organ.dims, 0);
	assert_int_equal(reference.organ.data_size, 4);
	reference_release(&reference);
	free(text);
	text = text_for("/base.gguf", "x", 1, &strange);
	assert_int_equal(reference_parse(text, &reference, NULL), 0);
	assert_int_equal(reference.organ.type, 4000000000);
	assert_int_equal(reference.organ.data_size, 77);
	assert_memory_equal(reference.organ.ne, strange.ne, sizeof(strange.ne));
	reference_release(&reference);
	free(text);
}

/* Layers of earlier versions do not record the model. */
static void reference_tells_its_model_or_unknown(void **state)
{
	static const struct {
		const char *line;
		enum reference_of of;
	} cases[] = { { "", REFERENCE_OF_UNKNOWN },
		      { "of base\n", REFERENCE_OF_BASE },
		      { "of another\n", REFERENCE_OF_ANOTHER },
		      { "of it\n", REFERENCE_OF_UNKNOWN } };
	char *text = text_for("/base.gguf", "x", 1, &up);
	struct reference reference;
	struct organ organ = organ_of_tensor(&up);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char whole[PATH_MAX + 512];

		snprintf(whole, sizeof(whole), "%s%s", text, cases[i].line);
		assert_int_equal(reference_parse(whole, &reference, NULL), 0);
		assert_int_equal(reference.of, cases[i].of);
		reference_release(&reference);
	}
	free(text);
	organ.name = "x";
	organ.name_length = 1;
	text = reference_print("/x", PRINT, &organ, REFERENCE_OF_ANOTHER);
	assert_non_null(strstr(text, "\nof another\n"));
	free(text);
}

static void assert_no_reference(const char *text)
{
	struct reference reference;
	struct error err = { 0 };
	const int rc = reference_parse(text, &reference, &err);

	if (rc == 0)
		fail_msg("taken for a reference: %s", text);
	assert_refused(rc, &err, EBADMSG, ERROR_NO_OFFSET);
	reference_release(&reference);
}

static void a_text_that_ends_early_is_no_reference(void **state)
{
	char *text = text_for("/base.gguf", "x", 1, &up);

	(void)state;
	for (size_t n = strlen(text); n--;) {
		text[n] = '\0';
		assert_no_reference(text);
	}
	free(text);
}

/* Check that the text is refused after the rest of the line that begins with word was replaced. */
static void assert_no_line(const char *word, const char *rest)
{
	char *text = text_for("/base.gguf", "x", 1, &up), other[PATH_MAX + 512];
	char *line = strstr(text, word), *end = strchr(line, '\n');

	snprintf(other, sizeof(other), "%.*s%s%s%s", (int)(line - text), text, word, rest, end);
	assert_no_reference(other);
	free(text);
}

static void lines_that_make_no_sense_are_no_reference(void **state)
{
	static const struct {
		const char *word, *rest;
	} lines[] = {
		{ "organfs reference ", "2" },
		{ "organfs reference ", "1 " },
		{ "fingerprint ", "" },
		{ "fingerprint ", PRINT "0" },
		{ "type ", "" },
		{ "type ", "-1" },
		{ "type ", "0x0" },
		{ "type ", " 0" },
		{ "type ", "4294967296" },
		{ "shape ", "" },
		{ "shape ", "x8" },
		{ "shape ", "8x4x" },
		{ "shape ", "8xx4" },
		{ "shape ", "8x-4" },
		{ "shape ", "8,4" },
		{ "shape ", "8x4x1x1x1" },
		{ "shape ", "32x0" },
		{ "shape ", "8x5" },
		{ "shape ", "99999999999999999999x4" },
		{ "shape ", "9223372036854775808x9223372036854775808" },
		{ "bytes ", "127" },
		{ "bytes ", "129" },
		{ "bytes ", "" },
		{ "bytes ", "18446744073709551616" },
		{ "bytes ", "18446744073709551615" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++)
		assert_no_line(lines[i].word, lines[i].rest);
}

static void no_line_may_be_missing_or_elsewhere(void **state)
{
	static const char *const words[] = { "organfs ", "model ", "fingerprint ", "tensor ",
					     "type ",	 "shape ", "bytes " };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		char *text = text_for("/base.gguf", "x", 1, &up);
		char *line = strstr(text, words[i]), *end = strchr(line, '\n') + 1;

		memmove(line, end, strlen(end) + 1);
		assert_no_reference(text);
		free(text);
	}
}

static void without_memory_nothing_is_read(void **state)
{
	struct reference reference;
	struct error err = { 0 };
	char *text;
	int rc;

	(void)state;
	needs_failing_allocations();
	text = text_for("/base.gguf", "x", 1, &up);
	allocation_fails(1);
	rc = reference_parse(text, &reference, &err);
	assert_true(allocation_failed());
	assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
	reference_release(&reference);
	free(text);
}

UNIT_MAIN(NULL, NULL)
