/* SPDX-License-Identifier: MIT */
/* options.c - see options.h. */
#include "fs/mount/options.h"
#include "fs/mount/config.h"
#include "fs/mount/foreign_options.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/tensor/codec.h"
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

/* zstd's level for organs in a layer: most of the gain for little work. */
#define COMPRESS_DEFAULT 1

/* The last one of noassemble and assemble; 0: neither was given. */
enum { ASSEMBLE_NOT = 1, ASSEMBLE };

/* Filled in by fuse_opt; the last occurrence of an option counts. */
struct parsed {
	struct options options;
	int given[COMMANDS]; /* those that are given, as booleans */
	int assembly;
	unsigned samples; /* 0: all */
	char **more;	  /* models that are options */
	uint32_t n_more;
	const char *where; /* FILE:LINE of the default that is being taken; NULL: a command line */
	const char *not_read; /* a file of defaults, another user's; or NULL */
	char *complaint;      /* about the files of defaults, for where they are needed; or NULL */
};

#define OPTION(template, field, value)                                  \
	{                                                               \
		template, offsetof(struct parsed, options.field), value \
	}

#define COMMAND(word, command)                                   \
	{                                                        \
		word, offsetof(struct parsed, given[command]), 1 \
	}

/* libfuse's own converts -1U to unsigned long, which clang warns of. */
#undef FUSE_OPT_KEY
#define FUSE_OPT_KEY(template, key)     \
	{                               \
		template, UINT_MAX, key \
	}

/* Options with a number come first: their keys are indices of number_options. */
enum { KEY_UID, KEY_GID, KEY_UMASK, KEY_THREADS, KEY_SAMPLES, KEY_COMPRESS, NUMBER_OPTIONS };
enum { KEY_MODEL = NUMBER_OPTIONS, KEY_REMOUNT, KEY_SINGLE, KEY_STANDARD_INPUT };

/* An option with a number from least to most. */
struct number_option {
	const char *name;
	size_t field; /* offset of the unsigned number in struct parsed */
	int base;
	unsigned least, most;
	const char *word; /* stands for 0; NULL: there is no such word */
};

static const struct number_option number_options[NUMBER_OPTIONS] = {
#define NUMBER(field) offsetof(struct parsed, field)
	/* The highest number means that there is no user, or no group. */
	[KEY_UID] = { "uid", NUMBER(options.uid), 10, 0, UINT_MAX - 1, NULL },
	[KEY_GID] = { "gid", NUMBER(options.gid), 10, 0, UINT_MAX - 1, NULL },
	[KEY_UMASK] = { "umask", NUMBER(options.umask), 8, 0, 0777, NULL },
	[KEY_THREADS] = { "threads", NUMBER(options.threads), 10, 1, THREADS_MAX, NULL },
	[KEY_SAMPLES] = { "samples", NUMBER(samples), 10, SAMPLE_LIMIT_MIN, SAMPLE_LIMIT_MAX,
			  "all" },
	[KEY_COMPRESS] = { "compress", NUMBER(options.compress), 10, 1, ZSTD_WRITE_LEVEL_MAX,
			   "off" },
#undef NUMBER
};

enum usage_flags {
	OTHER_LAST = 1, /* the last operand is no model, but options.mountpoint */
	NO_MODELS = 2,	/* no operand is a model, and defaults do not matter */
	JSON = 4,	/* there is --json */
};

/* The operands of a command. */
struct usage {
	const char *needs;    /* the complaint about other ones */
	uint32_t least, most; /* how many there are */
	unsigned flags;	      /* enum usage_flags */
};

static const struct usage usages[COMMANDS] = {
	[COMMAND_MOUNT] = { "a MODEL and a MOUNTPOINT are needed", 2, UINT32_MAX, OTHER_LAST },
	[COMMAND_REPORT] = { "--report needs a TABLE", 1, UINT32_MAX, NO_MODELS | JSON },
	[COMMAND_LIST] = { "--list takes no MODEL and no MOUNTPOINT", 0, 0, NO_MODELS | JSON },
	[COMMAND_MODELS] = { "--models takes no MODEL and no MOUNTPOINT", 0, 0, NO_MODELS | JSON },
	[COMMAND_WHY] = { "--why needs one PATH in a mount", 1, 1, NO_MODELS },
	[COMMAND_PICTURE] = { "--picture needs one MODEL, or two", 1, 2, 0 },
	[COMMAND_DIFF] = { "--diff needs two MODELs", 2, 2, 0 },
	[COMMAND_SHOW] = { "--show needs one MODEL or MOUNTPOINT", 1, 1, 0 },
	[COMMAND_RECIPE] = { "--recipe needs one FILE", 1, 1, 0 },
	[COMMAND_CHECK] = { "--check needs a MODEL", 1, UINT32_MAX, JSON },
	[COMMAND_THETA] = { "--theta needs one MODEL", 1, 1, JSON },
	[COMMAND_NPY] = { "--npy needs one MODEL and a TENSOR", 2, 2, OTHER_LAST },
	[COMMAND_PACK] = { "--pack needs one MODEL and the FILE to write", 2, 2, OTHER_LAST },
	[COMMAND_QUANTISE] = { "--quantise needs TYPES, one MODEL and the FILE to write", 3, 3,
			       OTHER_LAST },
	[COMMAND_UNPACK] = { "--unpack needs one MODEL and the DIR to write", 2, 2, OTHER_LAST },
};

