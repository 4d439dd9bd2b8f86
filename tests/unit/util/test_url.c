/* SPDX-License-Identifier: MIT */
/* test_url.c - fs/util/url.c: texts that are URLs, their printable parts, and names from them. */
#include "fs/util/url.h"
#include "tests/unit/unit.h"

static void assert_text(char *text, const char *expected)
{
	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void http_and_https_are_remote_and_nothing_else_is(void **state)
{
	(void)state;
	assert_true(url_is_remote("http://host/m.gguf"));
	assert_true(url_is_remote("HTTPS://host"));
	assert_false(url_is_remote("https:/host/m.gguf"));
	assert_false(url_is_remote("ftp://host/m.gguf"));
	assert_false(url_is_remote("./http://host/m.gguf"));
	assert_false(url_is_remote("/srv/m.gguf"));
	assert_false(url_is_remote("file:///srv/m.gguf"));
	assert_true(url_is_file("file:///srv/m.gguf"));
	assert_true(url_or_absolute_path("/m.gguf"));
	assert_true(url_or_absolute_path("http://h/m.gguf"));
	assert_false(url_or_absolute_path("m.gguf"));
}

static void names_in_stores_have_their_prefix(void **state)
{
	(void)state;
	assert_true(url_is_store("ollama:qwen3:8b"));
	assert_true(url_is_store("hf:a/b/c.gguf"));
	assert_true(url_is_store("lmstudio:a/b/c.gguf"));
	assert_false(url_is_store("./ollama:qwen3"));
	assert_false(url_is_store("ollama"));
	assert_false(url_is_store("http://host/ollama:qwen3"));
}

static void shown_url_has_no_password_and_no_query(void **state)
{
	(void)state;
	assert_text(url_shown("http://host:80/a/m.gguf"), "http://host:80/a/m.gguf");
	assert_text(url_shown("http://me:pass@host/m.gguf"), "http://host/m.gguf");
	assert_text(url_shown("https://me@a@host/m@x.gguf?k=v#f"), "https://host/m@x.gguf");
	assert_text(url_shown("http://me:pass@host?token"), "http://host");
	assert_text(url_shown("http://"), "http://");
	assert_true(url_has_credentials("http://me@host/"));
	assert_false(url_has_credentials("http://host/a@b"));
	assert_false(url_has_credentials("http://host?a@b"));
}

static void a_name_is_the_last_part_of_the_path_decoded(void **state)
{
	(void)state;
	assert_text(url_file_name("http://host/a/m.gguf"), "m.gguf");
	assert_text(url_file_name("http://host/a/my%20m%c3%b6del.gguf?x=/y"), "my m\xc3\xb6"
									      "del.gguf");
	assert_text(url_file_name("http://host/a%2fb%00%zz.gguf"), "a%2fb%00%zz.gguf");
	assert_text(url_file_name("http://host/a%2"), "a%2");
	assert_text(url_file_name("http://host/"), "model");
	assert_text(url_file_name("http://host"), "model");
	assert_text(url_file_name("http://host/%2e%2e"), "model");
	assert_string_equal(url_name_end("http://host/a/b?c/d"), "?c/d");
	assert_string_equal(url_name_end("http://host#f"), "#f");
}

static void a_file_is_a_path_of_this_machine(void **state)
{
	(void)state;
	assert_text(url_file_path("file:///srv/m.gguf"), "/srv/m.gguf");
	assert_text(url_file_path("file://localhost/srv/a%20b.gguf"), "/srv/a b.gguf");
	assert_text(url_file_path("file:/srv/m.gguf"), "/srv/m.gguf");
	assert_null(url_file_path("file://elsewhere/m.gguf"));
	assert_int_equal(errno, EINVAL);
	assert_null(url_file_path("file:m.gguf"));
	assert_null(url_file_path("file:///a%00b"));
	assert_null(url_file_path("file:////a"));
}

static void without_memory_there_is_no_name(void **state)
{
	needs_failing_allocations();
	(void)state;
	allocation_fails(1);
	assert_null(url_shown("http://host/m.gguf"));
	allocation_fails(1);
	assert_null(url_file_name("http://host/m.gguf"));
	allocation_fails(1);
	assert_null(url_file_path("file:///m.gguf"));
	assert_true(allocation_failed());
}

UNIT_MAIN(NULL, NULL)
