/* SPDX-License-Identifier: MIT */
/* fuzz_adapters.c - any GGUF as a low-rank adapter or control vector of a small model, with a
 * scale chosen by the last bytes: it is refused with a reason, or merged. Tensors that the adapter
 * does not change read as before, a partial read of a changed tensor equals that part of a whole
 * read, and after its removal all tensors read as before. */
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/storage/backing.h"
#include "fuzz_help.h"
#include "gguf/control_vector.h"
#include "gguf/importance.h"
#include "tests/unit/open_model.h"

#include <float.h>
#include <sys/mman.h>

/* Number of last bytes that choose: the scale, the type of the result, and two windows. */
#define CHOICES ((size_t)4)

#define ADAPTER "a.gguf"
#define LENGTH	((size_t)1) /* of its name */

struct fuzz {
	void *state;
	struct opened o;
	char **before; /* content of each slot without the adapter */
	uint32_t n;
	const uint8_t *choices;
};

/* Make a base with each kind of tensor that adapters are merged into: floats, blocks, experts, and
 * a table of tokens. Block 1 is for control vectors. */
static void make_base(struct fuzz *f)
{
	static const uint64_t embed[] = { 32, 6 }, small[] = { 8, 4 }, blocks[] = { 32, 4 };
	static const uint64_t experts[] = { 32, 2, 3 }, row[] = { 8 };
	static const uint64_t output[] = { 8, 6 }, down[] = { 32, 6, 2 }, bias[] = { 6 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 2, embed);
	mkgguf_tensor(m, "blk.0.attn_q.weight", GGML_F32, 2, small);
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F16, 2, small);
	mkgguf_tensor(m, "blk.0.ffn_down.weight", GGML_Q8_0, 2, blocks);
	mkgguf_tensor(m, "blk.0.ffn_up_exps.weight", GGML_Q4_0, 3, experts);
	mkgguf_tensor(m, "output_norm.weight", GGML_F32, 1, row);
	mkgguf_tensor(m, "blk.1.attn_output.weight", GGML_F16, 2, output);
	mkgguf_tensor(m, "blk.1.ffn_down_exps.weight", GGML_Q8_0, 3, down);
	mkgguf_tensor(m, "blk.1.ffn_down.bias", GGML_F32, 1, bias);
	file = mkgguf_finish(m);
	write_file(in_temp(&f->state, "base.gguf").text, file.bytes, file.size);
	mk_file_free(&file);
}

static void begin(struct fuzz *f)
{
	struct model_options options = { .read_only = true };
	size_t size;

	options.merged = f->choices[1] % ENCODE_CHOICES;
	require(temp_setup(&f->state) == 0);
	make_base(f);
	f->o = open_with(&f->state, "base.gguf", &options);
	require(f->o.model != NULL);
	f->n = slots_count(f->o.model->slots);
	f->before = calloc(f->n, sizeof(char *));
	require(f->before != NULL);
	for (uint32_t i = 0; i < f->n; i++)
		f->before[i] = read_organ(f->o.model, i, &size);
}

static void end(struct fuzz *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		free(f->before[i]);
	free(f->before);
	close_model(&f->o);
	temp_teardown(&f->state);
}

static void check_as_before(const struct fuzz *f, uint32_t slot)
{
	size_t size;
	char *now = read_organ(f->o.model, slot, &size);

	require(memcmp(now, f->before[slot], size) == 0);
	free(now);
}

/* Check a window of the view, read twice, against the whole. */
static void check_window(struct view *view, const char *whole, uint8_t choice)
{
	const size_t size = (size_t)view_size(view), from = size * choice / 256;
	const size_t n = (size - from) / (1 + choice % 5u);
	char *bytes = malloc(n + 1);

	require(bytes != NULL);
	for (int times = 0; times < 2; times++) {
		require(view_read(view, bytes, n, from) == (ssize_t)n);
		require(memcmp(bytes, whole + from, n) == 0);
	}
	free(bytes);
}

static void check_merged(const struct fuzz *f, uint32_t slot, const struct content *content)
{
	struct view *view;
	char *whole;
	size_t size;

	if (content->broken) {
		require(content->broken[0]);
		return;
	}
	view = organ_file_view(f->o.model, slot, content);
	require(view != NULL);
	size = (size_t)view_size(view);
	require(size == organ_file_size(f->o.model, slot, content));
	/* The windows come first, before a read of the whole could leave anything in a cache. */
	whole = malloc(size + 1);
	require(whole && view_read(view, whole + size / 2, size - size / 2, size / 2) ==
				 (ssize_t)(size - size / 2));
	require(view_read(view, whole, size / 2, 0) == (ssize_t)(size / 2));
	check_window(view, whole, f->choices[2]);
	check_window(view, whole, f->choices[3]);
	free(whole);
	view_unref(view);
}

