/* SPDX-License-Identifier: MIT */
/* main.c - the command line program, and the rooms of fs/ (README.md beside it):
 *
 *	12	fs/		main.c: the command line, and the command that it asks for
 *	11	fuse/		FUSE requests: dispatched to a family of files, answered;
 *				the loop; the session
 *	11	commands/	the commands beside the mount, one file each: --show, --pack,
 *				--list and the like
 *	10	mount/		one mount: options, models, threads, shards that come and
 *				go, unmount
 *	9	tree/		the name space: inodes, the table of families of files, open
 *				files
 *	8	files/		generated files: manifest, lists, checksums, pictures,
 *				.assemble
 *	7	recipe/		.recipe: the state of a model as text, the search for
 *				donors, the replay, the lineage
 *	6	edit/		changes: staged writes, grafts, keys, adapters, experts,
 *				links, undo, recovery
 *	6	report/		θ as text, tables and JSON
 *	6	check/		.check: has this chimera a chance?
 *	6	diff/		two models compared tensor by tensor: table, summary,
 *				picture, adapter
 *	5	paths/		files outside the mount that a path or a writing process
 *				names, without hanging
 *	5	lazy/		results computed on first read and kept: memo, measures,
 *				hashes, texts with cells
 *	5	assemble/	writing a model out: layout to view, shared or copied
 *				blocks, atomic rename, split
 *	4	model/		a mounted model in memory: slots, adapters in force, organ
 *				files
 *	3	layer/		grafts on disk: the SQLite database, its transactions, the
 *				blobs, the directory's lock
 *	3	merge/		models merged: mergekit's configurations, read and resolved
 *				for each tensor
 *	2	base/		a model on disk: one file or its shards joined; fingerprint,
 *				donors, references
 *	2	tensor/		a tensor in another form: decoded, encoded, merged,
 *				purified, as npy, by expert
 *	2	metadata/	keys and values: text and JSON both ways, edits over the
 *				base
 *	1	storage/	sources of bytes: backings (files, zstd, HTTP, shards,
 *				computed rows), views
 *	0	util/		no model, no FUSE: log, io, paths, thread pool, fair lock,
 *				rights, escapes */
#include "fs/commands/check_command.h"
#include "fs/commands/diff_command.h"
#include "fs/commands/list_command.h"
#include "fs/commands/models_command.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/pack_command.h"
#include "fs/commands/recipe_command.h"
#include "fs/commands/report_command.h"
#include "fs/commands/show_command.h"
#include "fs/commands/stop_command.h"
#include "fs/commands/tree_command.h"
#include "fs/commands/unpack_command.h"
#include "fs/commands/why_command.h"
#include "fs/fuse/session.h"
#include "fs/mount/config.h"
#include "fs/mount/models.h"
#include "fs/mount/options.h"
#include "fs/mount/sandbox.h"
#include "fs/mount/unmount_status.h"
#include "fs/storage/remote_http.h"
#include "fs/util/log.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <fcntl.h>
#include <signal.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

/* The process that starts us may have closed them, and a base must not become standard output. */
static int fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		perror("organfs: /dev/null");
	return fd < 0 ? -1 : close(fd);
}

/* Every graft keeps a descriptor open. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* glibc gives each thread that contends for memory its own arena, up to eight for each processor,
 * and keeps in each arena the memory that a thread once needed for a graft. A load of reads, grafts
 * and measures by 45 threads on two processors takes 68 MB with sixteen arenas and 44 MB with four
 * (tests/mount/daemon/soak.sh). */
static void limit_arenas(void)
{
	mallopt(M_ARENA_MAX, 4);
}

/* Overwrite the credentials of URLs in the arguments, which all users can see in /proc. */
static void hide_credentials(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *shown = url_is_remote(argv[i]) ? url_shown(argv[i]) : NULL;

		if (shown) {
			const size_t n = strlen(shown);

			memset(argv[i] + n, 0, strlen(argv[i]) - n);
			memcpy(argv[i], shown, n);
		}
		free(shown);
	}
}

