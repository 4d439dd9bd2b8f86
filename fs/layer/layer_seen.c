/* SPDX-License-Identifier: MIT */
/* layer_seen.c - see layer_seen.h. */
#include "fs/layer/layer_seen.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/util/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two paths and a tensor's name, of up to 64 KiB, are shorter, also with each byte encoded. */
#define TEXT_MAX ((size_t)1 << 18)

/* The text of the file, to free. NULL: out of memory. */
static char *print(const char *target, const char *reference, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (!out)
		return NULL;
	fputs("organfs seen 1\ntarget ", out);
	paths_print(target, strlen(target), out);
	fprintf(out, "\n%s", reference);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

int layer_seen_write(struct layer *layer, const char *staged, const char *target,
		     const char *reference)
{
	size_t size;
	char *text = print(target, reference, &size);
	const int rc = !text		  ? -ENOMEM
		       : size >= TEXT_MAX ? -EFBIG
					  : layer_create_text(layer, staged, text, size, true);

	free(text);
	return rc;
}

char *layer_seen_read(int dir, const char *name, const char *target, int *rc)
{
	char path[LAYER_FILE_MAX], *text, *first, *reference = NULL;
	size_t size;

	*rc = 0;
	if (snprintf(path, sizeof(path), "%s" LAYER_SEEN_SUFFIX, name) >= (int)sizeof(path))
		return NULL;
	text = layer_read_own_text(dir, path, TEXT_MAX, rc);
	if (!text)
		return NULL;
	first = print(target, "", &size);
	if (first && strncmp(text, first, size) == 0)
		reference = strdup(text + size);
	if (!first || (!reference && strncmp(text, first, size) == 0))
		*rc = -ENOMEM;
	free(first);
	free(text);
	return reference;
}
