/* SPDX-License-Identifier: MIT */
/* test_merge_plan.c - fs/merge/merge_plan*.c: the plan for each tensor, and all refusals. */
#include "fs/merge/merge_models.h"
#include "fs/merge/merge_plan.h"
#include "fs/merge/merge_plan_internal.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"
#include "tests/unit/temp_dir.h"

#include <inttypes.h>
#include <xxhash.h>

/* ## models */

/* A model to save; omitted fields have defaults. */
struct spec {
	const char *file, *architecture, *without, *with;
	uint64_t blocks, tokens, width;
	uint32_t type;
	const char *token; /* every token of the tokenizer */
	uint32_t table;	   /* the type of token_types */
	const char *chat;  /* chat template, or NULL */
};

/* Type F32 in a spec, in which 0 is Q8_0. */
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
	if (spec->chat)
		mkgguf_kv_string(m, "tokenizer.chat_template", spec->chat);
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

/* ## plans */

struct planned {
	struct base host;
	struct merge_config config;
	struct merge_plan *plan;
	struct error err;
};

static int open_beside(void *context, const char *written, struct base *base, char **path,
		       struct error *err)
{
	return merge_open_by_path(context, written, NULL, base, path, err);
}

static struct merge_plan_params beside(void **state, enum encode_choice choice)
{
	return (struct merge_plan_params){ .open = open_beside,
					   .context = ((struct temp *)*state)->dir,
					   .choice = choice };
}

static void plan_into(struct planned *planned, struct merge_plan_params params)
{
	params.host = planned->host.file;
	params.gguf = planned->host.gguf;
	planned->plan = merge_plan_new(&planned->config, &params, &planned->err);
}

/* Make a plan with host.gguf as the host. */
static struct planned plan_by(void **state, const char *text, struct merge_plan_params params)
{
	struct planned planned = { 0 };

	assert_int_equal(base_open(&planned.host, in_temp(state, "host.gguf").text, &planned.err),
			 0);
	if (merge_config_read(text, strlen(text), &planned.config, &planned.err) < 0)
		fail_msg("%s: %s", text, planned.err.text);
	plan_into(&planned, params);
	return planned;
}

static struct planned plan_as(void **state, const char *text, enum encode_choice choice)
{
	return plan_by(state, text, beside(state, choice));
}

static struct planned plan(void **state, const char *text)
{
	struct planned planned = plan_as(state, text, ENCODE_KEEP);

	if (!planned.plan)
		fail_msg("%s: %s", text, planned.err.text);
	return planned;
}

static void release(struct planned *planned)
{
	merge_plan_free(planned->plan);
	merge_config_release(&planned->config);
	base_close(&planned->host);
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

/* Check that data refers to the tensor of that name in the model written so; NULL: in the host. */
static void assert_data(const struct planned *planned, const struct merge_data *data,
			const char *written, const char *name)
{
	const struct base *base = &planned->host;
	const struct gguf_tensor *tensor;

	for (size_t i = 0; written && i < planned->plan->n_models; i++)
		if (strcmp(planned->plan->models[i].written, written) == 0)
			base = &planned->plan->models[i].base;
	assert_true(!written || base != &planned->host);
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
	"merge_method: linear\nmodels:\n- {model: host, parameters: {weight: 1}}\n" \
	"- {model: donor.gguf, parameters: {weight: [0, 1]}}\n"

/* Save the host and a donor of another type. */
static void save_two(void **state, uint64_t blocks)
{
	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = blocks });
	save_model(state,
		   &(struct spec){ .file = "donor.gguf", .blocks = blocks, .type = GGML_F16 });
}

static void whole_models_are_merged_tensor_by_tensor(void **state)
{
	struct planned p;
	const struct merge_plan_tensor *q;

	save_two(state, 3);
	p = plan(state, LINEAR);
	assert_int_equal(p.plan->n, p.host.gguf->n_tensors);
	assert_int_equal(p.plan->blocks, 3);
	assert_int_equal(p.plan->n_models, 2);
	assert_true(p.plan->models[0].is_host && !p.plan->models[1].is_host);
	for (uint32_t i = 0; i < p.plan->n; i++) {
		assert_int_equal(p.plan->tensors[i].of, i);
		assert_string_equal(p.plan->tensors[i].name, p.host.gguf->tensors[i].name);
	}
	assert_made(&p, "token_types", MERGE_AS_HOST);
	assert_made(&p, "blk.1.rope_freqs.weight", MERGE_AS_HOST);
	assert_made(&p, "output_norm.weight", MERGE_OF_ROWS);
	q = tensor_of(&p, "blk.2.attn_q.weight");
	assert_int_equal(q->made, MERGE_OF_ROWS);
	assert_int_equal(q->tensor.type, GGML_Q8_0);
	assert_true(q->tensor.rule.n == 2 && q->tensor.rule.rows == 4);
	assert_true(q->tensor.rule.columns == WIDTH && q->tensor.ne[1] == 4);
	assert_data(&p, &q->tensor.inputs[0], NULL, "blk.2.attn_q.weight");
	assert_data(&p, &q->tensor.inputs[1], "donor.gguf", "blk.2.attn_q.weight");
	assert_null(q->tensor.base.file);
	/* A gradient is read by block; outside of blocks its first number counts. */
	assert_true(q->tensor.rule.inputs[1].weight == 1.0);
	q = tensor_of(&p, "blk.1.attn_norm.weight");
	assert_true(q->tensor.rule.inputs[1].weight == 0.5);
	q = tensor_of(&p, "output.weight");
	assert_true(q->tensor.rule.inputs[1].weight == 0.0);
	assert_null(p.plan->other_tokenizer);
	release(&p);
}

