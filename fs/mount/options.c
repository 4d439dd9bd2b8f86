/* SPDX-License-Identifier: MIT */
/* options.c - see options.h. */
#include "fs/mount/options.h"
#include "fs/mount/config.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/tensor/sampling.h"
#include "fs/util/log.h"
#include "fs/util/url.h"
#include "gguf/error.h"
#include "measure/sample.h"

#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fuse_opt.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 1024u

/* zstd's level for organs kept in a layer: little work for most of what there is to gain. */
#define COMPRESS_DEFAULT 1

/* What noassemble and assemble set; 0: neither was given. */
enum { ASSEMBLE_NOT = 1, ASSEMBLE };

/* What fuse_opt fills in; the last word on an option counts. */
struct parsed {
	struct options options;
	char *output, *layer, *header, *recipe, *donors, *compress, *shape, *blocks, *views,
		*merged, *uid, *gid, *umask, *threads, *samples, *passthrough, *snapshot, *pidfile;
	int assembly;
	char **more; /* models that are options */
	uint32_t n_more;
	const char *where; /* FILE:LINE of the default that is being taken; NULL: a command line */
	const char *not_read; /* a file of defaults, another user's; or NULL */
	char *complaint;      /* about the files of defaults, for where they are needed; or NULL */
};

#define OPTION(template, field, value)                                  \
	{                                                               \
		template, offsetof(struct parsed, options.field), value \
	}

/* libfuse's own converts -1U to unsigned long, which clang warns of. */
#undef FUSE_OPT_KEY
#define FUSE_OPT_KEY(template, key)     \
	{                               \
		template, UINT_MAX, key \
	}

enum { KEY_MODEL, KEY_REMOUNT, KEY_SINGLE };

static const struct fuse_opt templates[] = {
	OPTION("-h", help, 1),
	OPTION("--help", help, 1),
	OPTION("-V", version, 1),
	OPTION("--version", version, 1),
	OPTION("-f", foreground, 1),
	OPTION("-d", debug, 1),
	OPTION("debug", debug, 1),
	FUSE_OPT_KEY("-s", KEY_SINGLE),
	OPTION("--report", report, 1),
	OPTION("--report=%s", report_model, 0),
	OPTION("--json", json, 1),
	OPTION("--picture", picture, 1),
	OPTION("--diff", diff, 1),
	OPTION("--diff=%s", diff_form, 0),
	OPTION("--show", show, 1),
	OPTION("--pack", pack, 1),
	OPTION("--recipe", print_recipe, 1),
	OPTION("ro", read_only, 1),
	OPTION("rw", read_only, 0),
	{ "noassemble", offsetof(struct parsed, assembly), ASSEMBLE_NOT },
	{ "assemble", offsetof(struct parsed, assembly), ASSEMBLE },
	OPTION("allow_other", allow, ALLOW_OTHER),
	OPTION("allow_root", allow, ALLOW_ROOT),
	OPTION("noallow_other", allow, ALLOW_OWNER),
	OPTION("auto_unmount", auto_unmount, 1),
	OPTION("noauto_unmount", auto_unmount, 0),
	OPTION("fresh", fresh, 1),
	OPTION("nofresh", fresh, 0),
	OPTION("nonempty", nonempty, 1),
	OPTION("lineage", lineage, 1),
	OPTION("nolineage", lineage, 0),
	OPTION("confine", confine, 1),
	OPTION("noconfine", confine, 0),
	{ "output=%s", offsetof(struct parsed, output), 0 },
	{ "layer=%s", offsetof(struct parsed, layer), 0 },
	{ "header=%s", offsetof(struct parsed, header), 0 },
	{ "recipe=%s", offsetof(struct parsed, recipe), 0 },
	{ "donors=%s", offsetof(struct parsed, donors), 0 },
	{ "compress=%s", offsetof(struct parsed, compress), 0 },
	{ "shape=%s", offsetof(struct parsed, shape), 0 },
	{ "blocks=%s", offsetof(struct parsed, blocks), 0 },
	{ "merged=%s", offsetof(struct parsed, merged), 0 },
	{ "views=%s", offsetof(struct parsed, views), 0 },
	{ "passthrough=%s", offsetof(struct parsed, passthrough), 0 },
	{ "snapshot=%s", offsetof(struct parsed, snapshot), 0 },
	{ "uid=%s", offsetof(struct parsed, uid), 0 },
	{ "gid=%s", offsetof(struct parsed, gid), 0 },
	{ "umask=%s", offsetof(struct parsed, umask), 0 },
	{ "pidfile=%s", offsetof(struct parsed, pidfile), 0 },
	{ "threads=%s", offsetof(struct parsed, threads), 0 },
	{ "samples=%s", offsetof(struct parsed, samples), 0 },
	FUSE_OPT_KEY("model=", KEY_MODEL),
	OPTION("noexec", no_execution, 1),
	OPTION("exec", no_execution, 0),
	FUSE_OPT_KEY("remount", KEY_REMOUNT),
	FUSE_OPT_END,
};

