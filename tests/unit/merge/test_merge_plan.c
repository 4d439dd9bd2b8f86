/* SPDX-License-Identifier: MIT */
/* test_merge_plan.c - fs/merge/merge_plan*.c: what becomes of each tensor, and all that is
 * refused. */
#include "fs/merge/merge_models.h"
#include "fs/merge/merge_plan.h"
#include "fs/tensor/codec.h"
#include "tests/unit/temp_dir.h"

#include <inttypes.h>
#include <xxhash.h>

/* Models. */

/* What is left out is as by default. */
struct spec {
	const char *file, *architecture, *without, *with;
	uint64_t blocks, tokens, width;
	uint32_t type;
	const char *token; /* each of the tokenizer's */
	uint32_t table;	   /* the type of token_types */
};

/* For the type of a spec, in which 0 is Q8_0. */
#define OF_F32 UINT32_MAX

#define TOKENS 6u
#define WIDTH  32u

struct names_of {
	char (*names)[48];
	size_t n;
};

static void add(struct mkgguf *m, const struct spec *spec, struct names_of *of, const char *name,
		uint32_t type, uint64_t rows)
{
	const uint64_t width = spec->width ? spec->width : WIDTH;
	const uint64_t ne[2] = { width, rows };

	if (spec->without && strcmp(name, spec->without) == 0)
		return;
	snprintf(of->names[of->n], sizeof(of->names[0]), "%s", name);
	mkgguf_tensor(m, of->names[of->n++], type, rows ? 2 : 1, ne);
}

static void add_tokenizer(struct mkgguf *m, const struct spec *spec)
{
	uint8_t bytes[64] = { 0 };
	const size_t n = strlen(spec->token);

	mkgguf_kv_string(m, "tokenizer.ggml.model", "gpt2");
	bytes[0] = (uint8_t)n;
	memcpy(bytes + 8, spec->token, n);
	mkgguf_kv_array(m, "tokenizer.ggml.tokens", 8, 1, bytes, 8 + n);
}

static void save_model(void **state, const struct spec *spec)
{
	const uint64_t tokens = spec->tokens ? spec->tokens : TOKENS;
	const uint32_t type = spec->type == OF_F32 ? GGML_F32 : spec->type ? spec->type : GGML_Q8_0;
	struct mkgguf *m = mkgguf_new(3);
	struct names_of of = { calloc(8 + 4 * spec->blocks, sizeof(of.names[0])), 0 };
	struct mk_file file;
	char name[48];

	must(of.names);
	mkgguf_kv_string(m, "general.architecture",
			 spec->architecture ? spec->architecture : "llama");
	if (spec->token)
		add_tokenizer(m, spec);
	add(m, spec, &of, "token_embd.weight", type, tokens);
	add(m, spec, &of, "token_types", spec->table ? spec->table : GGML_I32, 0);
	for (uint64_t b = 0; b < spec->blocks; b++) {
		snprintf(name, sizeof(name), "blk.%" PRIu64 ".attn_q.weight", b);
		add(m, spec, &of, name, type, 4);
		snprintf(name, sizeof(name), "blk.%" PRIu64 ".attn_norm.weight", b);
		add(m, spec, &of, name, GGML_F32, 0);
		snprintf(name, sizeof(name), "blk.%" PRIu64 ".rope_freqs.weight", b);
		add(m, spec, &of, name, GGML_F32, 0);
	}
	add(m, spec, &of, "output_norm.weight", GGML_F32, 0);
	add(m, spec, &of, "output.weight", type, tokens);
	if (spec->with)
		add(m, spec, &of, spec->with, type, 4);
	file = mkgguf_finish(m);
	write_file(in_temp(state, spec->file).text, file.bytes, file.size);
	mk_file_free(&file);
	free(of.names);
}

/* Plans. */

struct planned {
	struct base form;
	struct merge_config config;
	struct merge_plan *plan;
	struct error err;
};

/* merge_tensor_type(), as merge_tensor.h has it. */
uint32_t merge_tensor_type(uint32_t type, const uint64_t ne[GGML_AXES], uint32_t wanted)
{
	if (wanted != MERGE_TYPE_AS_IS && ne[1] > 1)
		return wanted;
	return encode_type(type, ne[0]);
}

static int open_beside(void *context, const char *written, struct base *base, char **path,
		       struct error *err)
{
	return merge_open_by_path(context, written, base, path, err);
}

static void plan_into(struct planned *planned, void **state, bool f16)
{
	const struct merge_plan_params params = { .form = planned->form.file,
						  .gguf = planned->form.gguf,
						  .open = open_beside,
						  .context = ((struct temp *)*state)->dir,
						  .f16 = f16 };

	planned->plan = merge_plan_new(&planned->config, &params, &planned->err);
}

