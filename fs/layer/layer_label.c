/* SPDX-License-Identifier: MIT */
/* layer_label.c - see layer_label.h. */
#include "fs/layer/layer_label.h"
#include "fs/base/fingerprint.h"
#include "fs/layer/layer_open.h"
#include "fs/storage/backing.h"
#include "fs/util/disk.h"
#include "fs/util/io.h"
#include "fs/util/paths.h"
#include "fs/util/text_escape.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "gguf/printable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LABEL	   "LAYER"
#define LABEL_MAX  16384 /* a path takes three bytes for one at most */
#define FIRST_LINE "organfs layer "
#define VERSION	   1ul

static int read_label(int dir, char text[LABEL_MAX], struct error *err)
{
	const int fd = layer_open_file(dir, LABEL);
	ssize_t n;

	if (fd < 0)
		return error_set(err, fd == -ENOENT ? ENOENT : EIO, ERROR_NO_OFFSET, LABEL ": %s",
				 layer_open_error(fd));
	n = io_read(fd, text, LABEL_MAX - 1, 0);
	close(fd);
	if (n < 0)
		return error_set(err, EIO, ERROR_NO_OFFSET, LABEL ": %s", strerror((int)-n));
	text[n] = '\0';
	return 0;
}

/* The rest of the line that begins with a word, into value of n bytes. */
static bool find_line(const char *text, const char *word, char *value, size_t n)
{
	const size_t length = strlen(word);

	while (*text) {
		const size_t line = strcspn(text, "\n");

		if (line > length && text[line] == '\n' && strncmp(text, word, length) == 0 &&
		    line - length < n) {
			memcpy(value, text + length, line - length);
			value[line - length] = '\0';
			return true;
		}
		text += line + (text[line] == '\n');
	}
	return false;
}

/* Chimeras of one base may have one fingerprint. A base with the times of the label's is not read
 * for that at every mount. What cannot be read is not compared. */
static int check_contents(const char *text, struct backing *file, const struct gguf *gguf,
			  struct error *err)
{
	char theirs[FINGERPRINT_TEXT], mine[FINGERPRINT_TEXT];

	if (find_line(text, "times ", theirs, sizeof(theirs)) &&
	    fingerprint_times(file, gguf, mine) && strcmp(theirs, mine) == 0)
		return 0;
	if (!find_line(text, "contents ", theirs, sizeof(theirs)))
		return 0;
	if (fingerprint_contents(file, gguf, mine) == -ENOMEM)
		return error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	if (mine[0] && strcmp(theirs, mine) != 0)
		return error_set(err, ESTALE, ERROR_NO_OFFSET,
				 "this layer was made for another base, with the contents %s; the "
				 "model has %s, with the same fingerprint",
				 theirs, mine);
	return 0;
}

static int check_text(const char *text, const char *mine, struct error *err)
{
	char version[24], print[FINGERPRINT_TEXT], base[96] = "a file whose name it does not tell";
	unsigned long number;
	char *end;

	if (strncmp(text, FIRST_LINE, strlen(FIRST_LINE)) != 0 ||
	    !find_line(text, FIRST_LINE, version, sizeof(version)))
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "this layer's file " LABEL " is none that organfs wrote");
	number = strtoul(version, &end, 10);
	if (version[0] < '1' || version[0] > '9' || *end)
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "this layer's file " LABEL " tells of no format version");
	if (number != VERSION)
		return error_set(
			err, ENOTSUP, ERROR_NO_OFFSET,
			"this layer has format version %lu, and this organfs knows only %lu",
			number, VERSION);
	find_line(text, "base ", base, sizeof(base));
	if (!find_line(text, "fingerprint ", print, sizeof(print)))
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "this layer's file " LABEL
				 " does not tell for which base it was made");
	if (strcmp(print, mine) != 0)
		return error_set(err, ESTALE, ERROR_NO_OFFSET,
				 "this layer was made for another base, %s, with the fingerprint "
				 "%s; the model has %s",
				 base, print, mine);
	return 0;
}