/* Options that are dropped. One that ends in '=' has a value. */
static const char *const dropped[] = {
	/* What the kernel shows of a mount; libmount 2.41 hands it back to be changed. */
	"user_id=", "group_id=",
	/* For mount(8), systemd and file managers: what they do with a line of fstab. */
	"defaults", "auto", "noauto", "nofail", "_netdev", "user", "user=", "nouser", "users",
	"nousers", "owner", "noowner", "group", "nogroup", "comment=",
	/* nodev and nosuid always. */
	"dev", "nodev", "suid", "nosuid", "default_permissions",
	/* Reading changes no times. */
	"atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime",
	"nostrictatime", "lazytime", "nolazytime", "iversion", "noiversion",
	/* A graft is durable when close() returns, whatever is said here. */
	"sync", "async", "dirsync",
	/* How loud a kernel is. */
	"silent", "loud",
	/* For other filesystems of FUSE: so it is here in any case, or it changes nothing. */
	"big_writes", "async_read", "intr", "use_ino", "readdir_ino", "kernel_cache", "clone_fd",
	NULL
};

/* Options that are refused. */
static const char *const refused[] = {
	/* What the mount is called, and what the kernel may keep of it: that is only right as it
	 * is. */
	"fsname=",
	"subtype=",
	"blkdev",
	"direct_io",
	"auto_cache",
	"noauto_cache",
	"writeback_cache",
	"attr_timeout=",
	"ac_attr_timeout=",
	"entry_timeout=",
	"negative_timeout=",
	"max_read=",
	"max_write=",
	"max_readahead=",
	"sync_read",
	NULL
};

static bool is_one_of(const char *argument, const char *const *words)
{
	for (; *words; words++) {
		const size_t n = strlen(*words);

		if (strncmp(argument, *words, n) == 0 && ((*words)[n - 1] == '=' || !argument[n]))
			return true;
	}
	return false;
}

/* Say in a line what is wrong: on stderr, or, about a default, in parsed->complaint. Returns -1. */
__attribute__((format(printf, 2, 3))) static int complain(struct parsed *parsed, const char *format,
							  ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!parsed->where)
		log_error("%s", text ? text : "out of memory");
	else if (!parsed->complaint && asprintf(&parsed->complaint, "%s: %s", parsed->where,
						text ? text : "out of memory") < 0)
		parsed->complaint = NULL;
	free(text);
	return -1;
}

static unsigned default_threads(void)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors > 4 ? (unsigned)processors : 4;
}

/* The number that the whole text is, or fallback for no text. -1, after a complaint, if it is none
 * from least to most. */
