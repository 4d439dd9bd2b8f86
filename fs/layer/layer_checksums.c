/* SPDX-License-Identifier: MIT */
/* layer_checksums.c - see layer_checksums.h. */
#include "fs/layer/layer_checksums.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/util/io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DIGITS ((size_t)XXH128_TEXT - 1)

int layer_checksum_write(struct layer *layer, const char *staged, const char *xxh128,
			 enum organ_class klass, const char *name)
{
	char text[XXH128_TEXT + LAYER_FILE_MAX + 32];
	const int n =
		snprintf(text, sizeof(text), "%s  %s/%s.bin\n", xxh128, class_name(klass), name);

	return layer_create_text(layer, staged, text, (size_t)n, false);
}

int layer_checksum_read(int dir, const char *file, char xxh128[XXH128_TEXT])
{
	char path[LAYER_FILE_MAX], text[XXH128_TEXT + 1];
	int fd;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s" LAYER_CHECKSUM_SUFFIX, file) >= (int)sizeof(path))
		return 0;
	fd = layer_open_file(dir, path);
	n = fd < 0 ? fd : io_read(fd, text, sizeof(text), 0);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return layer_is_unread((int)-n) ? (int)n : 0;
	if (n != (ssize_t)sizeof(text) || memcmp(text + DIGITS, "  ", 2) != 0)
		return 0;
	text[DIGITS] = '\0';
	if (strspn(text, "0123456789abcdef") != DIGITS)
		return 0;
	memcpy(xxh128, text, XXH128_TEXT);
	return 1;
}
