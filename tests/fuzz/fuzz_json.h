/* SPDX-License-Identifier: MIT */
/* fuzz_json.h - checks of printed JSON. */
#ifndef TESTS_FUZZ_FUZZ_JSON_H
#define TESTS_FUZZ_FUZZ_JSON_H

#include "fuzz_help.h"

#include <cJSON.h>

/* Require that a printed item is JSON; releases the item. */
static inline void require_json(cJSON *item)
{
	char *text = cJSON_PrintUnformatted(item);
	cJSON *again;

	require(text != NULL);
	again = cJSON_Parse(text);
	require(again != NULL);
	cJSON_Delete(again);
	cJSON_free(text);
	cJSON_Delete(item);
}

#endif
