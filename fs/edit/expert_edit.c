/* SPDX-License-Identifier: MIT */
/* expert_edit.c - see expert_edit.h. */
#include "fs/edit/expert_edit.h"
#include "fs/base/donor.h"
#include "fs/edit/graft.h"
#include "fs/edit/stage.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "fs/model/slots.h"
#include "fs/storage/view.h"
#include "fs/tensor/expert_slice.h"
#include "fs/tensor/organ_views.h"
#include "fs/util/log.h"
#include "gguf/error.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COPY_CHUNK ((size_t)1 << 20)

/* A slot whose experts are being changed, with its content. */
struct stack {
	struct model *model;
	uint32_t tensor;
	struct content *content;
	struct organ_location located;
	uint32_t n;    /* experts */
	bool said;     /* the refusal is logged already */
	bool moved_on; /* as graft_fill_over() */
	struct stage *stage;
	struct source staged;
};

static int no_such(struct error *err)
{
	return error_set(err, ESTALE, ERROR_NO_OFFSET, "the slot has no such expert any more");
}

/* Get the slot's current content. Grafts, undos, recipes and merges change the slot without
 * experts_lock; graft_fill_over() then sets moved_on. Returns 0, or -ESTALE with err set: the slot
 * has no experts. */
static int locate(struct stack *stack, struct error *err)
{
	stack->moved_on = false;
	content_unref(stack->content);
	stack->content = slots_get_own(stack->model->slots, stack->tensor);
	if (content_is_whiteout(stack->content))
		return no_such(err);
	stack->located = organ_file_locate(stack->model, stack->tensor, stack->content);
	stack->n = organ_file_experts(stack->model, stack->tensor, stack->content);
	return stack->n ? 0 : no_such(err);
}

/* Begin a change: until end(), which must follow even on failure, no other thread changes an expert
 * or the staged bytes. Returns as stage_commit_begin(). */
static int begin(struct stack *stack, struct model *model, uint32_t tensor, struct stage *stage)
{
	pthread_mutex_lock(&model->experts_lock);
	*stack = (struct stack){ .model = model, .tensor = tensor, .stage = stage };
	return stage_commit_begin(stage, &stack->staged);
}

/* End a change with rc; log a failure, with err if set. Returns rc or as stage_commit_keep(). */
static int end(struct stack *stack, const char *change, int rc, const struct error *err)
{
	char path[ORGAN_PATH_MAX];

	content_unref(stack->content);
	pthread_mutex_unlock(&stack->model->experts_lock);
	if (rc < 0 && !stack->said)
		log_add(stack->model->log, "%s: %s refused: %s; the slot keeps its content",
			model_organ_path(stack->model, stack->tensor, path), change,
			err->code ? err->text : strerror(-rc));
	return stage_commit_keep(stack->stage, rc);
}

/* Check that the staged bytes are an organ like slice, and set *skip to the size of its header. */
static int check_slice(const struct source *staged, const struct organ *slice, uint64_t *skip,
		       struct error *err)
{
	char scratch[2][TYPE_NAME_MAX], shapes[2][SHAPE_TEXT_MAX];
	struct organ organ = { 0 };
	int rc = organ_parse(staged, &organ, err);

	*skip = organ.header_size;
	if (rc == 0 && organ.type != slice->type)
		rc = error_set(err, EINVAL, ERROR_NO_OFFSET,
			       "it is %s, but all experts of the stack are %s",
			       type_name(organ.type, scratch[0]),
			       type_name(slice->type, scratch[1]));
	else if (rc == 0 && memcmp(organ.ne, slice->ne, sizeof(organ.ne)) != 0)
		rc = error_set(err, EINVAL, ERROR_NO_OFFSET,
			       "its shape is %s, and that of an expert %s",
			       shape_text(organ.ne, organ.dims, shapes[0]),
			       shape_text(slice->ne, slice->dims, shapes[1]));
	free((char *)organ.name);
	return rc == -EBADMSG ? -EINVAL : rc;
}