static void a_base_model_is_the_base_of_every_block(void **state)
{
	struct planned p;
	const struct merge_plan_tensor *q;

	save_two(state, 3);
	save_model(state, &(struct spec){ .file = "third.gguf", .blocks = 3 });
	p = plan(state, "merge_method: ties\nbase_model: third\nrandom_seed: 5\n"
			"parameters: {weight: 1}\nmodels: [{model: donor}, {model: host.gguf}]\n");
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
		enum encode_choice choice;
		uint32_t host, matrix;
	} cases[] = {
		{ "", ENCODE_KEEP, GGML_Q4_0, GGML_Q4_0 },
		{ "", ENCODE_Q8_0, GGML_Q4_0, GGML_Q8_0 },
		{ "", ENCODE_F16, GGML_Q4_0, GGML_F16 },
		{ "", ENCODE_F16, OF_F32, GGML_F32 },
		{ "dtype: float32\n", ENCODE_F16, GGML_F16, GGML_F32 },
		{ "dtype: float16\n", ENCODE_KEEP, GGML_F16, GGML_F16 },
		{ "dtype: bfloat16\n", ENCODE_KEEP, GGML_F16, GGML_BF16 },
		{ "dtype: bfloat16\nout_dtype: q5_0\n", ENCODE_F16, GGML_F16, GGML_Q5_0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char text[400];
		struct planned p;

		save_model(state, &(struct spec){ .file = "host.gguf",
						  .blocks = 1,
						  .type = cases[i].host });
		save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 1 });
		snprintf(text, sizeof(text), "%s%s", cases[i].dtype, LINEAR);
		p = plan_as(state, text, cases[i].choice);
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
	p = plan_as(state, "merge_method: passthrough\nmodels: [{model: host}]\n", ENCODE_F16);
	assert_made(&p, "blk.1.attn_q.weight", MERGE_AS_HOST);
	release(&p);
	/* Norms are F32 already. */
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

/* ## slices */

#define STACK		      "merge_method: passthrough\nslices:\n"
#define PART(model, from, to) "- sources: [{model: " model ", layer_range: [" #from ", " #to "]}]\n"

static void slices_stack_more_blocks_than_the_form_has(void **state)
{
	static const char *const added[] = { "blk.3.attn_q.weight",	"blk.3.attn_norm.weight",
					     "blk.3.rope_freqs.weight", "blk.4.attn_q.weight",
					     "blk.4.attn_norm.weight",	"blk.4.rope_freqs.weight" };
	struct planned p;

	save_two(state, 3);
	p = plan(state, STACK PART("host", 0, 2) PART("donor", 1, 3) PART("host", 2, 3));
	assert_int_equal(p.plan->blocks, 5);
	assert_int_equal(p.plan->n, p.host.gguf->n_tensors + 6u);
	assert_made(&p, "token_embd.weight", MERGE_AS_HOST);
	assert_made(&p, "output.weight", MERGE_AS_HOST);
	assert_made(&p, "blk.0.attn_norm.weight", MERGE_AS_HOST);
	assert_made(&p, "blk.1.rope_freqs.weight", MERGE_AS_HOST);
	assert_as_model(&p, "blk.2.attn_q.weight", "donor", "blk.1.attn_q.weight");
	assert_as_model(&p, "blk.2.rope_freqs.weight", "donor", "blk.1.rope_freqs.weight");
	assert_as_model(&p, "blk.3.attn_norm.weight", "donor", "blk.2.attn_norm.weight");
	assert_as_model(&p, "blk.4.attn_q.weight", NULL, "blk.2.attn_q.weight");
	for (size_t i = 0; i < ARRAY_LENGTH(added); i++) {
		const struct merge_plan_tensor *q = &p.plan->tensors[p.host.gguf->n_tensors + i];

		assert_string_equal(q->name, added[i]);
		assert_int_equal(q->length, strlen(added[i]));
		assert_int_equal(q->of, MERGE_PLAN_NEW);
	}
	release(&p);
}

static void slices_leave_blocks_out_and_change_their_order(void **state)
{
	struct planned p;

	save_two(state, 3);
	p = plan(state, STACK PART("host", 2, 3) PART("host", 1, 2));
	assert_int_equal(p.plan->blocks, 2);
	assert_int_equal(p.plan->n, p.host.gguf->n_tensors);
	assert_as_model(&p, "blk.0.attn_q.weight", NULL, "blk.2.attn_q.weight");
	assert_made(&p, "blk.1.attn_q.weight", MERGE_AS_HOST);
	assert_made(&p, "blk.2.attn_q.weight", MERGE_GONE);
	assert_made(&p, "blk.2.rope_freqs.weight", MERGE_GONE);
	release(&p);
}

