/* SPDX-License-Identifier: MIT */
/* recipe_ancestry.c - see recipe_ancestry.h. */
#include "fs/recipe/recipe_ancestry.h"
#include "fs/base/donor.h"
#include "fs/model/model.h"
#include "fs/recipe/recipe.h"
#include "fs/storage/backing.h"
#include "fs/util/paths.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct recipe_ancestor {
	char fingerprint[FINGERPRINT_TEXT];
	char *text; /* NULL: none */
	size_t size;
	bool cut;
	struct recipe_ancestor *next;
};

struct recipe_contents {
	char *path;
	struct stat stat;
	char text[FINGERPRINT_TEXT];
	struct recipe_contents *next;
};

void recipe_ancestry_init(struct recipe_ancestry *ancestry)
{
	*ancestry = (struct recipe_ancestry){ 0 };
	pthread_mutex_init(&ancestry->lock, NULL);
}

void recipe_ancestry_release(struct recipe_ancestry *ancestry)
{
	while (ancestry->first) {
		struct recipe_ancestor *ancestor = ancestry->first;

		ancestry->first = ancestor->next;
		free(ancestor->text);
		free(ancestor);
	}
	while (ancestry->contents) {
		struct recipe_contents *contents = ancestry->contents;

		ancestry->contents = contents->next;
		free(contents->path);
		free(contents);
	}
	pthread_mutex_destroy(&ancestry->lock);
}

/* Hash the contents of a file. Returns 0, or -errno with an empty text. */
static int make_contents(struct backing *file, const struct gguf *gguf, char text[FINGERPRINT_TEXT])
{
	const struct source source = backing_source(file);
	struct error err = { 0 };
	struct gguf *parsed = gguf ? NULL : gguf_read(&source, &err);
	int rc = -err.code;

	text[0] = '\0';
	if (parsed || gguf)
		rc = fingerprint_contents(file, parsed ? parsed : gguf, text);
	gguf_free(parsed);
	return rc;
}

static bool find_contents(struct recipe_ancestry *ancestry, const struct backing *file,
			  char text[FINGERPRINT_TEXT])
{
	const struct recipe_contents *known;

	pthread_mutex_lock(&ancestry->lock);
	known = ancestry->contents;
	while (known && (strcmp(known->path, backing_path(file)) != 0 ||
			 !paths_same_file(&known->stat, backing_stat(file))))
		known = known->next;
	if (known)
		memcpy(text, known->text, FINGERPRINT_TEXT);
	pthread_mutex_unlock(&ancestry->lock);
	return known;
}

static int keep_contents(struct recipe_ancestry *ancestry, const struct backing *file,
			 const char text[FINGERPRINT_TEXT])
{
	struct recipe_contents *contents = calloc(1, sizeof(*contents));

	if (!contents || !(contents->path = strdup(backing_path(file)))) {
		free(contents);
		return -ENOMEM;
	}
	contents->stat = *backing_stat(file);
	memcpy(contents->text, text, FINGERPRINT_TEXT);
	pthread_mutex_lock(&ancestry->lock);
	contents->next = ancestry->contents;
	ancestry->contents = contents;
	pthread_mutex_unlock(&ancestry->lock);
	return 0;
}

/* Hashes are computed without the lock, so that a disk that hangs blocks no thread that asks for
 * another file. */
int recipe_ancestry_contents(struct recipe_ancestry *ancestry, struct backing *file,
			     const struct gguf *gguf, char text[FINGERPRINT_TEXT])
{
	int rc;

	if (find_contents(ancestry, file, text))
		return 0;
	rc = make_contents(file, gguf, text);
	if (rc < 0 && rc != -EREMOTE)
		return rc == -ENOMEM ? rc : 0;
	return keep_contents(ancestry, file, text);
}

