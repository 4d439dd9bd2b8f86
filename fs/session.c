/* SPDX-License-Identifier: MIT */
/* session.c - see session.h. */
#include "fs/session.h"
#include "fs/ops.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct mount {
	const struct options *options;
	struct log *log;
	struct model *model;
	char point[PATH_MAX]; /* absolute */
	bool made;	      /* by us, so that it goes away with the mount */
	struct fuse_session *session;
	struct fs *fs;
};

static int find_mountpoint(struct mount *mount)
{
	const char *given = mount->options->mountpoint;
	struct stat stat;
	int rc = 0;

	if (mkdir(given, 0777) == 0)
		mount->made = true;
	else if (errno != EEXIST)
		rc = -errno;
	if (rc == 0 && (!realpath(given, mount->point) || lstat(mount->point, &stat) < 0))
		rc = -errno;
	if (rc == 0 && !S_ISDIR(stat.st_mode))
		rc = -ENOTDIR;
	if (rc == -ENOTCONN)
		fprintf(stderr,
			"organfs: %s: the daemon of an earlier mount is gone; "
			"end that mount first: fusermount3 -u %s\n",
			given, given);
	else if (rc < 0)
		fprintf(stderr, "organfs: %s: %s\n", given, strerror(-rc));
	return rc;
}

static int add_options(const struct mount *mount, struct fuse_args *args)
{
	static const char fixed[] = "subtype=organfs,default_permissions,nosuid,nodev";
	char *name = NULL, *list = NULL;
	int rc = -1;

	if (asprintf(&name, "fsname=%s", backing_path(mount->model->base)) < 0)
		name = NULL;
	/* The name may hold commas. */
	if (name && fuse_opt_add_opt(&list, fixed) == 0 &&
	    fuse_opt_add_opt_escaped(&list, name) == 0 &&
	    (!mount->options->read_only || fuse_opt_add_opt(&list, "ro") == 0) &&
	    (!mount->options->allow_other || fuse_opt_add_opt(&list, "allow_other") == 0) &&
	    fuse_opt_add_arg(args, "organfs") == 0 && fuse_opt_add_arg(args, "-o") == 0 &&
	    fuse_opt_add_arg(args, list) == 0)
		rc = 0;
	free(name);
	free(list);
	return rc;
}

static int start(struct mount *mount)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int rc = add_options(mount, &args);

	mount->fs = fs_new(mount->options, mount->log, mount->model, mount->point);
	if (rc == 0 && mount->fs)
		mount->session =
			fuse_session_new(&args, &organfs_ops, sizeof(organfs_ops), mount->fs);
	fuse_opt_free_args(&args);
	if (!mount->session) {
		fprintf(stderr, "organfs: %s: the session cannot be made\n", mount->point);
		return -1;
	}
	/* libfuse says itself what is wrong. */
	return fuse_session_mount(mount->session, mount->point);
}

static int answer(struct mount *mount)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int rc;

	if (!config)
		return -ENOMEM;
	fuse_loop_cfg_set_max_threads(config, mount->options->threads);
	fuse_loop_cfg_set_idle_threads(config, mount->options->threads);
	rc = fuse_session_loop_mt(mount->session, config);
	fuse_loop_cfg_destroy(config);
	return rc;
}

/* The mount is gone: write down what was grafted, and let go of what is written down. */
static int finish(struct mount *mount)
{
	struct model *model = mount->model;
	int rc;

	if (mount->options->read_only || mount->options->no_assembly)
		return 0;
	rc = assembly_finish(mount->fs->assembly);
	if (rc == 0)
		rc = layer_drop(model->layer);
	if (rc < 0 && layer_path(model->layer))
		log_add(mount->log,
			"%s: the grafts are kept in %s for the next mount of this model",
			model->name, layer_path(model->layer));
	return rc;
}

static int serve(struct mount *mount)
{
	int rc = -1;

	if (fuse_set_signal_handlers(mount->session) == 0) {
		if (fuse_daemonize(mount->options->foreground) == 0)
			rc = answer(mount);
		fuse_remove_signal_handlers(mount->session);
	}
	fuse_session_unmount(mount->session);
	/* A signal ends the loop with its number, and is no failure. */
	return rc < 0 ? rc : 0;
}

int session_run(const struct options *options, struct log *log, struct model *model)
{
	struct mount mount = { .options = options, .log = log, .model = model };
	int rc = find_mountpoint(&mount);

	if (rc == 0)
		rc = start(&mount);
	if (rc == 0) {
		rc = serve(&mount);
		if (rc == 0) {
			pool_free(mount.fs->assemblies);
			mount.fs->assemblies = NULL;
			rc = finish(&mount);
		}
	}
	if (mount.session)
		fuse_session_destroy(mount.session);
	fs_free(mount.fs);
	if (mount.made)
		rmdir(mount.point[0] ? mount.point : options->mountpoint);
	return rc == 0 ? 0 : 1;
}
