/* SPDX-License-Identifier: MIT */
/* hub_token.c - see hub_token.h. */
#include "fs/storage/hub_token.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HTTPS "https://"

const char *hub_endpoint(void)
{
	const char *endpoint = getenv("HF_ENDPOINT");

	return endpoint && *endpoint ? endpoint : HTTPS "huggingface.co";
}

const char *hub_token(const char *url)
{
	const char *token = getenv("HF_TOKEN"), *endpoint = hub_endpoint();
	const size_t https = strlen(HTTPS);
	size_t n;

	if (!token || !*token || strncasecmp(endpoint, HTTPS, https) != 0)
		return NULL;
	n = https + strcspn(endpoint + https, "/?#");
	return strncasecmp(url, endpoint, n) == 0 && strchr("/?#", url[n]) ? token : NULL;
}
