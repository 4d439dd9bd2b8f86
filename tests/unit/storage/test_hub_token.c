/* SPDX-License-Identifier: MIT */
/* test_hub_token.c - fs/storage/hub_token.c: requests that may carry the user's token. */
#include "fs/storage/hub_token.h"
#include "tests/unit/unit.h"

static void the_token_is_for_the_hub_by_https_alone(void **state)
{
	static const char *const others[] = { "http://huggingface.co/a",
					      "https://huggingface.co.evil.org/a",
					      "https://huggingface.co@evil.org/a",
					      "https://huggingface.co:444/a",
					      "https://evil.org/https://huggingface.co/",
					      "https://cdn.huggingface.co/a" };

	(void)state;
	unsetenv("HF_ENDPOINT");
	unsetenv("HF_TOKEN");
	assert_null(hub_token("https://huggingface.co/a"));
	setenv("HF_TOKEN", "hf_secret", 1);
	assert_string_equal(hub_token("https://huggingface.co/a"), "hf_secret");
	assert_string_equal(hub_token("HTTPS://HuggingFace.co?a"), "hf_secret");
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		assert_null(hub_token(others[i]));
	setenv("HF_ENDPOINT", "https://mirror:8443/hub/", 1);
	assert_string_equal(hub_endpoint(), "https://mirror:8443/hub/");
	assert_string_equal(hub_token("https://mirror:8443/a"), "hf_secret");
	assert_null(hub_token("https://mirror/a"));
	assert_null(hub_token("https://huggingface.co/a"));
	setenv("HF_ENDPOINT", "http://mirror", 1);
	assert_null(hub_token("http://mirror/a"));
	setenv("HF_ENDPOINT", "", 1);
	setenv("HF_TOKEN", "", 1);
	assert_null(hub_token("https://huggingface.co/a"));
}

UNIT_MAIN(NULL, NULL)