static int number(struct parsed *parsed, const char *option, const char *text, int base,
		  unsigned least, unsigned most, unsigned fallback, unsigned *value)
{
	unsigned long long n;
	char *end;

	*value = fallback;
	if (!text)
		return 0;
	errno = 0;
	n = strtoull(text, &end, base);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n < least || n > most)
		return complain(parsed,
				base == 8 ? "%s=%s: %s= takes an octal number from %o to %o"
					  : "%s=%s: %s= takes a number from %u to %u",
				option, text, option, least, most);
	*value = (unsigned)n;
	return 0;
}

/* The same, or 0 for a word. */
static int number_or(struct parsed *parsed, const char *option, const char *text, const char *word,
		     unsigned least, unsigned most, unsigned fallback, unsigned *value)
{
	*value = 0;
	if (text && strcmp(text, word) == 0)
		return 0;
	return number(parsed, option, text, 10, least, most, fallback, value);
}

/* Fill those of parsed->options that are numbers. -1: one is wrong, after a complaint. */
static int fill_numbers(struct parsed *parsed)
{
	struct options *options = &parsed->options;
	unsigned samples, level;

	/* The highest number means that there is none. */
	if (number(parsed, "uid", parsed->uid, 10, 0, UINT_MAX - 1, getuid(), &options->uid) < 0 ||
	    number(parsed, "gid", parsed->gid, 10, 0, UINT_MAX - 1, getgid(), &options->gid) < 0 ||
	    number(parsed, "umask", parsed->umask, 8, 0, 0777, 022, &options->umask) < 0 ||
	    number(parsed, "threads", parsed->threads, 10, 1, THREADS_MAX, default_threads(),
		   &options->threads) < 0 ||
	    number_or(parsed, "samples", parsed->samples, "all", SAMPLE_LIMIT_MIN, SAMPLE_LIMIT_MAX,
		      SAMPLE_DEFAULT, &samples) < 0 ||
	    number_or(parsed, "compress", parsed->compress, "off", 1, ZSTD_WRITE_LEVEL_MAX,
		      COMPRESS_DEFAULT, &level) < 0)
		return -1;
	options->samples = samples ? samples : SAMPLES_ALL;
	options->compress = (int)level;
	return 0;
}

/* One of the two words that an option takes, or none. */
static int check_word(struct parsed *parsed, const char *option, const char *text, const char *word,
		      const char *usual)
{
	if (!text || strcmp(text, word) == 0 || strcmp(text, usual) == 0)
		return 0;
	return complain(parsed, "%s=%s is not known; there are %s=%s and %s=%s", option, text,
			option, word, option, usual);
}

/* Are the words ones that their options know? -1: no, after a complaint. */
static int check_words(struct parsed *parsed)
{
	if (check_word(parsed, "shape", parsed->shape, "any", "same") < 0 ||
	    check_word(parsed, "views", parsed->views, "listed", "unlisted") < 0 ||
	    check_word(parsed, "passthrough", parsed->passthrough, "no", "yes") < 0 ||
	    check_word(parsed, "snapshot", parsed->snapshot, "no", "yes") < 0 ||
	    check_word(parsed, "blocks", parsed->blocks, "keep", "follow") < 0 ||
	    check_word(parsed, "merged", parsed->merged, "f16", "own") < 0)
		return -1;
	if (parsed->output && parsed->output[0] == '\0')
		return complain(parsed, "output= needs a file name");
	if (parsed->layer && parsed->layer[0] == '\0')
		return complain(parsed, "layer= needs the name of a directory");
	return 0;
}

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
	return complain(parsed, "model= needs a file name");
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
	case KEY_MODEL:
		return take_model(parsed, argument + strlen("model="));
	case KEY_SINGLE:
		return take_single(parsed);
	case KEY_REMOUNT:
		return complain(parsed, "remount: the options of a mount cannot be changed; "
					"unmount it and mount it anew");
	case FUSE_OPT_KEY_NONOPT:
		/* The last one is the mountpoint, once all are there. */
		return append(&parsed->options.models, &parsed->options.n_models, argument);
	default:
		if (is_one_of(argument, dropped) || strncmp(argument, "x-", 2) == 0 ||
		    strncmp(argument, "X-", 2) == 0)
			return 0;
		if (is_one_of(argument, refused))
			return complain(parsed, "%.*s: organfs sets this itself; leave it out",
					(int)strcspn(argument, "="), argument);
		return complain(parsed, "unknown option \"%s\"; see organfs --help", argument);
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

