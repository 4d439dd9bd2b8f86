/* SPDX-License-Identifier: MIT */
/* inodes.c - see inodes.h. A hash table with chains, doubled when full. Inodes of the base are
 * allocated for each use and in no table. */
#include "fs/tree/inodes.h"
#include "fs/assemble/block_metadata.h"
#include "fs/base/donor.h"
#include "fs/edit/stage.h"
#include "fs/metadata/metadata.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/tensor/organ_views.h"
#include "fs/tree/family.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct inodes {
	struct model *const *models;
	atomic_uint n_models;
	bool several;
	atomic_uint_fast64_t next_ino; /* for the mount's own files */
	pthread_mutex_t lock; /* protects the fields below, and those of the table in inodes */
	struct inode **chains;
	size_t n_chains; /* a power of two */
	size_t n_inodes;
};

struct inodes *inodes_new(struct model *const *models, uint32_t n, bool several)
{
	struct inodes *inodes = calloc(1, sizeof(*inodes));

	if (!inodes)
		return NULL;
	inodes->models = models;
	atomic_init(&inodes->n_models, n);
	inodes->several = several;
	atomic_init(&inodes->next_ino, INODE_FIRST);
	inodes->n_chains = 64;
	inodes->chains = calloc(inodes->n_chains, sizeof(struct inode *));
	if (!inodes->chains) {
		free(inodes);
		return NULL;
	}
	pthread_mutex_init(&inodes->lock, NULL);
	return inodes;
}

void inodes_set_models(struct inodes *inodes, uint32_t n)
{
	atomic_store(&inodes->n_models, n);
}

static void free_inode(struct inode *inode)
{
	content_unref(inode->content);
	metadata_entry_unref(inode->metadatum);
	view_unref(inode->view);
	stage_free(inode->stage);
	free(inode);
}

void inodes_free(struct inodes *inodes)
{
	if (!inodes)
		return;
	for (size_t i = 0; i < inodes->n_chains; i++) {
		while (inodes->chains[i]) {
			struct inode *next = inodes->chains[i]->next;

			free_inode(inodes->chains[i]);
			inodes->chains[i] = next;
		}
	}
	free(inodes->chains);
	pthread_mutex_destroy(&inodes->lock);
	free(inodes);
}

static struct inode **find(const struct inodes *inodes, uint64_t ino)
{
	struct inode **link = &inodes->chains[ino & (inodes->n_chains - 1)];

	while (*link && (*link)->ino != ino)
		link = &(*link)->next;
	return link;
}

static void grow(struct inodes *inodes)
{
	const size_t n = inodes->n_chains * 2;
	struct inode **chains = calloc(n, sizeof(*chains));

	if (!chains)
		return; /* chains only get longer */
	for (size_t i = 0; i < inodes->n_chains; i++) {
		while (inodes->chains[i]) {
			struct inode *inode = inodes->chains[i];

			inodes->chains[i] = inode->next;
			inode->next = chains[inode->ino & (n - 1)];
			chains[inode->ino & (n - 1)] = inode;
		}
	}
	free(inodes->chains);
	inodes->chains = chains;
	inodes->n_chains = n;
}

/* Has the content that expert, or for INODE_ORDER any experts? */
static bool has_expert(const struct model *model, uint32_t tensor, uint32_t part,
		       const struct content *content)
{
	const uint32_t n = organ_file_experts(model, tensor, content);

	return n && (part < n || part == INODE_ORDER);
}

/* Decode a number of .views. False: no such file. An added tensor's directory of experts has a
 * number of the base's kind too. */
static bool read_view_number(const struct model *model, uint64_t ino, struct inode *inode)
{
	const uint64_t index = inode_index(ino);
	const uint32_t n = model->gguf->n_tensors;

	switch (inode_kind(ino)) {
	case INODE_VIEW_DIR:
		inode->part = (uint32_t)(index >> 8);
		inode->family = index & 0xff			  ? FAMILY_FORM_CLASS
				: inode->part == ORGAN_VIEW_TYPES ? FAMILY_TYPES
								  : FAMILY_FORM;
		inode->index =
			inode->family == FAMILY_FORM_CLASS ? (uint32_t)(index & 0xff) - 1 : 0;
		return (inode->family == FAMILY_TYPES || organ_view_name(inode->part)) &&
		       inode->index < CLASSES;
	case INODE_VIEW_FILE:
		inode->part = (uint32_t)(index >> 32);
		inode->index = (uint32_t)index;
		inode->family = inode->part == ORGAN_VIEW_EXPERTS ? FAMILY_EXPERTS : FAMILY_FORMED;
		if (inode->part == ORGAN_VIEW_EXPERTS)
			return inode->index < slots_count(model->slots);
		return organ_view_name(inode->part) && inode->index < n &&
		       organ_file_has_view(model, inode->index, NULL, inode->part);
	default:
		inode->family = FAMILY_EXPERT;
		inode->part = (uint32_t)(index & 0xffff);
		inode->index = (uint32_t)(index >> 16);
		return inode->index < n && has_expert(model, inode->index, inode->part, NULL);
	}
}

