/* SPDX-License-Identifier: MIT */
/* theta_text.h - text of one organ's Z-measure: NAME.theta, a line of a class's .theta, an object
 * of the manifest, an extended attribute. Only the last has a width that depends on the values. */
#ifndef FS_LAZY_THETA_TEXT_H
#define FS_LAZY_THETA_TEXT_H

#include "fs/lazy/lazy_text.h"
#include "gguf/anatomy.h"

struct model;

/* "ok", "constant", ..., or "undecoded" for z NULL. */
const char *theta_status(const struct zmeasure *z);

/* The columns of a table, and its header. */
#define THETA_DESCRIBED "min\tmax\tmean\tdeviation\tzeros"
#define THETA_COLUMNS \
	"theta\tsignal\tentropy\tkurtosis\tspacing\tmagnitude\tstatus\t" THETA_DESCRIBED
#define THETA_HEADER	     "file\ttype\telements\t" THETA_COLUMNS "\n"
#define THETA_HEADER_WEIGHED "file\ttype\telements\t" THETA_COLUMNS "\timportance\n"

/* The columns of theta_exact. Older tables end before those of THETA_DESCRIBED. */
#define THETA_EXACT                                                                       \
	"theta\tsignal\tentropy\tkurtosis\tspacing\tmagnitude\tsampled\tnonfinite\tfew\t" \
	"status\t" THETA_DESCRIBED
#define THETA_EXACT_COLUMNS	  15
#define THETA_EXACT_FIRST_COLUMNS 10

/* Cells. theta_degrees: "36.07" or "  nan". theta_columns: THETA_COLUMNS. theta_exact: THETA_EXACT,
 * with theta and signal exact to the bit. These three end with a newline. theta_json: the members
 * of a JSON object from "theta" on, without braces; theta_json_figures: the same without z_re and
 * z_im, with the digits of theta_figure(). */
lazy_text_print_fn theta_degrees, theta_columns, theta_json, theta_json_figures, theta_exact;

/* NAME.theta of an organ: one cell of 6 bytes. NULL: out of memory. */
struct view *theta_file(struct memo *measures, const struct subject *subject);
#define THETA_FILE_SIZE 6

/* .theta of a class: a header and a line for each tensor, in file order, with a last column if an
 * importance matrix is in force (lazy_text_add_weights()). NULL: out of memory. */
struct view *theta_table(struct model *model, struct memo *measures,
			 const struct snapshot *snapshot, enum organ_class klass);

/* Whether there is a figure of that name, so that user.organfs.NAME has it ("theta", "signal",
 * "entropy", "kurtosis", "spacing", "magnitude", "min", "max", "mean", "deviation", "zeros"). */
bool theta_is_figure(const char *name);

/* Print the figure of that name into text of n bytes, as snprintf(). -ENODATA: there is none. */
int theta_figure(const char *name, const struct zmeasure *z, char *text, size_t n);

#endif
