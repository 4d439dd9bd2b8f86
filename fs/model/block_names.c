/* SPDX-License-Identifier: MIT */
/* block_names.c - see block_names.h. */
#include "fs/model/block_names.h"
#include "fs/model/inode.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "gguf/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "blk_"

const char *block_name(const struct organ_place *place)
{
	const char *name = place->name + strlen(PREFIX);

	if (place->block < 0 || place->block > (int32_t)INODE_BLOCK_NUMBER ||
	    strncmp(place->name, PREFIX, strlen(PREFIX)) != 0)
		return NULL;
	name += strspn(name, "0123456789");
	return name[0] == '_' && name[1] ? name + 1 : NULL;
}

int64_t block_next(struct model *model, uint32_t from)
{
	const uint32_t n = slots_count(model->slots);
	int64_t next = -1;

	for (uint32_t i = 0; i < n; i++) {
		const struct organ_place *place = &model->places[i];
		struct content *content;

		if (!block_name(place) || (uint32_t)place->block < from ||
		    (next >= 0 && place->block >= next))
			continue;
		content = slots_get_own(model->slots, i);
		if (!content_is_whiteout(content))
			next = place->block;
		content_unref(content);
		if (next == from)
			break;
	}
	return next;
}

bool block_is_there(struct model *model, uint32_t block)
{
	return block_next(model, block) == block;
}

uint32_t block_count_of_base(const struct model *model)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < model->gguf->n_tensors; i++)
		if (block_name(&model->places[i]) && (uint32_t)model->places[i].block >= count)
			count = (uint32_t)model->places[i].block + 1;
	return count;
}

/* Class derived from the tensor's name. The short form of a name does not tell a '.' from a '_',
 * for example in "nextn.eh_proj.weight" or "attn_q.bias". */
static enum organ_class class_by_name(const char *stem, size_t length)
{
	char tensor[NAME_MAX + 32];
	const size_t all =
		(size_t)snprintf(tensor, sizeof(tensor), "blk.0.%.*s.weight", (int)length, stem);
	const size_t bare = all - strlen(".weight");
	char *at = tensor;

	if (anatomy_known(tensor, all))
		return anatomy_class(tensor, all);
	for (; (at = memchr(at, '_', bare - (size_t)(at - tensor))); *at++ = '_') {
		*at = '.';
		if (anatomy_known(tensor, all) || anatomy_known(tensor, bare))
			return anatomy_class(tensor, anatomy_known(tensor, all) ? all : bare);
	}
	return anatomy_class(tensor, all);
}

/* Class of NAME in that block, else in any block, else derived from the name. */
static enum organ_class class_of(const struct model *model, uint32_t block, const char *stem,
				 size_t length)
{
	const uint32_t n = slots_count(model->slots);
	enum organ_class klass = CLASSES;

	for (uint32_t i = 0; i < n; i++) {
		const struct organ_place *place = &model->places[i];
		const char *name = block_name(place);

		if (!name || strlen(name) != length || memcmp(name, stem, length) != 0)
			continue;
		if (place->block == (int32_t)block)
			return place->klass;
		if (klass == CLASSES)
			klass = place->klass;
	}
	return klass == CLASSES ? class_by_name(stem, length) : klass;
}

bool block_class_name(struct model *model, uint32_t block, const char *file,
		      enum organ_class *klass, char name[NAME_MAX + 1])
{
	const char *dot = file[0] == '.' ? "." : "", *ending = strrchr(file, '.');
	const bool slot = !dot[0] && ending && ending > file &&
			  (strcmp(ending, ".bin") == 0 || strcmp(ending, ".theta") == 0);
	const int n = snprintf(name, NAME_MAX + 1, "%s" PREFIX "%" PRIu32 "_%s", dot, block,
			       file + strlen(dot));

	*klass = slot ? class_of(model, block, file, (size_t)(ending - file)) : CLASS_OTHER;
	return n <= NAME_MAX;
}