static void tensors_outside_blocks_come_from_first_and_last_slice(void **state)
{
	struct planned p;

	save_two(state, 3);
	p = plan(state, STACK PART("donor", 0, 1) PART("host", 1, 3));
	assert_as_model(&p, "token_embd.weight", "donor", "token_embd.weight");
	assert_made(&p, "output.weight", MERGE_AS_HOST);
	assert_made(&p, "output_norm.weight", MERGE_AS_HOST);
	release(&p);
	p = plan(state, STACK PART("host", 1, 3) PART("donor", 0, 1));
	assert_made(&p, "token_embd.weight", MERGE_AS_HOST);
	assert_as_model(&p, "output.weight", "donor", "output.weight");
	assert_as_model(&p, "output_norm.weight", "donor", "output_norm.weight");
	/* Tables come from the host. */
	assert_made(&p, "token_types", MERGE_AS_HOST);
	release(&p);
}

#define SLERP                                                                                   \
	"merge_method: slerp\nbase_model: host\nparameters: {t: [0, 1]}\nslices:\n- sources:\n" \
	"  - {model: donor, layer_range: [2, 4]}\n  - {model: host, layer_range: [0, 2]}\n"     \
	"- sources:\n  - {model: host, layer_range: [0, 3]}\n  - {model: donor, layer_range: "  \
	"[1, 4]}\n"

static void blocks_of_other_numbers_are_merged_and_gradients_go_by_slices(void **state)
{
	struct planned p;
	const struct merge_plan_tensor *q;

	save_two(state, 4);
	p = plan(state, SLERP);
	assert_int_equal(p.plan->blocks, 5);
	q = tensor_of(&p, "blk.0.attn_q.weight");
	assert_data(&p, &q->tensor.inputs[0], NULL, "blk.0.attn_q.weight");
	assert_data(&p, &q->tensor.inputs[1], "donor", "blk.2.attn_q.weight");
	assert_true(q->tensor.rule.t == 0.0);
	q = tensor_of(&p, "blk.1.attn_q.weight");
	assert_true(q->tensor.rule.t == 1.0);
	q = tensor_of(&p, "blk.3.attn_norm.weight");
	assert_data(&p, &q->tensor.inputs[0], NULL, "blk.1.attn_norm.weight");
	assert_data(&p, &q->tensor.inputs[1], "donor", "blk.2.attn_norm.weight");
	assert_true(q->tensor.rule.t == 0.5);
	q = tensor_of(&p, "blk.4.attn_q.weight");
	assert_int_equal(q->of, MERGE_PLAN_NEW);
	assert_int_equal(q->made, MERGE_OF_ROWS);
	assert_int_equal(q->tensor.type, GGML_Q8_0);
	assert_int_equal(q->tensor.rule.inputs[1].seed,
			 XXH64("blk.4.attn_q.weight", 19, MERGE_CONFIG_SEED + 1));
	release(&p);
}

/* Text of n slices of the host; each is one block longer, and begins step further on. */
static char *many_slices(unsigned n, unsigned blocks, unsigned step)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	fprintf(out, STACK);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "- sources: [{model: host, layer_range: [%u, %u]}]\n", i * step,
			i * step + blocks);
	must(fclose(out) == 0);
	return text;
}

/* place: LINE:COLUMN. */
static void assert_not_planned(void **state, const char *text, int code, const char *place,
			       const char *says)
{
	struct planned p = plan_as(state, text, ENCODE_KEEP);
	unsigned line = 0, column = 0;
	char found[32];

	assert_null(p.plan);
	assert_refused(-p.err.code, &p.err, code, ERROR_NO_OFFSET);
	sscanf(p.err.text, "line %u, column %u: ", &line, &column);
	snprintf(found, sizeof(found), "%u:%u", line, column);
	if (strcmp(found, place) != 0 || !strstr(p.err.text, says))
		fail_msg("\"%s\" is not in \"%s\" at %s", says, p.err.text, place);
	release(&p);
}

static void a_thousand_slices_of_a_large_model_are_planned_soon_but_not_more(void **state)
{
	char *text = many_slices(1024, 20, 6);
	struct planned p;

	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = 6600 });
	p = plan(state, text);
	assert_int_equal(p.plan->blocks, 20480);
	assert_int_equal(p.plan->n, 4 + 20480 * 3);
	release(&p);
	free(text);
	text = many_slices(5, 6600, 0);
	assert_not_planned(state, text, EINVAL, "7:3",
			   "the slices up to this one add more than 65536 tensors");
	free(text);
	text = many_slices(1024, 65, 0);
	assert_not_planned(state, text, EINVAL, "1026:3",
			   "the slices up to this one have more than 65536 blocks");
	free(text);
}

static void too_many_models_are_refused_unopened(void **state)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	fprintf(out, STACK);
	for (unsigned i = 0; i < 129; i++)
		fprintf(out, "- sources: [{model: absent%u, layer_range: [0, 1]}]\n", i);
	must(fclose(out) == 0);
	save_two(state, 1);
	assert_not_planned(state, text, EINVAL, "131:13",
			   "at most 128 models are opened for a merge");
	free(text);
}

/* ## refusals */

#define TWO_SLICES STACK PART("host", 0, 2) PART("donor", 1, 3)
#define BASE(key)  "tokenizer_source: " key "\n" LINEAR

#define TWO_BLOCKS                                                                 \
	"merge_method: linear\nparameters: {weight: 1}\nslices:\n- sources:\n"     \
	"  - {model: host, layer_range: [0, 1]}\n  - {model: donor, layer_range: " \
	"[1, 2]}\n"