/* In a pair of words, as for shape=, the word that sets the flag comes first. */
static const struct fuse_opt templates[] = {
	COMMAND("-h", COMMAND_HELP),
	COMMAND("--help", COMMAND_HELP),
	COMMAND("-V", COMMAND_VERSION),
	COMMAND("--version", COMMAND_VERSION),
	OPTION("-f", foreground, 1),
	OPTION("-d", debug, 1),
	OPTION("debug", debug, 1),
	FUSE_OPT_KEY("-s", KEY_SINGLE),
	COMMAND("--report", COMMAND_REPORT),
	OPTION("--report=%s", report_model, 0),
	OPTION("--json", json, 1),
	COMMAND("--list", COMMAND_LIST),
	COMMAND("--picture", COMMAND_PICTURE),
	COMMAND("--diff", COMMAND_DIFF),
	OPTION("--diff=%s", diff_form, 0),
	COMMAND("--models", COMMAND_MODELS),
	COMMAND("--show", COMMAND_SHOW),
	COMMAND("--why", COMMAND_WHY),
	COMMAND("--pack", COMMAND_PACK),
	COMMAND("--unpack", COMMAND_UNPACK),
	COMMAND("--theta", COMMAND_THETA),
	COMMAND("--check", COMMAND_CHECK),
	COMMAND("--npy", COMMAND_NPY),
	COMMAND("--quantise", COMMAND_QUANTISE),
	OPTION("--imatrix=%s", imatrix, 0),
	FUSE_OPT_KEY("-", KEY_STANDARD_INPUT),
	COMMAND("--recipe", COMMAND_RECIPE),
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
	OPTION("output=%s", output, 0),
	OPTION("layer=%s", layer, 0),
	OPTION("header=%s", header, 0),
	OPTION("recipe=%s", recipe, 0),
	OPTION("donors=%s", donors, 0),
	FUSE_OPT_KEY("compress=", KEY_COMPRESS),
	OPTION("shape=any", any_shape, 1),
	OPTION("shape=same", any_shape, 0),
	OPTION("blocks=keep", keep_blocks, 1),
	OPTION("blocks=follow", keep_blocks, 0),
	OPTION("merged=keep", merged, ENCODE_KEEP),
	OPTION("merged=q8_0", merged, ENCODE_Q8_0),
	OPTION("merged=f16", merged, ENCODE_F16),
	OPTION("type=keep", keep_types, 1),
	OPTION("type=donor", keep_types, 0),
	OPTION("views=listed", list_views, 1),
	OPTION("views=unlisted", list_views, 0),
	OPTION("passthrough=no", no_passthrough, 1),
	OPTION("passthrough=yes", no_passthrough, 0),
	OPTION("snapshot=no", no_snapshot, 1),
	OPTION("snapshot=yes", no_snapshot, 0),
	FUSE_OPT_KEY("uid=", KEY_UID),
	FUSE_OPT_KEY("gid=", KEY_GID),
	FUSE_OPT_KEY("umask=", KEY_UMASK),
	OPTION("pidfile=%s", pidfile, 0),
	FUSE_OPT_KEY("threads=", KEY_THREADS),
	FUSE_OPT_KEY("samples=", KEY_SAMPLES),
	FUSE_OPT_KEY("model=", KEY_MODEL),
	OPTION("noexec", no_execution, 1),
	OPTION("exec", no_execution, 0),
	FUSE_OPT_KEY("remount", KEY_REMOUNT),
	FUSE_OPT_END,
};

/* Print a complaint: one line on stderr, or for a default in parsed->complaint. Returns -1. */
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

