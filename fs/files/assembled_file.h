/* SPDX-License-Identifier: MIT */
/* assembled_file.h - the last assembled file of a model, kept open so that model.gguf can be read
 * from it instead of being assembled again for each read. */
#ifndef FS_FILES_ASSEMBLED_FILE_H
#define FS_FILES_ASSEMBLED_FILE_H

#include <stdint.h>

struct backing;
struct model;
struct view;

struct assembled_file; /* any thread may use it */

/* The model is borrowed. NULL: out of memory. */
struct assembled_file *assembled_file_new(struct model *model);
void assembled_file_free(struct assembled_file *kept); /* NULL is fine */

/* Keep a file that holds the model of that generation, instead of the last one. The file becomes
 * kept's; NULL keeps none. A file that another user may write to is released at once. */
void assembled_file_set(struct assembled_file *kept, struct backing *file, uint64_t generation);

/* The kept file as one extent. NULL: it does not hold the model of that generation, or it was
 * moved, removed or changed. If the file changes later, the view reads from instead, which becomes
 * the view's if there is one. */
struct view *assembled_file_view(struct assembled_file *kept, uint64_t generation,
				 struct view *instead);

/* A number that changes whenever assembled_file_view() may have another answer. */
uint64_t assembled_file_stamp(struct assembled_file *kept);

#endif
