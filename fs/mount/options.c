/* SPDX-License-Identifier: MIT */
/* options.c - see options.h. */
#include "fs/mount/options.h"
#include "fs/mount/config.h"
#include "fs/mount/options_internal.h"
#include "fs/util/log.h"

#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_opt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTION(template, field)                             \
	{                                                   \
		template, offsetof(struct parsed, field), 1 \
	}

/* libfuse's own converts -1U to unsigned long, which clang warns of. */
#undef FUSE_OPT_KEY
#define FUSE_OPT_KEY(template, key)     \
	{                               \
		template, UINT_MAX, key \
	}

enum { KEY_DROP, KEY_MODEL, KEY_REMOUNT, KEY_OURS, KEY_SINGLE };

static const struct fuse_opt templates[] = {
	OPTION("-h", help),
	OPTION("--help", help),
	OPTION("-V", version),
	OPTION("--version", version),
	OPTION("-f", foreground),
	OPTION("-d", debug),
	OPTION("debug", debug),
	FUSE_OPT_KEY("-s", KEY_SINGLE),
	OPTION("--report", report),
	{ "--report=%s", offsetof(struct parsed, report_model), 0 },
	OPTION("--picture", picture),
	OPTION("--show", show),
	OPTION("ro", read_only),
	{ "rw", offsetof(struct parsed, read_only), 0 },
	{ "noassemble", offsetof(struct parsed, assembly), ASSEMBLE_NOT },
	{ "assemble", offsetof(struct parsed, assembly), ASSEMBLE },
	{ "allow_other", offsetof(struct parsed, allow), ALLOW_OTHER },
	{ "allow_root", offsetof(struct parsed, allow), ALLOW_ROOT },
	{ "noallow_other", offsetof(struct parsed, allow), ALLOW_OWNER },
	OPTION("auto_unmount", auto_unmount),
	{ "noauto_unmount", offsetof(struct parsed, auto_unmount), 0 },
	OPTION("fresh", fresh),
	{ "nofresh", offsetof(struct parsed, fresh), 0 },
	OPTION("nonempty", nonempty),
	{ "output=%s", offsetof(struct parsed, output), 0 },
	{ "layer=%s", offsetof(struct parsed, layer), 0 },
	{ "compress=%s", offsetof(struct parsed, compress), 0 },
	{ "shape=%s", offsetof(struct parsed, shape), 0 },
	{ "blocks=%s", offsetof(struct parsed, blocks), 0 },
	{ "merged=%s", offsetof(struct parsed, merged), 0 },
	{ "views=%s", offsetof(struct parsed, views), 0 },
	{ "uid=%s", offsetof(struct parsed, uid), 0 },
	{ "gid=%s", offsetof(struct parsed, gid), 0 },
	{ "umask=%s", offsetof(struct parsed, umask), 0 },
	{ "threads=%s", offsetof(struct parsed, threads), 0 },
	{ "samples=%s", offsetof(struct parsed, samples), 0 },
	FUSE_OPT_KEY("model=", KEY_MODEL),
	OPTION("noexec", no_execution),
	{ "exec", offsetof(struct parsed, no_execution), 0 },
	FUSE_OPT_KEY("remount", KEY_REMOUNT),
	/* What the kernel shows of a mount; libmount 2.41 hands it back to be changed. */
	FUSE_OPT_KEY("user_id=", KEY_DROP),
	FUSE_OPT_KEY("group_id=", KEY_DROP),
	/* For mount(8), systemd and file managers: what they do with a line of fstab. */
	FUSE_OPT_KEY("defaults", KEY_DROP),
	FUSE_OPT_KEY("auto", KEY_DROP),
	FUSE_OPT_KEY("noauto", KEY_DROP),
	FUSE_OPT_KEY("nofail", KEY_DROP),
	FUSE_OPT_KEY("_netdev", KEY_DROP),
	FUSE_OPT_KEY("user", KEY_DROP),
	FUSE_OPT_KEY("user=", KEY_DROP),
	FUSE_OPT_KEY("nouser", KEY_DROP),
	FUSE_OPT_KEY("users", KEY_DROP),
	FUSE_OPT_KEY("nousers", KEY_DROP),
	FUSE_OPT_KEY("owner", KEY_DROP),
	FUSE_OPT_KEY("noowner", KEY_DROP),
	FUSE_OPT_KEY("group", KEY_DROP),
	FUSE_OPT_KEY("nogroup", KEY_DROP),
	FUSE_OPT_KEY("comment=", KEY_DROP),
	/* nodev and nosuid always. */
	FUSE_OPT_KEY("dev", KEY_DROP),
	FUSE_OPT_KEY("nodev", KEY_DROP),
	FUSE_OPT_KEY("suid", KEY_DROP),
	FUSE_OPT_KEY("nosuid", KEY_DROP),
	FUSE_OPT_KEY("default_permissions", KEY_DROP),
	/* Reading changes no times. */
	FUSE_OPT_KEY("atime", KEY_DROP),
	FUSE_OPT_KEY("noatime", KEY_DROP),
	FUSE_OPT_KEY("diratime", KEY_DROP),
	FUSE_OPT_KEY("nodiratime", KEY_DROP),
	FUSE_OPT_KEY("relatime", KEY_DROP),
	FUSE_OPT_KEY("norelatime", KEY_DROP),
	FUSE_OPT_KEY("strictatime", KEY_DROP),
	FUSE_OPT_KEY("nostrictatime", KEY_DROP),
	FUSE_OPT_KEY("lazytime", KEY_DROP),
	FUSE_OPT_KEY("nolazytime", KEY_DROP),
	FUSE_OPT_KEY("iversion", KEY_DROP),
	FUSE_OPT_KEY("noiversion", KEY_DROP),
	/* A graft is durable when close() returns, whatever is said here. */
	FUSE_OPT_KEY("sync", KEY_DROP),
	FUSE_OPT_KEY("async", KEY_DROP),
	FUSE_OPT_KEY("dirsync", KEY_DROP),
	/* How loud a kernel is. */
	FUSE_OPT_KEY("silent", KEY_DROP),
	FUSE_OPT_KEY("loud", KEY_DROP),
	/* For other filesystems of FUSE: so it is here in any case, or it changes nothing. */
	FUSE_OPT_KEY("big_writes", KEY_DROP),
	FUSE_OPT_KEY("async_read", KEY_DROP),
	FUSE_OPT_KEY("intr", KEY_DROP),
	FUSE_OPT_KEY("use_ino", KEY_DROP),
	FUSE_OPT_KEY("readdir_ino", KEY_DROP),
	FUSE_OPT_KEY("kernel_cache", KEY_DROP),
	FUSE_OPT_KEY("clone_fd", KEY_DROP),
	/* What the mount is called, and what the kernel may keep of it: that is only right as it
	 * is. */
	FUSE_OPT_KEY("fsname=", KEY_OURS),
	FUSE_OPT_KEY("subtype=", KEY_OURS),
	FUSE_OPT_KEY("blkdev", KEY_OURS),
	FUSE_OPT_KEY("direct_io", KEY_OURS),
	FUSE_OPT_KEY("auto_cache", KEY_OURS),
	FUSE_OPT_KEY("noauto_cache", KEY_OURS),
	FUSE_OPT_KEY("writeback_cache", KEY_OURS),
	FUSE_OPT_KEY("attr_timeout=", KEY_OURS),
	FUSE_OPT_KEY("ac_attr_timeout=", KEY_OURS),
	FUSE_OPT_KEY("entry_timeout=", KEY_OURS),
	FUSE_OPT_KEY("negative_timeout=", KEY_OURS),
	FUSE_OPT_KEY("max_read=", KEY_OURS),
	FUSE_OPT_KEY("max_write=", KEY_OURS),
	FUSE_OPT_KEY("max_readahead=", KEY_OURS),
	FUSE_OPT_KEY("sync_read", KEY_OURS),
	FUSE_OPT_END,
};

