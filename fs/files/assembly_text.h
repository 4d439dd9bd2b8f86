/* SPDX-License-Identifier: MIT */
/* assembly_text.h - the sentences of .assemble and of the log about an assembly. */
#ifndef FS_FILES_ASSEMBLY_TEXT_H
#define FS_FILES_ASSEMBLY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct model;
struct progress;
struct snapshot;

/* The first words of each text, by which a text that is copied back is told from a file name. */
#define ASSEMBLY_NOTHING_YET "nothing was assembled yet: "
#define ASSEMBLY_RUNNING     "assembling: "
#define ASSEMBLY_DONE	     "assembled: "
#define ASSEMBLY_FAILED	     "failed: "

/* Print the outcome of an assembly to path into text of n bytes; shards is 0 for one file. */
void assembly_text_done(const struct model *model, const struct snapshot *snapshot,
			const struct progress *progress, const char *path, int shards,
			double seconds, char *text, size_t n);

/* Print why an assembly to path failed. placed: the target was replaced nevertheless. confined: the
 * daemon may write into few directories only. */
void assembly_text_failed(const char *path, const struct error *err, bool placed, bool confined,
			  char *text, size_t n);

/* Print the progress of an assembly after so many seconds. */
#define ASSEMBLY_PROGRESS_MAX 160
void assembly_text_progress(const struct progress *progress, double seconds,
			    char text[ASSEMBLY_PROGRESS_MAX]);

#endif