/* The number that the whole text is. Returns 0, or -1 after a complaint. */
static int take_number(struct parsed *parsed, const struct number_option *option, const char *text)
{
	unsigned *value = (unsigned *)((char *)parsed + option->field);
	unsigned long long n;
	char *end;

	*value = 0;
	if (option->word && strcmp(text, option->word) == 0)
		return 0;
	errno = 0;
	n = strtoull(text, &end, option->base);
	if (text[0] < '0' || text[0] > '9' || *end || errno || n < option->least ||
	    n > option->most)
		return complain(parsed,
				option->base == 8 ? "%s=%s: expected an octal number from %o to %o"
						  : "%s=%s: expected a number from %u to %u%s%s",
				option->name, text, option->least, option->most,
				option->word ? " or " : "", option->word ? option->word : "");
	*value = (unsigned)n;
	return 0;
}

/* Complain about an option that no template matches: several templates may have its name and other
 * words. Returns -1. */
static int complain_of_unknown(struct parsed *parsed, const char *argument)
{
	const char *value = strchr(argument, '=');
	const size_t n = value ? (size_t)(value - argument) + 1 : 0;
	char words[64] = "";

	for (const struct fuse_opt *known = templates; n && known->templ; known++)
		if (strncmp(known->templ, argument, n) == 0)
			snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s",
				 words[0] ? " or " : "", known->templ + n);
	if (words[0])
		return complain(parsed, "%s: expected %s", argument, words);
	return complain(parsed, "unknown option \"%s\"; see organfs --help", argument);
}

/* Have the options that name a place a name? -1: no, after a complaint. */
static int check_names(struct parsed *parsed)
{
	const struct options *options = &parsed->options;
	const struct {
		const char *option, *path;
	} named[] = { { "output", options->output },   { "layer", options->layer },
		      { "header", options->header },   { "recipe", options->recipe },
		      { "pidfile", options->pidfile }, { "--imatrix", options->imatrix } };

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (named[i].path && named[i].path[0] == '\0')
			return complain(parsed, "%s= needs a path", named[i].option);
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
	return complain(parsed, "model= needs a path");
}

