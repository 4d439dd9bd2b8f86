/* SPDX-License-Identifier: MIT */
/* layer_origin.c - see layer_origin.h. */
#include "fs/layer_origin.h"
#include "fs/io.h"
#include "fs/layer_open.h"
#include "fs/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LINES "organfs origin 1\nslot "

/* A tensor's name has 512 bytes at most where it is added (ADDED_NAME_MAX), each of which may stand
 * encoded. */
#define TEXT_MAX 4096

static int write_durably(int fd, const char *text, size_t n)
{
	const int rc = io_write(fd, text, n, 0);

	return rc == 0 && fsync(fd) < 0 ? -errno : rc;
}

int origin_write(struct layer *layer, const char *staged, const struct layer_origin *origin)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int fd, rc;

	if (!out)
		return -ENOMEM;
	fputs(FIRST_LINES, out);
	paths_print(origin->slot, origin->slot_length, out);
	putc('\n', out);
	if (fclose(out) != 0) {
		free(text);
		return -ENOMEM;
	}
	fd = layer_create_file(layer->dir, staged);
	rc = fd < 0 ? fd : write_durably(fd, text, size);
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && rc < 0)
		unlinkat(layer->dir, staged, 0);
	free(text);
	return rc;
}

/* The text of the file, with a NUL, to free. NULL: it is not there, or no such file. */
static char *read_text(int dir, const char *file)
{
	const int fd = layer_open_file(dir, file);
	char *text = NULL;
	ssize_t n = -1;

	if (fd < 0)
		return NULL;
	text = malloc(TEXT_MAX);
	if (text)
		n = io_read(fd, text, TEXT_MAX, 0);
	close(fd);
	if (n < 0 || n == TEXT_MAX || memchr(text, '\0', (size_t)n)) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

bool origin_read(int dir, const char *name, struct layer_origin *origin)
{
	char path[LAYER_FILE_MAX], *text, *slot, *end;

	*origin = (struct layer_origin){ NULL, 0 };
	if (snprintf(path, sizeof(path), "%s" ORIGIN_SUFFIX, name) >= (int)sizeof(path))
		return false;
	text = read_text(dir, path);
	slot = text && strncmp(text, FIRST_LINES, strlen(FIRST_LINES)) == 0
		       ? text + strlen(FIRST_LINES)
		       : NULL;
	end = slot ? strchr(slot, '\n') : NULL;
	if (end) {
		*end = '\0';
		origin->slot_length = paths_decode(slot);
		memmove(text, slot, origin->slot_length + 1);
		origin->slot = text;
	} else {
		free(text);
	}
	return origin->slot != NULL;
}
