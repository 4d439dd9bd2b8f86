/* SPDX-License-Identifier: MIT */
/* options.h - the command line. */
#ifndef FS_OPTIONS_H
#define FS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct options {
	bool foreground, help, version;
	bool report;	    /* print that of the tables that models names; nothing is mounted */
	char *report_model; /* of that model; NULL: of all */
	bool picture;	    /* print that of the one model, or of two; nothing is mounted */
	bool show;	    /* the same in a terminal, of one model or mount */
	bool read_only, no_assembly, any_shape, keep_blocks, list_views, allow_other;
	bool no_execution; /* not even of what is no program */
	bool merged_f16;   /* what adapters are merged into is F16, unless it is F32 (merged.h) */
	char **models, *mountpoint; /* as given */
	uint32_t n_models;
	char *output; /* absolute; NULL: beside the base */
	char *layer;  /* absolute; NULL: a private one */
	int compress; /* zstd level for organs in the layer; 0: none */
	uid_t uid;
	gid_t gid;
	mode_t umask;
	unsigned threads; /* that answer requests */
	uint64_t samples; /* values of a tensor that are looked at (sampling.h) */
};

/* Fill options from the command line. Bad usage: -1, after a line on stderr that says what is
 * wrong. Release with options_release() either way. */
int options_parse(struct options *options, int argc, char **argv);
void options_release(struct options *options);

/* What --help prints. */
const char *options_help(void);

#endif