/* 0: taken or dropped, 1: kept, -1: refused. */
static int take(void *data, const char *argument, int key, struct fuse_args *rest)
{
	struct parsed *parsed = data;

	(void)rest;
	if (key >= 0 && key < NUMBER_OPTIONS)
		return take_number(parsed, &number_options[key], strchr(argument, '=') + 1);
	switch (key) {
	case KEY_MODEL:
		return take_model(parsed, argument + strlen("model="));
	case KEY_SINGLE:
		/* A later threads= has the last word, as -s has on an earlier one. */
		parsed->options.threads = 1;
		return 0;
	case KEY_REMOUNT:
		return complain(parsed, "remount: the options of a mount cannot be changed; "
					"unmount it and mount it anew");
	case KEY_STANDARD_INPUT:
		/* It is no model, and no file to write. */
		if (parsed->options.n_models || parsed->where)
			return complain_of_unknown(parsed, argument);
		return append(&parsed->options.models, &parsed->options.n_models, argument);
	case FUSE_OPT_KEY_NONOPT:
		/* The last one is the mountpoint, once all are there. */
		return append(&parsed->options.models, &parsed->options.n_models, argument);
	default:
		if (foreign_option_is_dropped(argument))
			return 0;
		if (foreign_option_is_refused(argument))
			return complain(parsed, "%.*s: organfs sets this itself; leave it out",
					(int)strcspn(argument, "="), argument);
		return complain_of_unknown(parsed, argument);
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

/* The one command that is given. -1: there are several, after a complaint. */
static int choose_command(struct parsed *parsed)
{
	struct options *options = &parsed->options;
	int *given = parsed->given;
	uint32_t n = 0;

	given[COMMAND_REPORT] |= options->report_model != NULL;
	given[COMMAND_DIFF] |= options->diff_form != NULL;
	options->unpack_theta = given[COMMAND_UNPACK] && given[COMMAND_THETA];
	if (options->unpack_theta)
		given[COMMAND_THETA] = 0;
	for (enum command c = COMMANDS; c-- > COMMAND_HELP;) {
		n += given[c] != 0;
		if (given[c])
			options->command = c;
	}
	if (n <= 1 || given[COMMAND_HELP] || given[COMMAND_VERSION])
		return 0;
	return complain(parsed, "several commands are given; give one; see organfs --help");
}

/* Take the operands that are no models out of them. */
static int take_operands(struct parsed *parsed)
{
	struct options *options = &parsed->options;
	const struct usage *usage = &usages[options->command];

	if (options->n_models < usage->least || options->n_models > usage->most ||
	    (parsed->n_more && options->command != COMMAND_MOUNT))
		return complain(parsed, "%s; see organfs --help", usage->needs);
	for (uint32_t i = 0; i < options->n_models; i++)
		if (options->models[i][0] == '\0')
			return complain(parsed, "an argument is empty; see organfs --help");
	if (usage->flags & OTHER_LAST)
		options->mountpoint = options->models[--options->n_models];
	if (options->command == COMMAND_QUANTISE) {
		options->types = options->models[0];
		options->models[0] = options->models[1];
		options->n_models = 1;
	}
	return 0;
}

/* The options and operands that belong to commands. */
static int check_command(struct parsed *parsed)
{
	const struct options *options = &parsed->options;

	if (options->json && !(usages[options->command].flags & JSON))
		return complain(parsed, "--json goes with --report, --list, --models, --theta and "
					"--check; see organfs --help");
	if (options->imatrix && options->command != COMMAND_QUANTISE)
		return complain(parsed, "--imatrix goes with --quantise; see organfs --help");
	if (options->diff_form && strcmp(options->diff_form, "tsv") != 0)
		return complain(parsed, "--diff=%s: expected tsv", options->diff_form);
	return take_operands(parsed);
}

/* Check the options of a command that opens a model. */
static int check(struct parsed *parsed)
{
	struct options *options = &parsed->options;

	if (choose_command(parsed) < 0)
		return -1;
	if (options->command == COMMAND_HELP || options->command == COMMAND_VERSION)
		return 0;
	if (check_command(parsed) < 0)
		return -1;
	options->opens_models = !(usages[options->command].flags & NO_MODELS);
	if (!options->opens_models)
		return 0;
	if (parsed->complaint) {
		log_error("%s", parsed->complaint);
		return -1;
	}
	if (options->fresh && options->layer)
		return complain(parsed, "fresh and layer= exclude each other; leave one out");
	if (options->confine && options->pidfile)
		return complain(parsed, "confine and pidfile= exclude each other; leave one out");
	if (options->recipe && (options->read_only || options->command != COMMAND_MOUNT))
		return complain(parsed, "recipe= and %s exclude each other; leave one out",
				options->read_only ? "ro" : "a command");
	if (parsed->not_read)
		log_error("%s: not read, as it belongs to another user", parsed->not_read);
	return check_names(parsed);
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

/* Make each path absolute. Returns 0, or -1 without memory. */
static int resolve_paths(struct options *options)
{
	char **const paths[] = { &options->output, &options->layer,   &options->header,
				 &options->recipe, &options->pidfile, &options->imatrix,
				 &options->donors };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char *given = *paths[i];

		if (!given)
			continue;
		*paths[i] = paths[i] == &options->donors ? absolute_list(given) : absolute(given);
		free(given);
		if (!*paths[i])
			return -1;
	}
	return 0;
}

static int fill(struct parsed *parsed)
{
	struct options *options = &parsed->options;

	options->foreground |= options->debug;
	/* A command leaves nothing behind, and takes up no private layer of a mount. */
	options->read_only |= options->command != COMMAND_MOUNT;
	/* A user who keeps a layer wants no new model, unless output= names one. */
	options->no_assembly = parsed->assembly ? parsed->assembly == ASSEMBLE_NOT
						: options->layer && !options->output;
	options->samples = parsed->samples ? parsed->samples : SAMPLES_ALL;
	return resolve_paths(options);
}

/* Take one option of a file of defaults. The option is checked before the next one, so that the
 * complaint has its line. */
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
		rc = check_names(parsed);
	fuse_opt_free_args(&args);
	free(list);
	return rc;
}

/* Take the options of a file of defaults; after an error parsed has the complaint. */
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
}

int options_parse(struct options *options, int argc, char **argv, const char *system_file,
		  const char *users_file)
{
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct parsed parsed = { .options = { .uid = getuid(),
					      .gid = getgid(),
					      .umask = 022,
					      .threads = default_threads(),
					      .compress = COMPRESS_DEFAULT },
				 .samples = SAMPLE_DEFAULT };
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
	if (rc == 0 && parsed.options.opens_models)
		rc = resolve_files(&parsed.options);
	*options = parsed.options;
	fuse_opt_free_args(&args);
	release(&parsed);
	return rc < 0 ? -1 : 0;
}

void options_release(struct options *options)
{
	for (uint32_t i = 0; i < options->n_models; i++) {
		free(options->models[i]);
		if (options->names)
			free(options->names[i]);
	}
	free(options->models);
	free(options->names);
	free(options->mountpoint);
	free(options->report_model);
	free(options->diff_form);
	free(options->output);
	free(options->header);
	free(options->types);
	free(options->imatrix);
	free(options->recipe);
	free(options->pidfile);
	free(options->donors);
	free(options->layer);
	memset(options, 0, sizeof(*options));
}