static const struct {
	const char *text;
	struct spec donor;
	const char *place, *says; /* says: a sentence once, else the names in it */
} refusals[] = {
	{ LINEAR,
	  { .architecture = "qwen2" },
	  "4:3",
	  "\"donor.gguf\" is of architecture qwen2, the model that it is merged into of llama" },
	{ LINEAR,
	  { .blocks = 2 },
	  "4:3",
	  "\"donor.gguf\" has 2 blocks, the model that it is merged into 3" },
	{ LINEAR, { .blocks = 4 }, "4:3", "4 blocks" },
	{ LINEAR,
	  { .without = "blk.1.attn_q.weight" },
	  "4:3",
	  "\"donor.gguf\" has no blk.1.attn_q.weight" },
	{ LINEAR,
	  { .without = "output.weight" },
	  "4:3",
	  "output.weight: its token_embd.weight is that too" },
	{ LINEAR, { .with = "blk.1.attn_q.bias" }, "4:3", "blk.1.attn_q.bias" },
	{ LINEAR, { .with = "token_embd_norm.weight" }, "4:3", "token_embd_norm.weight, and \"/" },
	{ LINEAR, { .with = "output_extra.weight" }, "4:3", "output_extra.weight" },
	{ LINEAR,
	  { .width = 64 },
	  "4:3",
	  "token_embd.weight of \"donor.gguf\" has the shape 64x6, not 32x6" },
	{ LINEAR,
	  { .tokens = 7 },
	  "4:3",
	  "token_embd.weight of \"donor.gguf\" has 7 rows, which are more than 6; with "
	  "\"tokenizer_source: base\" they are left out" },
	{ LINEAR,
	  { .tokens = 5 },
	  "4:3",
	  "token_embd.weight of \"donor.gguf\" has 5 rows, which are fewer than 6" },
	{ BASE("base"), { .tokens = 5 }, "5:3", "5 rows" },
	{ LINEAR,
	  { .type = GGML_I32 },
	  "4:3",
	  "token_embd.weight of \"donor.gguf\" is of type I32, which is not merged" },
	{ LINEAR, { .type = GGML_Q8_1 }, "4:3", "Q8_1" },
	{ LINEAR,
	  { .table = GGML_I8 },
	  "4:3",
	  "token_types of \"donor.gguf\" is of another type or shape" },
	{ TWO_SLICES, { .blocks = 2 }, "4:13", "\"donor\" has 2 blocks, none with number 2" },
	{ TWO_SLICES, { .without = "output_norm.weight" }, "4:13", "output_norm.weight" },
	{ TWO_SLICES, { .width = 64 }, "4:13", "64x4, not 32x4" },
	{ "merge_method: linear\nmodels: [{model: host}, {model: donor}]\n",
	  { 0 },
	  "2:10",
	  "\"weight\" for token_embd.weight" },
	{ "merge_method: slerp\nbase_model: host\nmodels: [{model: donor}]\n",
	  { 0 },
	  "3:1",
	  "\"t\" for token_embd.weight" },
	{ TWO_BLOCKS,
	  { .with = "blk.1.attn_q.bias" },
	  "6:5",
	  "\"donor\" has blk.1.attn_q.bias, and \"host\" has none" },
	{ TWO_BLOCKS, { .without = "blk.1.attn_norm.weight" }, "6:5", "blk.1.attn_norm.weight" },
};

static void incompatible_models_are_refused_in_a_sentence(void **state)
{
	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = 3 });
	for (size_t i = 0; i < ARRAY_LENGTH(refusals); i++) {
		struct spec donor = refusals[i].donor;

		donor.file = "donor.gguf";
		donor.blocks = donor.blocks ? donor.blocks : 3;
		save_model(state, &donor);
		assert_not_planned(state, refusals[i].text, EINVAL, refusals[i].place,
				   refusals[i].says);
	}
}