/* Decode the number of a directory beside .base. False: no such directory. */
static bool read_directory_number(uint64_t index, struct inode *inode)
{
	const uint32_t mask = (1u << INODE_BLOCK_SHIFT) - 1;

	if (index & INODE_BLOCK) {
		inode->family = FAMILY_BLOCK;
		inode->index = (uint32_t)index & mask;
		inode->part = (uint32_t)(index >> INODE_BLOCK_SHIFT) & mask;
		return true;
	}
	inode->family = index == INODE_BLOCKS ? FAMILY_BLOCKS : FAMILY_DIFFS;
	return index == INODE_BLOCKS || index == INODE_DIFFS;
}

/* Decode a number of the base's, for the model in it. False: no such file. */
static bool read_number(const struct model *model, uint64_t ino, struct inode *inode)
{
	static const struct {
		enum family_number family;
		bool of_tensors, of_keys;
	} kinds[] = {
		[INODE_MODEL] = { FAMILY_ROOT, false, false },
		[INODE_CLASS] = { FAMILY_CLASS, false, false },
		[INODE_ORGAN] = { FAMILY_ORGAN, true, false },
		[INODE_THETA] = { FAMILY_THETA, true, false },
		[INODE_BASE] = { FAMILY_BASE, false, false },
		[INODE_BASE_CLASS] = { FAMILY_BASE_CLASS, false, false },
		[INODE_BASE_ORGAN] = { FAMILY_BASE_ORGAN, true, false },
		[INODE_METADATA] = { FAMILY_METADATA, false, false },
		[INODE_KEY] = { FAMILY_KEY, false, true },
		[INODE_BASE_METADATA] = { FAMILY_BASE_METADATA, false, false },
		[INODE_BASE_KEY] = { FAMILY_BASE_KEY, false, true },
		[INODE_VIEWS] = { FAMILY_VIEWS, false, false },
	};
	const unsigned kind = inode_kind(ino);
	uint64_t index = inode_index(ino), n = 1;

	if (kind >= INODE_VIEW_DIR)
		return read_view_number(model, ino, inode);
	if (kind == 0 || kind >= sizeof(kinds) / sizeof(kinds[0]))
		return false;
	if (kinds[kind].of_tensors)
		n = model->gguf->n_tensors;
	else if (kinds[kind].of_keys)
		n = model->gguf->n_kv;
	else if (kind == INODE_CLASS || kind == INODE_BASE_CLASS)
		n = CLASSES;
	if (kind == INODE_BASE && index)
		return read_directory_number(index, inode);
	inode->family = kinds[kind].family;
	if (kind == INODE_VIEWS && index == INODE_SHARDS) {
		inode->family = FAMILY_SHARDS;
		return true;
	}
	if (kind == INODE_BASE_ORGAN && (index & INODE_BASE_THETA)) {
		inode->family = FAMILY_THETA;
		index -= INODE_BASE_THETA;
	}
	inode->index = (uint32_t)index;
	return index < n;
}

/* Is it a directory's number? Directories stay when another model takes the place of theirs. */
static bool is_directory(uint64_t ino)
{
	const unsigned files = 1u << INODE_ORGAN | 1u << INODE_THETA | 1u << INODE_BASE_ORGAN |
			       1u << INODE_KEY | 1u << INODE_BASE_KEY | 1u << INODE_VIEW_FILE |
			       1u << INODE_EXPERT;

	return !(files >> inode_kind(ino) & 1);
}

static struct inode *base_inode(const struct inodes *inodes, uint64_t ino)
{
	struct inode *inode = calloc(1, sizeof(*inode));
	const uint32_t number = inode_model(ino);

