/* SPDX-License-Identifier: MIT */
/* theta_text.h - how the Z-measure of one organ is written: NAME.theta, a line of a class's .theta,
 * an object of the manifest, an extended attribute. All but the last have a width that does not
 * depend on the values. */
#ifndef FS_LAZY_THETA_TEXT_H
#define FS_LAZY_THETA_TEXT_H

#include "fs/lazy/lazy_text.h"
#include "gguf/anatomy.h"

struct model;

/* "ok", "constant", ..., or "undecoded" for z NULL. */
const char *theta_status(const struct zmeasure *z);

/* The columns of a table, without and with what stands before the first cell. */
#define THETA_DESCRIBED "min\tmax\tmean\tdeviation\tzeros"
#define THETA_COLUMNS \
	"theta\tsignal\tentropy\tkurtosis\tspacing\tmagnitude\tstatus\t" THETA_DESCRIBED
#define THETA_HEADER "file\ttype\telements\t" THETA_COLUMNS "\n"
#define THETA_HEADER_WEIGHED "file\ttype\telements\t" THETA_COLUMNS "\timportance\n"

/* The columns of theta_exact. Those of THETA_DESCRIBED were added later: older tables end before
 * them. */
#define THETA_EXACT                                                                       \
	"theta\tsignal\tentropy\tkurtosis\tspacing\tmagnitude\tsampled\tnonfinite\tfew\t" \
	"status\t" THETA_DESCRIBED
#define THETA_EXACT_COLUMNS	  15
#define THETA_EXACT_FIRST_COLUMNS 10

/* Cells: degrees, "36.07" and a newline, "  nan" where there is no θ; THETA_COLUMNS and a newline;
 * the members of a JSON object from "theta" on, without braces; the same without z_re and z_im, as
 * theta_figure() says them; THETA_EXACT and a newline, of which theta and signal read back to the
 * same bits. */
lazy_text_print_fn theta_degrees, theta_columns, theta_json, theta_json_figures, theta_exact;

/* NAME.theta of an organ: one cell, 6 bytes. NULL: out of memory. */
struct view *theta_file(struct memo *measures, const struct subject *subject);
#define THETA_FILE_SIZE 6

/* .theta of a class: a header and a line for each tensor, in file order, with a last column where
 * an importance matrix is in force (lazy_text_weigh()). NULL: out of memory. */
struct view *theta_table(struct model *model, struct memo *measures,
			 const struct snapshot *snapshot, enum organ_class klass);

/* Is there a figure of that name ("theta", "signal", "entropy", "kurtosis", "spacing",
 * "magnitude", "min", "max", "mean", "deviation", "zeros")? */
bool theta_is_figure(const char *name);

/* The figure of that name as text of n bytes, as snprintf(). -ENODATA: the measure has none. */
int theta_figure(const char *name, const struct zmeasure *z, char *text, size_t n);

#endif