/* Save pairs of rank 2 for tensors of 4 rows; a NULL half is left out. */
static void save_adapter(void **state, const char *file, const char *a, const char *b)
{
	const uint64_t of_a[2] = { WIDTH, 2 }, of_b[2] = { 2, 4 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file made;

	mkgguf_kv_string(m, "general.architecture", "llama");
	if (a)
		mkgguf_tensor(m, a, GGML_F32, 2, of_a);
	if (b)
		mkgguf_tensor(m, b, GGML_F32, 2, of_b);
	made = mkgguf_finish(m);
	write_file(in_temp(state, file).text, made.bytes, made.size);
	mk_file_free(&made);
}

static void tensors_that_an_adapter_changes_are_made_of_rows(void **state)
{
	struct planned p;
	const struct merge_plan_tensor *q;

	save_two(state, 3);
	save_adapter(state, "lora.gguf", "blk.1.attn_q.weight.lora_a",
		     "blk.1.attn_q.weight.lora_b");
	p = plan(state, "merge_method: passthrough\nmodels: [{model: donor.gguf+lora}]\n");
	assert_int_equal(p.plan->n_models, 2);
	assert_string_equal(p.plan->models[1].written, "lora");
	assert_null(p.plan->other_tokenizer);
	q = tensor_of(&p, "blk.1.attn_q.weight");
	assert_int_equal(q->made, MERGE_OF_ROWS);
	assert_int_equal(q->tensor.inputs[0].type, GGML_F32);
	assert_true(backing_is_computed(q->tensor.inputs[0].file));
	assert_int_equal(backing_size(q->tensor.inputs[0].file), WIDTH * 4 * sizeof(float));
	assert_as_model(&p, "blk.2.attn_q.weight", "donor.gguf", "blk.2.attn_q.weight");
	release(&p);
	/* The pair in a slice is that of the merged block. */
	p = plan(state, STACK PART("host", 0, 2) PART("donor.gguf+lora", 1, 2));
	assert_made(&p, "blk.1.attn_q.weight", MERGE_AS_HOST);
	assert_made(&p, "blk.2.attn_q.weight", MERGE_OF_ROWS);
	release(&p);
}

static void adapters_that_do_not_fit_are_refused_at_their_place(void **state)
{
	static const struct {
		const char *a, *b, *says;
	} cases[] = {
		{ NULL, NULL, "there are no tensors in \"lora\"" },
		{ "blk.1.attn_q.weight.lora_a", NULL, "has no other half" },
		{ "blk.1.attn_q.weight", NULL, "is not half of a low-rank pair" },
		{ "blk.3.attn_q.weight.lora_a", "blk.3.attn_q.weight.lora_b",
		  "has no blk.3.attn_q.weight, which \"lora\" changes" },
		{ "output.weight.lora_a", "output.weight.lora_b", "does not fit" },
	};

	save_two(state, 3);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		save_adapter(state, "lora.gguf", cases[i].a, cases[i].b);
		assert_not_planned(state,
				   "merge_method: passthrough\nmodels: [{model: donor+lora}]\n",
				   EINVAL, "2:10", cases[i].says);
	}
}

static void a_model_that_is_not_there_is_refused_at_its_place(void **state)
{
	save_two(state, 3);
	assert_not_planned(state, STACK PART("host", 0, 1) PART("absent", 0, 1), ENOENT, "4:13",
			   "\"absent\"");
	assert_not_planned(state, STACK PART("a/b", 0, 1), ENOENT, "3:13", "\"a/b\"");
	assert_not_planned(state, "base_model: absent\n" LINEAR, ENOENT, "1:13", "\"absent\"");
}

static void a_slice_of_another_shape_than_the_forms_block_is_refused(void **state)
{
	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = 3 });
	save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 3, .width = 64 });
	assert_not_planned(state, STACK PART("host", 0, 3) PART("donor", 0, 1) PART("host", 2, 3),
			   EINVAL, "4:13", "blk.0.attn_q.weight of \"donor\"");
}

static void rows_of_tokens_that_the_form_has_not_are_left_out_if_that_is_said(void **state)
{
	struct planned p;
	const struct merge_plan_tensor *q;

	save_two(state, 3);
	save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 3, .tokens = 9 });
	p = plan(state, BASE("base"));
	q = tensor_of(&p, "token_embd.weight");
	assert_true(q->tensor.ne[1] == TOKENS && q->tensor.rule.rows == TOKENS);
	assert_data(&p, &q->tensor.inputs[1], "donor.gguf", "token_embd.weight");
	release(&p);
	p = plan(state, "merge_method: passthrough\ntokenizer_source: base\n"
			"models: [{model: donor}]\n");
	assert_as_model(&p, "output.weight", "donor", "output.weight");
	assert_int_equal(tensor_of(&p, "output.weight")->tensor.ne[1], TOKENS);
	release(&p);
}

static void tied_embeddings_of_all_models_stay_tied(void **state)
{
	struct planned p;

	save_model(state,
		   &(struct spec){ .file = "host.gguf", .blocks = 1, .without = "output.weight" });
	save_model(state,
		   &(struct spec){ .file = "donor.gguf", .blocks = 1, .without = "output.weight" });
	p = plan(state, LINEAR);
	assert_int_equal(p.plan->n, p.host.gguf->n_tensors);
	release(&p);
	save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 1 });
	assert_not_planned(state, LINEAR, EINVAL, "4:3", "output.weight");
}

static void a_table_that_another_model_lacks_stays_the_forms(void **state)
{
	struct planned p;

	save_two(state, 1);
	save_model(state, &(struct spec){ .file = "donor.gguf",
					  .blocks = 1,
					  .without = "blk.0.rope_freqs.weight" });
	p = plan(state, LINEAR);
	assert_made(&p, "blk.0.rope_freqs.weight", MERGE_AS_HOST);
	release(&p);
}

#define BY_WEIGHT "merge_method: linear\nparameters: {weight: 1}\n"

static void first_model_with_another_tokenizer_is_reported(void **state)
{
	struct planned p;

	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = 1, .token = "one" });
	save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 1, .token = "one" });
	p = plan(state, LINEAR);
	assert_null(p.plan->other_tokenizer);
	release(&p);
	save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 1, .token = "two" });
	p = plan(state, LINEAR);
	assert_string_equal(p.plan->other_tokenizer, in_temp(state, "donor.gguf").text);
	release(&p);
	save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 1 });
	p = plan(state, LINEAR);
	assert_string_equal(p.plan->other_tokenizer, in_temp(state, "donor.gguf").text);
	release(&p);
	p = plan(state,
		 "name: a\n" BY_WEIGHT "models: [{model: host}, {model: donor}]\n---\n" BY_WEIGHT
		 "models: [{model: a}, {model: host}]\n");
	assert_string_equal(p.plan->other_tokenizer, in_temp(state, "donor.gguf").text);
	release(&p);
}

