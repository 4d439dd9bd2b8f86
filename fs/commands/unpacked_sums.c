/* SPDX-License-Identifier: MIT */
/* unpacked_sums.c - see unpacked_sums.h. */
#include "fs/commands/unpacked_sums.h"
#include "fs/base/organ_files.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/offline_tree.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/util/hash_text.h"
#include "fs/util/io.h"
#include "gguf/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUMS_NAME "checksums.xxh128"

/* Most bytes of the file. */
#define SUMS_MAX ((off_t)64 << 20)

/* Offset of the path in a line, behind the hash and two blanks. */
#define PATH_AT (XXH128_TEXT - 1 + 2)

/* Read the file in the directory. Returns its text, to free, or NULL. */
static char *read_sums(const char *directory)
{
	char *path = NULL, *text = NULL;
	struct stat stat;
	size_t size;
	int fd = -1;

	if (asprintf(&path, "%s/" SUMS_NAME, directory) >= 0)
		fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size <= SUMS_MAX)
		text = io_read_all(fd, &size);
	if (fd >= 0)
		close(fd);
	free(path);
	return text;
}

/* The lines of a borrowed text as a set of names. NULL: out of memory. */
static struct names *lines_of(const char *text)
{
	struct names *lines = names_new(1024);
	int rc = lines ? 0 : -ENOMEM;

	for (size_t n; rc == 0 && *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		rc = names_add(lines, text, n, 0);
		if (rc == -EEXIST)
			rc = 0;
	}
	if (rc == 0)
		return lines;
	names_free(lines);
	return NULL;
}

/* Find the slot of a line "HASH  CLASS/NAME.bin". */
static bool find_slot(struct model *model, const char *line, size_t n, uint32_t *slot)
{
	const char *path = line + PATH_AT, *slash;
	enum organ_class klass;

	if (n <= PATH_AT)
		return false;
	n -= PATH_AT;
	slash = memchr(path, '/', n);
	return slash && n > (size_t)(slash + 1 - path) + 4 &&
	       class_find(path, (size_t)(slash - path), &klass) &&
	       model_find_slot(model, klass, slash + 1, n - (size_t)(slash + 1 - path) - 4, slot);
}

static void compare(struct model *model, const struct names *lines, const char *text,
		    bool *unchanged, uint32_t slots)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		uint32_t slot, value;

		n = strcspn(text, "\n");
		if (find_slot(model, text, n, &slot) && slot < slots)
			unchanged[slot] = names_find(lines, text, n, &value);
	}
}

int unpacked_sums_compare(struct offline_tree *tree, bool **unchanged)
{
	const uint32_t slots = slots_count(tree->model->slots);
	char *directory = organ_files_directory(tree->options.models[0]);
	char *then = directory ? read_sums(directory) : NULL, *now = NULL;
	struct names *lines = NULL;
	size_t size;
	int rc = 0;

	*unchanged = NULL;
	if (then) {
		lines = lines_of(then);
		*unchanged = calloc(slots + 1u, sizeof(**unchanged));
		now = offline_tree_text(tree, SUMS_NAME, &size);
		rc = now ? 0 : -1;
		if (now && (!lines || !*unchanged))
			rc = offline_models_fail(tree->options.models[0], -ENOMEM);
	}
	if (rc == 0 && now)
		compare(tree->model, lines, now, *unchanged, slots);
	names_free(lines);
	free(now);
	free(then);
	free(directory);
	return rc;
}
