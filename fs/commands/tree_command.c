/* SPDX-License-Identifier: MIT */
/* tree_command.c - see tree_command.h. */
#include "fs/commands/tree_command.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/offline_tree.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 20)

int theta_command(const struct options *options)
{
	struct offline_tree tree;
	int rc = offline_tree_open(&tree, options);

	if (rc == 0) {
		size_t size;
		char *text =
			offline_tree_text(&tree, options->json ? ".report.json" : ".theta", &size);

		rc = text ? offline_models_print(text, size) : -1;
		free(text);
	}
	offline_tree_close(&tree);
	return rc < 0;
}

/* Is name the NAME of a slot's file, with or without its class, with or without a suffix? */
static bool names_file(const struct organ_place *place, const char *name)
{
	const char *class = class_name(place->klass);
	const size_t prefix = strlen(class), n = strlen(place->name);

	if (strncmp(name, class, prefix) == 0 && name[prefix] == '/')
		name += prefix + 1;
	if (strncmp(name, place->name, n) != 0)
		return false;
	name += n;
	return !*name || strcmp(name, ".bin") == 0 || strcmp(name, ".npy") == 0;
}

/* Find the slots of that name; a tensor's exact name has precedence. Returns their number. */
static uint32_t find_slot(const struct model *model, const char *name, uint32_t *slot)
{
	const uint32_t slots = slots_count(model->slots);
	uint32_t n = 0;

	for (uint32_t i = 0; i < slots; i++) {
		const struct organ_place *place = &model->places[i];

		if (place->tensor_length == strlen(name) &&
		    memcmp(place->tensor, name, place->tensor_length) == 0) {
			*slot = i;
			return 1;
		}
		if (!names_file(place, name))
			continue;
		*slot = i;
		n++;
	}
	return n;
}

/* Returns 0, or -1 after a line on stderr. */
static int print_view(struct view *view, const char *path)
{
	char *bytes = malloc(CHUNK);
	ssize_t got = bytes ? 0 : -ENOMEM;
	int rc = 0;

	for (uint64_t at = 0; rc == 0 && got >= 0 && at < view_size(view); at += (uint64_t)got) {
		got = view_read(view, bytes, CHUNK, at);
		if (got > 0)
			rc = offline_models_print(bytes, (size_t)got);
	}
	free(bytes);
	return got < 0 ? offline_models_fail(path, (int)got) : rc;
}

static int print_npy(const struct offline_tree *tree, const char *name)
{
	const struct model *model = tree->model;
	char path[ORGAN_PATH_MAX + 16];
	struct view *view;
	uint32_t slot = 0;
	const uint32_t n = find_slot(model, name, &slot);
	int rc;

	if (n != 1)
		return offline_models_report(n ? "%s: tensors of several classes have this name; "
						 "put CLASS/ before it"
					       : "%s: the model has no such tensor",
					     name);
	snprintf(path, sizeof(path), ".views/npy/%s/%s.npy", class_name(model->places[slot].klass),
		 model->places[slot].name);
	view = offline_tree_view(tree, path);
	rc = view ? print_view(view, path) : -1;
	view_unref(view);
	return rc;
}

int npy_command(const struct options *options)
{
	struct offline_tree tree;
	int rc;

	if (isatty(STDOUT_FILENO)) {
		offline_models_report("standard output is a terminal, and an array is no text; "
				      "write > FILE.npy behind the command");
		return 1;
	}
	rc = offline_tree_open(&tree, options);
	if (rc == 0)
		rc = print_npy(&tree, options->mountpoint);
	offline_tree_close(&tree);
	return rc < 0;
}
