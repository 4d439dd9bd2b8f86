/* SPDX-License-Identifier: MIT */
/* picture_command.c - see picture_command.h. */
#include "fs/picture_command.h"
#include "fs/files/model_picture.h"
#include "fs/offline_models.h"

#include <errno.h>
#include <stdlib.h>

/* All of it or nothing. Returns 0 or -1, after a line on stderr. */
static int draw(const struct offline_models *viewing)
{
	const struct figures *second = viewing->n > 1 ? viewing->models[1].figures : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc = out ? model_picture_print_two(viewing->models[0].figures, second, out) : -ENOMEM;

	if (out && fclose(out) != 0)
		rc = -ENOMEM;
	rc = rc < 0 ? offline_models_fail("the picture", rc) : offline_models_print(text, size);
	free(text);
	return rc;
}

int picture_command(const struct options *options)
{
	struct offline_models viewing;
	int rc = offline_models_open(&viewing, options);

	if (rc == 0)
		rc = draw(&viewing);
	offline_models_close(&viewing);
	return rc < 0 ? 1 : 0;
}
