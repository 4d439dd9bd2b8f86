/* SPDX-License-Identifier: MIT */
/* report_json.h - .report.json of a model: the content of .theta of its root and the figures of
 * every tensor, as one JSON object. organfs(5) describes its members.
 *
 * It is valid JSON for any bytes of a model (json_value.h). Unknown numbers are null, as are values
 * that a table lacks if the figures come from one. */
#ifndef FS_REPORT_REPORT_JSON_H
#define FS_REPORT_REPORT_JSON_H

#include "fs/lazy/lazy_report.h"

struct json_out;

/* Version of the format: it changes when a member is removed or changes its meaning. */
#define REPORT_JSON_FORMAT 1

lazy_report_print_fn report_json_print;

/* Print the start of the text with the members organfs and format. */
void report_json_begin(struct json_out *json);

/* Print the members about the whole model: model, theta, classes, kinds, roles; no last newline. */
void report_json_summary(struct json_out *json, const struct figures *figures);

#endif
