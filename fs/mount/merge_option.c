/* SPDX-License-Identifier: MIT */
/* merge_option.c - see merge_option.h. */
#include "fs/mount/merge_option.h"
#include "fs/base/base.h"
#include "fs/edit/merge_edit.h"
#include "fs/merge/merge_config.h"
#include "fs/merge/merge_models.h"
#include "fs/mount/mount.h"
#include "fs/mount/options.h"
#include "fs/util/io.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool begins_as_gguf(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char magic[4];
	const bool is = fd >= 0 && io_read(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
			memcmp(magic, "GGUF", sizeof(magic)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

bool merge_option_is(const char *path)
{
	const char *ending = strrchr(path, '.');
	struct stat status;

	return ending && (strcasecmp(ending, ".yml") == 0 || strcasecmp(ending, ".yaml") == 0) &&
	       stat(path, &status) == 0 && S_ISREG(status.st_mode) && !begins_as_gguf(path);
}

static int read_text(struct merge_option *option, const char *path, struct error *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t got;

	if (fd < 0)
		return error_errno(err, errno);
	/* Room for one byte beyond the limit, to detect a longer file, and for the NUL. */
	option->text = malloc(MERGE_CONFIG_MAX + 2);
	got = option->text ? io_read(fd, option->text, MERGE_CONFIG_MAX + 1, 0) : -ENOMEM;
	close(fd);
	if (got < 0)
		return error_errno(err, (int)-got);
	option->text[got] = '\0';
	option->size = (size_t)got;
	return 0;
}

/* Find the host of the merge. */
static int find_form(struct merge_option *option, struct error *err)
{
	struct merge_config config;
	struct base base = { .file = NULL };
	const char *host;
	int rc = merge_config_read(option->text, option->size, &config, err);

	host = rc == 0 ? merge_config_host_file(&config) : NULL;
	if (rc == 0 && !host)
		rc = error_set(err, EINVAL, ERROR_NO_OFFSET,
			       "documents refer to each other in a circle");
	if (rc == 0) {
		rc = merge_open_by_path(option->directory, host, NULL, &base, &option->host, err);
		base_close(&base);
	}
	if (rc == 0 && url_is_store(host) && !(option->known = strdup(host)))
		rc = error_errno(err, ENOMEM);
	merge_config_release(&config);
	return rc;
}

int merge_option_read(struct merge_option *option, const char *path, struct error *err)
{
	int rc;

	*option = (struct merge_option){ .directory = paths_directory(path) };
	rc = option->directory ? read_text(option, path, err) : error_errno(err, errno);
	return rc == 0 ? find_form(option, err) : rc;
}

void merge_option_release(struct merge_option *option)
{
	free(option->text);
	free(option->directory);
	free(option->host);
	free(option->known);
	*option = (struct merge_option){ .text = NULL };
}

int merge_option_run(struct mount *fs)
{
	const struct merge_option *option = &fs->models->merge;
	const struct merge_request request = { .text = option->text,
					       .size = option->size,
					       .directories = { option->directory },
					       .uid = getuid(),
					       .gid = getgid(),
					       .report = true,
					       .temporary = fs->options->read_only };
	struct model *model = fs->models->models[0];

	if (!option->text)
		return 0;
	if (model->whole)
		return merge_edit_write(model, &request);
	log_error("%s: shards are missing; a merge needs all shards of a model", option->host);
	return -EINVAL;
}
