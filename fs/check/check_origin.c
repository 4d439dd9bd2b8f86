/* SPDX-License-Identifier: MIT */
/* check_origin.c - see check_origin.h. */
#include "fs/check/check_origin.h"
#include "fs/base/base.h"
#include "fs/base/donor.h"
#include "fs/base/shards.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/storage/backing.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that are compared at once: nearly all tensors differ in the first ones. */
#define FIRST ((size_t)4096)
#define CHUNK ((size_t)1 << 20)

/* The comparison with one donor. */
struct origin_search {
	struct model *model;
	const struct base *donor;
	uint8_t *bytes; /* two of CHUNK */
};

/* Has the content of a slot no recorded origin? */
static bool is_unrecorded(const struct content *content)
{
	size_t n;

	return !content || (!content_is_whiteout(content) && !content->broken &&
			    (!content->donor || !donor_tensor(content->donor, &n)));
}

/* 1: the same bytes, 0: other ones, or -errno. */
static int compare_bytes(const struct origin_search *origin, const struct organ_location *ours,
			 const struct gguf_tensor *theirs)
{
	uint8_t *bytes = origin->bytes;

	for (uint64_t at = 0, n; at < theirs->size; at += n) {
		int rc;

		n = at ? CHUNK : FIRST;
		if (n > theirs->size - at)
			n = theirs->size - at;
		rc = backing_read(ours->file, bytes, n, ours->offset + at);
		if (rc == 0)
			rc = backing_read(origin->donor->file, bytes + CHUNK, n,
					  theirs->offset + at);
		if (rc < 0 || memcmp(bytes, bytes + CHUNK, n) != 0)
			return rc;
	}
	return 1;
}

static int is_from(const struct origin_search *origin, const struct organ_location *ours,
		   const struct gguf_tensor *theirs)
{
	return theirs->type == ours->organ.type && theirs->size == ours->organ.data_size &&
			       memcmp(theirs->ne, ours->organ.ne, sizeof(theirs->ne)) == 0
		       ? compare_bytes(origin, ours, theirs)
		       : 0;
}

/* The donor's tensor with these bytes: that of the organ's name, that of the slot's, or another one
 * of its role. NULL: there is none, or with *rc set. */
static const struct gguf_tensor *find_tensor(const struct origin_search *origin,
					     const struct organ_place *place,
					     const struct organ_location *ours, int *rc)
{
	const struct gguf *gguf = origin->donor->gguf;
	const struct gguf_tensor *named[] = {
		gguf_tensor(gguf, ours->organ.name, ours->organ.name_length),
		gguf_tensor(gguf, place->tensor, place->tensor_length)
	};

	for (size_t i = 0; i < 2; i++) {
		*rc = named[i] ? is_from(origin, ours, named[i]) : 0;
		if (*rc)
			return *rc > 0 ? named[i] : NULL;
	}
	for (uint32_t i = 0; *rc == 0 && i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[i];

		if (t->size == ours->organ.data_size &&
		    anatomy_same_role(t->name, t->name_length, place->tensor, place->tensor_length))
			*rc = is_from(origin, ours, t);
		if (*rc > 0)
			return t;
	}
	return NULL;
}

/* The organ in a slot. The slot gives an organ file its own name, but the name in the file's header
 * is the donor's: *name is that name, to free. */
static struct organ_location locate(const struct model *model, uint32_t slot,
				    const struct content *own, char **name)
{
	const struct organ_place *place = &model->places[slot];
	struct organ_location at = organ_file_locate(model, slot, own);
	struct error err = { 0 };
	struct organ organ;

	*name = NULL;
	if (own || !model->shards ||
	    shards_organ(model->shards, place->tensor, place->tensor_length, &organ, &err) < 0)
		return at;
	*name = (char *)organ.name;
	at.organ.name = organ.name;
	at.organ.name_length = organ.name_length;
	return at;
}

/* The slot holds that tensor of the file. */
static int put(const struct origin_search *origin, uint32_t slot,
	       const struct organ_location *found, bool is_known)
{
	struct model *model = origin->model;
	struct content *content = content_new_reference(inode_new(model), &found->organ,
							found->file, found->offset, "");

	if (!content)
		return -ENOMEM;
	content->found = true;
	if (!is_known)
		content_set_donor(content, NULL);
	slots_set(model->slots, slot, content);
	return 0;
}

static int attribute(struct origin_search *origin, const struct base *donors, size_t n,
		     uint32_t slot, bool is_changed)
{
	struct model *model = origin->model;
	struct content *own = slots_get_own(model->slots, slot);
	const bool is_open = is_unrecorded(own);
	struct organ_location at = { .file = NULL };
	const struct gguf_tensor *theirs = NULL;
	char *name = NULL;
	int rc = 0;

	if (is_open)
		at = locate(model, slot, own, &name);
	for (size_t i = 0; is_open && rc == 0 && !theirs && i < n; i++) {
		origin->donor = &donors[i];
		theirs = find_tensor(origin, &model->places[slot], &at, &rc);
	}
	if (theirs)
		at = (struct organ_location){ .organ = organ_of_tensor(theirs),
					      .file = origin->donor->file,
					      .offset = theirs->offset };
	if (theirs || (is_open && rc == 0 && is_changed && !own))
		rc = put(origin, slot, &at, theirs != NULL);
	content_unref(own);
	free(name);
	return rc;
}

int check_origin_find(struct model *model, const struct base *donors, size_t n,
		      const bool *unchanged)
{
	struct origin_search origin = { .model = model, .bytes = malloc(2 * CHUNK) };
	const uint32_t slots = slots_count(model->slots);
	int rc = origin.bytes ? 0 : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < slots; i++)
		if (!unchanged || !unchanged[i])
			rc = attribute(&origin, donors, n, i, unchanged != NULL);
	free(origin.bytes);
	return rc;
}