/* Of the form in form.gguf. */
static struct planned plan_as(void **state, const char *text, bool f16)
{
	struct planned planned = { 0 };

	assert_int_equal(base_open(&planned.form, in_temp(state, "form.gguf").text, &planned.err),
			 0);
	if (merge_config_read(text, strlen(text), &planned.config, &planned.err) < 0)
		fail_msg("%s: %s", text, planned.err.text);
	plan_into(&planned, state, f16);
	return planned;
}

static struct planned plan(void **state, const char *text)
{
	struct planned planned = plan_as(state, text, false);

	if (!planned.plan)
		fail_msg("%s: %s", text, planned.err.text);
	return planned;
}

static void release(struct planned *planned)
{
	merge_plan_free(planned->plan);
	merge_config_release(&planned->config);
	base_close(&planned->form);
}

static const struct merge_plan_tensor *tensor_of(const struct planned *planned, const char *name)
{
	for (size_t i = 0; i < planned->plan->n; i++) {
		const struct merge_plan_tensor *tensor = &planned->plan->tensors[i];

		if (tensor->length == strlen(name) &&
		    memcmp(tensor->name, name, tensor->length) == 0)
			return tensor;
	}
	fail_msg("there is no %s", name);
	return NULL;
}

/* The data is that of the tensor of that name, in the model that is written so; NULL: the form. */
static void assert_data(const struct planned *planned, const struct merge_data *data,
			const char *written, const char *name)
{
	const struct base *base = &planned->form;
	const struct gguf_tensor *tensor;

	for (size_t i = 0; written && i < planned->plan->n_models; i++)
		if (strcmp(planned->plan->models[i].written, written) == 0)
			base = &planned->plan->models[i].base;
	assert_true(!written || base != &planned->form);
	tensor = gguf_tensor(base->gguf, name, strlen(name));
	assert_non_null(tensor);
	assert_ptr_equal(data->file, base->file);
	assert_int_equal(data->offset, tensor->offset);
	assert_int_equal(data->type, tensor->type);
}

static void assert_as_model(const struct planned *planned, const char *name, const char *written,
			    const char *source)
{
	const struct merge_plan_tensor *tensor = tensor_of(planned, name);

	assert_int_equal(tensor->made, MERGE_AS_MODEL);
	assert_data(planned, &tensor->tensor.inputs[0], written, source);
	assert_int_equal(tensor->tensor.type, tensor->tensor.inputs[0].type);
	assert_true(tensor->tensor.ne[0] == WIDTH && tensor->tensor.ne[3] == 1);
}

static void assert_made(const struct planned *planned, const char *name, enum merge_made made)
{
	assert_int_equal(tensor_of(planned, name)->made, made);
}

#define LINEAR                                                                      \
	"merge_method: linear\nmodels:\n- {model: form, parameters: {weight: 1}}\n" \
	"- {model: donor.gguf, parameters: {weight: [0, 1]}}\n"

/* The form and a donor of another type. */
static void save_two(void **state, uint64_t blocks)
{
	save_model(state, &(struct spec){ .file = "form.gguf", .blocks = blocks });
	save_model(state,
		   &(struct spec){ .file = "donor.gguf", .blocks = blocks, .type = GGML_F16 });
}

static void whole_models_are_merged_tensor_by_tensor(void **state)
{
	struct planned p;
	const struct merge_plan_tensor *q;

	save_two(state, 3);
	p = plan(state, LINEAR);
	assert_int_equal(p.plan->n, p.form.gguf->n_tensors);
	assert_int_equal(p.plan->blocks, 3);
	assert_int_equal(p.plan->n_models, 2);
	assert_true(p.plan->models[0].is_form && !p.plan->models[1].is_form);
	for (uint32_t i = 0; i < p.plan->n; i++) {
		assert_int_equal(p.plan->tensors[i].of, i);
		assert_string_equal(p.plan->tensors[i].name, p.form.gguf->tensors[i].name);
	}
	assert_made(&p, "token_types", MERGE_AS_FORM);
	assert_made(&p, "blk.1.rope_freqs.weight", MERGE_AS_FORM);
	assert_made(&p, "output_norm.weight", MERGE_OF_ROWS);
	q = tensor_of(&p, "blk.2.attn_q.weight");
	assert_int_equal(q->made, MERGE_OF_ROWS);
	assert_int_equal(q->tensor.type, GGML_Q8_0);
	assert_true(q->tensor.rule.n == 2 && q->tensor.rule.rows == 4);
	assert_true(q->tensor.rule.columns == WIDTH && q->tensor.ne[1] == 4);
	assert_data(&p, &q->tensor.inputs[0], NULL, "blk.2.attn_q.weight");
	assert_data(&p, &q->tensor.inputs[1], "donor.gguf", "blk.2.attn_q.weight");
	assert_null(q->tensor.base.file);
	/* Gradients go by blocks; outside of them they begin. */
	assert_true(q->tensor.rule.inputs[1].weight == 1.0);
	q = tensor_of(&p, "blk.1.attn_norm.weight");
	assert_true(q->tensor.rule.inputs[1].weight == 0.5);
	q = tensor_of(&p, "output.weight");
	assert_true(q->tensor.rule.inputs[1].weight == 0.0);
	assert_int_equal(p.plan->other_tokenizer, SIZE_MAX);
	release(&p);
}

