/* SPDX-License-Identifier: MIT */
/* layer_origin.c - see layer_origin.h. */
#include "fs/layer/layer_origin.h"
#include "fs/base/donor.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/util/paths.h"
#include "fs/util/text_escape.h"
#include "fs/util/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "organfs origin 1\n"

/* A tensor's name has so many bytes at most where it is added (ADDED_NAME_MAX). */
#define SLOT_MAX 512

/* A path, and names of tensors, of which each byte may stand encoded; longer ones are not kept. */
#define TEXT_MAX 32768

static const char *const views[] = { "spectral", "fractal", "experts" };

static bool has_donor_text(const struct layer_origin *origin, const char *xxh128)
{
	size_t n;

	/* A GGUF that nothing tells from another is not known again. */
	return origin->donor && xxh128[0] &&
	       (origin->fingerprint[0] || !donor_tensor(origin->donor, &n));
}

bool layer_origin_is_known(const struct layer_origin *origin, const char *xxh128)
{
	return origin->slot || has_donor_text(origin, xxh128);
}

static void print_name(FILE *out, const char *key, const char *name, size_t n)
{
	fputs(key, out);
	paths_print(name, n, out);
	putc('\n', out);
}

static void print_donor(FILE *out, const struct layer_origin *origin, const char *xxh128)
{
	const char *path = donor_path(origin->donor), *view = donor_view(origin->donor);
	size_t n;
	const char *tensor = donor_tensor(origin->donor, &n);

	fprintf(out, "organ %s\n", xxh128);
	print_name(out, "donor ", path, strlen(path));
	if (tensor) {
		fprintf(out, "fingerprint %s\n", origin->fingerprint);
		print_name(out, "tensor ", tensor, n);
		if (origin->of != REFERENCE_OF_UNKNOWN)
			fprintf(out, "of %s\n", reference_whose[origin->of]);
	}
	if (view)
		fprintf(out, "view %s\n", view);
}

/* The text of the file, to free. NULL: out of memory. */
static char *print(const struct layer_origin *origin, const char *xxh128, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (!out)
		return NULL;
	fputs(FIRST_LINE, out);
	if (origin->slot)
		print_name(out, "slot ", origin->slot, origin->slot_length);
	if (has_donor_text(origin, xxh128))
		print_donor(out, origin, xxh128);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

int layer_origin_write(struct layer *layer, const char *staged, const struct layer_origin *origin,
		       const char *xxh128)
{
	size_t size = 0;
	char *text = print(origin, xxh128, &size);
	int rc;

	if (text && size >= TEXT_MAX) {
		free(text);
		text = print(origin, "", &size);
	}
	if (!text)
		return -ENOMEM;
	rc = layer_create_text(layer, staged, text, size, origin->slot != NULL);
	free(text);
	return rc;
}

enum key { KEY_SLOT, KEY_ORGAN, KEY_DONOR, KEY_FINGERPRINT, KEY_TENSOR, KEY_VIEW, KEY_OF, KEYS };

/* Cut the text into the values of the keys. False: it is no such text. */
static bool parse(char *text, char *values[KEYS])
{
	static const char *const keys[KEYS] = { "slot ",   "organ ", "donor ", "fingerprint ",
						"tensor ", "view ",  "of " };
	char *line = text + strlen(FIRST_LINE), *end;

	if (strncmp(text, FIRST_LINE, strlen(FIRST_LINE)) != 0)
		return false;
	for (; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			return false;
		*end = '\0';
		for (enum key key = 0; key < KEYS; key++) {
			const size_t n = strlen(keys[key]);

			if (strncmp(line, keys[key], n) != 0)
				continue;
			if (values[key])
				return false;
			values[key] = line + n;
		}
	}
	return true;
}

/* Is it a hash, as the layer writes it? */
static bool is_hash(const char *text)
{
	return text && strlen(text) == XXH128_TEXT - 1 &&
	       strspn(text, "0123456789abcdef") == XXH128_TEXT - 1;
}

/* The donor that the values tell of, of the organ with that hash. NULL: none, or it cannot be. */
static struct donor *donor_of(char *values[KEYS], const char *xxh128)
{
	char *path = values[KEY_DONOR], *tensor = values[KEY_TENSOR];
	const char *print = values[KEY_FINGERPRINT];
	struct donor *donor, *viewed = NULL;
	size_t n = 0;

	if (!path || !is_hash(values[KEY_ORGAN]) || strcmp(values[KEY_ORGAN], xxh128) != 0 ||
	    !tensor != !print || (print && !is_hash(print)))
		return NULL;
	n = text_unescape(path);
	if (strlen(path) != n || n == 0 ||
	    (!url_or_absolute_path(path) && (!print || strchr(path, '/'))))
		return NULL;
	n = tensor ? text_unescape(tensor) : 0;
	donor = donor_from_record(path, print ? print : "", tensor, n);
	if (!values[KEY_VIEW])
		return donor;
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (strcmp(views[i], values[KEY_VIEW]) == 0)
			viewed = donor_from_view(donor, views[i]);
	donor_unref(donor);
	return viewed;
}

/* The slot's name, to free. NULL: none that one could have. */
static char *slot_of(char *value, size_t *length)
{
	char *slot;

	*length = value ? text_unescape(value) : 0;
	if (!value || *length > SLOT_MAX || !(slot = malloc(*length + 1)))
		return NULL;
	memcpy(slot, value, *length + 1);
	return slot;
}

int layer_origin_read(int dir, const char *name, const char *xxh128, struct layer_origin *origin)
{
	char path[LAYER_FILE_MAX], *text, *values[KEYS] = { NULL };
	int rc;

	*origin = (struct layer_origin){ .slot = NULL };
	if (snprintf(path, sizeof(path), "%s" LAYER_ORIGIN_SUFFIX, name) >= (int)sizeof(path))
		return 0;
	text = layer_read_text(dir, path, TEXT_MAX, &rc);
	if (text && parse(text, values)) {
		origin->slot = slot_of(values[KEY_SLOT], &origin->slot_length);
		origin->donor = donor_of(values, xxh128);
		origin->of = reference_parse_of(values[KEY_OF]);
	}
	free(text);
	return rc < 0 ? rc : origin->slot || origin->donor;
}

void layer_origin_release(struct layer_origin *origin)
{
	free((char *)origin->slot);
	donor_unref(origin->donor);
	*origin = (struct layer_origin){ .slot = NULL };
}
