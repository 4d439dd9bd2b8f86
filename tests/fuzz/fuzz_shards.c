/* SPDX-License-Identifier: MIT */
/* fuzz_shards.c - any bytes, cut into files before each "GGUF", as the shards of a model, one of
 * which is lost and comes back: the shards are refused with a reason, or joined into a model whose
 * tensors read as the bytes of their files. The loss is noticed, and with the shard back the model
 * is the same as before. The last bytes choose. */
#include "fs/base/base.h"
#include "fs/base/shards.h"
#include "fs/storage/backing.h"
#include "fuzz_help.h"
#include "tests/unit/temp_dir.h"

#include <sys/stat.h>

/* Number of last bytes that choose the opened file, the lost file, and the claimed number of
 * shards. */
#define CHOICES ((size_t)3)

#define FILES_MAX 6u

struct cut {
	const uint8_t *bytes;
	size_t size;
	char name[40];
};

struct fuzz {
	void *state;
	struct cut files[FILES_MAX];
	unsigned n;
};

static void cut_files(struct fuzz *f, const uint8_t *data, size_t size)
{
	const uint8_t *at = data, *end = data + size;

	while (at < end && f->n < FILES_MAX) {
		const size_t left = (size_t)(end - at);
		const uint8_t *next = left > 4 ? memmem(at + 4, left - 4, "GGUF", 4) : NULL;

		if (f->n + 1 == FILES_MAX || !next)
			next = end;
		f->files[f->n++] = (struct cut){ .bytes = at, .size = (size_t)(next - at) };
		at = next;
	}
}

static void save_file(struct fuzz *f, const struct cut *file)
{
	write_file(in_temp(&f->state, file->name).text, file->bytes, file->size);
}

static void check_tensor(const struct base *base, const struct gguf_tensor *t)
{
	uint64_t offset = t->offset, length = t->size;
	uint8_t *bytes, *again;
	struct backing *part;

	require(t->offset <= base->gguf->size && t->size <= base->gguf->size - t->offset);
	if (t->size == 0 || t->size > RENDER_MAX)
		return;
	bytes = malloc((size_t)t->size);
	again = malloc((size_t)t->size);
	require(bytes && again);
	require(backing_read(base->file, bytes, (size_t)t->size, t->offset) == 0);
	part = backing_file_at(base->file, &offset, &length);
	require(part && length == t->size);
	require(backing_read(part, again, (size_t)t->size, offset) == 0);
	require(memcmp(bytes, again, (size_t)t->size) == 0);
	free(bytes);
	free(again);
}

static void check_texts(struct shards *shards)
{
	char *summary = shards_summary(shards), *missing = shards_missing_text(shards);
	uint64_t total = shards_tensor_total(shards);

	require(summary && missing);
	require(total == 0 || !shards_are_complete(shards) || total == shards_tensor_count(shards));
	free(summary);
	free(missing);
}

/* Check that every tensor lies in the shard and at the place that the base tells. */
static void check_base(const struct base *base)
{
	uint32_t no;

	for (uint32_t i = 0; i < base->gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &base->gguf->tensors[i];

		check_tensor(base, t);
		if (base->shards) {
			require(shards_find_tensor(base->shards, t->name, t->name_length, &no));
			require(shards_is_present(base->shards, no));
		}
	}
	if (base->shards)
		check_texts(base->shards);
}

/* Lose a file, and check that no shard is new and none is from that file. */
static struct shards *lose(struct fuzz *f, struct shards *shards, const struct cut *file)
{
	struct shards *less;

	require(unlink(in_temp(&f->state, file->name).text) == 0);
	less = shards_rescan(shards);
	if (!less)
		return NULL;
	require(!shards_same(less, shards));
	check_texts(less);
	return less;
}

static void lose_and_find(struct fuzz *f, const struct base *base, const struct cut *file)
{
	struct shards *less = lose(f, base->shards, file), *found;
	struct error err = { 0 };
	struct base again = { .file = NULL };

	save_file(f, file);
	found = less ? shards_rescan(less) : NULL;
	shards_unref(less);
	if (!found)
		return;
	require(shards_are_complete(found) == shards_are_complete(base->shards));
	if (base_open_shards(&again, found, &err) == 0) {
		check_base(&again);
		require(again.gguf->n_tensors == base->gguf->n_tensors);
		require(again.gguf->size == base->gguf->size);
	} else {
		require(err.code && err.text[0]);
	}
	base_close(&again);
	shards_unref(found);
}

static void open_and_check(struct fuzz *f, const uint8_t *choices)
{
	const struct cut *file = &f->files[choices[0] % f->n];
	struct error err = { 0 };
	struct base base;

	if (base_open(&base, in_temp(&f->state, file->name).text, &err) == 0) {
		check_base(&base);
		if (base.shards) {
			require(!shards_rescan(base.shards));
			lose_and_find(f, &base, &f->files[choices[1] % f->n]);
		}
	} else {
		require(err.code && err.text[0]);
	}
	base_close(&base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { .n = 0 };
	const uint8_t *choices;

	if (size <= CHOICES)
		return 0;
	size -= CHOICES;
	choices = data + size;
	cut_files(&f, data, size);
	require(temp_setup(&f.state) == 0);
	for (unsigned k = 0; k < f.n; k++) {
		snprintf(f.files[k].name, sizeof(f.files[k].name), "x-%05u-of-%05u.gguf", k + 1,
			 f.n + choices[2] % 4u);
		save_file(&f, &f.files[k]);
	}
	open_and_check(&f, choices);
	temp_teardown(&f.state);
	return 0;
}