static void a_base_model_is_the_base_of_every_block(void **state)
{
	struct planned p;
	const struct merge_plan_tensor *q;

	save_two(state, 3);
	save_model(state, &(struct spec){ .file = "third.gguf", .blocks = 3 });
	p = plan(state, "merge_method: ties\nbase_model: third\nrandom_seed: 5\n"
			"parameters: {weight: 1}\nmodels: [{model: donor}, {model: form.gguf}]\n");
	q = tensor_of(&p, "blk.1.attn_q.weight");
	assert_int_equal(q->made, MERGE_OF_ROWS);
	assert_data(&p, &q->tensor.base, "third", "blk.1.attn_q.weight");
	assert_data(&p, &q->tensor.inputs[0], "donor", "blk.1.attn_q.weight");
	assert_data(&p, &q->tensor.inputs[1], NULL, "blk.1.attn_q.weight");
	assert_int_equal(q->tensor.rule.inputs[1].seed, XXH64(q->name, q->length, 6));
	release(&p);
}

static void the_type_is_the_forms_unless_the_configuration_says(void **state)
{
	static const struct {
		const char *dtype;
		bool f16;
		uint32_t form, matrix;
	} cases[] = {
		{ "", false, GGML_Q4_0, GGML_Q8_0 },
		{ "", true, GGML_Q4_0, GGML_F16 },
		{ "", true, OF_F32, GGML_F32 },
		{ "dtype: float32\n", true, GGML_F16, GGML_F32 },
		{ "dtype: float16\n", false, GGML_F16, GGML_F16 },
		{ "dtype: bfloat16\n", false, GGML_F16, GGML_BF16 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char text[400];
		struct planned p;

		save_model(state, &(struct spec){ .file = "form.gguf",
						  .blocks = 1,
						  .type = cases[i].form });
		save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 1 });
		snprintf(text, sizeof(text), "%s%s", cases[i].dtype, LINEAR);
		p = plan_as(state, text, cases[i].f16);
		assert_non_null(p.plan);
		assert_int_equal(tensor_of(&p, "blk.0.attn_q.weight")->tensor.type,
				 cases[i].matrix);
		assert_int_equal(tensor_of(&p, "output_norm.weight")->tensor.type, GGML_F32);
		release(&p);
	}
}

static void passthrough_takes_the_bytes_as_they_are(void **state)
{
	struct planned p;

	save_two(state, 3);
	p = plan(state, "merge_method: passthrough\nmodels: [{model: donor}]\n");
	assert_as_model(&p, "blk.1.attn_q.weight", "donor", "blk.1.attn_q.weight");
	assert_as_model(&p, "output.weight", "donor", "output.weight");
	release(&p);
	p = plan_as(state, "merge_method: passthrough\nmodels: [{model: form}]\n", true);
	assert_made(&p, "blk.1.attn_q.weight", MERGE_AS_FORM);
	release(&p);
	/* Norms are F32 as they are. */
	p = plan(state,
		 "merge_method: passthrough\ndtype: float32\nmodels: [{model: donor, parameters: "
		 "{scale: [{filter: attn_q, value: 2}]}}]\n");
	assert_made(&p, "output.weight", MERGE_OF_ROWS);
	assert_int_equal(tensor_of(&p, "output.weight")->tensor.type, GGML_F32);
	assert_as_model(&p, "output_norm.weight", "donor", "output_norm.weight");
	release(&p);
	p = plan(state, "merge_method: passthrough\ndtype: float16\nmodels: [{model: donor, "
			"parameters: {scale: [{filter: attn_q, value: 2}]}}]\n");
	assert_as_model(&p, "output.weight", "donor", "output.weight");
	assert_made(&p, "blk.0.attn_q.weight", MERGE_OF_ROWS);
	assert_true(tensor_of(&p, "blk.0.attn_q.weight")->tensor.rule.inputs[0].weight == 2.0);
	release(&p);
}

UNIT_MAIN(temp_setup, temp_teardown)