/* ## opening */

static void a_model_is_opened_once_for_each_name_and_a_link_to_the_form_is_the_form(void **state)
{
	struct planned p;

	save_two(state, 2);
	must(symlink("host.gguf", in_temp(state, "other.gguf").text) == 0);
	p = plan(state, STACK PART("host", 0, 1) PART("other", 0, 1) PART("donor", 0, 1)
				PART("host", 1, 2));
	assert_int_equal(p.plan->n_models, 3);
	assert_string_equal(p.plan->models[1].written, "other");
	assert_string_equal(p.plan->models[1].path, in_temp(state, "other.gguf").text);
	assert_true(p.plan->models[1].is_host && !p.plan->models[2].is_host);
	assert_as_model(&p, "blk.1.attn_q.weight", NULL, "blk.0.attn_q.weight");
	release(&p);
}

static void a_model_of_which_a_shard_is_missing_is_refused(void **state)
{
	const uint64_t ne[1] = { WIDTH };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_u32(m, "split.no", 0);
	mkgguf_kv_u32(m, "split.count", 2);
	mkgguf_kv_u32(m, "split.tensors.count", 2);
	mkgguf_tensor(m, "output_norm.weight", GGML_F32, 1, ne);
	file = mkgguf_finish(m);
	write_file(in_temp(state, "part-00001-of-00002.gguf").text, file.bytes, file.size);
	mk_file_free(&file);
	save_two(state, 1);
	assert_not_planned(state, "merge_method: passthrough\nmodels: [{model: part}]\n", EINVAL,
			   "2:10", "\"part\" is not complete: ");
}

static void save_long_rows(void **state, const char *name, uint64_t width)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "output_norm.weight", GGML_F32, 1, &width);
	file = mkgguf_finish(m);
	write_file(in_temp(state, name).text, file.bytes, file.size);
	mk_file_free(&file);
}

static void rows_that_are_too_long_are_not_merged(void **state)
{
	struct planned p;

	save_long_rows(state, "host.gguf", MERGE_ROW_MAX + 1);
	save_long_rows(state, "donor.gguf", MERGE_ROW_MAX + 1);
	assert_not_planned(state, LINEAR, EINVAL, "2:1",
			   "the rows of output_norm.weight are too long to be merged");
	p = plan(state, "merge_method: passthrough\nmodels: [{model: donor}]\n");
	assert_made(&p, "output_norm.weight", MERGE_AS_MODEL);
	release(&p);
	save_long_rows(state, "host.gguf", MERGE_ROW_MAX);
	save_long_rows(state, "donor.gguf", MERGE_ROW_MAX);
	p = plan(state, LINEAR);
	assert_made(&p, "output_norm.weight", MERGE_OF_ROWS);
	release(&p);
}

static void a_name_that_would_be_too_long_is_refused(void **state)
{
	const uint64_t ne[1] = { WIDTH };
	struct mkgguf *m = mkgguf_new(3);
	char *name = malloc(65536), *text = many_slices(11, 1, 0);
	struct mk_file file;

	must(name);
	memset(name, 'x', 65535);
	memcpy(name, "blk.0.", 6);
	name[65535] = '\0';
	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, name, GGML_F32, 1, ne);
	file = mkgguf_finish(m);
	write_file(in_temp(state, "host.gguf").text, file.bytes, file.size);
	mk_file_free(&file);
	assert_not_planned(state, text, EINVAL, "13:3", "the name blk.0.xxx");
	free(text);
	free(name);
}

#define SECRET_URL "https://me:secret@example.org/donor.gguf?token=secret"

static int open_the_form(void *context, const char *written, struct base *base, char **path,
			 struct error *err)
{
	(void)written;
	return merge_open_by_path(context, "host.gguf", NULL, base, path, err);
}

static void assert_no_secret(void **state, const char *text, const char *says)
{
	struct planned p = { 0 };
	struct merge_plan_params params = beside(state, ENCODE_KEEP);

	params.open = open_the_form;
	assert_int_equal(base_open(&p.host, in_temp(state, "host.gguf").text, &p.err), 0);
	if (merge_config_read(text, strlen(text), &p.config, &p.err) == 0)
		plan_into(&p, params);
	assert_null(p.plan);
	if (!strstr(p.err.text, says) || strstr(p.err.text, "secret"))
		fail_msg("\"%s\"", p.err.text);
	release(&p);
}

static void credentials_of_a_url_are_in_no_message(void **state)
{
	static const char *const refused[][2] = {
		{ STACK PART(SECRET_URL, 0, 9), "donor.gguf\"" },
		{ "merge_method: linear\nmodels: [{model: \"" SECRET_URL "\"}]\n", "donor.gguf\"" },
		{ "merge_method: linear\nparameters: {weight: 1}\nmodels: [{model: \"" SECRET_URL
		  "\"}, {model: \"" SECRET_URL "\"}]\n",
		  "donor.gguf\"" },
	};

	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = 3 });
	for (size_t i = 0; i < ARRAY_LENGTH(refused); i++)
		assert_no_secret(state, refused[i][0], refused[i][1]);
}

