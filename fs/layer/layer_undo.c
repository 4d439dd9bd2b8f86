/* SPDX-License-Identifier: MIT */
/* layer_undo.c - see layer_undo.h. */
#include "fs/layer/layer_undo.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/util/disk.h"
#include "fs/util/io.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/text_escape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE "UNDOING"

/* More than all slots and keys there can be. */
#define UNDO_NOTE_MAX ((uint64_t)256 << 20)

void layer_undone_print(const struct layer_undone *undone, FILE *out)
{
	fprintf(out, "%s/", undone->is_key ? LAYER_METADATA : class_name(undone->klass));
	paths_print(undone->file, strlen(undone->file), out);
	fputc('\n', out);
}

/* A layer, and so a note, may come from another user. */
static bool is_file_name(const char *name, size_t length)
{
	return length == strlen(name) && length > 0 && length <= NAME_MAX && name[0] != '.' &&
	       !strchr(name, '/');
}

static bool parse(char *line, struct layer_undone *undone)
{
	char *slash = strchr(line, '/');

	if (!slash)
		return false;
	*slash = '\0';
	undone->file = slash + 1;
	if (!is_file_name(undone->file, text_unescape(slash + 1)))
		return false;
	undone->is_key = strcmp(line, LAYER_METADATA) == 0;
	return undone->is_key || class_find(line, strlen(line), &undone->klass);
}

int layer_undone_each(char *note, layer_undone_fn *each, void *context)
{
	struct layer_undone undone;
	char *line;

	while ((line = strsep(&note, "\n"))) {
		/* After the last newline. */
		if (!note && !*line)
			return 0;
		if (!note || !parse(line, &undone))
			return -EBADMSG;
		each(context, &undone);
	}
	return 0;
}

int layer_undo(struct layer *layer, const char *note)
{
	const int rc = layer_write_note(layer, NOTE, note);

	if (rc == 0)
		layer->undo_refused = false;
	if (rc == 0 || layer->dir < 0 || faccessat(layer->dir, NOTE, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return rc;
	layer->undo_refused = layer_refuse_note(layer, NOTE) < 0;
	if (layer->undo_refused && layer->manner.log)
		log_add(layer->manner.log,
			"%s: what was refused could not be taken back; the next mount may find it "
			"undone",
			layer_path(layer));
	return rc;
}

int layer_undo_cancel(struct layer *layer)
{
	layer->undo_refused = layer_drop_note(layer, NOTE) < 0;
	return layer->undo_refused ? -EIO : 0;
}

static char *read_note(int fd, int *rc)
{
	struct stat stat;
	char *note;
	ssize_t got;

	*rc = -EBADMSG;
	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
	    (uint64_t)stat.st_size > UNDO_NOTE_MAX)
		return NULL;
	*rc = -ENOMEM;
	note = malloc((size_t)stat.st_size + 1);
	if (!note)
		return NULL;
	got = io_read(fd, note, (size_t)stat.st_size, 0);
	*rc = got < 0 ? (int)got : 0;
	if (got >= 0 && memchr(note, '\0', (size_t)got))
		*rc = -EBADMSG;
	if (*rc == 0) {
		note[got] = '\0';
		return note;
	}
	free(note);
	return NULL;
}

char *layer_undo_read(struct layer *layer, int *rc)
{
	const int fd = layer->dir < 0 ? -ENOENT : layer_open_file(layer->dir, NOTE);
	char *note;

	*rc = fd < 0 && fd != -ENOENT ? fd : 0;
	if (fd < 0)
		return NULL;
	note = read_note(fd, rc);
	close(fd);
	return note;
}

/* What is being removed. */
struct removal {
	struct layer *layer;
	bool touched[CLASSES + 1]; /* by class, then metadata/ */
	int rc;
};

static void check_one(void *context, const struct layer_undone *undone)
{
	(void)context;
	(void)undone;
}

static void remove_one(void *context, const struct layer_undone *undone)
{
	struct removal *removal = context;
	const int rc = undone->is_key ? layer_erase_key(removal->layer, undone->file)
				      : layer_erase(removal->layer, undone->klass, undone->file);

	removal->touched[undone->is_key ? CLASSES : undone->klass] = true;
	if (rc < 0 && removal->rc == 0)
		removal->rc = rc;
}

static int sync_directory(const struct layer *layer, const char *name)
{
	const int fd = layer_open_directory(layer->dir, name, false);
	int rc;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	rc = disk_sync_directory(fd);
	close(fd);
	return rc;
}

static int sync_touched(const struct removal *removal)
{
	int rc = 0;

	for (enum organ_class klass = 0; rc == 0 && klass <= CLASSES; klass++)
		if (removal->touched[klass])
			rc = sync_directory(removal->layer,
					    klass < CLASSES ? class_name(klass) : LAYER_METADATA);
	return rc;
}

int layer_undo_in_turn(struct layer *layer, const char *note, size_t *done)
{
	struct removal removal = { .layer = layer };
	struct layer_undone undone;
	int rc;

	*done = 0;
	while (removal.rc == 0 && note[*done]) {
		const size_t n = strcspn(note + *done, "\n");
		char *line = strndup(note + *done, n);

		if (line && parse(line, &undone))
			remove_one(&removal, &undone);
		else
			removal.rc = line ? -EBADMSG : -ENOMEM;
		free(line);
		if (removal.rc == 0)
			*done += n + 1;
	}
	rc = sync_touched(&removal);
	return removal.rc < 0 ? removal.rc : rc;
}

/* Is all of it a note? */
static int check(const char *note)
{
	char *copy = strdup(note);
	const int rc = copy ? layer_undone_each(copy, check_one, NULL) : -ENOMEM;

	free(copy);
	return rc;
}

int layer_undo_finish(struct layer *layer)
{
	struct removal removal = { .layer = layer };
	int rc;
	char *note;

	if (layer->undo_refused) {
		rc = layer_drop_note(layer, NOTE);
		layer->undo_refused = rc < 0;
		return rc;
	}
	note = layer_undo_read(layer, &rc);
	if (!note)
		return rc;
	rc = check(note);
	if (rc == 0 && layer->manner.read_only)
		rc = -EROFS;
	if (rc == 0) {
		layer_undone_each(note, remove_one, &removal);
		rc = removal.rc;
	}
	free(note);
	if (rc == 0)
		rc = sync_touched(&removal);
	return rc < 0 ? rc : layer_drop_note(layer, NOTE);
}
