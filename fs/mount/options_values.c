/* SPDX-License-Identifier: MIT */
/* options_values.c - the values of options: numbers and words. */
#include "fs/mount/options_internal.h"
#include "fs/storage/zstd_write.h"
#include "fs/tensor/sampling.h"
#include "fs/util/log.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 1024u

/* zstd's level for what is kept in a layer: little work for most of what there is to gain. */
#define COMPRESS_DEFAULT 1

int options_complain(struct parsed *parsed, const char *format, ...)
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
		return options_complain(parsed,
					base == 8 ? "%s=%s: %s= takes an octal number from %o to %o"
						  : "%s=%s: %s= takes a number from %u to %u",
					option, text, option, least, most);
	*value = (unsigned)n;
	return 0;
}

static int fill_samples(struct parsed *parsed)
{
	struct options *options = parsed->options;
	unsigned samples;

	options->samples = SAMPLES_ALL;
	if (parsed->samples && strcmp(parsed->samples, "all") == 0)
		return 0;
	if (number(parsed, "samples", parsed->samples, 10, SAMPLE_LIMIT_MIN, SAMPLE_LIMIT_MAX,
		   SAMPLE_DEFAULT, &samples) < 0)
		return -1;
	options->samples = samples;
	return 0;
}

static int fill_compress(struct parsed *parsed)
{
	unsigned level;

	parsed->options->compress = 0;
	if (parsed->compress && strcmp(parsed->compress, "off") == 0)
		return 0;
	if (number(parsed, "compress", parsed->compress, 10, 1, ZSTD_WRITE_LEVEL_MAX,
		   COMPRESS_DEFAULT, &level) < 0)
		return -1;
	parsed->options->compress = (int)level;
	return 0;
}

int options_fill_numbers(struct parsed *parsed)
{
	struct options *options = parsed->options;
	unsigned uid, gid, umask;

	/* The highest number means that there is none. */
	if (number(parsed, "uid", parsed->uid, 10, 0, UINT_MAX - 1, getuid(), &uid) < 0 ||
	    number(parsed, "gid", parsed->gid, 10, 0, UINT_MAX - 1, getgid(), &gid) < 0 ||
	    number(parsed, "umask", parsed->umask, 8, 0, 0777, 022, &umask) < 0 ||
	    number(parsed, "threads", parsed->threads, 10, 1, THREADS_MAX, default_threads(),
		   &options->threads) < 0 ||
	    fill_samples(parsed) < 0 || fill_compress(parsed) < 0)
		return -1;
	options->uid = uid;
	options->gid = gid;
	options->umask = umask;
	return 0;
}

/* One of the two words that an option takes, or none. */
static int check_word(struct parsed *parsed, const char *option, const char *text, const char *word,
		      const char *usual)
{
	if (!text || strcmp(text, word) == 0 || strcmp(text, usual) == 0)
		return 0;
	return options_complain(parsed, "%s=%s is not known; there are %s=%s and %s=%s", option,
				text, option, word, option, usual);
}

int options_check_words(struct parsed *parsed)
{
	if (check_word(parsed, "shape", parsed->shape, "any", "same") < 0 ||
	    check_word(parsed, "views", parsed->views, "listed", "unlisted") < 0 ||
	    check_word(parsed, "blocks", parsed->blocks, "keep", "follow") < 0 ||
	    check_word(parsed, "merged", parsed->merged, "f16", "own") < 0)
		return -1;
	if (parsed->output && parsed->output[0] == '\0')
		return options_complain(parsed, "output= needs a file name");
	if (parsed->layer && parsed->layer[0] == '\0')
		return options_complain(parsed, "layer= needs the name of a directory");
	return 0;
}