/* Truncate the model right after its opening. */
static int open_and_truncate(void *context, const char *written, struct base *base, char **path,
			     struct error *err)
{
	const int rc = merge_open_by_path(context, written, NULL, base, path, err);

	if (rc == 0 && strcmp(written, "donor.gguf") == 0)
		must(truncate(*path, 0) == 0);
	return rc;
}

static void a_model_that_cannot_be_read_any_more_is_refused(void **state)
{
	struct merge_plan_params params = beside(state, ENCODE_KEEP);
	struct planned p;

	params.open = open_and_truncate;
	save_two(state, 1);
	p = plan_by(state, LINEAR, params);
	assert_null(p.plan);
	assert_refused(-p.err.code, &p.err, EIO, ERROR_NO_OFFSET);
	assert_non_null(strstr(p.err.text, "line 4, column 3: the metadata of \"donor.gguf\""));
	release(&p);
}

/* Set the flag context before the opening. */
static int open_and_stop(void *context, const char *written, struct base *base, char **path,
			 struct error *err)
{
	atomic_store((atomic_bool *)context, true);
	return merge_open_by_path(".", written, NULL, base, path, err);
}

static void a_plan_that_is_stopped_is_given_up(void **state)
{
	atomic_bool stop = false;
	struct planned p;
	char text[PATH_MAX + 128];

	save_two(state, 1);
	snprintf(text, sizeof(text), "merge_method: passthrough\nmodels: [{model: \"%s\"}]\n",
		 in_temp(state, "host.gguf").text);
	p = plan_by(state, text,
		    (struct merge_plan_params){
			    .open = open_and_stop, .context = &stop, .stop = &stop });
	assert_null(p.plan);
	assert_refused(-p.err.code, &p.err, EINTR, ERROR_NO_OFFSET);
	release(&p);
}

/* Save a model with a string and an array of numbers, of 4 bytes each. */
static struct base save_values(void **state, const char *file, const char *text, uint32_t element,
			       uint64_t count)
{
	static const uint64_t ne[] = { 4 };
	static const uint32_t numbers[2];
	struct mkgguf *m = mkgguf_new(3);
	struct base base = { 0 };
	struct error err = { 0 };
	struct mk_file bytes;

	mkgguf_kv_string(m, "text", text);
	mkgguf_kv_array(m, "numbers", element, count, numbers, count * sizeof(numbers[0]));
	mkgguf_tensor(m, "output_norm.weight", GGML_F32, 1, ne);
	bytes = mkgguf_finish(m);
	write_file(in_temp(state, file).text, bytes.bytes, bytes.size);
	mk_file_free(&bytes);
	must(base_open(&base, in_temp(state, file).text, &err) == 0);
	return base;
}

static void long_values_are_compared_to_their_ends(void **state)
{
	enum { LENGTH = 200000 };
	char *text = malloc(LENGTH + 1);
	struct base one, same, other;

	must(text);
	for (size_t i = 0; i < LENGTH; i++)
		text[i] = (char)('a' + mk_byte(1, i) % 26);
	text[LENGTH] = '\0';
	one = save_values(state, "one.gguf", text, KV_U32, 2);
	same = save_values(state, "same.gguf", text, KV_U32, 2);
	text[LENGTH - 1] = '!';
	other = save_values(state, "other.gguf", text, KV_U32, 2);
	{
		const struct plan_model a = { .file = one.file, .gguf = one.gguf },
					b = { .file = same.file, .gguf = same.gguf },
					c = { .file = other.file, .gguf = other.gguf };

		assert_int_equal(plan_same_key(&a, &b, "text"), 1);
		assert_int_equal(plan_same_key(&a, &c, "text"), 0);
		assert_int_equal(plan_same_key(&a, &c, "none"), 1);
	}
	base_close(&one);
	base_close(&same);
	base_close(&other);
	free(text);
}

static void arrays_of_other_elements_are_not_the_same(void **state)
{
	const struct {
		uint32_t element;
		uint64_t count;
		int same;
	} others[] = { { KV_U32, 2, 1 }, { KV_I32, 2, 0 }, { KV_U32, 1, 0 } };
	struct base one = save_values(state, "one.gguf", "", KV_U32, 2);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct base base =
			save_values(state, "other.gguf", "", others[i].element, others[i].count);
		const struct plan_model a = { .file = one.file, .gguf = one.gguf },
					b = { .file = base.file, .gguf = base.gguf };

		assert_int_equal(plan_same_key(&a, &b, "numbers"), others[i].same);
		assert_int_equal(plan_same_key(&b, &a, "numbers"), others[i].same);
		base_close(&base);
	}
	base_close(&one);
}

#define DOCUMENTS                                                           \
	"name: a\n" BY_WEIGHT "models: [{model: donor}, {model: host}]\n"   \
	"---\nname: b\n" BY_WEIGHT "models: [{model: a}, {model: donor}]\n" \
	"---\n" BY_WEIGHT "models: [{model: a}, {model: b}]\nchat_template: auto\n"

