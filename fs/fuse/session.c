/* SPDX-License-Identifier: MIT */
/* session.c - see session.h. */
#include "fs/fuse/session.h"
#include "fs/assemble/atomic_write.h"
#include "fs/assemble/split_write.h"
#include "fs/base/shards.h"
#include "fs/edit/symlinks.h"
#include "fs/files/assembly.h"
#include "fs/fuse/directory_notices.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/passthrough.h"
#include "fs/fuse/session_loop.h"
#include "fs/fuse/unmounter.h"
#include "fs/layer/layer.h"
#include "fs/mount/confine.h"
#include "fs/mount/mount.h"
#include "fs/mount/mountpoint.h"
#include "fs/mount/options.h"
#include "fs/mount/pidfile.h"
#include "fs/mount/readahead.h"
#include "fs/mount/recipe_option.h"
#include "fs/mount/sandbox.h"
#include "fs/mount/shard_watch.h"
#include "fs/mount/unmount.h"
#include "fs/mount/unmount_status.h"
#include "fs/mount/utab.h"
#include "fs/paths/write_source.h"
#include "fs/tree/open_files.h"
#include "fs/util/background.h"
#include "fs/util/capabilities.h"
#include "fs/util/landlock.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct mount_session {
	struct models *models;
	const struct options *options;
	char point[PATH_MAX]; /* absolute */
	struct unmounter unmounter;
	dev_t device;		  /* 0: unknown */
	bool at_terminal;	  /* in the foreground of a terminal */
	int readahead;		  /* descriptor from readahead_open() */
	struct landlock landlock; /* with -o confine */
	struct fuse_session *session;
	struct mount *fs;
	struct unmount_status *status;
	bool has_pidfile;
};

/* Absolute path of the mount point. Returns 0 or -errno. */
static int resolve_mountpoint(struct mount_session *mount)
{
	char *point = paths_mount_point(mount->options->mountpoint);
	int rc = point ? 0 : -errno;

	if (point && snprintf(mount->point, sizeof(mount->point), "%s", point) >= PATH_MAX)
		rc = -ENAMETOOLONG;
	free(point);
	return rc;
}

static int find_mountpoint(struct mount_session *mount)
{
	const char *given = mount->options->mountpoint;
	struct error err = { 0 };
	struct stat stat;
	int rc = 0;

	if (mkdir(given, 0777) == 0)
		mount->unmounter.made = true;
	else if (errno != EEXIST)
		rc = -errno;
	if (rc == 0)
		rc = resolve_mountpoint(mount);
	if (rc == 0 && !mount->unmounter.made && mountpoint_remove_dead(mount->point))
		log_error("%s: removed the mount that a dead daemon had left", given);
	if (rc == 0 && !mount->unmounter.made &&
	    mountpoint_check(mount->point, mount->options->nonempty, &err) < 0) {
		fprintf(stderr, "organfs: %s: %s\n", given, err.text);
		return -err.code;
	}
	if (rc == 0 && lstat(mount->point, &stat) < 0)
		rc = -errno;
	if (rc == 0 && !S_ISDIR(stat.st_mode))
		rc = -ENOTDIR;
	if (rc == -ENOTCONN)
		log_error("%s: the daemon of an earlier mount is gone; "
			  "end that mount first: fusermount3 -u %s",
			  given, given);
	else if (rc < 0)
		log_error("%s: %s", given, strerror(-rc));
	return rc;
}

/* Source of the mount, to free, in the form in which mount(8) looks for it when it checks a line of
 * fstab: the canonical path. Exceptions: a shard keeps its file name, which may be a link, because
 * the other shards are found by it; a URL loses its secrets; a model in a store has its name. NULL:
 * none, or out of memory. */
static char *source_of(const struct mount_session *mount)
{
	const char *given = mount->options->models[0], *name = strrchr(given, '/');
	const struct shards *shards =
		mount->models->several ? NULL : mount->models->models[0]->shards;
	char *directory, *source = NULL;

	if (mount->options->names && mount->options->names[0])
		return strdup(mount->options->names[0]);
	if (url_is_remote(given))
		return url_shown(given);
	if (!shards || shards_are_organs(shards))
		return realpath(given, NULL);
	directory = paths_directory(given);
	if (directory && asprintf(&source, "%s%s%s", directory, directory[1] ? "/" : "",
				  name ? name + 1 : given) < 0)
		source = NULL;
	free(directory);
	return source;
}

