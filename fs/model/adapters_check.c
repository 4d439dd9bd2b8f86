/* SPDX-License-Identifier: MIT */
/* adapters_check.c - see adapters.h: checks that an organ can be half of a low-rank pair, and that
 * a GGUF is an adapter for the model. */
#include "fs/base/basis.h"
#include "fs/model/adapters_internal.h"
#include "fs/model/model.h"
#include "fs/storage/backing.h"
#include "gguf/control_vector.h"
#include "gguf/error.h"
#include "gguf/importance.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The organ in a slot, under the slot's tensor name: the organ's own name may be another. */
static struct organ organ_at(struct model *model, uint32_t slot)
{
	struct content *content = slots_get_own(model->slots, slot);
	const struct content *held = content_is_whiteout(content) ? NULL : content;
	struct organ organ = { .name = NULL };

	if (held || slot < model->gguf->n_tensors)
		organ = model_organ(model, slot, held);
	organ.name = model->places[slot].tensor;
	organ.name_length = model->places[slot].tensor_length;
	content_unref(content);
	return organ;
}

static int check_half(struct model *model, const char *tensor, size_t length, const struct organ *a,
		      const struct organ *b, struct error *err)
{
	struct organ target;
	uint32_t slot;
	size_t n;

	if (pair_half(tensor, length, &n) == PAIR_NONE)
		return error_set(
			err, EINVAL, ERROR_NO_OFFSET,
			"%.100s is not half of a low-rank pair: it would be named NAME.lora_a or "
			"NAME.lora_b",
			tensor);
	if (!adapters_target(model, tensor, length, &slot))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the model has no tensor %.*s for the half to change",
				 (int)(n < 100 ? n : 100), tensor);
	target = organ_at(model, slot);
	return pair_fits(&target, a, b, err);
}

int adapters_check(struct model *model, const char *tensor, size_t length,
		   const struct organ *organ, struct error *err)
{
	size_t target;
	const enum pair_half half = pair_half(tensor, length, &target);
	struct content *other = half == PAIR_NONE ? NULL
						  : adapters_half(model, tensor, target,
								  half == PAIR_A ? PAIR_B : PAIR_A);
	const struct organ *partner = other && !other->broken ? &other->organ : NULL;
	const int rc = half == PAIR_B ? check_half(model, tensor, length, partner, organ, err)
				      : check_half(model, tensor, length, organ, partner, err);

	content_unref(other);
	return rc;
}

/* Read the value of a key, a text of up to 64 bytes. Returns its length, or -1 if the key has no
 * such value. */
static int text_of(const struct gguf *gguf, const struct source *source, const char *key,
		   char text[64])
{
	const struct kv *kv = gguf_find(gguf, key);

	if (!kv || kv->type != KV_STRING || kv->length > 64 ||
	    source->read_at(source->context, text, (size_t)kv->length, kv->offset) < 0)
		return -1;
	return (int)kv->length;
}

/* Is the key missing, or is its value this text? */
static bool says(const struct gguf *gguf, const struct source *source, const char *key,
		 const char *value)
{
	char text[64];
	const int n = text_of(gguf, source, key, text);

	return !gguf_find(gguf, key) ||
	       (n == (int)strlen(value) && memcmp(text, value, strlen(value)) == 0);
}

/* Do the two architectures agree? An unknown architecture agrees with any. */
static bool same_architecture(const struct model *model, const struct gguf *gguf,
			      const struct source *source)
{
	const struct source base = backing_source(model->base);
	char theirs[64], ours[64];
	const int n = text_of(gguf, source, "general.architecture", theirs);
	const int m = text_of(model->gguf, &base, "general.architecture", ours);

	return n < 0 || m < 0 || (n == m && memcmp(theirs, ours, (size_t)n) == 0);
}

/* The tensor that is the other half of t's pair. NULL: the file has none. */
static const struct gguf_tensor *partner_of(const struct gguf *gguf, const struct gguf_tensor *t)
{
	char *name = strndup(t->name, t->name_length);
	const struct gguf_tensor *other = NULL;

	if (name && strlen(name) == t->name_length) {
		name[t->name_length - 1] = name[t->name_length - 1] == 'a' ? 'b' : 'a';
		other = gguf_tensor(gguf, name, t->name_length);
	}
	free(name);
	return other;
}

