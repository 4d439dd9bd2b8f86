/* SPDX-License-Identifier: MIT */
/* options.h - the command line. */
#ifndef FS_MOUNT_OPTIONS_H
#define FS_MOUNT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Who may look into a mount beside the user who made it. */
enum allow { ALLOW_OWNER, ALLOW_OTHER, ALLOW_ROOT };

/* The command of the command line. */
enum command {
	COMMAND_MOUNT,
	COMMAND_HELP, /* this and the version go before any other */
	COMMAND_VERSION,
	COMMAND_REPORT,
	COMMAND_LIST,
	COMMAND_MODELS,
	COMMAND_WHY,
	COMMAND_PICTURE,
	COMMAND_DIFF,
	COMMAND_SHOW,
	COMMAND_RECIPE,
	COMMAND_CHECK,
	COMMAND_THETA,
	COMMAND_NPY,
	COMMAND_PACK,
	COMMAND_QUANTISE,
	COMMAND_UNPACK,
	COMMANDS,
};

struct options {
	enum command command;
	bool opens_models; /* models names models; else --report's tables or --why's path */
	/* An int is a flag, which libfuse sets to 0 or 1. */
	int foreground, read_only;
	int debug;	    /* every request on stderr, in the foreground */
	char *report_model; /* --report of that model; NULL: of all */
	int json;	    /* as JSON */
	char *diff_form;    /* --diff as "tsv", a table; NULL: for people */
	bool unpack_theta;  /* --unpack writes θ too */
	char *imatrix;	    /* of --quantise: absolute, of the matrix that weighs; NULL: none */
	char *types;	    /* --quantise's TYPES as given, "-" for standard input; else NULL */
	int fresh;	    /* a private layer that an earlier mount left is not taken up */
	int nonempty;	    /* the mount point may be a directory that is not empty */
	int auto_unmount;   /* the mount goes with the daemon, however that ends */
	int no_execution;   /* the mount is noexec, as its user asked */
	int confine;	    /* write only in the layers and in the directory of the output */
	enum allow allow;
	bool no_assembly;
	int any_shape, keep_blocks, list_views;
	int no_passthrough; /* the daemon reads for all, as if the kernel could not */
	int no_snapshot;    /* no file is made for the kernel to read */
	int lineage;	    /* an assembled model says how it was made */
	int keep_types;	    /* grafts are shown in the types of the base */
	unsigned merged;    /* enum encode_choice, of results of adapters and merges */
	char **models;	    /* as given */
	char *mountpoint;   /* as given; --npy's TENSOR, the FILE or DIR to write; or NULL */
	uint32_t n_models;
	/* For each model in a store its name there, while models has its path; else NULL. */
	char **names;
	char *output;  /* absolute; NULL: beside the base */
	char *layer;   /* absolute; NULL: a private one */
	char *recipe;  /* absolute; NULL: none is done at the mount */
	char *donors;  /* absolute directories with ':' between them; NULL: none */
	char *pidfile; /* absolute; NULL: none */
	char *header;  /* absolute; NULL: that which a directory of organ files has */
	int compress;  /* zstd level for organs in the layer; 0: none */
	uid_t uid;
	gid_t gid;
	mode_t umask;
	unsigned threads; /* that answer requests */
	uint64_t samples; /* values of a tensor that are looked at (sampling.h) */
};

/* Fill options from files of defaults (config.h), the system's and the user's, and from the command
 * line, where a later one of the three goes before an earlier one; a file is NULL where there is
 * none. Bad usage, or a file that cannot be used where a model is opened: -1, after a line on
 * stderr that says the reason. Release with options_release() either way. */
int options_parse(struct options *options, int argc, char **argv, const char *system_file,
		  const char *users_file);
void options_release(struct options *options);

/* Find the models that are named as in a store (base/model_name.h). A file of such a name goes
 * first. Returns 0, or -1 after a line on stderr. */
int options_find_models(struct options *options);

/* The model as its user named it. Borrowed. */
static inline const char *options_name(const struct options *options, uint32_t i)
{
	return options->names && options->names[i] ? options->names[i] : options->models[i];
}

/* The text of --help. */
const char *options_help(void);

#endif