/* Add the options for libfuse and the kernel that the user has chosen. */
static int add_chosen(const struct options *options, char **list)
{
	const struct {
		bool on;
		const char *name;
	} chosen[] = {
		{ options->read_only, "ro" },
		{ options->no_execution, "noexec" },
		{ options->allow == ALLOW_OTHER, "allow_other" },
		{ options->allow == ALLOW_ROOT, "allow_root" },
		{ options->auto_unmount, "auto_unmount" },
		{ options->debug, "debug" },
	};

	for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++)
		if (chosen[i].on && fuse_opt_add_opt(list, chosen[i].name) < 0)
			return -1;
	return 0;
}

static int add_options(const struct mount_session *mount, struct fuse_args *args)
{
	static const char fixed[] = "subtype=organfs,default_permissions,nosuid,nodev";
	char *source = source_of(mount), *name = NULL, *list = NULL;
	int rc = -1;

	if (!source && url_is_remote(mount->options->models[0]))
		return -1;
	if (asprintf(&name, "fsname=%s", source ? source : mount->options->models[0]) < 0)
		name = NULL;
	/* The name may hold commas. */
	if (name && fuse_opt_add_opt(&list, fixed) == 0 &&
	    fuse_opt_add_opt_escaped(&list, name) == 0 && add_chosen(mount->options, &list) == 0 &&
	    fuse_opt_add_arg(args, "organfs") == 0 && fuse_opt_add_arg(args, "-o") == 0 &&
	    fuse_opt_add_arg(args, list) == 0)
		rc = 0;
	free(source);
	free(name);
	free(list);
	return rc;
}

/* Check that the device can be opened, as libfuse will. Returns 0, or -1 after a line on stderr. */
static int check_device(void)
{
	const int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	const bool missing = errno == ENOENT || errno == ENODEV || errno == ENXIO;

	if (fd >= 0)
		return close(fd);
	log_error("/dev/fuse: %s: %s; a container has it where it is started with --device "
		  "/dev/fuse --cap-add SYS_ADMIN",
		  strerror(errno),
		  missing ? "the kernel's FUSE is loaded by: sudo modprobe fuse"
			  : "this user may not open it; all may after: sudo chmod 666 /dev/fuse");
	return -1;
}

/* Name the missing right or package; libfuse has reported only that it cannot mount. */
static void report_missing(void)
{
	static const char *const places[] = { "/usr/bin/fusermount3", "/bin/fusermount3",
					      "/usr/local/bin/fusermount3" };

	if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 0) {
		log_error("a mount needs CAP_SYS_ADMIN, which this process cannot get; start its "
			  "container with --cap-add SYS_ADMIN");
		return;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (geteuid() == 0 || access(places[i], F_OK) == 0)
			return;
	log_error("fusermount3, by which users other than root mount, is not in /usr/bin: is the "
		  "package fuse3 installed?");
}

static int start(struct mount_session *mount)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int rc = add_options(mount, &args);

	mount->fs = mount_new(mount->models);
	if (mount->fs)
		mount->fs->status = mount->status;
	if (rc == 0 && mount->fs &&
	    (merge_option_run(mount->fs) < 0 || recipe_option_run(mount->fs) < 0)) {
		fuse_opt_free_args(&args);
		return -1;
	}
	if (rc == 0 && mount->fs)
		mount->session =
			fuse_session_new(&args, &organfs_ops, sizeof(organfs_ops), mount->fs);
	fuse_opt_free_args(&args);
	if (!mount->session) {
		log_error("%s: the session cannot be made", mount->point);
		return -1;
	}
	/* From here on a signal must not leave a mount without a daemon. The loop takes the first
	 * one, which ends the mount, and unmount_finish() the next one. */
	unmount_block_signals();
	/* libfuse reports the error itself. */
	if (fuse_session_mount(mount->session, mount->point) < 0) {
		report_missing();
		return -1;
	}
	mount->unmounter.session = mount->session;
	mount->unmounter.point = mount->point;
	mount->unmounter.automatic = mount->options->auto_unmount;
	passthrough_prepare(mount->fs, mount->session);
	directory_notices_begin(mount->fs, mount->session);
	return 0;
}

