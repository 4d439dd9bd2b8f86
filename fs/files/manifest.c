/* SPDX-License-Identifier: MIT */
/* manifest.c - see manifest.h. json_value.c prints the metadata values. */
#include "fs/files/manifest.h"
#include "fs/base/shards.h"
#include "fs/lazy/memo.h"
#include "fs/lazy/theta_text.h"
#include "fs/metadata/json_value.h"
#include "fs/metadata/metadata.h"
#include "fs/model/model.h"
#include "fs/storage/backing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums over some tensors. */
struct sums {
	uint64_t tensors, parameters, bytes;
};

static void add_up(struct model *model, const struct snapshot *snapshot, struct sums *all,
		   struct sums classes[CLASSES])
{
	for (uint32_t i = 0; i < snapshot->n; i++) {
		struct sums *klass = &classes[model->places[i].klass];
		uint64_t elements = 0;
		struct organ organ;

		if (content_is_whiteout(snapshot->content[i]))
			continue;
		organ = model_organ(model, i, snapshot->content[i]);
		shape_elements(organ.ne, &elements);
		klass->tensors++;
		klass->parameters += elements;
		klass->bytes += organ.data_size;
	}
	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		all->tensors += classes[klass].tensors;
		all->parameters += classes[klass].parameters;
		all->bytes += classes[klass].bytes;
	}
}

static void print_item(FILE *out, cJSON *item)
{
	char line[4096], *text;

	if (item && cJSON_PrintPreallocated(item, line, sizeof(line), false)) {
		json_print(line, out);
	} else {
		text = item ? cJSON_PrintUnformatted(item) : NULL;
		json_print(text ? text : "null", out);
		free(text);
	}
	cJSON_Delete(item);
}

static cJSON *describe_shards(const struct shards *shards)
{
	cJSON *object = cJSON_CreateObject(), *missing;
	char *summary = shards_summary(shards), name[NAME_MAX + 1];

	json_add_unsigned(object, "count", shards_count(shards));
	json_add_unsigned(object, "tensors", shards_tensor_count(shards));
	json_add_unsigned(object, "tensors_total", shards_tensor_total(shards));
	cJSON_AddStringToObject(object, "summary", summary ? summary : "");
	missing = cJSON_AddArrayToObject(object, "missing");
	for (uint32_t k = 0; k < shards_count(shards); k++)
		if (!shards_is_present(shards, k)) {
			shards_filename(shards, k, name);
			cJSON_AddItemToArray(missing, json_text(name, strlen(name)));
		}
	free(summary);
	return object;
}

static cJSON *describe_model(struct model *model, const struct snapshot *snapshot,
			     const struct sums *all)
{
	const struct gguf *gguf = model->gguf;
	struct metadata_entry *architecture =
		metadata_get_with_edits(model->metadata, snapshot->edits, "general.architecture");
	const char *path = backing_path(model->base);
	cJSON *object = cJSON_CreateObject();
	char bits[32];

	cJSON_AddItemToObject(object, "name", json_text(model->name, strlen(model->name)));
	cJSON_AddItemToObject(object, "architecture",
			      architecture ? json_value(metadata_entry_value(architecture))
					   : cJSON_CreateNull());
	metadata_entry_unref(architecture);
	cJSON_AddItemToObject(object, "file", json_text(path, strlen(path)));
	if (model->shards)
		cJSON_AddItemToObject(object, "shards", describe_shards(model->shards));
	json_add_unsigned(object, "size", gguf->size);
	json_add_unsigned(object, "gguf_version", gguf->version);
	json_add_unsigned(object, "alignment", gguf->alignment);
	json_add_unsigned(object, "data_offset", gguf->data_offset);
	json_add_unsigned(object, "tensors", all->tensors);
	json_add_unsigned(object, "grafts", snapshot->grafts);
	json_add_unsigned(object, "parameters", all->parameters);
	snprintf(bits, sizeof(bits), "%.4f",
		 all->parameters ? 8.0 * (double)all->bytes / (double)all->parameters : 0.0);
	cJSON_AddRawToObject(object, "bits_per_weight", bits);
	return object;
}

static cJSON *describe_classes(const struct sums classes[CLASSES])
{
	cJSON *object = cJSON_CreateObject();

	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		cJSON *sums = cJSON_AddObjectToObject(object, class_name(klass));

		json_add_unsigned(sums, "tensors", classes[klass].tensors);
		json_add_unsigned(sums, "parameters", classes[klass].parameters);
		json_add_unsigned(sums, "bytes", classes[klass].bytes);
	}
	return object;
}

