/* SPDX-License-Identifier: MIT */
/* options.c - see options.h. */
#include "fs/options.h"
#include "fs/frames_write.h"
#include "fs/sampling.h"

#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_opt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 1024u

/* zstd's level for what is kept in a layer: little work for most of what there is to gain. */
#define COMPRESS_DEFAULT 1

/* What fuse_opt fills in. */
struct parsed {
	struct options *options;
	char *report_model, *output, *layer, *compress, *shape, *blocks, *views, *merged, *uid,
		*gid, *umask, *threads, *samples;
	int help, version, report, picture, show, foreground, read_only, no_assembly, no_execution,
		allow_other;
	char **more; /* models that are options */
	uint32_t n_more;
};

#define OPTION(template, field)                             \
	{                                                   \
		template, offsetof(struct parsed, field), 1 \
	}

enum { KEY_DROP, KEY_MODEL, KEY_REMOUNT };

static const struct fuse_opt templates[] = {
	OPTION("-h", help),
	OPTION("--help", help),
	OPTION("-V", version),
	OPTION("--version", version),
	OPTION("-f", foreground),
	OPTION("--report", report),
	{ "--report=%s", offsetof(struct parsed, report_model), 0 },
	OPTION("--picture", picture),
	OPTION("--show", show),
	OPTION("ro", read_only),
	{ "rw", offsetof(struct parsed, read_only), 0 },
	OPTION("noassemble", no_assembly),
	OPTION("allow_other", allow_other),
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
	fprintf(stderr, "organfs: model= needs a file name\n");
	return -1;
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
	case KEY_REMOUNT:
		fprintf(stderr, "organfs: remount: the options of a mount cannot be changed; "
				"unmount it and mount it anew\n");
		return -1;
	case FUSE_OPT_KEY_NONOPT:
		/* The last one is the mountpoint, once all are there. */
		return append(&parsed->options->models, &parsed->options->n_models, argument);
	default:
		if (strncmp(argument, "x-", 2) == 0 || strncmp(argument, "X-", 2) == 0)
			return 0;
		fprintf(stderr, "organfs: unknown option \"%s\"; see organfs --help\n", argument);
		return -1;
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

static unsigned default_threads(void)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors > 4 ? (unsigned)processors : 4;
}

/* The number that the whole text is, or fallback for no text. -1, after a line on stderr, if it is
 * none from least to most. */
static int number(const char *option, const char *text, int base, unsigned least, unsigned most,
		  unsigned fallback, unsigned *value)
{
	unsigned long long parsed;
	char *end;

	*value = fallback;
	if (!text)
		return 0;
	errno = 0;
	parsed = strtoull(text, &end, base);
	if (text[0] < '0' || text[0] > '9' || *end || errno || parsed < least || parsed > most) {
		fprintf(stderr,
			base == 8 ? "organfs: %s=%s: %s= takes an octal number from %o to %o\n"
				  : "organfs: %s=%s: %s= takes a number from %u to %u\n",
			option, text, option, least, most);
		return -1;
	}
	*value = (unsigned)parsed;
	return 0;
}

static int fill_samples(const struct parsed *parsed)
{
	struct options *options = parsed->options;
	unsigned samples;

	options->samples = SAMPLES_ALL;
	if (parsed->samples && strcmp(parsed->samples, "all") == 0)
		return 0;
	if (number("samples", parsed->samples, 10, SAMPLE_LIMIT_MIN, SAMPLE_LIMIT_MAX,
		   SAMPLE_DEFAULT, &samples) < 0)
		return -1;
	options->samples = samples;
	return 0;
}

static int fill_compress(const struct parsed *parsed)
{
	unsigned level;

	parsed->options->compress = 0;
	if (parsed->compress && strcmp(parsed->compress, "off") == 0)
		return 0;
	if (number("compress", parsed->compress, 10, 1, FRAMES_LEVEL_MAX, COMPRESS_DEFAULT,
		   &level) < 0)
		return -1;
	parsed->options->compress = (int)level;
	return 0;
}

