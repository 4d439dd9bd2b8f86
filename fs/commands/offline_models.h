/* SPDX-License-Identifier: MIT */
/* offline_models.h - models opened and measured without a mount, with the mount's functions. */
#ifndef FS_COMMANDS_OFFLINE_MODELS_H
#define FS_COMMANDS_OFFLINE_MODELS_H

#include "fs/mount/models.h"

struct options;

struct offline_model {
	struct model *model; /* borrowed */
	struct memo *measures;
	struct figures *figures; /* with their z */
	struct zmeasure *values;
};

struct offline_models {
	struct log *log;
	struct models collection;
	struct offline_model *models;
	uint32_t n;
};

/* Open and measure the models of options, which options_parse() has filled; each argument has to be
 * one model. Returns 0, or -1 after a line on stderr. The caller calls offline_models_close(), also
 * after an error. */
int offline_models_open(struct offline_models *viewing, const struct options *options);
void offline_models_close(struct offline_models *viewing);

/* Report an error, or the error of a file, in a line on stderr. The text may hold any bytes;
 * control characters are replaced (terminal_text_put()). Both return -1. */
int offline_models_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
int offline_models_fail(const char *file, int rc);

/* Print a text to standard output. Returns 0, or -1 after a line on stderr. */
int offline_models_print(const char *text, size_t size);

#endif
