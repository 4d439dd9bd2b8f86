/* SPDX-License-Identifier: MIT */
/* nodes.c - see nodes.h. A hash table with chains, doubled when it is full. Nodes that the base has
 * are made for each use and are in no table. */
#include "fs/tree/inodes.h"
#include "fs/assemble/block_metadata.h"
#include "fs/model/inode.h"
#include "fs/model/organ_file.h"
#include "fs/tensor/expert_slice.h"
#include "fs/tensor/organ_views.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct nodes {
	struct model *const *models;
	atomic_uint n_models;
	bool several;
	atomic_uint_fast64_t next_ino; /* of what is the mount's own */
	pthread_mutex_t lock;	       /* protects what follows, and in a node what it says there */
	struct node **chains;
	size_t n_chains; /* a power of two */
	size_t n_nodes;
};

struct nodes *nodes_new(struct model *const *models, uint32_t n, bool several)
{
	struct nodes *nodes = calloc(1, sizeof(*nodes));

	if (!nodes)
		return NULL;
	nodes->models = models;
	atomic_init(&nodes->n_models, n);
	nodes->several = several;
	atomic_init(&nodes->next_ino, INODE_FIRST);
	nodes->n_chains = 64;
	nodes->chains = calloc(nodes->n_chains, sizeof(struct node *));
	if (!nodes->chains) {
		free(nodes);
		return NULL;
	}
	pthread_mutex_init(&nodes->lock, NULL);
	return nodes;
}

void nodes_renewed(struct nodes *nodes, uint32_t n)
{
	atomic_store(&nodes->n_models, n);
}

static void free_node(struct node *node)
{
	content_unref(node->content);
	metadatum_unref(node->metadatum);
	view_unref(node->view);
	stage_free(node->stage);
	free(node);
}

void nodes_free(struct nodes *nodes)
{
	if (!nodes)
		return;
	for (size_t i = 0; i < nodes->n_chains; i++) {
		while (nodes->chains[i]) {
			struct node *next = nodes->chains[i]->next;

			free_node(nodes->chains[i]);
			nodes->chains[i] = next;
		}
	}
	free(nodes->chains);
	pthread_mutex_destroy(&nodes->lock);
	free(nodes);
}

static struct node **find(const struct nodes *nodes, uint64_t ino)
{
	struct node **link = &nodes->chains[ino & (nodes->n_chains - 1)];

	while (*link && (*link)->ino != ino)
		link = &(*link)->next;
	return link;
}

static void grow(struct nodes *nodes)
{
	const size_t n = nodes->n_chains * 2;
	struct node **chains = calloc(n, sizeof(*chains));

	if (!chains)
		return; /* longer chains are slower, and still right */
	for (size_t i = 0; i < nodes->n_chains; i++) {
		while (nodes->chains[i]) {
			struct node *node = nodes->chains[i];

			nodes->chains[i] = node->next;
			node->next = chains[node->ino & (n - 1)];
			chains[node->ino & (n - 1)] = node;
		}
	}
	free(nodes->chains);
	nodes->chains = chains;
	nodes->n_chains = n;
}

/* Has a slot with that content that expert, or experts at all of which there is an order? */
static bool has_expert(const struct model *model, uint32_t tensor, uint32_t part,
		       const struct content *content)
{
	const uint32_t n = files_experts(model, tensor, content);

	return n && (part < n || part == INODE_ORDER);
}

/* What a number in .views says. The experts of a tensor have a directory of the base's also where
 * the tensor was added. */
static bool read_view_number(const struct model *model, uint64_t ino, struct node *node)
{
	const uint64_t index = inode_index(ino);
	const uint32_t n = model->gguf->n_tensors;

	switch (inode_kind(ino)) {
	case INODE_FORM:
		node->kind = index & 0xff ? NODE_FORM_CLASS : NODE_FORM;
		node->part = (uint32_t)(index >> 8);
		node->index = node->kind == NODE_FORM_CLASS ? (uint32_t)(index & 0xff) - 1 : 0;
		return node->part < FORMS && node->index < CLASSES;
	case INODE_FORMED:
		node->part = (uint32_t)(index >> 32);
		node->index = (uint32_t)index;
		node->kind = node->part == FORM_EXPERTS ? NODE_EXPERTS : NODE_FORMED;
		if (node->kind == NODE_EXPERTS)
			return node->index < slots_count(model->slots);
		return node->part < FORMS && node->index < n &&
		       files_has_form(model, node->index, NULL, node->part);
	default:
		node->kind = NODE_EXPERT;
		node->part = (uint32_t)(index & 0xffff);
		node->index = (uint32_t)(index >> 16);
		return node->index < n && has_expert(model, node->index, node->part, NULL);
	}
}

