/* SPDX-License-Identifier: MIT */
/* models_json.h - .report.json of several models as one JSON object: the summary of each model, and
 * their comparison by .theta of the root. Each model has another one for its tensors. */
#ifndef FS_REPORT_MODELS_JSON_H
#define FS_REPORT_MODELS_JSON_H

#include <stddef.h>
#include <stdio.h>

struct figures;
struct ranked;

/* Print the text of n models from their figures and ranks. Its length in bytes does not depend on
 * measured values. Returns 0 or -ENOMEM. */
int models_json_print(const struct figures *const *figures, const struct ranked *models, size_t n,
		      FILE *out);

#endif
