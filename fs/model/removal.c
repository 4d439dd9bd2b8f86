/* SPDX-License-Identifier: MIT */
/* removal.c - see removal.h. */
#include "fs/model/removal.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"

#include <stdlib.h>

struct removal *removal_new(uint32_t slot, pid_t process, struct content *content,
			    struct content *nothing)
{
	struct removal *removal = malloc(sizeof(*removal));

	if (removal)
		*removal = (struct removal){ slot, process, content ? content_ref(content) : NULL,
					     content_ref(nothing) };
	return removal;
}

void removal_free(struct removal *removal)
{
	if (!removal)
		return;
	content_unref(removal->content);
	content_unref(removal->nothing);
	free(removal);
}

void removal_keep(struct model *model, struct removal *removal)
{
	removal_free(atomic_exchange(&model->removal, removal));
}

struct removal *removal_take(struct model *model)
{
	return atomic_exchange(&model->removal, NULL);
}
