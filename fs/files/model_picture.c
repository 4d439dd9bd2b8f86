/* SPDX-License-Identifier: MIT */
/* model_picture.c - see model_picture.h. */
#include "fs/files/model_picture.h"
#include "fs/files/picture.h"
#include "fs/metadata/json_value.h"
#include "fs/report/card.h"
#include "fs/util/plural.h"

#include <errno.h>
#include <string.h>

void model_picture_subtitle(const struct figures *figures, const struct picture_grid *grid,
			    char text[MODEL_PICTURE_SUBTITLE_MAX])
{
	struct card card;
	char blocks[96];
	size_t n_blocks;

	card_get(figures, &card);
	n_blocks = picture_grid_blocks_text(grid, blocks, sizeof(blocks));
	snprintf(text, MODEL_PICTURE_SUBTITLE_MAX, "%s, %s%s%s%zu tensor%s", card.architecture,
		 n_blocks == 0	 ? ""
		 : n_blocks == 1 ? "block "
				 : "blocks ",
		 blocks, blocks[0] ? ", " : "", figures->n, plural(figures->n));
}

/* A model with its texts. */
struct model_picture_subject {
	cJSON *name; /* whatever bytes it has, in UTF-8 */
	char subtitle[MODEL_PICTURE_SUBTITLE_MAX];
};

/* Returns 0 or -ENOMEM. */
static int describe(const struct figures *figures, struct model_picture_subject *subject,
		    struct picture_model *model)
{
	const char *file = figures->model->name;
	struct picture_grid grid;
	const int rc = picture_grid_make(&grid, figures, NULL);

	subject->name = json_text(file, strlen(file));
	if (rc == 0)
		model_picture_subtitle(figures, &grid, subject->subtitle);
	picture_grid_free(&grid);
	*model = (struct picture_model){ cJSON_GetStringValue(subject->name), subject->subtitle,
					 figures };
	return rc < 0 || !model->name ? -ENOMEM : 0;
}

int model_picture_print_two(const struct figures *firsts, const struct figures *seconds, FILE *out)
{
	struct model_picture_subject subjects[2] = { { .name = NULL } };
	struct picture picture = { .n = seconds ? 2 : 1 };
	int rc = describe(firsts, &subjects[0], &picture.models[0]);

	if (rc == 0 && seconds)
		rc = describe(seconds, &subjects[1], &picture.models[1]);
	if (rc == 0)
		rc = picture_print(&picture, out);
	cJSON_Delete(subjects[0].name);
	cJSON_Delete(subjects[1].name);
	return rc;
}

int model_picture_print(const struct figures *figures, FILE *out)
{
	return model_picture_print_two(figures, NULL, out);
}
