/* SPDX-License-Identifier: MIT */
/* layer_seen.c - see layer_seen.h. */
#include "fs/layer/layer_seen.h"
#include "fs/layer/layer_open.h"
#include "fs/util/io.h"
#include "fs/util/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Two paths and a tensor's name, of up to 64 KiB, are shorter, also with each byte encoded. */
#define TEXT_MAX ((size_t)1 << 18)

/* The lines before the reference, to free. NULL: out of memory. */
static char *first_lines(const char *target)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("organfs seen 1\ntarget ", out);
	paths_print(target, strlen(target), out);
	putc('\n', out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

int layer_seen_write(struct layer *layer, const char *staged, const char *target,
		     const char *reference)
{
	char *first = first_lines(target);
	const size_t n = first ? strlen(first) : 0, more = strlen(reference);
	int fd, rc;

	if (!first || n + more >= TEXT_MAX) {
		free(first);
		return first ? -EFBIG : -ENOMEM;
	}
	fd = layer_create_file(layer->dir, staged);
	rc = fd < 0 ? fd : io_write(fd, first, n, 0);
	if (rc == 0)
		rc = io_write(fd, reference, more, n);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && rc < 0)
		unlinkat(layer->dir, staged, 0);
	free(first);
	return rc;
}

char *layer_seen_read(int dir, const char *name, const char *target)
{
	char path[LAYER_FILE_MAX], *text, *first, *reference = NULL;

	if (snprintf(path, sizeof(path), "%s" LAYER_SEEN_SUFFIX, name) >= (int)sizeof(path))
		return NULL;
	text = layer_read_text(dir, path, TEXT_MAX);
	if (!text)
		return NULL;
	first = first_lines(target);
	if (first && strncmp(text, first, strlen(first)) == 0)
		reference = strdup(text + strlen(first));
	free(first);
	free(text);
	return reference;
}