/* The same of each of several, with ':' between them. */
static char *absolute_list(const char *list)
{
	char *copy = strdup(list), *rest = copy, *path, *one, *all = NULL;
	size_t size;
	FILE *out = copy ? open_memstream(&all, &size) : NULL;
	bool failed = !out;

	while (out && (path = strsep(&rest, ":"))) {
		if (!*path)
			continue;
		one = absolute(path);
		failed |= !one || fprintf(out, "%s%s", ftell(out) > 0 ? ":" : "", one) < 0;
		free(one);
	}
	if (out && fclose(out) != 0)
		failed = true;
	free(copy);
	if (!failed)
		return all;
	free(all);
	return NULL;
}

static int check_report(struct parsed *parsed)
{
	if (parsed->options.n_models > 0)
		return 0;
	return complain(parsed, "--report needs a TABLE; see organfs --help");
}

static int check_picture(struct parsed *parsed)
{
	const uint32_t n = parsed->options.n_models;

	if ((n == 1 || (n == 2 && parsed->options.picture)) && parsed->n_more == 0)
		return 0;
	return complain(parsed, "%s; see organfs --help",
			parsed->options.picture ? "--picture needs one MODEL, or two"
			: parsed->options.show	? "--show needs one MODEL or MOUNTPOINT"
						: "--recipe needs one FILE");
}

static int check_diff(struct parsed *parsed)
{
	const struct options *options = &parsed->options;

	if (options->diff_form && strcmp(options->diff_form, "tsv") != 0)
		return complain(parsed, "--diff=%s is not known; there are --diff and --diff=tsv",
				options->diff_form);
	if (options->n_models == 2 && parsed->n_more == 0)
		return 0;
	return complain(parsed, "--diff needs two MODELs; see organfs --help");
}

static int take_mountpoint(struct parsed *parsed)
{
	struct options *options = &parsed->options;

	if (options->n_models > 1 && !(options->pack && options->n_models + parsed->n_more != 2))
		options->mountpoint = options->models[--options->n_models];
	if (options->mountpoint)
		return 0;
	return complain(parsed, "%s; see organfs --help",
			options->pack ? "--pack needs one MODEL and the FILE to write"
				      : "a MODEL and a MOUNTPOINT are needed");
}

/* What the command line names beside options. */
static int check_operands(struct parsed *parsed)
{
	const struct options *options = &parsed->options;

	if (options->diff || options->diff_form)
		return check_diff(parsed);
	return options->picture || options->show || options->print_recipe ? check_picture(parsed)
									  : take_mountpoint(parsed);
}

/* Values matter to what opens a model. */
static int check(struct parsed *parsed)
{
	const struct options *options = &parsed->options;

	if (options->help || options->version)
		return 0;
	if (options->report || options->report_model)
		return check_report(parsed);
	if (options->json)
		return complain(parsed, "--json goes with --report; see organfs --help");
	if (check_operands(parsed) < 0)
		return -1;
	if (parsed->complaint) {
		log_error("%s", parsed->complaint);
		return -1;
	}
	if (options->fresh && parsed->layer)
		return complain(parsed, "fresh is for private layers, and layer= names one "
					"whose grafts are wanted; leave one of them out");
	if (options->confine && parsed->pidfile)
		return complain(parsed, "pidfile= writes outside of the directories that confine "
					"allows; leave one of them out");
	if (options->read_only && parsed->recipe)
		return complain(parsed, "recipe= changes the model, and ro forbids that; leave "
					"one of them out");
	if (parsed->not_read)
		log_error("%s: not read, as it belongs to another user", parsed->not_read);
	return check_words(parsed) < 0 ? -1 : fill_numbers(parsed);
}