static int copy_bytes(const struct source *from, uint64_t at, struct stage *to, uint64_t offset,
		      uint64_t size)
{
	char *bytes = malloc(COPY_CHUNK);
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t done = 0; rc == 0 && done < size; done += COPY_CHUNK) {
		const uint64_t left = size - done;
		const size_t n = left < COPY_CHUNK ? (size_t)left : COPY_CHUNK;

		rc = from->read_at(from->context, bytes, n, at + done);
		if (rc == 0)
			rc = stage_write(to, bytes, n, offset + done);
	}
	free(bytes);
	return rc;
}

/* Put the staged expert into the slot's stack. Returns 0 or -errno; stack->moved_on: try again. */
static int put(struct stack *stack, uint32_t expert, struct error *err)
{
	struct organ_location slice;
	struct stage *whole;
	struct view *view;
	uint64_t skip;
	int rc = locate(stack, err);

	if (rc < 0)
		return rc;
	if (expert >= stack->n)
		return no_such(err);
	slice = expert_slice(&stack->located, expert);
	rc = check_slice(&stack->staged, &slice.organ, &skip, err);
	if (rc < 0)
		return rc;
	view = organ_location_view(&stack->located);
	whole = view ? stage_new(stack->model->layer, view) : NULL;
	view_unref(view);
	rc = whole ? copy_bytes(&stack->staged, skip, whole,
				stack->located.organ.header_size + expert * slice.organ.data_size,
				slice.organ.data_size)
		   : -ENOMEM;
	if (rc == 0) {
		rc = graft_fill_over(stack->model, stack->tensor, stack->content, whole, NULL,
				     &stack->moved_on);
		stack->said = rc < 0 && !stack->moved_on;
	}
	stage_free(whole);
	return rc;
}

int expert_edit_put(struct model *model, uint32_t tensor, uint32_t expert, struct stage *stage)
{
	struct error err = { 0 };
	struct stack stack;
	int rc = begin(&stack, model, tensor, stage);

	if (rc == 0) {
		do
			rc = put(&stack, expert, &err);
		while (stack.moved_on);
	}
	return end(&stack, "an expert is", rc, &err);
}

/* Read the staged order as text, to free. NULL with *rc set. */
static char *read_order(const struct source *staged, int *rc, struct error *err)
{
	const uint64_t size = staged->size;
	char *text = NULL;

	if (size > EXPERT_SLICE_ORDER_MAX) {
		*rc = error_set(err, EINVAL, ERROR_NO_OFFSET,
				"an order cannot be %" PRIu64 " bytes long", size);
		return NULL;
	}
	text = calloc(1, size + 1);
	*rc = text ? staged->read_at(staged->context, text, size, 0) : -ENOMEM;
	if (*rc == 0 && strlen(text) != size)
		*rc = error_set(err, EINVAL, strlen(text), "there is a NUL in the order");
	if (*rc == 0)
		return text;
	free(text);
	return NULL;
}

/* Parse the numbers in text into order, which has room for EXPERT_SLICE_EXPERTS_MAX. */
static int parse_order(const char *text, uint32_t n, uint32_t *order, uint32_t *count,
		       struct error *err)
{
	const char *at = text;

	for (*count = 0;; ++*count) {
		char *after;
		unsigned long number;

		while (isspace((unsigned char)*at))
			at++;
		if (!*at)
			break;
		number = strtoul(at, &after, 10);
		if (!isdigit((unsigned char)*at) || (*after && !isspace((unsigned char)*after)))
			return error_set(err, EINVAL, (uint64_t)(at - text),
					 "the order has a word that is not a number");
		if (number >= n)
			return error_set(err, EINVAL, (uint64_t)(at - text),
					 "there is no expert %lu; they are 0 to %" PRIu32, number,
					 n - 1);
		if (*count == EXPERT_SLICE_EXPERTS_MAX)
			return error_set(err, EINVAL, (uint64_t)(at - text), "more than %u experts",
					 EXPERT_SLICE_EXPERTS_MAX);
		order[*count] = (uint32_t)number;
		at = after;
	}
	return *count ? 0 : error_set(err, EINVAL, ERROR_NO_OFFSET, "the order names no expert");
}

