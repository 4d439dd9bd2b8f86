/* SPDX-License-Identifier: MIT */
/* fuzz_merge_note.c - any text as the note of a merge in a layer: refused with its line, or read
 * into a note that reads back the same after it was printed. */
#include "fs/merge/merge_note.h"
#include "fuzz_help.h"

#include <errno.h>
#include <string.h>

static int read_text(char *text, struct merge_note *note)
{
	struct error err = { 0 };
	const int rc = merge_note_read(text, note, &err);

	require(rc == 0 ||
		(rc == -EBADMSG && err.code == EBADMSG && strncmp(err.text, "line ", 5) == 0));
	return rc;
}

static void check_same_organ(const struct organ *a, const struct organ *b)
{
	require(a->name_length == b->name_length);
	require(memcmp(a->name, b->name, a->name_length) == 0);
	require(a->type == b->type && a->dims == b->dims && a->data_size == b->data_size);
	require(memcmp(a->ne, b->ne, sizeof(a->ne)) == 0);
}

static void check_same(const struct merge_note *a, const struct merge_note *b)
{
	require(a->n_models == b->n_models && a->n == b->n && a->size == b->size);
	for (size_t i = 0; i < a->n_models; i++) {
		require(strcmp(a->models[i].written, b->models[i].written) == 0);
		require(strcmp(a->models[i].path, b->models[i].path) == 0);
		require(strcmp(a->models[i].fingerprint, b->models[i].fingerprint) == 0);
	}
	for (size_t i = 0; i < a->n; i++) {
		require(a->tensors[i].gone == b->tensors[i].gone);
		check_same_organ(&a->tensors[i].organ, &b->tensors[i].organ);
	}
	require(strcmp(a->text, b->text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct merge_note note, again;

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (read_text(text, &note) == 0) {
		require(note.size == strlen(note.text));
		text = merge_note_print(&note);
		require(text && read_text(text, &again) == 0);
		check_same(&note, &again);
		merge_note_release(&again);
	}
	merge_note_release(&note);
	return 0;
}