/* The models that are named by file: are those at their paths. */
static int resolve_files(struct options *options)
{
	for (uint32_t i = 0; i < options->n_models; i++) {
		char *path;

		if (!url_is_file(options->models[i]) || access(options->models[i], F_OK) == 0)
			continue;
		path = url_file_path(options->models[i]);
		if (!path) {
			log_error("%s: a file of this machine is file:///PATH", options->models[i]);
			return -1;
		}
		free(options->models[i]);
		options->models[i] = path;
	}
	return 0;
}

static bool is(const char *value, const char *word)
{
	return value && strcmp(value, word) == 0;
}

static int fill(struct parsed *parsed)
{
	struct options *options = &parsed->options;

	options->report |= options->report_model != NULL;
	options->diff |= options->diff_form != NULL;
	options->foreground |= options->debug;
	/* What only looks at a model leaves nothing behind, nor does it take up what was left. */
	options->read_only |= options->picture || options->show || options->pack;
	/* A user who keeps a layer wants the layer, unless the options say what to write. */
	options->no_assembly = parsed->assembly ? parsed->assembly == ASSEMBLE_NOT
						: parsed->layer && !parsed->output;
	options->any_shape = is(parsed->shape, "any");
	options->list_views = is(parsed->views, "listed");
	options->no_passthrough = is(parsed->passthrough, "no");
	options->no_snapshot = is(parsed->snapshot, "no");
	options->merged_f16 = is(parsed->merged, "f16");
	options->keep_blocks = is(parsed->blocks, "keep");
	options->output = parsed->output ? absolute(parsed->output) : NULL;
	options->layer = parsed->layer ? absolute(parsed->layer) : NULL;
	options->header = parsed->header ? absolute(parsed->header) : NULL;
	options->recipe = parsed->recipe ? absolute(parsed->recipe) : NULL;
	options->pidfile = parsed->pidfile ? absolute(parsed->pidfile) : NULL;
	options->donors = parsed->donors ? absolute_list(parsed->donors) : NULL;
	return (parsed->output && !options->output) || (parsed->layer && !options->layer) ||
			       (parsed->header && !options->header) ||
			       (parsed->recipe && !options->recipe) ||
			       (parsed->pidfile && !options->pidfile) ||
			       (parsed->donors && !options->donors)
		       ? -1
		       : 0;
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
		rc = check_words(parsed);
	if (rc == 0)
		rc = fill_numbers(parsed);
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
		complain(parsed, "%s", error_describe(&err, text, sizeof(text)));
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
	free(parsed->header);
	free(parsed->recipe);
	free(parsed->donors);
	free(parsed->layer);
	free(parsed->compress);
	free(parsed->shape);
	free(parsed->blocks);
	free(parsed->merged);
	free(parsed->views);
	free(parsed->passthrough);
	free(parsed->snapshot);
	free(parsed->uid);
	free(parsed->gid);
	free(parsed->umask);
	free(parsed->threads);
	free(parsed->samples);
	free(parsed->pidfile);
}

int options_parse(struct options *options, int argc, char **argv, const char *system_file,
		  const char *users_file)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct parsed parsed = { .where = NULL };
	int rc;

	if (system_file)
		take_file(&parsed, system_file, false);
	if (users_file && !parsed.complaint)
		take_file(&parsed, users_file, true);
	rc = fuse_opt_parse(&args, &parsed, templates, take);
	if (rc == 0)
		rc = check(&parsed);
	for (uint32_t i = 0; rc == 0 && i < parsed.n_more; i++)
		rc = append(&parsed.options.models, &parsed.options.n_models, parsed.more[i]);
	if (rc == 0)
		rc = fill(&parsed);
	if (rc == 0 && !parsed.options.report)
		rc = resolve_files(&parsed.options);
	*options = parsed.options;
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
	free(options->diff_form);
	free(options->output);
	free(options->header);
	free(options->recipe);
	free(options->pidfile);
	free(options->donors);
	free(options->layer);
	memset(options, 0, sizeof(*options));
}

