/* SPDX-License-Identifier: MIT */
/* models_json.h - .report.json of several models: what each is and has as a whole, and what .theta
 * of their root says of them beside each other, as one JSON object. Tensor by tensor each has a
 * .report.json of its own. */
#ifndef FS_REPORT_MODELS_JSON_H
#define FS_REPORT_MODELS_JSON_H

#include <stddef.h>
#include <stdio.h>

struct figures;
struct ranked;

/* Print the text of n models, of each its figures and what ranks it. Its length in bytes does not
 * depend on what is measured. Returns 0 or -ENOMEM. */
int models_json_print(const struct figures *const *figures, const struct ranked *models, size_t n,
		      FILE *out);

#endif