/* Put a copy of text at the end of a list of n. Returns 0, or -1 without memory. */
static int append(char ***list, uint32_t *n, const char *text)
{
	char **longer = reallocarray(*list, *n + 1u, sizeof(*longer));
	char *copy = strdup(text);

	if (longer)
		*list = longer;
	if (!longer || !copy) {
		free(copy);
		return -1;
	}
	longer[(*n)++] = copy;
	return 0;
}

static int take_model(struct parsed *parsed, const char *file)
{
	if (file[0])
		return append(&parsed->more, &parsed->n_more, file);
	return options_complain(parsed, "model= needs a file name");
}

/* -s: a later threads= has the last word, as it has on an earlier one. */
static int take_single(struct parsed *parsed)
{
	free(parsed->threads);
	parsed->threads = strdup("1");
	return parsed->threads ? 0 : -1;
}

/* 0: taken or dropped, 1: kept, -1: refused. */
static int take(void *data, const char *argument, int key, struct fuse_args *rest)
{
	struct parsed *parsed = data;

	(void)rest;
	switch (key) {
	case KEY_DROP:
		return 0;
	case KEY_MODEL:
		return take_model(parsed, argument + strlen("model="));
	case KEY_SINGLE:
		return take_single(parsed);
	case KEY_OURS:
		return options_complain(parsed, "%.*s: organfs sets this itself; leave it out",
					(int)strcspn(argument, "="), argument);
	case KEY_REMOUNT:
		return options_complain(parsed,
					"remount: the options of a mount cannot be changed; "
					"unmount it and mount it anew");
	case FUSE_OPT_KEY_NONOPT:
		/* The last one is the mountpoint, once all are there. */
		return append(&parsed->options->models, &parsed->options->n_models, argument);
	default:
		if (strncmp(argument, "x-", 2) == 0 || strncmp(argument, "X-", 2) == 0)
			return 0;
		return options_complain(parsed, "unknown option \"%s\"; see organfs --help",
					argument);
	}
}