const char *options_help(void)
{
	return "Usage: organfs [-dfs] [-o OPTION[,OPTION...]] MODEL... MOUNTPOINT\n"
	       "       organfs --report[=NAME] [--json] TABLE...|--recipe FILE\n"
	       "       organfs --picture|--show|--diff[=tsv] [-o OPTION[,OPTION...]] MODEL...\n"
	       "       organfs --pack [-f] [-o OPTION[,OPTION...]] MODEL FILE\n"
	       "Mounts GGUF models, files or directories of some, as directories of tensors.\n"
	       "A directory of organ files is a model too; so are a URL and a mergekit .yml.\n"
	       "`umount MOUNTPOINT` writes what was grafted as a new model beside the old one.\n"
	       "  -f; -d, -o debug  stay in the foreground, log to stderr; requests too\n"
	       "  -h, --help, -V, --version  this text, the version\n"
	       "  --report[=NAME] [--json]  report on models, or one, from their .table files\n"
	       "  --picture, --diff[=tsv]  print theta.svg of one model or two; how two differ\n"
	       "  --show           show it in the terminal, of a MODEL or of a MOUNTPOINT\n"
	       "  --pack           write a MODEL, such as a directory of organ files, as a GGUF\n"
	       "  --recipe         print the recipe that a GGUF carries (-o lineage)\n"
	       "  -o ro            no graft, no assembly\n"
	       "  -o output=FILE   what the unmount writes; with several models a directory\n"
	       "  -o noassemble    write nothing at unmount; the next mount has the grafts again\n"
	       "  -o layer=DIR     keep the grafts in DIR, and write only what output= says\n"
	       "  -o fresh         begin without grafts that an earlier mount left behind\n"
	       "  -o recipe=FILE,donors=DIR:DIR  do what a copy of .recipe says; its donors\n"
	       "  -o lineage       the model that is written carries its recipe\n"
	       "  -o header=FILE   the header of a directory of organ files, from another GGUF\n"
	       "  -o compress=N    zstd level for organs in the layer (1), or off\n"
	       "  -o shape=any     accept an organ whose shape differs from the slot's\n"
	       "  -o blocks=keep   do not let block_count follow the blocks that are there\n"
	       "  -o merged=f16    what adapters change becomes F16, unless it is F32\n"
	       "  -o views=listed  show .base, .views and metadata in listings\n"
	       "  -o passthrough=no,snapshot=no  let the kernel read no file, make none\n"
	       "  -o samples=N     values of a tensor that theta is taken from (100000), or all\n"
	       "  -o pidfile=FILE  write the daemon's process number there; gone at its end\n"
	       "  -o threads=N, -s  N threads answer requests, 1 (one per processor, at least 4)\n"
	       "  -o uid=N,gid=N,umask=N  owner (the mounting user), mode mask (022)\n"
	       "  -o allow_other,allow_root  let other users in, or only root\n"
	       "  -o auto_unmount  end the mount also where the daemon is killed\n"
	       "  -o confine       write nowhere but in the layer and the output directory\n"
	       "  -o nonempty      mount also over a directory that is not empty\n"
	       "  -o model=MODEL   one more, where only one can be given (mount, fstab)\n"
	       "  -o rw,assemble,noallow_other,noauto_unmount,noconfine,nofresh,nolineage  undo\n"
	       "Defaults, `option` or `option=value` a line, are in " CONFIG_SYSTEM " and,\n"
	       "before that, in ~/.config/organfs.conf; the command line goes before both.\n";
}
