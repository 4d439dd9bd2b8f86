/* SPDX-License-Identifier: MIT */
/* show_command.c - see show_command.h. */
#include "fs/commands/show_command.h"
#include "fs/check/check.h"
#include "fs/commands/mount_files.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/terminal_picture.h"
#include "fs/commands/terminal_text.h"
#include "fs/files/picture.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/mount/options.h"
#include "fs/report/table_merge.h"
#include "fs/storage/view.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Close a stream of open_memstream() and print its text, unless rc says that the text is
 * incomplete. Returns 0, or -1 after a line on stderr that begins with the given name. */
static int show_stream(FILE *out, char **text, const size_t *size, int rc, const char *what)
{
	if (!out || fclose(out) != 0)
		rc = -ENOMEM;
	rc = rc < 0 ? offline_models_fail(what, rc) : offline_models_print(*text, *size);
	free(*text);
	return rc;
}

static int show_screen(const struct terminal_picture *screen)
{
	const struct terminal terminal = terminal_text_detect_stdout();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	return show_stream(out, &text, &size,
			   out ? terminal_picture_print(screen, &terminal, out) : 0, screen->name);
}

/* .check of a model, to free, or NULL. */
static char *check_of(struct model *model)
{
	const atomic_bool ending = false;
	struct snapshot snapshot;
	struct view *view = NULL;
	char *text = NULL;
	ssize_t got = -1;

	if (model_snapshot(model, &snapshot) == 0) {
		view = check_view(model, &snapshot, &ending);
		snapshot_release(&snapshot);
	}
	if (view)
		text = calloc(1, (size_t)view_size(view) + 1);
	if (text)
		got = view_read(view, text, (size_t)view_size(view), 0);
	view_unref(view);
	if (got >= 0)
		return text;
	free(text);
	return NULL;
}

static int show_model(const struct options *options)
{
	struct offline_models viewing;
	int rc = offline_models_open(&viewing, options);

	if (rc == 0) {
		const struct offline_model *viewed = &viewing.models[0];
		char *check = check_of(viewed->model);
		const struct terminal_picture screen = { viewed->model->name, viewed->figures, NULL,
							 check };

		rc = show_screen(&screen);
		free(check);
	}
	offline_models_close(&viewing);
	return rc;
}

/* Show the model in a directory of a mount; with klass below CLASSES only the tensors of the
 * class. */
static int show_mounted(const char *directory, enum organ_class klass)
{
	struct mount_files witness;
	int rc = mount_files_read(&witness, directory);

	if (rc == 0) {
		const struct terminal_picture screen = { table_merge_name(witness.merge, 0),
							 witness.figures, witness.grafts,
							 witness.check };

		if (klass < CLASSES)
			mount_files_limit(&witness, klass);
		rc = show_screen(&screen);
	}
	mount_files_release(&witness);
	return rc;
}

/* The model's directory above a class's directory, to free, and the class. NULL if path is none. */
static char *above_class(const char *path, enum organ_class *klass)
{
	char *whole = realpath(path, NULL), *slash = whole ? strrchr(whole, '/') : NULL;

	if (slash && class_find(slash + 1, strlen(slash + 1), klass)) {
		*slash = '\0';
		if (mount_files_exist(whole))
			return whole;
	}
	free(whole);
	return NULL;
}

/* Show the models of a mount with several, one after the other. Returns their number, or -1. */
static int show_several(const char *root)
{
	struct dirent **entries;
	const int all = scandir(root, &entries, NULL, alphasort);
	int n = 0;

	for (int i = 0; i < all; i++) {
		char *path;

		if (n >= 0 && entries[i]->d_name[0] != '.' &&
		    asprintf(&path, "%s/%s", root, entries[i]->d_name) >= 0) {
			if (mount_files_exist(path)) {
				if (n > 0)
					puts("");
				n = show_mounted(path, CLASSES) < 0 ? -1 : n + 1;
			}
			free(path);
		}
		free(entries[i]);
	}
	if (all >= 0)
		free(entries);
	return n;
}

int show_command(const struct options *options)
{
	const char *path = options->models[0];
	enum organ_class klass;
	char *above;
	int rc;

	if (mount_files_exist(path))
		return show_mounted(path, CLASSES) < 0 ? 1 : 0;
	above = above_class(path, &klass);
	if (above) {
		rc = show_mounted(above, klass);
		free(above);
		return rc < 0 ? 1 : 0;
	}
	rc = show_several(path);
	if (rc == 0)
		rc = show_model(options);
	return rc < 0 ? 1 : 0;
}

int picture_command(const struct options *options)
{
	struct offline_models viewing;
	int rc = offline_models_open(&viewing, options);

	if (rc == 0) {
		const struct figures *second = viewing.n > 1 ? viewing.models[1].figures : NULL;
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		if (out)
			rc = picture_print_two(viewing.models[0].figures, second, out);
		rc = show_stream(out, &text, &size, rc, "the picture");
	}
	offline_models_close(&viewing);
	return rc < 0 ? 1 : 0;
}
