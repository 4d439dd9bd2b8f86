/* SPDX-License-Identifier: MIT */
/* arguments.c - see arguments.h. */
#include "mount-helpers/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool arguments_is_mount(const char *name)
{
	return strncmp(name, "mount.", 6) == 0;
}

/* Add one option, in the escapes of organfs. Returns false if it is invalid, or without memory. */
static bool take_option(struct mount_arguments *arguments, const char *option)
{
	char *list;

	if (!*option)
		return true;
	if (strcmp(option, "nofail") == 0) {
		arguments->optional = true;
		return true;
	}
	if (strcmp(option, "setuid") == 0 || strcmp(option, "setuid=") == 0) {
		snprintf(arguments->wrong, sizeof(arguments->wrong), "setuid= needs a user");
		return false;
	}
	if (strncmp(option, "setuid=", 7) == 0) {
		free(arguments->user);
		arguments->user = strdup(option + 7);
		return arguments->user != NULL;
	}
	list = arguments->options;
	if (asprintf(&arguments->options, "%s%s%s", list ? list : "", list ? "," : "", option) < 0)
		arguments->options = NULL;
	free(list);
	return arguments->options != NULL;
}

/* Parse options in the syntax of mount(8): a comma between double quotes or behind a backslash does
 * not separate options. */
static bool take_options(struct mount_arguments *arguments, const char *text)
{
	char *option = malloc(2 * strlen(text) + 1), *end = option;
	bool quoted = false, fine = option != NULL;

	for (; fine && *text; text++) {
		if (*text == '"') {
			quoted = !quoted;
		} else if (*text == ',' && !quoted) {
			*end = '\0';
			fine = take_option(arguments, option);
			end = option;
		} else {
			/* organfs protects characters by backslashes, not by quotes. */
			if (quoted && (*text == ',' || *text == '\\'))
				*end++ = '\\';
			*end++ = *text;
			if (!quoted && *text == '\\' && text[1])
				*end++ = *++text;
		}
	}
	if (fine) {
		*end = '\0';
		fine = take_option(arguments, option);
	}
	free(option);
	return fine;
}

/* The action of --help or --version, else ACTION_RUN. */
static enum action asked_for(const char *word)
{
	if (word && (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0))
		return ACTION_HELP;
	if (word && (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0))
		return ACTION_VERSION;
	return ACTION_RUN;
}

enum action arguments_of_mount(int argc, char **argv, struct mount_arguments *arguments)
{
	const enum action action = asked_for(argc > 1 ? argv[1] : NULL);
	bool fine = true;
	int flag;

	*arguments = (struct mount_arguments){ .source = NULL };
	if (action != ACTION_RUN)
		return action;
	if (argc < 3)
		return ACTION_BAD;
	arguments->source = argv[1];
	arguments->directory = argv[2];
	opterr = 0;
	optind = 0; /* makes getopt() start again */
	while (fine && (flag = getopt(argc - 2, argv + 2, "+:fnsvN:o:t:")) != -1) {
		if (flag == 'f')
			arguments->fake = true;
		else if (flag == 'v')
			arguments->verbose = true;
		else if (flag == 'N')
			arguments->space = optarg;
		else if (flag == 'o')
			fine = take_options(arguments, optarg);
		else if (!strchr("nst", flag)) {
			fine = false;
			snprintf(arguments->wrong, sizeof(arguments->wrong),
				 "-%c is not known, or lacks its value", optopt);
		}
	}
	return fine && optind == argc - 2 ? ACTION_RUN : ACTION_BAD;
}

void mount_arguments_release(struct mount_arguments *arguments)
{
	free(arguments->options);
	free(arguments->user);
}

/* Options without a letter. */
enum { ALL = 256, KEEP };

enum action arguments_of_unmount(int argc, char **argv, struct unmount_arguments *arguments)
{
	static const struct option names[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ "all", no_argument, NULL, ALL },
		{ "keep", no_argument, NULL, KEEP },
		{ NULL, 0, NULL, 0 },
	};
	size_t n = 0;
	int flag;

	*arguments = (struct unmount_arguments){ .flags = "-" };
	opterr = 0;
	optind = 0;
	while ((flag = getopt_long(argc, argv, ":flnrvhVN:t:", names, NULL)) != -1) {
		if (flag == 'h' || flag == 'V')
			return flag == 'h' ? ACTION_HELP : ACTION_VERSION;
		if (flag == 'N')
			arguments->space = optarg;
		else if (flag == 't')
			continue;
		else if (flag == ALL)
			arguments->all = true;
		else if (flag == KEEP)
			arguments->keep = true;
		else if (!strchr("flnrv", flag))
			return ACTION_BAD;
		else if (!strchr(arguments->flags, flag))
			arguments->flags[++n] = (char)flag;
	}
	arguments->lazy = strchr(arguments->flags, 'l') != NULL;
	arguments->verbose = strchr(arguments->flags, 'v') != NULL;
	arguments->points = argv + optind;
	arguments->n = argc - optind;
	/* The daemons of another namespace can be neither listed nor asked from here. */
	if (arguments->space && (arguments->all || arguments->keep))
		return ACTION_BAD;
	return arguments->all == (arguments->n == 0) ? ACTION_RUN : ACTION_BAD;
}
