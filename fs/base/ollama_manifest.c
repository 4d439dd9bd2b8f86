/* SPDX-License-Identifier: MIT */
/* ollama_manifest.c - see ollama_manifest.h.
 *
 * Source: ollama, manifest/manifest.go (struct Manifest), manifest/layer.go (struct Layer),
 * manifest/paths.go (BlobsPath: sha256:HEX is the file sha256-HEX), server/images.go (GetModel: the
 * layer application/vnd.ollama.image.model is the model; models for MLX have layers
 * application/vnd.ollama.image.tensor in its place, models in the cloud none). */
#include "fs/base/ollama_manifest.h"
#include "gguf/error.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MODEL_LAYER "application/vnd.ollama.image.model"

/* Numbers of JSON are whole up to here. */
#define WHOLE_MAX 9007199254740992.0

static int take_layer(const cJSON *layer, struct ollama_blob *blob, struct error *err)
{
	const char *digest =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(layer, "digest"));
	const cJSON *size = cJSON_GetObjectItemCaseSensitive(layer, "size");
	const char *hex = digest ? digest + strlen("sha256:") : NULL;

	if (!digest || strncmp(digest, "sha256:", strlen("sha256:")) != 0 || strlen(hex) != 64 ||
	    strspn(hex, "0123456789abcdefABCDEF") != 64)
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "its manifest is damaged: the digest of the model is not sha256: "
				 "and 64 hexadecimal digits");
	if (!cJSON_IsNumber(size) || size->valuedouble < 0 || size->valuedouble > WHOLE_MAX)
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "its manifest is damaged: the model has no size");
	snprintf(blob->name, sizeof(blob->name), "sha256-%s", hex);
	blob->size = (uint64_t)size->valuedouble;
	return 0;
}

static int find_layer(const cJSON *manifest, struct ollama_blob *blob, struct error *err)
{
	const cJSON *layers = cJSON_GetObjectItemCaseSensitive(manifest, "layers"), *layer;
	const cJSON *model = NULL;
	unsigned n = 0;

	if (!cJSON_IsArray(layers))
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "its manifest is damaged: not JSON with layers");
	cJSON_ArrayForEach(layer, layers)
	{
		const char *type =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(layer, "mediaType"));

		if (type && strcmp(type, MODEL_LAYER) == 0) {
			model = layer;
			n++;
		}
	}
	if (n == 1)
		return take_layer(model, blob, err);
	return error_set(
		err, ENODATA, ERROR_NO_OFFSET,
		n ? "its manifest has %u GGUFs, and which one is the model is not known; mount "
		    "a blob by its path"
		  : "its manifest has %u GGUFs: the model runs in the cloud, or is for MLX; "
		    "pull one that is a GGUF",
		n);
}

int ollama_manifest_read(const char *text, size_t n, struct ollama_blob *blob, struct error *err)
{
	cJSON *manifest = cJSON_ParseWithLength(text, n);
	const int rc = find_layer(manifest, blob, err);

	cJSON_Delete(manifest);
	return rc;
}
