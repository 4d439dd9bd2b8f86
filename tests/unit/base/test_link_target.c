/* SPDX-License-Identifier: MIT */
/* test_link_target.c - fs/base/link_target.c: text for the place of an organ in a file, and the
 * organ that the text leads to. */
#include "fs/base/link_target.h"
#include "fs/base/reference.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"
#include "tests/unit/open_model.h"

static struct backing *open_file(void **state, const char *name)
{
	struct error err = { 0 };
	struct backing *file = backing_open(in_temp(state, name).text, &err);

	if (!file)
		fail_msg("%s: %s", name, err.text);
	return file;
}

/* Look up the link text in that file. Returns the result of link_target_find(). */
static int find(void **state, const char *name, const char *text, struct organ *organ,
		uint64_t *offset)
{
	struct backing *file = open_file(state, name);
	struct link_target_models models;
	struct reference seen;
	struct error err = { 0 };
	int rc;

	link_target_models_init(&models);
	must(reference_parse(text, &seen, &err) == 0);
	rc = link_target_find(&models, file, &seen, organ, offset, &err);
	assert_int_equal(err.code, -rc);
	reference_release(&seen);
	link_target_models_release(&models);
	backing_unref(file);
	return rc;
}

/* The text for that tensor of the base at offset, or NULL. */
static char *print(struct model *model, uint32_t tensor, uint64_t offset)
{
	const struct organ organ = organ_of_tensor(&model->gguf->tensors[tensor]);
	struct link_target_models models;
	char *text;

	link_target_models_init(&models);
	text = link_target_print(&models, model->base, &organ, offset);
	link_target_models_release(&models);
	return text;
}

static void a_tensor_of_a_model_is_found_again(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	const struct gguf_tensor *up = &o.model->gguf->tensors[SMALL_UP];
	char *text = print(o.model, SMALL_UP, up->offset);
	struct organ organ;
	uint64_t offset;
	FILE *out;

	assert_non_null(text);
	assert_non_null(strstr(text, in_temp(state, "base.gguf").text));
	assert_null(print(o.model, SMALL_UP, up->offset + 1));
	assert_null(print(o.model, SMALL_UP, 1));
	assert_int_equal(find(state, "base.gguf", text, &organ, &offset), 0);
	assert_int_equal(offset, up->offset);
	assert_int_equal(organ.data_size, up->size);
	assert_string_equal(organ.name, up->name);
	free((char *)organ.name);
	/* A file with one more byte is another model. */
	out = fopen(in_temp(state, "base.gguf").text, "ab");
	must(out && putc('x', out) == 'x' && fclose(out) == 0);
	assert_int_equal(find(state, "base.gguf", text, &organ, &offset), -ESTALE);
	free(text);
	close_model(&o);
}

static void an_organ_file_is_found_again(void **state)
{
	struct organ_file up = mk_organ("x.ffn_up.weight", GGML_F32, 2, small_ne, 50);
	struct organ_file other = mk_organ("x.ffn_up.weight", GGML_F32, 2, small_ne, 51);
	struct link_target_models models;
	struct backing *file;
	struct source source;
	struct organ organ, again;
	uint64_t offset;
	char *text;

	write_file(in_temp(state, "up.bin").text, up.bytes, up.size);
	write_file(in_temp(state, "other.bin").text, other.bytes, other.size);
	write_file(in_temp(state, "short.bin").text, up.bytes, up.size - 1);
	write_file(in_temp(state, "empty.bin").text, up.bytes, 0);
	file = open_file(state, "up.bin");
	source = backing_source(file);
	must(organ_parse(&source, &organ, NULL) == 0);
	link_target_models_init(&models);
	text = link_target_print(&models, file, &organ, organ.header_size);
	assert_non_null(text);
	assert_null(link_target_print(&models, file, &organ, organ.header_size + 1));
	link_target_models_release(&models);
	assert_int_equal(find(state, "up.bin", text, &again, &offset), 0);
	assert_int_equal(offset, organ.header_size);
	assert_string_equal(again.name, organ.name);
	free((char *)again.name);
	assert_int_equal(find(state, "other.bin", text, &again, &offset), -ESTALE);
	assert_int_equal(find(state, "short.bin", text, &again, &offset), -ESTALE);
	assert_int_equal(find(state, "empty.bin", text, &again, &offset), -ESTALE);
	free(text);
	free((char *)organ.name);
	backing_unref(file);
	free(up.bytes);
	free(other.bytes);
}

UNIT_MAIN(temp_setup, temp_teardown)
