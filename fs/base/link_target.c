/* SPDX-License-Identifier: MIT */
/* link_target.c - see link_target.h. */
#include "fs/base/link_target.h"
#include "fs/base/reference.h"
#include "fs/storage/backing.h"
#include "fs/util/paths.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A parsed GGUF. */
struct link_target_model {
	struct stat stat;
	struct gguf *gguf;
	char fingerprint[FINGERPRINT_TEXT];
	struct link_target_model *next;
};

void link_target_models_init(struct link_target_models *models)
{
	pthread_mutex_init(&models->lock, NULL);
	models->first = NULL;
}

static void free_model(struct link_target_model *model)
{
	gguf_free(model->gguf);
	free(model);
}

void link_target_models_release(struct link_target_models *models)
{
	while (models->first) {
		struct link_target_model *model = models->first;

		models->first = model->next;
		free_model(model);
	}
	pthread_mutex_destroy(&models->lock);
}

static struct link_target_model *read_model(struct backing *file)
{
	struct link_target_model *model = calloc(1, sizeof(*model));
	const struct source source = backing_source(file);
	struct error err = { 0 };

	if (!model)
		return NULL;
	model->stat = *backing_stat(file);
	model->gguf = gguf_read(&source, &err);
	if (model->gguf && fingerprint(file, model->gguf, model->fingerprint) == 0)
		return model;
	free_model(model);
	return NULL;
}

/* Get the GGUF in the file, borrowed. The lock is released during the parsing, because the file's
 * filesystem may not answer; two threads may therefore parse the same file and both add it. NULL:
 * unreadable, or out of memory. */
static const struct link_target_model *find_model(struct link_target_models *models,
						  struct backing *file)
{
	struct link_target_model *model;

	pthread_mutex_lock(&models->lock);
	model = models->first;
	while (model && !paths_same_file(&model->stat, backing_stat(file)))
		model = model->next;
	pthread_mutex_unlock(&models->lock);
	if (model)
		return model;
	model = read_model(file);
	if (!model)
		return NULL;
	pthread_mutex_lock(&models->lock);
	model->next = models->first;
	models->first = model;
	pthread_mutex_unlock(&models->lock);
	return model;
}

/* An organ file begins with the length of a name, which is never as large as this magic. */
static bool is_gguf(struct backing *file)
{
	char magic[4];

	return backing_size(file) >= sizeof(magic) &&
	       backing_read(file, magic, sizeof(magic), 0) == 0 &&
	       memcmp(magic, "GGUF", sizeof(magic)) == 0;
}

static bool is_like(const struct organ *a, const struct organ *b)
{
	return a->type == b->type && a->data_size == b->data_size &&
	       memcmp(a->ne, b->ne, sizeof(a->ne)) == 0;
}

/* Read organ and fingerprint of an organ file. The caller frees the organ's name. */
static int read_organ(struct backing *file, struct organ *organ, char print[FINGERPRINT_TEXT])
{
	const struct source source = backing_source(file);
	struct error err = { 0 };
	int rc = organ_parse(&source, organ, &err);

	if (rc < 0)
		return rc;
	rc = fingerprint_file(file, organ->header_size, backing_size(file), print);
	if (rc < 0)
		free((char *)organ->name);
	return rc;
}

/* Position in gguf->order of the first tensor at or after that offset. */
static uint32_t first_at(const struct gguf *gguf, uint64_t offset)
{
	uint32_t low = 0, high = gguf->n_tensors;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (gguf->tensors[gguf->order[middle]].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The text for a tensor of a GGUF. */
static char *print_tensor(const struct link_target_model *model, const char *path,
			  const struct organ *organ, uint64_t offset)
{
	const struct gguf *gguf = model->gguf;

	for (uint32_t i = first_at(gguf, offset); i < gguf->n_tensors; i++) {
		const struct gguf_tensor *tensor = &gguf->tensors[gguf->order[i]];
		const struct organ found = organ_of_tensor(tensor);

		if (tensor->offset != offset)
			break;
		if (is_like(&found, organ))
			return reference_print(path, model->fingerprint, &found,
					       REFERENCE_OF_UNKNOWN);
	}
	return NULL;
}

char *link_target_print(struct link_target_models *models, struct backing *file,
			const struct organ *organ, uint64_t offset)
{
	const struct link_target_model *model;
	char print[FINGERPRINT_TEXT], *text = NULL;
	struct organ whole;

	if (is_gguf(file)) {
		model = find_model(models, file);
		return model ? print_tensor(model, backing_path(file), organ, offset) : NULL;
	}
	if (read_organ(file, &whole, print) < 0)
		return NULL;
	if (whole.header_size == offset && is_like(&whole, organ))
		text = reference_print(backing_path(file), print, &whole, REFERENCE_OF_UNKNOWN);
	free((char *)whole.name);
	return text;
}

static int set_stale(struct error *err)
{
	return error_set(err, ESTALE, ERROR_NO_OFFSET, "the file was replaced or changed");
}

static int find_tensor(struct link_target_models *models, struct backing *file,
		       const struct reference *seen, struct organ *organ, uint64_t *offset,
		       struct error *err)
{
	const struct link_target_model *model = find_model(models, file);
	const struct gguf_tensor *tensor = NULL;
	struct organ found;
	char *name;

	if (model && strcmp(model->fingerprint, seen->fingerprint) == 0)
		tensor = gguf_tensor(model->gguf, seen->tensor, seen->tensor_length);
	if (!tensor)
		return set_stale(err);
	found = organ_of_tensor(tensor);
	if (!is_like(&found, &seen->organ))
		return set_stale(err);
	name = malloc(found.name_length + 1u);
	if (!name)
		return error_errno(err, ENOMEM);
	memcpy(name, found.name, found.name_length);
	name[found.name_length] = '\0';
	*organ = found;
	organ->name = name;
	*offset = tensor->offset;
	return 0;
}

int link_target_find(struct link_target_models *models, struct backing *file,
		     const struct reference *seen, struct organ *organ, uint64_t *offset,
		     struct error *err)
{
	char print[FINGERPRINT_TEXT];

	if (is_gguf(file))
		return find_tensor(models, file, seen, organ, offset, err);
	if (read_organ(file, organ, print) < 0)
		return set_stale(err);
	if (strcmp(print, seen->fingerprint) == 0 && is_like(organ, &seen->organ)) {
		*offset = organ->header_size;
		return 0;
	}
	free((char *)organ->name);
	*organ = (struct organ){ .name = NULL };
	return set_stale(err);
}