/* The daemon leaves its working directory. */
static char *absolute(const char *path)
{
	char directory[PATH_MAX], *result;

	if (path[0] == '/')
		return strdup(path);
	if (!getcwd(directory, sizeof(directory)) ||
	    asprintf(&result, "%s/%s", directory, path) < 0)
		return NULL;
	return result;
}

static int check_report(struct parsed *parsed)
{
	if (parsed->options->n_models > 0)
		return 0;
	return options_complain(parsed, "--report needs a TABLE; see organfs --help");
}

static int check_picture(struct parsed *parsed)
{
	const uint32_t n = parsed->options->n_models;

	if ((n == 1 || (n == 2 && parsed->picture)) && parsed->n_more == 0)
		return 0;
	return options_complain(parsed, "%s; see organfs --help",
				parsed->picture ? "--picture needs one MODEL, or two"
						: "--show needs one MODEL or MOUNTPOINT");
}

static int take_mountpoint(struct parsed *parsed)
{
	struct options *options = parsed->options;

	if (options->n_models > 1)
		options->mountpoint = options->models[--options->n_models];
	if (options->mountpoint)
		return 0;
	return options_complain(parsed, "a MODEL and a MOUNTPOINT are needed; see organfs --help");
}

/* Values matter to what opens a model. */
static int check(struct parsed *parsed)
{
	if (parsed->help || parsed->version)
		return 0;
	if (parsed->report || parsed->report_model)
		return check_report(parsed);
	if ((parsed->picture || parsed->show ? check_picture(parsed) : take_mountpoint(parsed)) < 0)
		return -1;
	if (parsed->complaint) {
		log_error("%s", parsed->complaint);
		return -1;
	}
	if (parsed->fresh && parsed->layer)
		return options_complain(parsed, "fresh is for private layers, and layer= names one "
						"whose grafts are wanted; leave one of them out");
	if (parsed->not_read)
		log_error("%s: not read, as it belongs to another user", parsed->not_read);
	return options_check_words(parsed) < 0 ? -1 : options_fill_numbers(parsed);
}

