/* SPDX-License-Identifier: MIT */
/* merge_plan_documents.c - see merge_plan_internal.h: a document of the configuration as a model of
 * another document. The document is planned as a merge by itself, for the host that it names, and
 * its result is laid out as a GGUF whose bytes are computed by each read. */
#include "fs/merge/merge_plan.h"
#include "fs/merge/merge_plan_internal.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "gguf/layout.h"
#include "gguf/organ.h"

#include <stdlib.h>
#include <string.h>

static int check_used(const struct planner *result)
{
	const struct merge_config *config = result->config;

	for (size_t i = 0; i < config->n_documents; i++)
		if (!result->plan->documents || !result->plan->documents[i].base.gguf)
			return plan_refuse(result, &config->documents[i],
					   "\"%.80s\" is no model of another document: write it "
					   "to a file of its own",
					   config->documents[i].name);
	return 0;
}

/* Open a model for a document. The caller's function parses no GGUF if the model is the mounted
 * one, because that is already parsed; a document needs the GGUF, since its host may be another. */
static int open_parsed(void *context, const char *written, struct base *base, char **path,
		       struct error *err)
{
	const struct merge_plan_params *params = context;
	int rc = params->open(params->context, written, base, path, err);

	if (rc == 0 && !base->gguf) {
		const struct source source = backing_source(base->file);

		base->gguf = gguf_read(&source, err);
		rc = base->gguf ? 0 : -err->code;
	}
	return rc;
}

/* Open the host of a document, the model whose metadata and shape its result has. The caller closes
 * opened. */
static int open_form(struct planner *inner, const struct plan_model *at, struct base *opened)
{
	const char *written = merge_config_host(inner->config);
	const struct merge_config *document = merge_config_document(inner->result->config, written);
	const struct merge_document *made;
	const struct base *host = opened;
	struct error why = { 0 };
	char *path = NULL;
	int rc;

	if (document) {
		rc = plan_open_document(inner, document, at, &made);
		host = rc == 0 ? &made->base : host;
	} else {
		rc = inner->params->open(inner->params->context, written, opened, &path, &why);
		free(path);
		if (rc < 0)
			error_set(inner->err, -rc, ERROR_NO_OFFSET, "line %zu, column %zu: %.255s",
				  at->line, at->column, why.text);
	}
	inner->host.file = host->file;
	inner->host.gguf = host->gguf;
	return rc;
}

/* The result. */

/* Data of a tensor of the result that is not the host's. */
struct document_part {
	struct organ organ;
	struct backing *file; /* with a reference */
	uint64_t offset;
};

static int find_part(const struct planner *planner, const struct gguf *host,
		     const struct merge_plan_tensor *tensor, struct document_part *part,
		     struct layout_slot *slot)
{
	struct merge_tensor rows = tensor->tensor;
	const struct merge_tensor *kept;

	slot->fill = tensor->made == MERGE_AS_HOST ? FILL_BASE
		     : tensor->made == MERGE_GONE  ? FILL_NOTHING
						   : FILL_ORGAN;
	if (slot->fill != FILL_ORGAN)
		return 0;
	slot->organ = &part->organ;
	if (!merge_plan_organ(host, tensor, &part->organ))
		return error_set(planner->err, EINVAL, ERROR_NO_OFFSET, "%.100s would be too large",
				 tensor->name);
	rows.name = tensor->name;
	rows.name_length = tensor->length;
	if (tensor->made == MERGE_AS_MODEL) {
		part->file = backing_ref(rows.inputs[0].file);
		part->offset = rows.inputs[0].offset;
	} else {
		part->file = merge_tensor_new(&rows, &kept);
	}
	return part->file ? 0 : plan_out_of_memory(planner);
}

static struct view *view_of_layout(struct layout *layout, struct backing *host,
				   const struct document_part *parts)
{
	struct segment *segments = calloc(layout->n_pieces + 1, sizeof(*segments));
	struct view *view;

	for (size_t i = 0; segments && i < layout->n_pieces; i++) {
		const struct piece *piece = &layout->pieces[i];
		const struct document_part *part =
			piece->kind == PIECE_GRAFT ? &parts[piece->slot] : NULL;

		segments[i] = segment_of_piece(piece, layout, part ? part->file : host,
					       part ? part->offset : piece->offset);
	}
	view = segments ? view_new(segments, layout->n_pieces, layout->header) : NULL;
	if (segments)
		layout->header = NULL;
	free(segments);
	return view;
}

static int read_view(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		     const atomic_bool *stop)
{
	const ssize_t got = view_read_with(context, flags, bytes, n, offset, stop);

	return got < 0 ? (int)got : (size_t)got == n ? 0 : -EIO;
}

static void release_view(void *context)
{
	view_unref(context);
}

static int open_layout(const struct planner *planner, struct layout *layout,
		       const struct plan_model *host, const struct document_part *parts,
		       struct base *base)
{
	/* Device and inode are 0, so that the result is never taken for the host's file. */
	const struct stat stat = { .st_mode = S_IFREG | 0444,
				   .st_size = (off_t)layout->size,
				   .st_mtim = backing_stat(host->file)->st_mtim };
	struct backing_ops ops = { .read = read_view, .release = release_view, .computed = true };
	/* Tensor data may need passes over whole models. */
	struct backing_head head = { .end = layout->data_offset };
	const struct source source = { backing_head_read, &head, layout->size };