static cJSON *describe_tensor(struct model *model, uint32_t i, const struct content *content)
{
	const struct organ_place *place = &model->places[i];
	const struct organ organ = model_organ(model, i, content);
	cJSON *object = cJSON_CreateObject();
	cJSON *shape, *graft;
	char path[ORGAN_PATH_MAX], scratch[TYPE_NAME_MAX], axis[24];
	uint64_t elements = 0;

	cJSON_AddItemToObject(object, "name", json_text(place->tensor, place->tensor_length));
	cJSON_AddStringToObject(object, "file", model_organ_path(model, i, path));
	cJSON_AddStringToObject(object, "class", class_name(place->klass));
	if (place->block < 0)
		cJSON_AddNullToObject(object, "block");
	else
		json_add_unsigned(object, "block", (uint64_t)place->block);
	cJSON_AddStringToObject(object, "type", type_name(organ.type, scratch));
	shape = cJSON_AddArrayToObject(object, "shape");
	for (uint32_t k = 0; k < organ.dims; k++) {
		snprintf(axis, sizeof(axis), "%llu", (unsigned long long)organ.ne[k]);
		cJSON_AddItemToArray(shape, cJSON_CreateRaw(axis));
	}
	shape_elements(organ.ne, &elements);
	json_add_unsigned(object, "elements", elements);
	json_add_unsigned(object, "bytes", organ.data_size);
	if (i < model->gguf->n_tensors)
		json_add_unsigned(object, "offset", model->gguf->tensors[i].offset);
	else
		cJSON_AddNullToObject(object, "offset");
	if (content) {
		graft = cJSON_AddObjectToObject(object, "graft");
		cJSON_AddStringToObject(graft, "how", content_kind_name(content));
		cJSON_AddItemToObject(graft, "from",
				      json_text(content->organ.name, content->organ.name_length));
	} else {
		cJSON_AddNullToObject(object, "graft");
	}
	return object;
}

/* Write one entry, with a comma before it unless it is the first. */
static void write_entry(FILE *out, const struct metadata_key *key, struct metadata_entry *metadatum,
			bool *first)
{
	char *text = json_key(key->key, key->length);

	fputs(*first ? "\n  " : ",\n  ", out);
	print_item(out, cJSON_CreateString(text ? text : ""));
	fputs(": ", out);
	print_item(out, metadatum ? json_value(metadata_entry_value(metadatum)) : NULL);
	free(text);
	*first = false;
}

/* Write the keys of the base with their current values, then the added keys. */
static void write_metadata(FILE *out, struct model *model, const struct metadata_edits *edits)
{
	const uint32_t n = model->gguf->n_kv;
	bool first = true;
	int rc;

	fputs("\"metadata\": {", out);
	for (uint32_t i = 0; i < n; i++) {
		const struct metadata_key key = metadata_key(model->metadata, i);
		const struct metadata_edit *edit = metadata_edits_find(edits, i);
		struct metadata_entry *base;

		if (edit) {
			if (edit->metadatum)
				write_entry(out, &key, edit->metadatum, &first);
			continue;
		}
		base = metadata_get_as(model->metadata, METADATA_DEFAULT, i, &rc);
		write_entry(out, &key, base, &first);
		metadata_entry_unref(base);
	}
	for (uint32_t e = 0; edits && e < edits->n; e++)
		if (edits->edits[e].i >= n)
			write_entry(out, &edits->edits[e].key, edits->edits[e].metadatum, &first);
	fputs("\n},\n", out);
}

static void write_tensor(struct lazy_text *cells, struct model *model,
			 const struct subject *subject)
{
	cJSON *object = describe_tensor(model, subject->tensor, subject->content);
	char *text = object ? cJSON_PrintUnformatted(object) : NULL;
	const size_t n = text ? strlen(text) : 0;

	/* The cell goes before the closing brace. */
	if (n) {
		text[n - 1] = '\0';
		json_print(text, lazy_text_stream(cells));
	} else {
		lazy_text_fail(cells);
	}
	lazy_text_add(cells, subject, theta_json);
	fputc('}', lazy_text_stream(cells));
	cJSON_free(text);
	cJSON_Delete(object);
}

static void write_tensors(struct lazy_text *cells, struct model *model,
			  const struct snapshot *snapshot)
{
	FILE *out = lazy_text_stream(cells);
	const char *between = "\n  ";
	uint32_t *order = model_order(model, snapshot->n);

	if (!order)
		lazy_text_fail(cells);
	fputs("\"tensors\": [", out);
	for (uint32_t k = 0; order && k < snapshot->n; k++) {
		const struct subject subject = { order[k], snapshot->content[order[k]] };

		if (content_is_whiteout(subject.content))
			continue;
		fputs(between, out);
		write_tensor(cells, model, &subject);
		between = ",\n  ";
	}
	fputs("\n]\n", out);
	free(order);
}

struct view *manifest_view(struct model *model, struct memo *measures,
			   const struct snapshot *snapshot)
{
	struct sums all = { 0 }, classes[CLASSES] = { 0 };
	struct lazy_text *cells = lazy_text_new(measures);
	FILE *out;

	if (!cells)
		return NULL;
	out = lazy_text_stream(cells);
	add_up(model, snapshot, &all, classes);
	fputs("{\n\"organfs\": \"" ORGANFS_VERSION "\",\n\"model\": ", out);
	print_item(out, describe_model(model, snapshot, &all));
	fputs(",\n\"classes\": ", out);
	print_item(out, describe_classes(classes));
	fputs(",\n", out);
	write_metadata(out, model, snapshot->edits);
	write_tensors(cells, model, snapshot);
	fputs("}\n", out);
	return lazy_text_view(cells);
}

int manifest_print_model(struct model *model, FILE *out)
{
	struct sums all = { 0 }, classes[CLASSES] = { 0 };
	struct snapshot snapshot;
	cJSON *object;

	if (slots_snapshot(model->slots, &snapshot) < 0)
		return -ENOMEM;
	add_up(model, &snapshot, &all, classes);
	object = describe_model(model, &snapshot, &all);
	cJSON_AddItemToObject(object, "directory", json_text(model->shown, strlen(model->shown)));
	print_item(out, object);
	snapshot_release(&snapshot);
	return object ? 0 : -ENOMEM;
}