static int fill_numbers(const struct parsed *parsed)
{
	struct options *options = parsed->options;
	unsigned uid, gid, umask;

	/* The highest number means that there is none. */
	if (number("uid", parsed->uid, 10, 0, UINT_MAX - 1, getuid(), &uid) < 0 ||
	    number("gid", parsed->gid, 10, 0, UINT_MAX - 1, getgid(), &gid) < 0 ||
	    number("umask", parsed->umask, 8, 0, 0777, 022, &umask) < 0 ||
	    number("threads", parsed->threads, 10, 1, THREADS_MAX, default_threads(),
		   &options->threads) < 0 ||
	    fill_samples(parsed) < 0 || fill_compress(parsed) < 0)
		return -1;
	options->uid = uid;
	options->gid = gid;
	options->umask = umask;
	return 0;
}

static int check_report(const struct parsed *parsed)
{
	if (parsed->options->n_models > 0)
		return 0;
	fprintf(stderr, "organfs: --report needs a TABLE; see organfs --help\n");
	return -1;
}

static int check_picture(const struct parsed *parsed)
{
	const uint32_t n = parsed->options->n_models;

	if ((n == 1 || (n == 2 && parsed->picture)) && parsed->n_more == 0)
		return 0;
	fprintf(stderr, "organfs: %s; see organfs --help\n",
		parsed->picture ? "--picture needs one MODEL, or two"
				: "--show needs one MODEL or MOUNTPOINT");
	return -1;
}

static int take_mountpoint(struct options *options)
{
	if (options->n_models > 1)
		options->mountpoint = options->models[--options->n_models];
	if (options->mountpoint)
		return 0;
	fprintf(stderr, "organfs: a MODEL and a MOUNTPOINT are needed; see organfs --help\n");
	return -1;
}

static int check_words(const struct parsed *parsed)
{
	if (parsed->shape && strcmp(parsed->shape, "any") != 0) {
		fprintf(stderr, "organfs: shape=%s is not known; there is shape=any\n",
			parsed->shape);
		return -1;
	}
	if (parsed->views && strcmp(parsed->views, "listed") != 0) {
		fprintf(stderr, "organfs: views=%s is not known; there is views=listed\n",
			parsed->views);
		return -1;
	}
	if (parsed->blocks && strcmp(parsed->blocks, "follow") != 0 &&
	    strcmp(parsed->blocks, "keep") != 0) {
		fprintf(stderr, "organfs: blocks=%s is not known; there are follow and keep\n",
			parsed->blocks);
		return -1;
	}
	if (parsed->merged && strcmp(parsed->merged, "f16") != 0) {
		fprintf(stderr, "organfs: merged=%s is not known; there is merged=f16\n",
			parsed->merged);
		return -1;
	}
	if (parsed->output && parsed->output[0] == '\0') {
		fprintf(stderr, "organfs: output= needs a file name\n");
		return -1;
	}
	if (parsed->layer && parsed->layer[0] == '\0') {
		fprintf(stderr, "organfs: layer= needs the name of a directory\n");
		return -1;
	}
	return 0;
}

static int check(const struct parsed *parsed)
{
	if (parsed->help || parsed->version)
		return 0;
	if (parsed->report || parsed->report_model)
		return check_report(parsed);
	if ((parsed->picture || parsed->show ? check_picture(parsed)
					     : take_mountpoint(parsed->options)) < 0)
		return -1;
	return check_words(parsed);
}