static int mount_models(const struct options *options)
{
	struct log *log = log_new(options->foreground);
	struct unmount_status *status;
	struct models models;
	struct error err = { 0 };
	const char *culprit = NULL;
	char text[320];
	int rc = 1;

	if (!log) {
		log_error("out of memory");
		return 1;
	}
	sandbox_begin_mount();
	status = unmount_status_new();
	/* Its socket is opened now, as there will be no other. */
	openlog("organfs", LOG_PID | (options->foreground ? 0 : LOG_NDELAY), LOG_DAEMON);
	raise_descriptor_limit();
	if (models_open(&models, options, log, &culprit, &err) < 0)
		log_error("%s: %s", culprit, error_describe(&err, text, sizeof(text)));
	else
		rc = session_run(&models, status);
	models_close(&models);
	log_free(log);
	/* A process that waits for the end finds all locks released, those of the layers too. */
	unmount_status_free(status);
	return rc;
}

static int print_help(const struct options *options)
{
	(void)options;
	return offline_models_print(options_help(), strlen(options_help())) < 0;
}

static int print_version(const struct options *options)
{
	static const char version[] = "organfs " ORGANFS_VERSION "\n";

	(void)options;
	return offline_models_print(version, sizeof(version) - 1) < 0;
}

/* SANDBOX_NONE: the command writes files, or asks daemons. */
static const struct {
	int (*run)(const struct options *options); /* returns an exit status */
	enum sandbox_reads reads;
} commands[COMMANDS] = {
	[COMMAND_MOUNT] = { mount_models, SANDBOX_NONE },
	[COMMAND_HELP] = { print_help, SANDBOX_NONE },
	[COMMAND_VERSION] = { print_version, SANDBOX_NONE },
	[COMMAND_REPORT] = { report_command, SANDBOX_TABLES },
	[COMMAND_LIST] = { list_command, SANDBOX_NONE },
	[COMMAND_MODELS] = { models_command, SANDBOX_ANYTHING },
	[COMMAND_WHY] = { why_command, SANDBOX_ANYTHING },
	[COMMAND_PICTURE] = { picture_command, SANDBOX_MODELS },
	[COMMAND_DIFF] = { diff_command, SANDBOX_MODELS },
	[COMMAND_SHOW] = { show_command, SANDBOX_ANYTHING },
	[COMMAND_RECIPE] = { recipe_command, SANDBOX_MODELS },
	[COMMAND_CHECK] = { check_command, SANDBOX_ANYTHING },
	[COMMAND_THETA] = { theta_command, SANDBOX_MODELS },
	[COMMAND_NPY] = { npy_command, SANDBOX_MODELS },
	[COMMAND_PACK] = { pack_command, SANDBOX_NONE },
	[COMMAND_QUANTISE] = { pack_command, SANDBOX_NONE },
	[COMMAND_UNPACK] = { unpack_command, SANDBOX_NONE },
};

static int run(struct options *options)
{
	const enum sandbox_reads reads = commands[options->command].reads;

	if (options->opens_models && options_find_models(options) < 0)
		return 1;
	if (reads != SANDBOX_NONE)
		sandbox_enter_command(options, reads);
	return commands[options->command].run(options);
}

int main(int argc, char **argv)
{
	struct options options;
	char *users_file;
	int rc, parsed;

	if (fill_standard_descriptors() < 0)
		return 1;
	rc = stop_command(argc, argv);
	if (rc >= 0)
		return rc;
	/* A write beyond RLIMIT_FSIZE is answered with EFBIG, which is said. */
	signal(SIGXFSZ, SIG_IGN);
	/* Or no child could be waited for, where the process that started this one ignores it. */
	signal(SIGCHLD, SIG_DFL);
	limit_arenas();
	remote_http_global_init();
	users_file = config_users_path();
	parsed = options_parse(&options, argc, argv, CONFIG_SYSTEM, users_file);
	hide_credentials(argc, argv);
	rc = parsed < 0 ? 2 : run(&options);
	options_release(&options);
	free(users_file);
	remote_http_global_cleanup();
	return rc;
}