	ops.context = view_of_layout(layout, host->file, parts);
	if (ops.context)
		base->file = backing_from_ops(&ops, backing_path(host->file), &stat);
	if (!base->file)
		return plan_out_of_memory(planner);
	head.file = base->file;
	base->gguf = gguf_read(&source, planner->err);
	return base->gguf ? 0 : -planner->err->code;
}

static int open_result(const struct planner *planner, const struct merge_plan *plan,
		       const struct plan_model *host, struct base *base)
{
	struct document_part *parts = calloc(plan->n + 1, sizeof(*parts));
	struct layout_slot *slots = calloc(plan->n + 1, sizeof(*slots));
	struct layout layout = { 0 };
	int rc = parts && slots ? 0 : plan_out_of_memory(planner);

	for (size_t i = 0; rc == 0 && i < plan->n; i++)
		rc = find_part(planner, host->gguf, &plan->tensors[i], &parts[i], &slots[i]);
	if (rc == 0)
		rc = layout_build(host->gguf, slots, (uint32_t)plan->n, NULL, &layout,
				  planner->err);
	if (rc == 0) {
		rc = open_layout(planner, &layout, host, parts, base);
		layout_release(&layout);
	}
	for (size_t i = 0; parts && i < plan->n; i++)
		backing_unref(parts[i].file);
	free(parts);
	free(slots);
	return rc;
}

/* Files. */

static bool is_known(const struct merge_plan *plan, const char *written)
{
	bool known = false;

	for (size_t i = 0; !known && i < plan->n_models + plan->n_inner; i++)
		known = strcmp(plan->models[i].written, written) == 0;
	return known;
}

/* Move the open models of a document's plan that the result does not name into the result's plan,
 * whose layer, recipe and checks list them. */
static int take_files(const struct planner *result, struct merge_plan *of,
		      const struct plan_model *at)
{
	struct merge_plan *plan = result->plan;

	for (size_t i = 0; i < of->n_files; i++) {
		struct merge_model *file = of->files[i];
		int rc;

		if (is_known(plan, file->written))
			continue;
		if (plan->n_models + plan->n_inner == PLAN_MODELS_MAX)
			return plan_refuse(result, at, "at most %zu models are opened for a merge",
					   PLAN_MODELS_MAX);
		file->is_host = plan_is_host(result, &file->base);
		rc = plan_fingerprint(result, file, at);
		if (rc < 0)
			return rc;
		if (file->is_host)
			file->fingerprint[0] = '\0';
		plan->models[plan->n_models + plan->n_inner++] = *file;
		file->base = (struct base){ .file = NULL };
		file->path = NULL;
	}
	return 0;
}

int plan_list_files(struct planner *planner)
{
	struct merge_plan *plan = planner->plan;
	const size_t n = plan->n_models + plan->n_inner;

	plan->files = calloc(n + 1, sizeof(struct merge_model *));
	if (!plan->files)
		return plan_out_of_memory(planner);
	for (size_t i = 0; i < n; i++)
		if (!plan->models[i].is_document)
			plan->files[plan->n_files++] = &plan->models[i];
	return planner->outer ? 0 : check_used(planner);
}

/* Plan a document and open its result. */
static int plan_anew(struct planner *planner, const struct merge_config *document,
		     const struct plan_model *at, struct merge_document *opened)
{
	struct merge_plan_params params = *planner->params;
	struct planner inner = { .config = document,
				 .params = &params,
				 .outer = planner,
				 .result = planner->result,
				 .reads = 1,
				 .err = planner->err };
	struct merge_plan *plan = NULL;
	struct plan_model host;
	struct base file = { .file = NULL };
	int rc;

	params.open = open_parsed;
	params.context = (void *)planner->params;
	rc = open_form(&inner, at, &file);
	host = inner.host;
	params.host = host.file;
	params.gguf = host.gguf;
	if (rc == 0) {
		plan = plan_make(&inner);
		rc = plan ? open_result(planner, plan, &host, &opened->base) : -planner->err->code;
	}
	if (rc == 0)
		rc = take_files(planner->result, plan, at);
	opened->reads = inner.reads;
	merge_plan_free(plan);
	base_close(&file);
	return rc;
}

int plan_open_document(struct planner *planner, const struct merge_config *document,
		       const struct plan_model *at, const struct merge_document **made)
{
	const struct merge_config *result = planner->result->config;
	struct merge_plan *plan = planner->result->plan;
	struct merge_document *opened;

	for (const struct planner *outer = planner; outer; outer = outer->outer)
		if (outer->config == document)
			return plan_refuse(planner, at, "\"%.80s\" is made of itself",
					   document->name);
	if (!plan->documents &&
	    !(plan->documents = calloc(result->n_documents, sizeof(*plan->documents))))
		return plan_out_of_memory(planner);
	plan->n_documents = result->n_documents;
	opened = &plan->documents[document - result->documents];
	*made = opened;
	return opened->base.gguf ? 0 : plan_anew(planner, document, at, opened);
}