static bool is(const char *value, const char *word)
{
	return value && strcmp(value, word) == 0;
}

static int fill(const struct parsed *parsed)
{
	struct options *options = parsed->options;

	options->help = parsed->help;
	options->version = parsed->version;
	options->report = parsed->report || parsed->report_model;
	options->picture = parsed->picture;
	options->show = parsed->show;
	options->debug = parsed->debug;
	options->foreground = parsed->foreground || parsed->debug;
	/* What only looks at a model leaves nothing behind, nor does it take up what was left. */
	options->read_only = parsed->read_only || parsed->picture || parsed->show;
	/* A user who keeps a layer wants the layer, unless the options say what to write. */
	options->no_assembly = parsed->assembly ? parsed->assembly == ASSEMBLE_NOT
						: parsed->layer && !parsed->output;
	options->no_execution = parsed->no_execution;
	options->allow = (enum allow)parsed->allow;
	options->auto_unmount = parsed->auto_unmount;
	options->fresh = parsed->fresh;
	options->nonempty = parsed->nonempty;
	options->any_shape = is(parsed->shape, "any");
	options->list_views = is(parsed->views, "listed");
	options->merged_f16 = is(parsed->merged, "f16");
	options->keep_blocks = is(parsed->blocks, "keep");
	options->output = parsed->output ? absolute(parsed->output) : NULL;
	options->layer = parsed->layer ? absolute(parsed->layer) : NULL;
	return (parsed->output && !options->output) || (parsed->layer && !options->layer) ? -1 : 0;
}

/* One option of a file. What is wrong with it is known before the next one is looked at, so that
 * the complaint has the right line. */
static int take_default(struct parsed *parsed, const char *option)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	char *list = NULL;
	int rc = -1;

	if (fuse_opt_add_opt_escaped(&list, option) == 0 &&
	    fuse_opt_add_arg(&args, "organfs") == 0 && fuse_opt_add_arg(&args, "-o") == 0 &&
	    fuse_opt_add_arg(&args, list) == 0)
		rc = fuse_opt_parse(&args, parsed, templates, take);
	if (rc == 0)
		rc = options_check_words(parsed);
	if (rc == 0)
		rc = options_fill_numbers(parsed);
	fuse_opt_free_args(&args);
	free(list);
	return rc;
}

/* Take the options of a file; of what is wrong there is a complaint in parsed. */
static void take_file(struct parsed *parsed, const char *path, bool users_own)
{
	char where[PATH_MAX + 16], text[320];
	struct config config;
	struct error err = { 0 };
	int rc = config_read(path, users_own, &config, &err);

	if (config.bad_line)
		snprintf(where, sizeof(where), "%s:%u", path, config.bad_line);
	else
		snprintf(where, sizeof(where), "%s", path);
	parsed->where = where;
	if (rc < 0)
		options_complain(parsed, "%s", error_describe(&err, text, sizeof(text)));
	if (rc > 0)
		parsed->not_read = path;
	for (size_t i = 0; rc == 0 && i < config.n; i++) {
		snprintf(where, sizeof(where), "%s:%u", path, config.options[i].line);
		rc = take_default(parsed, config.options[i].text);
	}
	parsed->where = NULL;
	config_release(&config);
}

static void release(struct parsed *parsed)
{
	for (uint32_t i = 0; i < parsed->n_more; i++)
		free(parsed->more[i]);
	free(parsed->more);
	free(parsed->complaint);
	free(parsed->output);
	free(parsed->layer);
	free(parsed->compress);
	free(parsed->shape);
	free(parsed->blocks);
	free(parsed->merged);
	free(parsed->views);
	free(parsed->uid);
	free(parsed->gid);
	free(parsed->umask);
	free(parsed->threads);
	free(parsed->samples);
}

