/* SPDX-License-Identifier: MIT */
/* chart.c - see chart.h. */
#include "fs/chart.h"
#include "fs/card.h"
#include "fs/json.h"
#include "fs/picture.h"

#include <errno.h>
#include <string.h>

int chart_print(const struct figures *figures, FILE *out)
{
	const char *file = figures->model->name;
	cJSON *name = json_text(file, strlen(file)); /* whatever bytes it has, in UTF-8 */
	char subtitle[256];
	const struct picture picture = { .name = cJSON_GetStringValue(name),
					 .subtitle = subtitle,
					 .n = figures->n,
					 .figures = figures->figures };
	int rc = -ENOMEM;

	card_summary(figures, subtitle, sizeof(subtitle));
	if (picture.name)
		rc = picture_print(&picture, out);
	cJSON_Delete(name);
	return rc;
}
