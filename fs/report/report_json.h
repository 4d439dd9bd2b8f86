/* SPDX-License-Identifier: MIT */
/* report_json.h - .report.json of a model: what .theta of its root says and the figures of every
 * tensor, as one JSON object. organfs(5) has its members.
 *
 * It is valid JSON whatever bytes the model holds: see json_value.h. Where a number is not known,
 * there is null. Of figures that are a table's, what the table does not tell is null too. */
#ifndef FS_REPORT_REPORT_JSON_H
#define FS_REPORT_REPORT_JSON_H

#include "fs/lazy/lazy_report.h"

struct json_out;

/* Of the form of the text: it becomes another one when a member goes or means something else. */
#define REPORT_JSON_FORMAT 1

lazy_report_print_fn report_json_print;

/* How the text begins, up to the first member but these. */
void report_json_begin(struct json_out *json);

/* The members that say what there is to say of the model as a whole: model, theta, classes, kinds,
 * roles; without the last newline. */
void report_json_summary(struct json_out *json, const struct figures *figures);

#endif
