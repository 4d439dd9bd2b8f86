/* SPDX-License-Identifier: MIT */
/* offline_models.h - models that are looked at without a mount: opened as a mount would, and
 * measured. */
#ifndef FS_COMMANDS_OFFLINE_MODELS_H
#define FS_COMMANDS_OFFLINE_MODELS_H

#include "fs/mount/models.h"

struct options;

/* One of them. */
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

/* Open and measure the models that options name, which are as options_parse() fills them; each has
 * to be one model. What is wrong is said in a line on stderr. Returns 0 or -1;
 * offline_models_close() is due either way. */
int offline_models_open(struct offline_models *viewing, const struct options *options);
void offline_models_close(struct offline_models *viewing);

/* Say in a line on stderr the error, or the error of a file. The text may hold any bytes:
 * no terminal obeys them (terminal_text_put()). Both return -1. */
int offline_models_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
int offline_models_fail(const char *file, int rc);

/* Print all of a text to standard output, or say the error of that. Returns 0 or -1. */
int offline_models_print(const char *text, size_t size);

#endif
