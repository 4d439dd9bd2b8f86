/* SPDX-License-Identifier: MIT */
/* layer_base.c - see layer_base.h. */
#include "fs/layer/layer_base.h"
#include "fs/base/fingerprint.h"
#include "fs/layer/database.h"
#include "fs/storage/backing.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/printable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Compare the contents, because chimeras of one base may have equal fingerprints. A base whose
 * times equal the row's is not read again at every mount. Unreadable contents are not compared. */
static int check_contents(const char *contents, const char *times, struct backing *file,
			  const struct gguf *gguf, struct error *err)
{
	char mine[FINGERPRINT_TEXT];

	if (times && fingerprint_times(file, gguf, mine) && strcmp(times, mine) == 0)
		return 0;
	if (!contents)
		return 0;
	if (fingerprint_contents(file, gguf, mine) == -ENOMEM)
		return error_errno(err, ENOMEM);
	if (mine[0] && strcmp(contents, mine) != 0)
		return error_set(err, ESTALE, ERROR_NO_OFFSET,
				 "this layer was made for another base, with the contents %.40s; "
				 "the model has %s, with the same fingerprint",
				 contents, mine);
	return 0;
}

static int check_row(sqlite3_stmt *row, struct backing *base, const struct gguf *gguf,
		     struct error *err)
{
	const char *print = database_text(row, 1), *name = database_text(row, 0);
	char mine[FINGERPRINT_TEXT], shown[96];
	const int rc = fingerprint(base, gguf, mine);

	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET, "the base cannot be read");
	if (!print)
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "layer.db has no valid fingerprint of its base");
	snprintf(shown, sizeof(shown), "%s", name ? name : "?");
	make_printable(shown);
	if (strcmp(print, mine) != 0)
		return error_set(err, ESTALE, ERROR_NO_OFFSET,
				 "this layer was made for another base, %s, with the fingerprint "
				 "%.40s; the model has %s",
				 shown, print, mine);
	return check_contents(database_text(row, 2), database_text(row, 3), base, gguf, err);
}

int layer_base_check(struct database *database, struct backing *base, const struct gguf *gguf,
		     struct error *err)
{
	int rc;
	sqlite3_stmt *row =
		database_query(database, &rc, "SELECT name, fingerprint, contents, times FROM base",
			       "");

	if (row)
		rc = database_next(database, row);
	if (rc > 0)
		rc = check_row(row, base, gguf, err);
	else
		rc = error_set(err, rc < 0 ? -rc : EBADMSG, ERROR_NO_OFFSET, "layer.db: %s",
			       rc < 0 ? strerror(-rc) : "it has no row for its base");
	database_end(row);
	return rc;
}

char *layer_base_read_path(struct database *database)
{
	int rc;
	sqlite3_stmt *row = database_query(database, &rc, "SELECT path FROM base", "");
	const char *path = row && database_next(database, row) > 0 ? database_text(row, 0) : NULL;
	char *copy = path && url_or_absolute_path(path) ? strdup(path) : NULL;

	database_end(row);
	return copy;
}

int layer_base_make(struct database *database, struct backing *base, const struct gguf *gguf,
		    const char *path)
{
	const char *slash = strrchr(backing_path(base), '/');
	const char *name = slash ? slash + 1 : backing_path(base);
	char print[FINGERPRINT_TEXT], contents[FINGERPRINT_TEXT], times[FINGERPRINT_TEXT];
	const bool has_times = fingerprint_times(base, gguf, times);
	int rc = fingerprint(base, gguf, print);

	if (rc < 0)
		return rc;
	if (fingerprint_contents(base, gguf, contents) == -ENOMEM)
		return -ENOMEM;
	return database_run(database, "INSERT INTO base VALUES (1, ?, ?, ?, ?, ?)", "ttttt", name,
			    path, print, contents[0] ? contents : NULL,
			    contents[0] && has_times ? times : NULL);
}

int layer_base_move(struct database *database, const char *path)
{
	return database_run(database, "UPDATE base SET path = ?", "t", path);
}
