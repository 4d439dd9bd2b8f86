/* SPDX-License-Identifier: MIT */
/* layer.c - see layer.h: the directory, whose it is and how long. */
#include "fs/layer_internal.h"
#include "fs/fingerprint.h"
#include "fs/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* So many mounts of one base at a time have a private layer each. */
#define PRIVATE_LAYERS 1000

static void empty_layer(int dir)
{
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		paths_empty(dir, class_name(klass));
	paths_empty(dir, ".stage");
	unlinkat(dir, "MOVING", 0);
}

/* Open and lock the directory; with make, it is made if need be. -EBUSY: it is in use. */
static int claim(const char *path, bool make)
{
	struct stat stat;
	int fd;

	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &stat) < 0 || stat.st_nlink == 0) {
		close(fd);
		return -EBUSY;
	}
	return fd;
}

static bool has_fingerprint(const struct layer *layer, int dir)
{
	char text[4096], mine[FINGERPRINT_TEXT], line[64];
	const int fd = openat(dir, "LAYER", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0 || fingerprint(layer->base, layer->gguf, mine) < 0)
		return false;
	text[n] = '\0';
	snprintf(line, sizeof(line), "\nfingerprint %s\n", mine);
	return strncmp(text, "organfs layer 1\n", 16) == 0 && strstr(text, line) != NULL;
}

static int write_description(const struct layer *layer, int dir)
{
	const char *base = strrchr(backing_path(layer->base), '/');
	char print[FINGERPRINT_TEXT];
	int fd, rc = fingerprint(layer->base, layer->gguf, print);

	if (rc < 0)
		return rc;
	fd = openat(dir, "LAYER", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (dprintf(fd, "organfs layer 1\nbase %s\nfingerprint %s\n",
		    base ? base + 1 : backing_path(layer->base), print) < 0 ||
	    fsync(fd) < 0)
		rc = -errno;
	close(fd);
	if (rc == 0 && fsync(dir) < 0)
		rc = -errno;
	return rc;
}

static bool use_if(struct layer *layer, const char *name, bool make,
		   bool (*suits)(const struct layer *layer, int dir), int *rc)
{
	char *path;

	*rc = asprintf(&path, "%s/%s", layer->state, name) < 0 ? -ENOMEM : claim(path, make);
	if (*rc >= 0 && suits(layer, *rc)) {
		layer->dir = *rc;
		layer->path = path;
		return true;
	}
	if (*rc >= 0) {
		close(*rc);
		*rc = -EBUSY;
	}
	if (*rc != -ENOMEM)
		free(path);
	return false;
}

/* Is it one of the private layers of the base with that key: KEY, KEY-2, KEY-3, ...? */
static bool is_private_name(const char *name, const char *key)
{
	const size_t n = strlen(key);

	return strncmp(name, key, n) == 0 && (name[n] == '\0' || name[n] == '-');
}

/* Take up a private layer of this base that was left behind, if there is one. */
static void take_up(struct layer *layer)
{
	char key[FINGERPRINT_KEY];
	DIR *state = opendir(layer->state);
	const struct dirent *entry;
	int rc;

	if (state && fingerprint_key(layer->base, key) == 0)
		while ((entry = readdir(state)))
			if (is_private_name(entry->d_name, key) &&
			    use_if(layer, entry->d_name, false, has_fingerprint, &rc))
				break;
	if (state)
		closedir(state);
}

static bool is_nobodys(const struct layer *layer, int dir)
{
	(void)layer;
	return faccessat(dir, "LAYER", F_OK, 0) < 0 && errno == ENOENT;
}

/* Make a private layer, under the first name that nobody uses. */
static int make_private(struct layer *layer)
{
	char key[FINGERPRINT_KEY], name[FINGERPRINT_KEY + 16];
	int rc = fingerprint_key(layer->base, key);

	if (rc < 0)
		return rc;
	snprintf(name, sizeof(name), "%s", key);
	for (int i = 2; i <= PRIVATE_LAYERS; i++) {
		if (use_if(layer, name, true, is_nobodys, &rc))
			return 0;
		if (rc != -EBUSY)
			return rc;
		snprintf(name, sizeof(name), "%s-%d", key, i);
	}
	return rc;
}

struct layer *layer_private(const char *state, struct backing *base, const struct gguf *gguf,
			    struct error *err)
{
	struct layer *layer = calloc(1, sizeof(*layer));

	if (!layer || !(layer->state = strdup(state))) {
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		free(layer);
		return NULL;
	}
	pthread_mutex_init(&layer->lock, NULL);
	layer->base = backing_ref(base);
	layer->gguf = gguf;
	layer->dir = -1;
	take_up(layer);
	if (layer->dir >= 0)
		paths_empty(layer->dir, ".stage");
	return layer;
}

static void let_go(struct layer *layer)
{
	close(layer->dir);
	layer->dir = -1;
	free(layer->path);
	layer->path = NULL;
}

int layer_ensure(struct layer *layer)
{
	int rc;

	if (layer->dir >= 0)
		return 0;
	rc = paths_make(layer->state);
	if (rc == 0)
		rc = make_private(layer);
	if (rc < 0)
		return rc;
	empty_layer(layer->dir);
	rc = write_description(layer, layer->dir);
	if (rc == 0)
		rc = paths_sync(layer->state);
	if (rc < 0)
		let_go(layer);
	return rc;
}

const char *layer_path(struct layer *layer)
{
	const char *path;

	pthread_mutex_lock(&layer->lock);
	path = layer->path ? layer->path : layer->state;
	pthread_mutex_unlock(&layer->lock);
	return path;
}

int layer_drop(struct layer *layer)
{
	int rc = 0;

	pthread_mutex_lock(&layer->lock);
	if (layer->dir >= 0) {
		/* First what makes it a layer: an interrupted drop must not leave half of one. */
		if ((unlinkat(layer->dir, "LAYER", 0) < 0 && errno != ENOENT) ||
		    fsync(layer->dir) < 0)
			rc = -errno;
		if (rc == 0) {
			empty_layer(layer->dir);
			/* What somebody else put there stays; the grafts are gone. */
			if (rmdir(layer->path) < 0 && errno != ENOTEMPTY && errno != EEXIST)
				rc = -errno;
			/* From here on a directory of that name is somebody else's. */
			let_go(layer);
		}
	}
	pthread_mutex_unlock(&layer->lock);
	return rc;
}

static bool is_empty(const struct layer *layer)
{
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		if (faccessat(layer->dir, class_name(klass), F_OK, 0) == 0 || errno != ENOENT)
			return false;
	return true;
}

void layer_close(struct layer *layer)
{
	if (!layer)
		return;
	if (layer->dir >= 0 && is_empty(layer))
		layer_drop(layer);
	if (layer->dir >= 0)
		let_go(layer);
	backing_unref(layer->base);
	pthread_mutex_destroy(&layer->lock);
	free(layer->state);
	free(layer);
}