char *recipe_carried(struct backing *file, const struct gguf *gguf, size_t most, size_t *size)
{
	const struct kv *kv = gguf_find(gguf, LINEAGE_KEY);
	char *text;

	*size = 0;
	if (!kv || kv->type != KV_STRING || kv->length == 0)
		return NULL;
	if (kv->length > most) {
		*size = SIZE_MAX;
		return NULL;
	}
	text = malloc((size_t)kv->length + 1);
	if (!text || backing_read(file, text, (size_t)kv->length, kv->offset) < 0) {
		free(text);
		return NULL;
	}
	*size = (size_t)kv->length;
	text[*size] = '\0';
	return text;
}

/* Nesting depth of a text, looking into at most so many levels. */
static unsigned depth_within(const char *text, size_t n, unsigned levels)
{
	struct recipe recipe;
	unsigned most = 0;

	if (levels == 0)
		return 1;
	if (recipe_read(text, n, &recipe, NULL) == 0) {
		most = 1;
		for (size_t i = 0; i <= recipe.n_donors; i++) {
			const struct recipe_text *carried =
				i ? &recipe.donors[i - 1].recipe : &recipe.base.recipe;
			const unsigned depth =
				carried->bytes
					? depth_within(carried->bytes, carried->length, levels - 1)
					: 0;

			if (depth + 1 > most)
				most = depth + 1;
		}
	}
	recipe_release(&recipe);
	return most;
}

unsigned recipe_depth(const char *text, size_t n)
{
	return depth_within(text, n, ANCESTRY_DEPTH_MAX);
}

/* Discard a text that is no recipe, or nested too deep. */
static void judge(struct recipe_ancestor *ancestor)
{
	const unsigned depth = ancestor->text ? recipe_depth(ancestor->text, ancestor->size) : 0;

	ancestor->cut = ancestor->size == SIZE_MAX || depth >= ANCESTRY_DEPTH_MAX;
	if (depth && !ancestor->cut)
		return;
	free(ancestor->text);
	ancestor->text = NULL;
}

static void read_donor(struct recipe_ancestor *ancestor, const struct donor *donor)
{
	struct error err;
	struct backing *file = donor_open(donor, &err);
	struct source source;
	struct gguf *gguf;

	if (!file)
		return;
	source = backing_source(file);
	gguf = gguf_read(&source, NULL);
	if (gguf)
		ancestor->text = recipe_carried(file, gguf, ANCESTRY_SIZE_MAX, &ancestor->size);
	gguf_free(gguf);
	backing_unref(file);
}

/* Find or read the recipe of the file with that fingerprint, with the lock held. NULL: out of
 * memory. */
static const struct recipe_ancestor *find(struct recipe_ancestry *ancestry, const char *fingerprint,
					  struct backing *file, const struct gguf *gguf,
					  const struct donor *donor)
{
	struct recipe_ancestor *ancestor = ancestry->first;

	while (ancestor && strcmp(ancestor->fingerprint, fingerprint) != 0)
		ancestor = ancestor->next;
	if (ancestor)
		return ancestor;
	ancestor = calloc(1, sizeof(*ancestor));
	if (!ancestor)
		return NULL;
	strcpy(ancestor->fingerprint, fingerprint);
	if (gguf)
		ancestor->text = recipe_carried(file, gguf, ANCESTRY_SIZE_MAX, &ancestor->size);
	else if (donor)
		read_donor(ancestor, donor);
	judge(ancestor);
	ancestor->next = ancestry->first;
	ancestry->first = ancestor;
	return ancestor;
}

int recipe_ancestry_fill(struct recipe_ancestry *ancestry, struct recipe_source *source,
			 struct backing *file, const struct gguf *gguf, const struct donor *donor)
{
	const struct recipe_ancestor *ancestor;
	int rc = -ENOMEM;

	pthread_mutex_lock(&ancestry->lock);
	ancestor = find(ancestry, source->fingerprint, file, gguf, donor);
	if (ancestor) {
		source->cut = ancestor->cut;
		rc = ancestor->text
			     ? recipe_text_set(&source->recipe, ancestor->text, ancestor->size)
			     : 0;
	}
	pthread_mutex_unlock(&ancestry->lock);
	return rc;
}