static int check_pair(struct model *model, const struct gguf *gguf, const struct gguf_tensor *t,
		      struct error *err)
{
	const struct organ organ = organ_of_tensor(t);
	const struct gguf_tensor *other;
	struct organ partner;
	size_t n;
	const enum pair_half half = pair_half(t->name, t->name_length, &n);
	int rc = check_half(model, t->name, t->name_length, NULL, NULL, err);

	if (rc < 0)
		return rc;
	other = partner_of(gguf, t);
	if (!other)
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "%.100s has no other half", t->name);
	if (half == PAIR_B)
		return 0;
	partner = organ_of_tensor(other);
	rc = check_half(model, t->name, t->name_length, &organ, &partner, err);
	if (rc < 0 && err) {
		const struct error why = *err;

		error_set(err, EINVAL, ERROR_NO_OFFSET, "%.100s: %.140s", t->name, why.text);
	}
	return rc;
}

/* Check that the file is an importance matrix with weights for a tensor of the model, and that its
 * weights fit. */
static int check_importance(const struct model *model, const struct gguf *matrix,
			    const struct source *source, struct error *err)
{
	uint32_t known = 0;
	int rc = importance_check(matrix, source, err);

	for (uint32_t i = 0; rc == 0 && i < model->gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &model->gguf->tensors[i];

		if (!importance_has(matrix, t->name, t->name_length))
			continue;
		known++;
		rc = importance_check_tensor(matrix, source, t->name, t->name_length, t->ne, err);
	}
	return rc == 0 && !known
		       ? error_set(
				 err, EINVAL, ERROR_NO_OFFSET,
				 "the importance matrix has no weights for any tensor of the model")
		       : rc;
}

/* Check by the metadata that the file is a LoRA adapter for the model. */
static int check_lora_keys(const struct model *model, const struct gguf *gguf,
			   const struct source *source, struct error *err)
{
	if (!says(gguf, source, "general.type", "adapter") ||
	    !says(gguf, source, "adapter.type", "lora"))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "its metadata describes no LoRA adapter");
	return same_architecture(model, gguf, source)
		       ? 0
		       : error_set(err, EINVAL, ERROR_NO_OFFSET,
				   "it was made for another architecture");
}

/* Check that the file is a control vector with a direction for a tensor of the model, and that its
 * directions fit. */
static int check_vector(const struct model *model, const struct gguf *vector,
			const struct source *source, struct error *err)
{
	uint32_t known = 0;
	int rc = says(vector, source, "general.architecture", "controlvector")
			 ? 0
			 : error_set(err, EINVAL, ERROR_NO_OFFSET,
				     "its metadata describes no control vector");

	if (rc == 0)
		rc = control_vector_check(vector, source, err);
	for (uint32_t i = 0; rc == 0 && i < model->gguf->n_tensors; i++) {
		const struct organ organ = organ_of_tensor(&model->gguf->tensors[i]);
		bool by_row;
		const struct gguf_tensor *direction =
			control_vector_direction(vector, organ.name, organ.name_length, &by_row);

		if (!direction)
			continue;
		known++;
		rc = control_vector_fits(direction, &organ, by_row, err);
	}
	return rc == 0 && !known
		       ? error_set(err, EINVAL, ERROR_NO_OFFSET,
				   "the control vector has no direction for any block of the model")
		       : rc;
}

/* Check that all tensors of the file are pairs that fit tensors of the model. */
static int check_pairs(struct model *model, const struct gguf *gguf, struct error *err)
{
	int rc = gguf->n_tensors
			 ? 0
			 : error_set(err, EINVAL, ERROR_NO_OFFSET, "the adapter has no tensors");

	for (uint32_t i = 0; rc == 0 && i < gguf->n_tensors; i++)
		rc = check_pair(model, gguf, &gguf->tensors[i], err);
	return rc;
}

int adapters_check_file(struct model *model, const char *name, struct backing *file,
			const struct gguf *gguf, struct error *err)
{
	const struct source source = backing_source(file), base = backing_source(model->base);
	const bool is_vector = control_vector_is(gguf);
	int rc;

	if (adapters_is_importance(name))
		return check_importance(model, gguf, &source, err);
	if (!adapters_apply(model))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the model is itself an adapter, or lacks shards");
	if (!is_vector && check_lora_keys(model, gguf, &source, err) < 0)
		return -EINVAL;
	rc = basis_same(model->gguf, &base, gguf, &source);
	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET, "its metadata cannot be read");
	if (rc == 0)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "it was made for weights in another basis (*.hadamard.*) than the "
				 "model's");
	return is_vector ? check_vector(model, gguf, &source, err) : check_pairs(model, gguf, err);
}
