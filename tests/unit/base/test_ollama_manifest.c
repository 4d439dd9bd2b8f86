/* SPDX-License-Identifier: MIT */
/* test_ollama_manifest.c - fs/base/ollama_manifest.c: the layer of a manifest that is a GGUF. */
#include "fs/base/ollama_manifest.h"
#include "tests/unit/unit.h"

#define MODEL	"{\"mediaType\":\"application/vnd.ollama.image.model\","
#define LICENSE "{\"mediaType\":\"application/vnd.ollama.image.license\",\"digest\":\"x\"}"
#define HEX	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789ABCDEF"
#define GOOD	MODEL "\"digest\":\"sha256:" HEX "\",\"size\":4294967297}"

static int read_layers(const char *layers, struct ollama_blob *blob, struct error *err)
{
	char text[1024];
	const int n = snprintf(text, sizeof(text), "{\"schemaVersion\":2,\"layers\":%s}", layers);

	*err = (struct error){ 0 };
	return ollama_manifest_read(text, (size_t)n, blob, err);
}

static void the_model_is_the_one_layer_of_its_type(void **state)
{
	struct ollama_blob blob;
	struct error err;

	(void)state;
	assert_int_equal(read_layers("[" LICENSE "," GOOD "]", &blob, &err), 0);
	assert_string_equal(blob.name, "sha256-" HEX);
	assert_int_equal(blob.size, 4294967297);
}

static void assert_damaged(const char *layers, int code, const char *says)
{
	struct ollama_blob blob;
	struct error err;

	assert_refused(read_layers(layers, &blob, &err), &err, code, ERROR_NO_OFFSET);
	assert_non_null(strstr(err.text, says));
}

static void malformed_digest_is_refused(void **state)
{
	static const char *const digests[] = { "\"sha256:" HEX "0\"",
					       "\"sha256:" HEX "/../x\"",
					       "\"sha256:0123\"",
					       "\"sha256-" HEX "\"",
					       "\"../../outside\"",
					       "\"\"",
					       "12",
					       "null" };
	char text[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(digests); i++) {
		snprintf(text, sizeof(text), "[" MODEL "\"digest\":%s,\"size\":1}]", digests[i]);
		assert_damaged(text, EBADMSG, "the digest of the model");
	}
	assert_damaged("[" MODEL "\"size\":1}]", EBADMSG, "the digest of the model");
}

static void malformed_size_is_refused(void **state)
{
	static const char *const sizes[] = { "-1", "1e300", "\"1\"", "null" };
	char text[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		snprintf(text, sizeof(text),
			 "[" MODEL "\"digest\":\"sha256:" HEX "\",\"size\":%s}]", sizes[i]);
		assert_damaged(text, EBADMSG, "has no size");
	}
}

static void no_model_and_several_are_refused(void **state)
{
	(void)state;
	assert_damaged("[" LICENSE "]", ENODATA, "has 0 GGUFs");
	assert_damaged("[]", ENODATA, "has 0 GGUFs");
	assert_damaged("[7, null, {\"mediaType\": 3}]", ENODATA, "has 0 GGUFs");
	assert_damaged("[" GOOD "," GOOD "]", ENODATA, "has 2 GGUFs");
	assert_damaged("{}", EBADMSG, "not JSON with layers");
	assert_damaged("[" GOOD, EBADMSG, "not JSON with layers");
}

UNIT_MAIN(NULL, NULL)