/* View of the stack's organ file with the experts in that order. NULL: out of memory. */
static struct view *arranged(const struct organ_location *stack, const struct organ *organ,
			     const uint32_t *order, uint32_t count)
{
	struct segment *segments = calloc(count + 1u, sizeof(*segments));
	uint8_t *header = malloc(organ->header_size);
	struct view *view = NULL;

	if (segments && header) {
		organ_write_header(organ, header);
		segments[0] = (struct segment){ .kind = SEGMENT_MEMORY,
						.length = organ->header_size,
						.memory = header };
		for (uint32_t i = 0; i < count; i++) {
			const struct organ_location slice = expert_slice(stack, order[i]);

			segments[i + 1] = (struct segment){ .kind = SEGMENT_EXTENT,
							    .length = slice.organ.data_size,
							    .backing = slice.file,
							    .offset = slice.offset };
		}
		view = view_new(segments, count + 1u, header);
		header = NULL;
	}
	free(header);
	free(segments);
	return view;
}

static bool is_as_it_was(const uint32_t *order, uint32_t count, uint32_t n)
{
	bool same = count == n;

	for (uint32_t i = 0; same && i < count; i++)
		same = order[i] == i;
	return same;
}

/* Donor of a reordered stack: that of the stack before, seen by experts. */
static struct donor *donor_of_order(const struct stack *stack)
{
	const struct organ_place *place = &stack->model->places[stack->tensor];
	struct donor *of = stack->content ? donor_ref(stack->content->donor)
					  : donor_from_backing(stack->model->base, place->tensor,
							       place->tensor_length);
	struct donor *donor = donor_from_view(of, organ_view_name(ORGAN_VIEW_EXPERTS));

	donor_unref(of);
	return donor;
}

static int arrange(struct stack *stack, const uint32_t *order, uint32_t count, struct error *err)
{
	struct organ organ;
	struct stage *whole;
	struct view *view;
	struct donor *donor;
	int rc;

	if (is_as_it_was(order, count, stack->n))
		return 0;
	if (!organ_of_slices(&stack->located.organ, count, &organ))
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "the stack would be too large");
	view = arranged(&stack->located, &organ, order, count);
	whole = view ? stage_new(stack->model->layer, view) : NULL;
	view_unref(view);
	donor = donor_of_order(stack);
	rc = whole ? graft_fill_over(stack->model, stack->tensor, stack->content, whole, donor,
				     &stack->moved_on)
		   : -ENOMEM;
	stack->said = whole && rc < 0 && !stack->moved_on;
	donor_unref(donor);
	stage_free(whole);
	return rc;
}

/* Like put(). The numbers in text are those of the slot's current experts. */
static int reorder(struct stack *stack, const char *text, uint32_t *order, struct error *err)
{
	uint32_t count = 0;
	int rc = locate(stack, err);

	if (rc == 0)
		rc = parse_order(text, stack->n, order, &count, err);
	return rc == 0 ? arrange(stack, order, count, err) : rc;
}

int expert_edit_reorder(struct model *model, uint32_t tensor, struct stage *stage)
{
	struct error err = { 0 };
	struct stack stack;
	uint32_t *order = malloc(EXPERT_SLICE_EXPERTS_MAX * sizeof(*order));
	char *text = NULL;
	int rc = begin(&stack, model, tensor, stage);

	if (rc == 0)
		rc = order ? 0 : -ENOMEM;
	if (rc == 0)
		text = read_order(&stack.staged, &rc, &err);
	if (text) {
		do
			rc = reorder(&stack, text, order, &err);
		while (stack.moved_on);
	}
	free(text);
	free(order);
	return end(&stack, "an order of experts is", rc, &err);
}