	if (!inode)
		return NULL;
	inode->ino = ino;
	inode->refs = 1;
	if (number < atomic_load(&inodes->n_models)) {
		inode->model = inodes->models[number];
		if (is_directory(ino))
			inode->model = model_latest(inode->model);
	}
	if (ino == INODE_ROOT) {
		inode->family = inodes->several ? FAMILY_MODELS : FAMILY_ROOT;
	} else if (!inode->model || !read_number(inode->model, ino, inode)) {
		free(inode);
		return NULL;
	}
	inode->mtime = is_directory(ino) ? backing_stat(inode->model->base)->st_mtim
					 : model_time(inode->model);
	if (inode->family == FAMILY_MODELS)
		inode->model = NULL;
	return inode;
}

struct inode *inodes_get(struct inodes *inodes, uint64_t ino)
{
	struct inode *inode;

	if (ino < INODE_NEW)
		return base_inode(inodes, ino);
	pthread_mutex_lock(&inodes->lock);
	inode = *find(inodes, ino);
	if (inode)
		inode->refs++;
	pthread_mutex_unlock(&inodes->lock);
	return inode;
}

struct inode *inodes_add(struct inodes *inodes, const struct inode *made)
{
	struct inode *inode = malloc(sizeof(*inode));
	struct inode copy = *made, **link;

	if (!inode) {
		content_unref(copy.content);
		metadata_entry_unref(copy.metadatum);
		view_unref(copy.view);
		stage_free(copy.stage);
		return NULL;
	}
	*inode = copy;
	pthread_mutex_lock(&inodes->lock);
	link = find(inodes, made->ino);
	if (*link) {
		/* Another thread looked up the same graft at the same time. */
		free_inode(inode);
		inode = *link;
		inode->refs++;
	} else {
		inode->listed = true;
		inode->refs = 1;
		inode->next = NULL;
		*link = inode;
		if (++inodes->n_inodes > inodes->n_chains)
			grow(inodes);
	}
	pthread_mutex_unlock(&inodes->lock);
	return inode;
}

uint64_t inodes_organ_ino(const struct model *model, enum family_number family, uint32_t tensor,
			  const struct content *content)
{
	if (family == FAMILY_THETA)
		return content ? content->ino | INODE_OF_THETA
			       : inode_of(model->number, INODE_THETA, tensor);
	return content ? content->ino : inode_of(model->number, INODE_ORGAN, tensor);
}

uint64_t inodes_root_ino(const struct inodes *inodes, const struct model *model)
{
	return inodes->several ? inode_of_directory(model, INODE_MODEL, 0) : INODE_ROOT;
}

uint64_t inodes_new_ino(struct inodes *inodes, struct model *model)
{
	if (model)
		return inode_new(model);
	return INODE_NEW | (uint64_t)INODE_MODELS << 44 | atomic_fetch_add(&inodes->next_ino, 1);
}

struct inode *inodes_organ(struct inodes *inodes, enum family_number family, struct model *model,
			   uint32_t tensor, int *rc)
{
	struct content *content = slots_get(model->slots, tensor);
	const struct inode made = { .ino = inodes_organ_ino(model, family, tensor, content),
				    .family = family == FAMILY_ORGAN && content_is_link(content)
						      ? FAMILY_LINK
						      : family,
				    .index = tensor,
				    .model = model,
				    .content = content,
				    .mtime = content ? content->mtime : (struct timespec){ 0 } };

	*rc = content_is_whiteout(content) ? -ENOENT : -ENOMEM;
	if (content_is_whiteout(content)) {
		content_unref(content);
		return NULL;
	}
	return content ? inodes_add(inodes, &made) : base_inode(inodes, made.ino);
}

uint64_t inodes_computed_ino(struct model *model, enum family_number family, uint32_t tensor,
			     uint32_t part, struct content *content)
{
	const bool formed = family == FAMILY_FORMED;
	uint32_t n;

	if (!content)
		return formed ? inode_of_view_file(model, part, tensor)
			      : inode_of_expert(model, tensor, part);
	n = organ_file_experts(model, tensor, content);
	return inode_of_generated(model, content, ORGAN_VIEW_FORMS + n + 1) +
	       (formed ? part : ORGAN_VIEW_FORMS + (part < n ? part : n));
}

