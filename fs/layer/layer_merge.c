/* SPDX-License-Identifier: MIT */
/* layer_merge.c - see layer_merge.h. */
#include "fs/layer/layer_merge.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/util/disk.h"
#include "fs/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The merge in a stage. Returns 0 or -errno. */
static int fill_stage(int fd, const struct layer_merge *merge, bool durable)
{
	const struct timespec times[] = { merge->mtime, merge->mtime };
	int rc = io_write(fd, merge->text, strlen(merge->text), 0);

	/* Only root can say whose it is, and only root acts for others. */
	if (rc == 0 && geteuid() == 0 && fchown(fd, merge->uid, merge->gid) < 0)
		rc = -errno;
	if (rc == 0 && (futimens(fd, times) < 0 || (durable && fsync(fd) < 0)))
		rc = -errno;
	return rc;
}

static int put(struct layer *layer, const struct layer_merge *merge, bool durable)
{
	unsigned number;
	char stage[LAYER_STAGE_NAME];
	const int fd = layer_stage(layer, &number);
	int rc;

	if (fd < 0)
		return fd;
	layer_stage_name(number, "", stage);
	rc = fill_stage(fd, merge, durable);
	if (rc == 0 && renameat(layer->dir, stage, layer->dir, LAYER_MERGE) < 0)
		rc = -errno;
	close(fd);
	if (rc < 0)
		layer_unstage(layer, number);
	return rc;
}

int layer_write_merge(struct layer *layer, const struct layer_merge *merge,
		      const struct layer_merge *before)
{
	int rc = strlen(merge->text) > LAYER_MERGE_MAX ? -EFBIG : put(layer, merge, true);

	if (rc < 0)
		return rc;
	rc = disk_sync_directory(layer->dir);
	/* Of a disk that has failed to make it durable nothing can be asked again. */
	if (rc < 0 && before)
		put(layer, before, false);
	else if (rc < 0)
		unlinkat(layer->dir, LAYER_MERGE, 0);
	return rc;
}

int layer_drop_merge(struct layer *layer, const struct layer_merge *before)
{
	/* Without a directory it says nothing. */
	const int rc = layer->dir < 0 ? 0 : layer_drop_note(layer, LAYER_MERGE);

	/* What is still there is durable. */
	if (rc < 0 && before && faccessat(layer->dir, LAYER_MERGE, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		put(layer, before, false);
	return rc;
}

static char *read_text(int fd, struct stat *stat, int *rc)
{
	char *text;
	ssize_t got;

	*rc = -EBADMSG;
	if (fstat(fd, stat) < 0 || !S_ISREG(stat->st_mode) ||
	    (uint64_t)stat->st_size > LAYER_MERGE_MAX)
		return NULL;
	*rc = -ENOMEM;
	text = malloc((size_t)stat->st_size + 1);
	if (!text)
		return NULL;
	got = io_read(fd, text, (size_t)stat->st_size, 0);
	*rc = got < 0 ? (int)got : memchr(text, '\0', (size_t)got) ? -EBADMSG : 0;
	if (*rc == 0) {
		text[got] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

char *layer_read_merge(struct layer *layer, struct stat *stat, int *rc)
{
	const int fd = layer->dir < 0 ? -ENOENT : layer_open_file(layer->dir, LAYER_MERGE);
	char *text;

	*rc = fd < 0 && fd != -ENOENT ? fd : 0;
	if (fd < 0)
		return NULL;
	text = read_text(fd, stat, rc);
	close(fd);
	return text;
}
