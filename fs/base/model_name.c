/* SPDX-License-Identifier: MIT */
/* model_name.c - see model_name.h. */
#include "fs/base/model_name.h"
#include "fs/base/model_list.h"
#include "fs/base/store.h"
#include "gguf/error.h"

#include <errno.h>
#include <string.h>

static const struct store *const stores[] = { &store_ollama, &store_hub, &store_lm_studio };

int model_name_find(const char *name, char **path, struct error *err)
{
	*path = NULL;
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		const size_t n = strlen(stores[i]->prefix);

		if (strncmp(name, stores[i]->prefix, n) == 0)
			return stores[i]->find(name + n, path, err);
	}
	return error_set(err, EINVAL, ERROR_NO_OFFSET, "it is the name of no store");
}

int model_name_list(struct model_list *list)
{
	int rc = 0;

	*list = (struct model_list){ .n = 0 };
	for (size_t i = 0; rc == 0 && i < sizeof(stores) / sizeof(stores[0]); i++) {
		list->prefix = stores[i]->prefix;
		rc = stores[i]->list(list);
	}
	model_list_sort(list);
	return rc;
}