/* What a number of the base's says, for a model that it can be of. False: it stands for nothing. */
static bool read_number(const struct model *model, uint64_t ino, struct node *node)
{
	static const struct {
		enum node_kind kind;
		bool of_tensors;
		bool of_keys;
	} kinds[] = {
		[INODE_MODEL] = { NODE_ROOT, false, false },
		[INODE_CLASS] = { NODE_CLASS, false, false },
		[INODE_ORGAN] = { NODE_ORGAN, true, false },
		[INODE_THETA] = { NODE_THETA, true, false },
		[INODE_BASE] = { NODE_BASE, false, false },
		[INODE_BASE_CLASS] = { NODE_BASE_CLASS, false, false },
		[INODE_BASE_ORGAN] = { NODE_BASE_ORGAN, true, false },
		[INODE_METADATA] = { NODE_METADATA, false, false },
		[INODE_KEY] = { NODE_KEY, false, true },
		[INODE_BASE_METADATA] = { NODE_BASE_METADATA, false, false },
		[INODE_BASE_KEY] = { NODE_BASE_KEY, false, true },
		[INODE_VIEWS] = { NODE_VIEWS, false, false },
	};
	const unsigned kind = inode_kind(ino);
	uint64_t index = inode_index(ino), n = 1;

	if (kind >= INODE_FORM)
		return read_view_number(model, ino, node);
	if (kind == 0 || kind >= sizeof(kinds) / sizeof(kinds[0]))
		return false;
	if (kinds[kind].of_tensors)
		n = model->gguf->n_tensors;
	else if (kinds[kind].of_keys)
		n = model->gguf->n_kv;
	else if (kind == INODE_CLASS || kind == INODE_BASE_CLASS)
		n = CLASSES;
	node->kind = kinds[kind].kind;
	if (kind == INODE_BASE_ORGAN && (index & INODE_BASE_THETA)) {
		node->kind = NODE_THETA;
		index -= INODE_BASE_THETA;
	}
	node->index = (uint32_t)index;
	return index < n;
}

/* Directories are there whoever has the model's place. */
static bool is_directory(uint64_t ino)
{
	switch (inode_kind(ino)) {
	case INODE_ORGAN:
	case INODE_THETA:
	case INODE_BASE_ORGAN:
	case INODE_KEY:
	case INODE_BASE_KEY:
	case INODE_FORMED:
	case INODE_EXPERT:
		return false;
	default:
		return true;
	}
}

static struct node *base_node(const struct nodes *nodes, uint64_t ino)
{
	struct node *node = calloc(1, sizeof(*node));
	const uint32_t number = inode_model(ino);

	if (!node)
		return NULL;
	node->ino = ino;
	node->refs = 1;
	if (number < atomic_load(&nodes->n_models)) {
		node->model = nodes->models[number];
		if (is_directory(ino))
			node->model = model_now(node->model);
	}
	if (ino == INODE_ROOT) {
		node->kind = nodes->several ? NODE_MODELS : NODE_ROOT;
	} else if (!node->model || !read_number(node->model, ino, node)) {
		free(node);
		return NULL;
	}
	node->mtime = is_directory(ino) ? backing_stat(node->model->base)->st_mtim
					: model_time(node->model);
	if (node->kind == NODE_MODELS)
		node->model = NULL;
	return node;
}

struct node *nodes_get(struct nodes *nodes, uint64_t ino)
{
	struct node *node;

	if (ino < INODE_NEW)
		return base_node(nodes, ino);
	pthread_mutex_lock(&nodes->lock);
	node = *find(nodes, ino);
	if (node)
		node->refs++;
	pthread_mutex_unlock(&nodes->lock);
	return node;
}

struct node *nodes_add(struct nodes *nodes, const struct node *made)
{
	struct node *node = malloc(sizeof(*node));
	struct node copy = *made, **link;

	if (!node) {
		content_unref(copy.content);
		metadatum_unref(copy.metadatum);
		view_unref(copy.view);
		stage_free(copy.stage);
		return NULL;
	}
	*node = copy;
	pthread_mutex_lock(&nodes->lock);
	link = find(nodes, made->ino);
	if (*link) {
		/* Two looked up the same graft at once. */
		free_node(node);
		node = *link;
		node->refs++;
	} else {
		node->listed = true;
		node->refs = 1;
		node->next = NULL;
		*link = node;
		if (++nodes->n_nodes > nodes->n_chains)
			grow(nodes);
	}
	pthread_mutex_unlock(&nodes->lock);
	return node;
}

uint64_t nodes_organ_ino(const struct model *model, enum node_kind kind, uint32_t tensor,
			 const struct content *content)
{
	if (kind == NODE_THETA)
		return content ? content->ino | INODE_OF_THETA
			       : inode_of(model->number, INODE_THETA, tensor);
	return content ? content->ino : inode_of(model->number, INODE_ORGAN, tensor);
}

uint64_t nodes_root_ino(const struct nodes *nodes, const struct model *model)
{
	return nodes->several ? inode_of_directory(model, INODE_MODEL, 0) : INODE_ROOT;
}

uint64_t nodes_new_ino(struct nodes *nodes, struct model *model)
{
	if (model)
		return inode_new(model);
	return INODE_NEW | (uint64_t)INODE_MODELS << 44 | atomic_fetch_add(&nodes->next_ino, 1);
}