/* No thread answers yet, so the mount must not be asked for anything: DONT_SYNC. */
static void note_device(struct mount_session *mount)
{
	struct statx stat;

	if (statx(AT_FDCWD, mount->point, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  STATX_TYPE | STATX_MNT_ID, &stat) == 0) {
		mount->device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
		if (stat.stx_mask & STATX_MNT_ID)
			mount->unmounter.id = (int)stat.stx_mnt_id;
	}
	mount->fs->device = mount->fs->tree.device = mount->unmounter.device = mount->device;
	symlinks_set_mount(mount->fs->links, mount->point, mount->device);
	write_sources_set_mount(mount->fs->tracer, mount->point, mount->device);
	for (uint32_t i = 0; i < mount->fs->n_model_files; i++)
		assembly_set_mount(mount->fs->model_files[i].assembly, mount->device,
				   mount->models->models, mount->models->n);
}

/* The answer to INIT sets the read-ahead as well, so set it afterwards. */
static void set_readahead(void *context)
{
	const struct mount_session *mount = context;

	readahead_set(mount->readahead);
}

/* Drop the rights that are not needed from here on. Returns 0, or -1 after a line in the log. */
static int enter_sandbox(struct mount_session *mount)
{
	struct log *log = mount->models->log;
	const int rc = unmounter_fork(&mount->unmounter);

	if (rc == 0)
		return sandbox_enter_mount(mount->options, models_are_remote(mount->models),
					   mount->options->confine ? &mount->landlock : NULL, log);
	log_report(log, "rights are kept, because the process that unmounts cannot be forked: %s",
		   strerror(-rc));
	return mount->options->confine ? -1 : 0;
}

/* On SIGHUP look for new shards. False, to end the mount, if its terminal is gone. */
static bool look_for_shards(void *context)
{
	const struct mount_session *mount = context;

	if (mount->at_terminal && !isatty(STDERR_FILENO))
		return false;
	shard_watch_check(mount->fs, true);
	return true;
}

/* Stop threads of the layers, which a recipe may have begun: they do not survive a fork. */
static void rest_layers(const struct models *models)
{
	for (uint32_t i = 0; i < models->n_all; i++)
		if (models->models[i]->layer)
			layer_rest(models->models[i]->layer);
}

/* Returns 0, or -1 after a line on stderr. */
static int write_pidfile(struct mount_session *mount)
{
	struct error err = { 0 };

	if (!mount->options->pidfile)
		return 0;
	mount->has_pidfile = pidfile_write(mount->options->pidfile, &err) == 0;
	if (!mount->has_pidfile)
		log_error("%s", err.text);
	return mount->has_pidfile ? 0 : -1;
}

/* Daemonise, unless the mount is to stay in the foreground, and drop rights before the command
 * returns. Returns 0, or -1 after a line on stderr. */
static int settle(struct mount_session *mount)
{
	const bool stays = mount->options->foreground;
	int waiting;

	if (!stays)
		rest_layers(mount->models);
	waiting = stays ? 0 : background_begin();
	if (waiting < 0 || (stays && chdir("/") < 0)) {
		log_error("no daemon can be begun: %s", strerror(stays ? errno : -waiting));
		return -1;
	}
	if (write_pidfile(mount) < 0 || enter_sandbox(mount) < 0)
		return -1;
	if (!stays)
		background_ready(waiting);
	return 0;
}

static int serve(struct mount_session *mount)
{
	int rc = -1;

	note_device(mount);
	mount->readahead = readahead_open(mount->device);
	/* Enter utab before the command returns, because an umount may follow at once. */
	mount->unmounter.in_utab = utab_enter(mount->point);
	mount->at_terminal = mount->options->foreground && isatty(STDERR_FILENO);
	if (settle(mount) == 0) {
		/* Resolve the links of earlier grafts before the first request is answered. */
		symlinks_refresh(mount->fs->links, NULL);
		rc = session_loop(mount->session, mount->options->threads, mount->fs->read_threads,
				  set_readahead, look_for_shards, mount);
	}
	/* libfuse closes the connection first and forgets its descriptor last. A job that answered,
	 * or sent a notice, between the two would write to the file that has the number by then. */
	directory_notices_end(mount->fs);
	pthread_rwlock_wrlock(&mount->fs->answering);
	read_modes_end(mount->fs->read_modes);
	if (unmounter_unmount(&mount->unmounter) < 0)
		log_add(mount->models->log,
			"%s: another mount lies over this one: both stay until umount(8) takes "
			"them away, and this one has no daemon",
			mount->point);
	pthread_rwlock_unlock(&mount->fs->answering);
	return rc;
}

