/* SPDX-License-Identifier: MIT */
/* fuzz_ollama_manifest.c - any bytes as a manifest of ollama: refused with a reason, or read as
 * the name of a blob, which cannot lead out of the directory. */
#include "fs/base/ollama_manifest.h"
#include "fuzz_help.h"

#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ollama_blob blob;
	struct error err = { 0 };
	char *text = strndup((const char *)data, size);

	require(text != NULL);
	if (ollama_manifest_read(text, strlen(text), &blob, &err) == 0)
		require(strlen(blob.name) == strlen("sha256-") + 64 && !strpbrk(blob.name, "/."));
	else
		require((err.code == EBADMSG || err.code == ENODATA) && err.text[0]);
	free(text);
	return 0;
}