int options_parse(struct options *options, int argc, char **argv, const char *system_file,
		  const char *users_file)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct parsed parsed = { .options = options };
	int rc;

	memset(options, 0, sizeof(*options));
	if (system_file)
		take_file(&parsed, system_file, false);
	if (users_file && !parsed.complaint)
		take_file(&parsed, users_file, true);
	rc = fuse_opt_parse(&args, &parsed, templates, take);
	if (rc == 0)
		rc = check(&parsed);
	for (uint32_t i = 0; rc == 0 && i < parsed.n_more; i++)
		rc = append(&options->models, &options->n_models, parsed.more[i]);
	if (rc == 0)
		rc = fill(&parsed);
	/* As it is given, and the caller's from now on. */
	options->report_model = parsed.report_model;
	fuse_opt_free_args(&args);
	release(&parsed);
	return rc < 0 ? -1 : 0;
}

void options_release(struct options *options)
{
	for (uint32_t i = 0; i < options->n_models; i++)
		free(options->models[i]);
	free(options->models);
	free(options->mountpoint);
	free(options->report_model);
	free(options->output);
	free(options->layer);
	memset(options, 0, sizeof(*options));
}

const char *options_help(void)
{
	return "Usage: organfs [-dfs] [-o OPTION[,OPTION...]] MODEL... MOUNTPOINT\n"
	       "       organfs --report[=NAME] TABLE...\n"
	       "       organfs --picture|--show [-o OPTION[,OPTION...]] MODEL...\n"
	       "Mounts GGUF models, files or directories of some, as directories of tensors.\n"
	       "`umount MOUNTPOINT` writes what was grafted as a new model beside the old one.\n"
	       "  -f               stay in the foreground, log to stderr\n"
	       "  -d, -o debug     the same, with every request and its answer\n"
	       "  -s               let one thread answer all requests, as threads=1 does\n"
	       "  -h, --help       this text\n"
	       "  -V, --version    the version\n"
	       "  --report[=NAME]  report on the models, or one, whose .table files are given\n"
	       "  --picture        print theta.svg of a model, or of two beside each other\n"
	       "  --show           show it in the terminal, of a MODEL or of a MOUNTPOINT\n"
	       "  -o ro            no graft, no assembly\n"
	       "  -o output=FILE   what the unmount writes; with several models a directory\n"
	       "  -o noassemble    write nothing at unmount; the next mount has the grafts again\n"
	       "  -o layer=DIR     keep the grafts in DIR, and write only what output= says\n"
	       "  -o fresh         begin without grafts that an earlier mount left behind\n"
	       "  -o compress=N    zstd level for organs in the layer (1), or off\n"
	       "  -o shape=any     accept an organ whose shape differs from the slot's\n"
	       "  -o blocks=keep   do not let block_count follow the blocks that are there\n"
	       "  -o merged=f16    what adapters change becomes F16, unless it is F32\n"
	       "  -o views=listed  show .base, .views and metadata in listings\n"
	       "  -o samples=N     values of a tensor that theta is taken from (100000), or all\n"
	       "  -o threads=N     threads that answer requests (one per processor, at least 4)\n"
	       "  -o uid=N,gid=N,umask=N  owner (the mounting user), mode mask (022)\n"
	       "  -o allow_other,allow_root  let other users in, or only root\n"
	       "  -o auto_unmount  end the mount also where the daemon is killed\n"
	       "  -o nonempty      mount also over a directory that is not empty\n"
	       "  -o model=MODEL   one more, where only one can be given (mount, fstab)\n"
	       "  -o rw,assemble,noallow_other,noauto_unmount,nofresh  take back a default\n"
	       "Defaults, `option` or `option=value` a line, are in " CONFIG_SYSTEM " and,\n"
	       "before that, in ~/.config/organfs.conf; the command line goes before both.\n";
}