int layer_label_check(int dir, struct backing *base, const struct gguf *gguf, struct error *err)
{
	char text[LABEL_MAX], mine[FINGERPRINT_TEXT];
	int rc = read_label(dir, text, err);

	if (rc < 0)
		return rc;
	rc = fingerprint(base, gguf, mine);
	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET, "the base cannot be read");
	rc = check_text(text, mine, err);
	return rc < 0 ? rc : check_contents(text, base, gguf, err);
}

char *layer_label_path(int dir)
{
	char text[LABEL_MAX], path[3 * PATH_MAX];

	if (read_label(dir, text, NULL) < 0 || !find_line(text, "path ", path, sizeof(path)))
		return NULL;
	return text_unescape(path) == strlen(path) && url_or_absolute_path(path) ? strdup(path)
										 : NULL;
}

/* A line is a line, whatever the name of the base is. */
static void print_name(FILE *out, const char *name)
{
	char line[320];

	snprintf(line, sizeof(line), "%.255s", name);
	make_printable(line);
	fprintf(out, "base %s\n", line);
}

/* What tells the base of a layer from others. */
struct base_prints {
	char fingerprint[FINGERPRINT_TEXT];
	char contents[FINGERPRINT_TEXT]; /* empty: it could not be made */
	char times[FINGERPRINT_TEXT];	 /* the same */
};

static int make_prints(struct backing *base, const struct gguf *gguf, struct base_prints *prints)
{
	const int rc = fingerprint(base, gguf, prints->fingerprint);

	if (rc < 0)
		return rc;
	fingerprint_times(base, gguf, prints->times);
	return fingerprint_contents(base, gguf, prints->contents) == -ENOMEM ? -ENOMEM : 0;
}

static void print_label(FILE *out, const struct backing *base, const struct base_prints *prints,
			const char *path)
{
	const char *slash = strrchr(backing_path(base), '/');

	fprintf(out, FIRST_LINE "%lu\n", VERSION);
	print_name(out, slash ? slash + 1 : backing_path(base));
	fprintf(out, "fingerprint %s\n", prints->fingerprint);
	if (prints->contents[0])
		fprintf(out, "contents %s\n", prints->contents);
	if (prints->contents[0] && prints->times[0])
		fprintf(out, "times %s\n", prints->times);
	if (path) {
		fputs("path ", out);
		paths_print(path, strlen(path), out);
		fputc('\n', out);
	}
}

int layer_label_replace(int dir, struct backing *base, const struct gguf *gguf, const char *path)
{
	struct base_prints prints;
	FILE *out;
	int fd, rc = make_prints(base, gguf, &prints);

	if (rc < 0)
		return rc;
	fd = layer_create_file(dir, LAYER_LABEL_NEW);
	if (fd < 0)
		return fd;
	out = fdopen(fd, "w");
	if (out) {
		print_label(out, base, &prints, path);
		if (fflush(out) != 0 || ferror(out))
			rc = -EIO;
		else if (fsync(fd) < 0)
			rc = -errno;
		fclose(out);
	} else {
		rc = -errno;
		close(fd);
	}
	if (rc == 0)
		rc = renameat(dir, LAYER_LABEL_NEW, dir, LABEL) < 0 ? -errno
								    : disk_sync_directory(dir);
	if (rc < 0)
		unlinkat(dir, LAYER_LABEL_NEW, 0);
	return rc;
}

int layer_label_write(int dir, struct backing *base, const struct gguf *gguf, const char *path)
{
	const int rc = layer_label_replace(dir, base, gguf, path);

	if (rc < 0)
		unlinkat(dir, LABEL, 0);
	return rc;
}

int layer_label_remove(int dir)
{
	if (unlinkat(dir, LABEL, 0) < 0 && errno != ENOENT)
		return -errno;
	return disk_sync_directory(dir);
}