struct inode *inodes_computed(struct inodes *inodes, enum family_number family, struct model *model,
			      uint32_t tensor, uint32_t part, int *rc)
{
	struct content *content = slots_get(model->slots, tensor);
	struct inode made = {
		.family = family, .index = tensor, .part = part, .model = model, .content = content
	};
	const bool there = family == FAMILY_FORMED
				   ? organ_file_has_view(model, tensor, content, part)
				   : has_expert(model, tensor, part, content);

	*rc = there ? -ENOMEM : -ENOENT;
	if (!there) {
		content_unref(content);
		return NULL;
	}
	made.ino = inodes_computed_ino(model, family, tensor, part, content);
	if (!content)
		return base_inode(inodes, made.ino);
	made.mtime = content->mtime;
	return inodes_add(inodes, &made);
}

struct inode *inodes_key(struct inodes *inodes, struct model *model, uint32_t i, int *rc)
{
	struct inode made = { .family = FAMILY_KEY, .index = i, .model = model };
	struct metadata_entry *metadatum;

	block_metadata_show(model);
	metadatum = metadata_get(model->metadata, i, rc);
	if (!metadatum)
		return NULL;
	*rc = -ENOMEM;
	made.ino = metadata_entry_ino(metadatum);
	if (made.ino == 0) {
		metadata_entry_unref(metadatum);
		return base_inode(inodes, inode_of(model->number, INODE_KEY, i));
	}
	made.metadatum = metadatum;
	made.mtime = metadata_entry_mtime(metadatum);
	return inodes_add(inodes, &made);
}

struct metadata_entry *inodes_metadatum(const struct inode *inode)
{
	int rc;

	return inode->metadatum ? metadata_entry_ref(inode->metadatum)
				: metadata_get_as(inode->model->metadata, METADATA_OF_BASE,
						  inode->index, &rc);
}

void inodes_count_lookup(struct inodes *inodes, struct inode *inode)
{
	if (!inode->listed)
		return;
	pthread_mutex_lock(&inodes->lock);
	inode->refs++;
	pthread_mutex_unlock(&inodes->lock);
}

static void release(struct inodes *inodes, uint64_t ino, uint64_t times)
{
	struct inode **link, *inode;

	pthread_mutex_lock(&inodes->lock);
	link = find(inodes, ino);
	inode = *link;
	if (inode) {
		inode->refs -= times < inode->refs ? times : inode->refs;
		if (inode->refs == 0) {
			*link = inode->next;
			inodes->n_inodes--;
		} else {
			inode = NULL;
		}
	}
	pthread_mutex_unlock(&inodes->lock);
	if (inode)
		free_inode(inode);
}

void inodes_forget(struct inodes *inodes, uint64_t ino, uint64_t times)
{
	if (ino >= INODE_NEW)
		release(inodes, ino, times);
}

void inodes_put(struct inodes *inodes, struct inode *inode)
{
	if (!inode)
		return;
	if (inode->listed)
		release(inodes, inode->ino, 1);
	else
		free_inode(inode);
}

/* Donor of the organ that the inode shows, unchanged or in a form. */
static struct donor *donor_of_inode(const struct inode *inode)
{
	const struct organ_place *place = &inode->model->places[inode->index];

	return inode->content ? donor_ref(inode->content->donor)
			      : donor_from_backing(inode->model->base, place->tensor,
						   place->tensor_length);
}

struct donor *inodes_donor(void *context, uint64_t ino, uint64_t *size)
{
	struct inodes *inodes = context;
	struct inode *inode = inodes_get(inodes, ino);
	struct donor *donor = NULL;

	/* A file being written is no donor. */
	*size = UINT64_MAX;
	if (inode && family_of(inode)->is_organ) {
		*size = organ_file_size(inode->model, inode->index, inode->content);
		donor = donor_of_inode(inode);
	} else if (inode && inode->family == FAMILY_FORMED) {
		const struct organ organ = model_organ(inode->model, inode->index, inode->content);
		struct donor *of = donor_of_inode(inode);
		const bool same = organ_view_organ(inode->part, &organ).type == organ.type &&
				  inode->part > ORGAN_VIEW_TYPES;

		*size = organ_view_size(inode->part, &organ);
		/* A view in the organ's own type has the organ's bytes. An organ made from another
		 * view has no donor from which this view could be computed again. */
		if (same)
			donor = donor_ref(of);
		else if (of && !donor_view(of))
			donor = donor_from_view(of, organ_view_name(inode->part));
		donor_unref(of);
	}
	inodes_put(inodes, inode);
	return donor;
}