struct node *nodes_organ(struct nodes *nodes, enum node_kind kind, struct model *model,
			 uint32_t tensor, int *rc)
{
	struct content *content = slots_get(model->slots, tensor);
	const struct node made = { .ino = nodes_organ_ino(model, kind, tensor, content),
				   .kind = kind == NODE_ORGAN && content_is_link(content)
						   ? NODE_LINK
						   : kind,
				   .index = tensor,
				   .model = model,
				   .content = content,
				   .mtime = content ? content->mtime : (struct timespec){ 0 } };

	*rc = content_is_nothing(content) ? -ENOENT : -ENOMEM;
	if (content_is_nothing(content)) {
		content_unref(content);
		return NULL;
	}
	return content ? nodes_add(nodes, &made) : base_node(nodes, made.ino);
}

uint64_t nodes_made_ino(struct model *model, enum node_kind kind, uint32_t tensor, uint32_t part,
			struct content *content)
{
	const bool formed = kind == NODE_FORMED;
	uint32_t n;

	if (!content)
		return formed ? inode_of_formed(model, part, tensor)
			      : inode_of_expert(model, tensor, part);
	n = files_experts(model, tensor, content);
	return inode_of_made(model, content, FORMS + n + 1) +
	       (formed ? part : FORMS + (part < n ? part : n));
}

struct node *nodes_made(struct nodes *nodes, enum node_kind kind, struct model *model,
			uint32_t tensor, uint32_t part, int *rc)
{
	struct content *content = slots_get(model->slots, tensor);
	struct node made = {
		.kind = kind, .index = tensor, .part = part, .model = model, .content = content
	};
	const bool there = kind == NODE_FORMED ? files_has_form(model, tensor, content, part)
					       : has_expert(model, tensor, part, content);

	*rc = there ? -ENOMEM : -ENOENT;
	if (!there) {
		content_unref(content);
		return NULL;
	}
	made.ino = nodes_made_ino(model, kind, tensor, part, content);
	if (!content)
		return base_node(nodes, made.ino);
	made.mtime = content->mtime;
	return nodes_add(nodes, &made);
}

struct node *nodes_key(struct nodes *nodes, struct model *model, uint32_t i, int *rc)
{
	struct node made = { .kind = NODE_KEY, .index = i, .model = model };
	struct metadatum *metadatum;

	follow_show(model);
	metadatum = metadata_get(model->metadata, i, rc);
	if (!metadatum)
		return NULL;
	*rc = -ENOMEM;
	made.ino = metadatum_ino(metadatum);
	if (made.ino == 0) {
		metadatum_unref(metadatum);
		return base_node(nodes, inode_of(model->number, INODE_KEY, i));
	}
	made.metadatum = metadatum;
	made.mtime = metadatum_mtime(metadatum);
	return nodes_add(nodes, &made);
}

struct metadatum *nodes_metadatum(const struct node *node)
{
	int rc;

	return node->metadatum ? metadatum_ref(node->metadatum)
			       : metadata_base(node->model->metadata, node->index, &rc);
}

void nodes_told(struct nodes *nodes, struct node *node)
{
	if (!node->listed)
		return;
	pthread_mutex_lock(&nodes->lock);
	node->refs++;
	pthread_mutex_unlock(&nodes->lock);
}

static void release(struct nodes *nodes, uint64_t ino, uint64_t times)
{
	struct node **link, *node;

	pthread_mutex_lock(&nodes->lock);
	link = find(nodes, ino);
	node = *link;
	if (node) {
		node->refs -= times < node->refs ? times : node->refs;
		if (node->refs == 0) {
			*link = node->next;
			nodes->n_nodes--;
		} else {
			node = NULL;
		}
	}
	pthread_mutex_unlock(&nodes->lock);
	if (node)
		free_node(node);
}

void nodes_forget(struct nodes *nodes, uint64_t ino, uint64_t times)
{
	if (ino >= INODE_NEW)
		release(nodes, ino, times);
}

void nodes_put(struct nodes *nodes, struct node *node)
{
	if (!node)
		return;
	if (node->listed)
		release(nodes, node->ino, 1);
	else
		free_node(node);
}

/* What the slot holds that the node shows, as it is or in a form. */
static struct donor *donor_of_node(const struct node *node)
{
	const struct organ_place *place = &node->model->places[node->index];

	return node->content
		       ? donor_ref(node->content->donor)
		       : donor_of_backing(node->model->base, place->tensor, place->tensor_length);
}

struct donor *nodes_donor(void *context, uint64_t ino, uint64_t *size)
{
	struct nodes *nodes = context;
	struct node *node = nodes_get(nodes, ino);
	struct donor *donor = NULL;

	/* What is being written is not where it comes from. */
	*size = UINT64_MAX;
	if (node && (node->kind == NODE_ORGAN || node->kind == NODE_BASE_ORGAN)) {
		*size = files_organ_size(node->model, node->index, node->content);
		donor = donor_of_node(node);
	} else if (node && node->kind == NODE_FORMED) {
		const struct organ organ = model_organ(node->model, node->index, node->content);
		struct donor *of = donor_of_node(node);

		*size = form_size(node->part, &organ);
		donor = donor_of_view(of, form_name(node->part));
		donor_unref(of);
	}
	nodes_put(nodes, node);
	return donor;
}
