/* SPDX-License-Identifier: MIT */
/* drawing.c - see drawing.h. */
#include "fs/picture_command.h"
#include "fs/files/model_picture.h"
#include "fs/offline_models.h"

#include <errno.h>
#include <stdlib.h>

/* All of it or nothing. Returns 0 or -1, after a line on stderr. */
static int draw(const struct viewing *viewing)
{
	const struct figures *second = viewing->n > 1 ? viewing->models[1].figures : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc = out ? chart_print_two(viewing->models[0].figures, second, out) : -ENOMEM;

	if (out && fclose(out) != 0)
		rc = -ENOMEM;
	rc = rc < 0 ? viewing_fail("the picture", rc) : viewing_print(text, size);
	free(text);
	return rc;
}

int drawing_run(const struct options *options)
{
	struct viewing viewing;
	int rc = viewing_open(&viewing, options);

	if (rc == 0)
		rc = draw(&viewing);
	viewing_close(&viewing);
	return rc < 0 ? 1 : 0;
}