/* Check that the output can be written; for shards, their directory and the form of their names. */
static int check_file(const struct model *model, const char *output, struct error *err)
{
	char *path = strdup(output);
	const struct write_target target = { .directory = AT_FDCWD,
					     .path = path,
					     .replace = REPLACE_ANY,
					     .base = backing_stat(model->base),
					     .shards = model->shards };
	uint64_t most;
	size_t n;
	int rc = path ? split_write_parse(path, &n, &most, err) : error_errno(err, ENOMEM);

	if (rc > 0)
		path[n] = '\0';
	if (rc >= 0)
		rc = atomic_write_check(&target, err);
	free(path);
	return rc;
}

/* Check that the output directory is writable: output itself for several models. */
static void check_directory(const struct mount_session *mount, const char *output,
			    struct error *err)
{
	char *directory = mount->models->several ? strdup(output) : paths_directory(output);

	if (!directory)
		error_errno(err, ENOMEM);
	else if (faccessat(AT_FDCWD, directory, W_OK, AT_EACCESS) < 0)
		error_set(err, errno, ERROR_NO_OFFSET, "nothing can be written in %s: %s",
			  directory, strerror(errno));
	free(directory);
}

/* Report a wrong output= now rather than at the unmount. */
static int check_output(const struct mount_session *mount)
{
	const char *output = mount->options->output;
	struct error err = { 0 };
	struct stat status = { .st_mode = 0 };

	if (!output)
		return 0;
	if (!mount->models->several)
		check_file(mount->models->models[0], output, &err);
	else if (stat(output, &status) < 0 && errno != ENOENT)
		error_errno(&err, errno);
	else if (!S_ISDIR(status.st_mode))
		error_set(&err, ENOTDIR, ERROR_NO_OFFSET,
			  "with several models output= must name an existing directory");
	if (!err.code && !mount->options->read_only)
		check_directory(mount, output, &err);
	if (err.code)
		log_error("%s: %s", output, err.text);
	return -err.code;
}

/* Prepare -o confine; a mount that cannot be confined fails. */
static int prepare_confine(struct mount_session *mount)
{
	struct error err = { 0 };

	if (confine_prepare(&mount->landlock, mount->models, &err) < 0)
		log_error("%s", err.text);
	return -err.code;
}

int session_run(struct models *models, struct unmount_status *status)
{
	const struct options *options = models->options;
	struct mount_session mount = {
		.models = models, .options = options, .status = status, .landlock = { .fd = -1 }
	};
	int rc = check_output(&mount);

	if (rc == 0 && options->confine)
		rc = prepare_confine(&mount);
	if (rc == 0)
		rc = check_device();
	if (rc == 0)
		rc = find_mountpoint(&mount);
	if (rc == 0) {
		models_announce(models);
		rc = start(&mount);
	}
	if (rc == 0) {
		int finished;

		rc = serve(&mount);
		if (rc < 0)
			unmount_status_add(status, "failed",
					   "the mount broke off: nothing was written");
		finished = unmount_finish(mount.fs, rc == 0 && mount_assembles(mount.fs), status);
		if (rc == 0)
			rc = finished;
		unmount_status_add(status, "end", rc == 0 ? "0" : rc < 0 ? "1" : "2");
	}
	if (mount.session)
		fuse_session_destroy(mount.session);
	mount_free(mount.fs);
	if (!mount.unmounter.point)
		mount.unmounter.point = mount.point[0] ? mount.point : options->mountpoint;
	unmounter_leave(&mount.unmounter);
	landlock_release(&mount.landlock);
	if (mount.has_pidfile)
		unlink(options->pidfile);
	return rc == 0 ? 0 : rc < 0 ? 1 : 2;
}
