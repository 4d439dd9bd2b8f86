/* SPDX-License-Identifier: MIT */
/* adapter_list.c - see adapter_list.h. */
#include "fs/model/adapter_list.h"

#include <stdlib.h>

void adapter_list_free(struct adapter_list *list)
{
	if (!list)
		return;
	for (uint32_t i = 0; i < list->n; i++) {
		free(list->lines[i].name);
		free(list->lines[i].file);
		free(list->lines[i].broken);
	}
	free(list->lines);
	free(list);
}