static void check_slots(const struct fuzz *f, const struct gguf *adapter)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct gguf_tensor *tensor = &f->o.model->gguf->tensors[i];
		struct content *content = slots_get(f->o.model->slots, i);
		char half[64];
		bool is_meant, by_row;

		snprintf(half, sizeof(half), "%s.lora_a", tensor->name);
		is_meant = gguf_tensor(adapter, half, strlen(half)) ||
			   control_vector_direction(adapter, tensor->name, tensor->name_length,
						    &by_row);
		require(content == NULL || (content->kind == CONTENT_MERGED && is_meant));
		if (content)
			check_merged(f, i, content);
		else
			check_as_before(f, i);
		content_unref(content);
	}
}

static void set(const struct fuzz *f, struct content *link, struct gguf *gguf)
{
	static const float scales[] = { 1.0f, -2.5f, 0.0f, 1e-30f, 1e30f, FLT_MAX, FLT_MIN, 0.5f };
	const float number = scales[f->choices[0] % ARRAY_LENGTH(scales)];
	const struct adapter_scale scale = {
		.n = 1,
		.numbers = { (double)number },
		.keeps_norm = f->choices[0] > 127 && gguf && control_vector_is(gguf),
	};
	const struct timespec now = { 1, 0 };
	struct model *model = f->o.model;

	journal_begin(model);
	require(adapters_reserve(model, ADAPTER, LENGTH, ADAPTER_GGUF, NULL) == 0);
	require(adapters_reserve(model, ADAPTER, LENGTH, ADAPTER_SCALE, NULL) == 0);
	adapters_set_link(model, ADAPTER, LENGTH, link, gguf);
	adapters_set_value(model, ADAPTER, LENGTH, ADAPTER_SCALE, link ? &scale : NULL, &now);
	adapters_refresh(model);
	journal_end(model);
}

static void merge(const struct fuzz *f, struct backing *file, struct gguf *gguf)
{
	const struct organ nothing = { .name = "" };
	struct content *link =
		content_new_link(inode_new(f->o.model), &nothing, file, 0, "/" ADAPTER);
	struct adapter_list *list;

	require(link != NULL);
	set(f, link, gguf);
	check_slots(f, gguf);
	list = adapters_list(f->o.model);
	require(list && list->n <= 1);
	adapter_list_free(list);
	set(f, NULL, NULL);
	for (uint32_t i = 0; i < f->n; i++)
		check_as_before(f, i);
}

/* Check that the weights of an accepted matrix can be read, for each tensor that its shapes fit. */
static void check_weights(const struct fuzz *f, const struct source *source,
			  const struct gguf *matrix)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct gguf_tensor *t = &f->o.model->gguf->tensors[i];
		float weights[32];

		if (importance_fits(matrix, source, t->name, t->name_length, t->ne, NULL) < 0)
			continue;
		for (uint64_t expert = 0; expert < t->ne[2]; expert++)
			require(importance_read(matrix, source, t->name, t->name_length, t->ne,
						expert, weights, NULL) == 0);
	}
}

static void try_adapter(const uint8_t *data, size_t size, struct backing *file, struct gguf *gguf)
{
	const struct source source = backing_source(file);
	struct fuzz f = { .choices = data + size };
	struct error err = { 0 };

	begin(&f);
	if (adapters_check_file(f.o.model, ADAPTERS_IMPORTANCE, file, gguf, &err) < 0)
		require((err.code == EINVAL || err.code == EIO) && err.text[0]);
	else
		check_weights(&f, &source, gguf);
	err = (struct error){ 0 };
	if (adapters_check_file(f.o.model, ADAPTER, file, gguf, &err) == 0) {
		merge(&f, file, gguf);
	} else {
		require(err.code == EINVAL && err.text[0]);
		gguf_free(gguf);
	}
	end(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	struct backing *file;
	struct source source;
	struct gguf *gguf;
	int fd;

	if (size <= CHOICES)
		return 0;
	size -= CHOICES;
	fd = memfd_create("adapter", MFD_CLOEXEC);
	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	file = backing_fdopen(fd, "/" ADAPTER, &err);
	require(file != NULL);
	source = backing_source(file);
	gguf = gguf_read(&source, &err);
	if (gguf)
		try_adapter(data, size, file, gguf);
	backing_unref(file);
	return 0;
}