static void document_can_be_model_of_another_with_its_files(void **state)
{
	struct planned p;
	const struct merge_plan_tensor *tensor;

	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = 2 });
	save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 2, .chat = "{a}" });
	p = plan(state, DOCUMENTS);
	assert_int_equal(p.plan->n_files, 2);
	assert_string_equal(p.plan->files[0]->written, "donor");
	assert_true(!p.plan->files[0]->is_host && p.plan->files[0]->fingerprint[0]);
	assert_string_equal(p.plan->files[1]->written, "host");
	assert_true(p.plan->files[1]->is_host && !p.plan->files[1]->fingerprint[0]);
	assert_int_equal(p.plan->n_documents, 2);
	assert_int_equal(p.plan->documents[0].reads, 1);
	assert_int_equal(p.plan->documents[1].reads, 2);
	tensor = tensor_of(&p, "blk.1.attn_q.weight");
	assert_int_equal(tensor->made, MERGE_OF_ROWS);
	assert_ptr_equal(tensor->tensor.inputs[0].file, p.plan->documents[0].base.file);
	assert_ptr_equal(tensor->tensor.inputs[1].file, p.plan->documents[1].base.file);
	/* A named document has the metadata of its own host. */
	assert_string_equal(p.plan->chat_template, "{a}");
	release(&p);
}

/* Levels of documents, each of which merges the whole level before; so does the result. */
static char *levels(unsigned n, unsigned wide)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	for (unsigned level = 0; level <= n; level++)
		for (unsigned i = 0; i < (level < n ? wide : 1); i++) {
			if (level < n)
				fprintf(out, "name: l%ui%u\n", level, i);
			fputs(BY_WEIGHT "models: [", out);
			for (unsigned k = 0; level && k < wide; k++)
				fprintf(out, "{model: l%ui%u}, ", level - 1, k);
			fputs(level ? "{model: host}]\n---\n" : "{model: donor}]\n---\n", out);
		}
	size -= strlen("---\n");
	assert_int_equal(fclose(out), 0);
	text[strlen(text) - strlen("---\n")] = '\0';
	return text;
}

static void documents_that_multiply_their_reads_are_refused(void **state)
{
	char *deep = levels(31, 1), *wide = levels(4, 4);
	struct planned p;

	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = 1 });
	save_model(state, &(struct spec){ .file = "donor.gguf", .blocks = 1 });
	p = plan(state, deep);
	assert_int_equal(p.plan->documents[30].reads, 31);
	release(&p);
	assert_not_planned(state, wide, EINVAL, "83:55",
			   "more than 256 reads of documents' results");
	free(deep);
	free(wide);
}

static void document_is_no_adapter(void **state)
{
	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = 1 });
	assert_not_planned(state,
			   "name: a\n" BY_WEIGHT "models: [{model: host}]\n---\n" BY_WEIGHT
			   "models: [{model: {model: host, lora: a}}]\n",
			   EINVAL, "8:10", "is not half of a low-rank pair");
}

static void without_memory_nothing_is_planned(void **state)
{
	static const char *const texts[] = { SLERP, DOCUMENTS };

	needs_failing_allocations();
	save_model(state, &(struct spec){ .file = "host.gguf", .blocks = 4, .token = "one" });
	save_model(state,
		   &(struct spec){
			   .file = "donor.gguf", .blocks = 4, .token = "one", .chat = "{}" });
	for (size_t i = 0; i < 2; i++) {
		struct planned p = plan(state, texts[i]);

		for (uint64_t k = 1;; k++) {
			merge_plan_free(p.plan);
			p.err = (struct error){ 0 };
			allocation_fails(k);
			plan_into(&p, beside(state, ENCODE_KEEP));
			if (!allocation_failed())
				break;
			assert_null(p.plan);
			/* EIO would come from tensor data, which a plan does not read. */
			assert_refused(-p.err.code, &p.err, ENOMEM, ERROR_NO_OFFSET);
		}
		assert_non_null(p.plan);
		release(&p);
	}
}

static void assert_template(void **state, const char *wanted, const char *template)
{
	char text[200];
	struct planned planned;

	snprintf(text, sizeof(text),
		 "merge_method: linear\nparameters: {weight: 1}\nchat_template: %s\n"
		 "models: [{model: one}, {model: host}, {model: same}, {model: none}]\n",
		 wanted);
	planned = plan(state, text);
	if (template)
		assert_string_equal(planned.plan->chat_template, template);
	else
		assert_null(planned.plan->chat_template);
	release(&planned);
}

static void chat_template_is_that_of_most_models(void **state)
{
	const struct spec specs[] = { { .file = "host.gguf", .chat = " {a}\n" },
				      { .file = "one.gguf", .chat = "{b}" },
				      { .file = "same.gguf", .chat = "{a}" },
				      { .file = "none.gguf", .chat = " \n" } };

	for (size_t i = 0; i < 4; i++)
		save_model(state, &specs[i]);
	assert_template(state, "auto", "{a}");
	assert_template(state, "'{c} '", "{c} ");
	/* The first of equally frequent templates wins; a missing template does not count. */
	save_model(state, &(struct spec){ .file = "same.gguf", .chat = "{c}" });
	assert_template(state, "auto", "{b}");
	for (size_t i = 0; i < 4; i++)
		save_model(state, &(struct spec){ .file = specs[i].file });
	assert_template(state, "auto", NULL);
}

UNIT_MAIN(temp_setup, temp_teardown)