static int fill(const struct parsed *parsed)
{
	struct options *options = parsed->options;

	options->help = parsed->help;
	options->version = parsed->version;
	options->report = parsed->report || parsed->report_model;
	options->picture = parsed->picture;
	options->show = parsed->show;
	options->foreground = parsed->foreground;
	/* What only looks at a model leaves nothing behind, nor does it take up what was left. */
	options->read_only = parsed->read_only || parsed->picture || parsed->show;
	/* Whoever keeps a layer wants the layer, unless he says what to write. */
	options->no_assembly = parsed->no_assembly || (parsed->layer && !parsed->output);
	options->no_execution = parsed->no_execution;
	options->allow_other = parsed->allow_other;
	options->any_shape = parsed->shape != NULL;
	options->list_views = parsed->views != NULL;
	options->merged_f16 = parsed->merged != NULL;
	options->keep_blocks = parsed->blocks && strcmp(parsed->blocks, "keep") == 0;
	options->output = parsed->output ? absolute(parsed->output) : NULL;
	options->layer = parsed->layer ? absolute(parsed->layer) : NULL;
	return (parsed->output && !options->output) || (parsed->layer && !options->layer) ? -1 : 0;
}

int options_parse(struct options *options, int argc, char **argv)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct parsed parsed = { .options = options };
	int rc;

	memset(options, 0, sizeof(*options));
	rc = fuse_opt_parse(&args, &parsed, templates, take);
	if (rc == 0)
		rc = check(&parsed);
	for (uint32_t i = 0; rc == 0 && i < parsed.n_more; i++)
		rc = append(&options->models, &options->n_models, parsed.more[i]);
	if (rc == 0)
		rc = fill_numbers(&parsed);
	if (rc == 0)
		rc = fill(&parsed);
	/* As it is given, and the caller's from now on. */
	options->report_model = parsed.report_model;
	fuse_opt_free_args(&args);
	for (uint32_t i = 0; i < parsed.n_more; i++)
		free(parsed.more[i]);
	free(parsed.more);
	free(parsed.output);
	free(parsed.layer);
	free(parsed.compress);
	free(parsed.shape);
	free(parsed.blocks);
	free(parsed.merged);
	free(parsed.views);
	free(parsed.uid);
	free(parsed.gid);
	free(parsed.umask);
	free(parsed.threads);
	free(parsed.samples);
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
	return "Usage: organfs [-f] [-o OPTION[,OPTION...]] MODEL... MOUNTPOINT\n"
	       "       organfs --report[=NAME] TABLE...\n"
	       "       organfs --picture|--show [-o OPTION[,OPTION...]] MODEL...\n"
	       "Mounts GGUF models, files or directories of some, as directories of tensors.\n"
	       "`umount MOUNTPOINT` writes what was grafted as a new model beside the old one.\n"
	       "  -f               stay in the foreground, log to stderr\n"
	       "  -h, --help, -V, --version  this text, the version\n"
	       "  --report[=NAME]  report on the models, or one, whose .table files are given\n"
	       "  --picture        print theta.svg of a model, or of two beside each other\n"
	       "  --show           show it in the terminal, of a MODEL or of a MOUNTPOINT\n"
	       "  -o ro            no graft, no assembly\n"
	       "  -o output=FILE   what the unmount writes; with several models a directory\n"
	       "  -o noassemble    write nothing at unmount; the next mount has the grafts again\n"
	       "  -o layer=DIR     keep the grafts in DIR, and write only what output= says\n"
	       "  -o compress=N    zstd level for organs in the layer (1), or off\n"
	       "  -o shape=any     accept an organ whose shape differs from the slot's\n"
	       "  -o blocks=keep   do not let block_count follow the blocks that are there\n"
	       "  -o merged=f16    what adapters change becomes F16, unless it is F32\n"
	       "  -o views=listed  show .base and .views in listings\n"
	       "  -o samples=N     values of a tensor that theta is taken from (100000), or all\n"
	       "  -o threads=N     threads that answer requests (one per processor, at least 4)\n"
	       "  -o uid=N,gid=N,umask=N  owner (the mounting user), mode mask (022)\n"
	       "  -o allow_other   let other users in\n"
	       "  -o model=MODEL   one more, where only one can be given (mount, fstab)\n";
}
