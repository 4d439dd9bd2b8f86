/* SPDX-License-Identifier: MIT */
/* check_donor.c - see check_donor.h. */
#include "fs/check/check_donor.h"
#include "fs/base/donor.h"
#include "fs/check/check_blocks.h"
#include "fs/check/check_groups.h"
#include "fs/check/check_lineage.h"
#include "fs/check/check_sets.h"
#include "fs/check/check_traits.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "fs/util/halt.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *check_donor_name(enum donor_check check)
{
	static const char *const names[DONOR_CHECKS] = {
		"bytes",     "architecture", "dimensions", "rope",  "epsilon", "parts",
		"tokenizer", "lineage",	     "spreads",	   "norms", "names",
	};

	return names[check];
}

bool check_donor_applies(enum donor_check check, const struct check_group *group)
{
	if (group->kind == GROUP_SELF)
		return check == DONOR_NORMS;
	if (group->kind == GROUP_MODEL)
		return true;
	return check != DONOR_BYTES && check != DONOR_NAMES && check != DONOR_SPREADS;
}

bool check_donor_known(enum donor_check check, const struct check_group *group,
		       struct finding *finding)
{
	const bool in_blocks = (group->concerns & (CONCERN_ATTENTION | CONCERN_FFN)) != 0;

	/* Norms, the embedding and the head have neither parts nor preceding norms. */
	if (!in_blocks && (check == DONOR_NORMS || check == DONOR_PARTS)) {
		finding_set(finding, VERDICT_OK,
			    "does not apply: no attention and no feed-forward network was grafted");
		return true;
	}
	if (group->kind == GROUP_MODEL || group->kind == GROUP_SELF || check == DONOR_LINEAGE)
		return false;
	finding_set(finding, VERDICT_UNKNOWN,
		    group->kind == GROUP_ORGANS ? "an organ file does not tell of its model"
						: "the donor is unknown");
	return true;
}

/* The examination of one group. */
struct examination {
	const struct check_groups *groups;
	const struct check_group *group;
	const struct halt *halt;
	struct lineage_model host, donor;
	struct finding *findings;
	double likeness;
};

/* Number and size of the samples that are compared of each graft. */
#define SPOTS	  4
#define SPOT_SIZE ((size_t)4096)

/* Whether the graft has the bytes of the donor's tensor, by samples. */
static bool has_bytes_of(const struct content *content, struct backing *file,
			 const struct gguf_tensor *tensor, uint8_t bytes[2 * SPOT_SIZE])
{
	const struct organ *organ = &content->organ;
	const size_t n = organ->data_size < SPOT_SIZE ? (size_t)organ->data_size : SPOT_SIZE;

	if (organ->type != tensor->type || organ->data_size != tensor->size ||
	    memcmp(organ->ne, tensor->ne, sizeof(organ->ne)) != 0)
		return false;
	if (content->file == file && content->offset == tensor->offset)
		return true;
	for (uint64_t spot = 0; spot < SPOTS; spot++) {
		const uint64_t at = (organ->data_size - n) / (SPOTS - 1) * spot;

		if (backing_read(content->file, bytes, n, content->offset + at) < 0 ||
		    backing_read(file, bytes + SPOT_SIZE, n, tensor->offset + at) < 0 ||
		    memcmp(bytes, bytes + SPOT_SIZE, n) != 0)
			return false;
	}
	return true;
}

static int examine_bytes(const struct examination *e, struct finding *finding)
{
	const struct check_group *group = e->group;
	uint8_t *bytes = malloc(2 * SPOT_SIZE);
	uint32_t *others = calloc(group->n + 1u, sizeof(*others));
	uint32_t n = 0, made = 0;
	char text[64];
	int rc = bytes && others ? 0 : -ENOMEM;

	for (uint32_t k = 0; rc == 0 && k < group->n; k++) {
		const struct content *content = e->groups->content[group->slots[k]];
		const struct gguf_tensor *tensor;
		const char *name;
		size_t length;

		name = donor_tensor(content->donor, &length);
		tensor = gguf_tensor(e->donor.gguf, name, length);
		made += donor_view(content->donor) != NULL;
		if (halted(e->halt))
			rc = -EINTR;
		else if (!tensor || (!donor_view(content->donor) &&
				     !has_bytes_of(content, e->donor.file, tensor, bytes)))
			others[n++] = group->slots[k];
	}
	if (rc == 0 && n)
		finding_set(finding, VERDICT_UNKNOWN,
			    "not the donor's bytes, so other checks may not hold for them: %s",
			    check_groups_slots(e->groups, others, n, text, sizeof(text)));
	else if (rc == 0)
		finding_set(finding, VERDICT_OK, "the donor's, %s",
			    made == group->n ? "made by a view of them"
			    : made	     ? "or made by a view, as far as samples show"
					     : "as far as samples show");
	free(bytes);
	free(others);
	return rc;
}

/* Weights of a graft; as check_lineage_weights(). */
static bool content_weights(const struct content *content, struct weights *weights)
{
	struct gguf_tensor tensor = { .offset = content->offset, .type = content->organ.type };

	memcpy(tensor.ne, content->organ.ne, sizeof(tensor.ne));
	return check_lineage_weights(content->file, &tensor, weights);
}

/* Compare the grafts with the base's tensors of the same names. */
static int examine_kin(struct examination *e, struct finding *finding)
{
	const struct check_group *group = e->group;
	struct tensor_pair *pairs = calloc(group->n + 1u, sizeof(*pairs));
	size_t n = 0;
	int rc;

	if (!pairs)
		return -ENOMEM;
	for (uint32_t k = 0; k < group->n; k++) {
		const struct content *content = e->groups->content[group->slots[k]];
		const struct organ *organ = &content->organ;
		const struct gguf_tensor *ours =
			gguf_tensor(e->host.gguf, organ->name, organ->name_length);
		struct tensor_pair *kin = &pairs[n];

		if (!ours || e->groups->foreign[ours - e->host.gguf->tensors] ||
		    memcmp(ours->ne, organ->ne, sizeof(organ->ne)) != 0)
			continue;
		kin->norm = anatomy_kind(organ->name, organ->name_length) == KIND_NORM;
		n += check_lineage_weights(e->host.file, ours, &kin->host) &&
		     content_weights(content, &kin->donor);
	}
	rc = check_lineage_of_pairs(pairs, n, e->halt, finding, &e->likeness);
	free(pairs);
	return rc;
}

/* Comparison of norms in blocks of the donor with those in the blocks of their grafts. */
struct seam {
	uint32_t blocks, compared;
	double worst; /* the larger divided by the smaller, at most */
	int32_t at;
	double ratio; /* donor's divided by host's, there */
	const char *name;
};

/* Weights of the current norm of that name in a block of the host. False: none. */
static bool host_norm(const struct examination *e, int32_t block, const char *name,
		      struct weights *weights)
{
	const struct model *model = e->groups->model;
	const struct content *content;
	char file[64];
	uint32_t slot;

	snprintf(file, sizeof(file), "blk_%" PRId32 "_%s", block, name);
	if (!model_find_slot(e->groups->model, CLASS_NORM, file, strlen(file), &slot) ||
	    slot >= e->groups->n_slots || content_is_whiteout(e->groups->content[slot]))
		return false;
	content = e->groups->content[slot];
	return content ? content_weights(content, weights)
		       : check_lineage_weights(model->base, &model->gguf->tensors[slot], weights);
}

static bool donor_norm(const struct examination *e, int32_t block, const char *name,
		       struct weights *weights)
{
	const struct gguf_tensor *tensor;
	char text[64];
	const int n = snprintf(text, sizeof(text), "blk.%" PRId32 ".%s.weight", block, name);

	tensor = gguf_tensor(e->donor.gguf, text, (size_t)n);
	return tensor && check_lineage_weights(e->donor.file, tensor, weights);
}

static int compare_norms(const struct examination *e, int32_t from, int32_t to, const char *name,
			 struct seam *seam)
{
	struct weights ours, theirs;
	double a, b, ratio;
	int rc;

	if (!host_norm(e, to, name, &ours) || !donor_norm(e, from, name, &theirs))
		return 0;
	rc = check_lineage_rms(&theirs, e->halt, &a);
	if (rc == 0)
		rc = check_lineage_rms(&ours, e->halt, &b);
	ratio = rc == 0 ? a / b : NAN;
	if (!isfinite(ratio) || ratio <= 0)
		return rc;
	seam->compared++;
	if (fmax(ratio, 1 / ratio) > seam->worst) {
		seam->worst = fmax(ratio, 1 / ratio);
		seam->ratio = ratio;
		seam->at = to;
		seam->name = name;
	}
	return rc;
}

static int examine_norms(const struct examination *e, struct finding *finding)
{
	static const char *const names[] = { "attn_norm", "ffn_norm" };
	struct seam seam = { .worst = 0 };
	int32_t last[2][2] = { { -1, -1 }, { -1, -1 } };
	int rc = 0;

	for (uint32_t k = 0; rc == 0 && k < e->group->n; k++) {
		const uint32_t slot = e->group->slots[k];
		const struct organ_place *place = &e->groups->model->places[slot];
		const unsigned which = place->klass == CLASS_ORGANS;
		const int32_t from = check_groups_donor_block(e->groups, slot), to = place->block;

		if (from < 0 || to < 0 ||
		    (place->klass != CLASS_ORGANS && place->klass != CLASS_SKELETON) ||
		    (last[which][0] == from && last[which][1] == to))
			continue;
		last[which][0] = from;
		last[which][1] = to;
		rc = compare_norms(e, from, to, names[which], &seam);
	}
	if (!seam.compared)
		finding_set(finding, VERDICT_UNKNOWN, "no norms before the grafts in both");
	else
		finding_set(finding, seam.worst <= 2 ? VERDICT_OK : VERDICT_RISKY,
			    "those before the grafts are %s 2 times apart: at most in blk %" PRId32
			    ", where the donor's %s is %.2f times this one's",
			    seam.worst <= 2 ? "within" : "more than", seam.at, seam.name,
			    seam.ratio);
	return rc;
}

static int examine_traits(const struct examination *e, const struct traits *host,
			  const struct source *source)
{
	const unsigned concerns = e->group->concerns;
	struct finding *findings = e->findings;
	struct traits donor;
	const int rc = check_traits_read(e->donor.gguf, source, e->halt, &donor);

	if (rc < 0)
		return rc;
	check_traits_architecture(host, &donor, &findings[DONOR_ARCHITECTURE]);
	check_traits_dimensions(host, &donor, concerns, &findings[DONOR_DIMENSIONS]);
	if (check_traits_bare(&donor) && host->numbers[TRAIT_EMBEDDING].known &&
	    check_sets_shapes_agree(e->groups, e->group, host->numbers[TRAIT_EMBEDDING].high))
		finding_set(
			&findings[DONOR_DIMENSIONS], VERDICT_OK,
			"the donor does not say them; the shapes are those that this model has");
	check_traits_rope(host, &donor, concerns, &findings[DONOR_ROPE]);
	check_traits_epsilon(host, &donor, &findings[DONOR_EPSILON]);
	check_traits_tokenizer(host, &donor, concerns, &findings[DONOR_TOKENIZER]);
	check_traits_names(host, &donor, &findings[DONOR_NAMES]);
	return 0;
}

/* Replace findings on a nextn block: its likeness to ordinary blocks proves nothing. */
static void excuse_nextn(const struct examination *e)
{
	const struct gguf *donor = e->donor.gguf;

	finding_set(&e->findings[DONOR_PARTS], VERDICT_OK,
		    "does not apply: a nextn block is not made of the parts of others");
	for (uint32_t i = 0; i < donor->n_tensors; i++)
		if (gguf_tensor(e->host.gguf, donor->tensors[i].name,
				donor->tensors[i].name_length))
			return;
	if (e->findings[DONOR_LINEAGE].verdict == VERDICT_UNKNOWN)
		finding_set(&e->findings[DONOR_LINEAGE], VERDICT_OK,
			    "does not apply: a nextn block, and nothing else to compare");
}

static int examine_model(struct examination *e, const struct traits *host,
			 const struct source *source)
{
	int rc = examine_traits(e, host, source);

	if (rc == 0)
		rc = examine_bytes(e, &e->findings[DONOR_BYTES]);
	if (rc == 0)
		rc = check_traits_parts(e->host.gguf, e->donor.gguf, e->group->concerns,
					&e->findings[DONOR_PARTS]);
	if (rc == 0)
		rc = check_lineage_cosines(&e->host, &e->donor, e->halt,
					   &e->findings[DONOR_LINEAGE], &e->likeness);
	if (rc == 0)
		rc = check_lineage_spreads(&e->host, &e->donor, e->halt,
					   &e->findings[DONOR_SPREADS]);
	if (rc == 0)
		rc = examine_norms(e, &e->findings[DONOR_NORMS]);
	if (rc == 0 && check_blocks_all_nextn(e->groups, e->group))
		excuse_nextn(e);
	return rc;
}

/* Open the donor's file, and examine it while it is open. */
static int open_and_examine(struct examination *e, const struct traits *host)
{
	struct error err = { 0 };
	struct gguf *gguf = NULL;
	struct source source;
	int rc = 0;

	e->donor.file = donor_open(e->group->donor, &err);
	if (e->donor.file) {
		source = backing_source(e->donor.file);
		gguf = gguf_read(&source, &err);
	}
	e->donor.gguf = gguf;
	if (gguf)
		rc = examine_model(e, host, &source);
	if (rc == -EIO)
		error_errno(&err, EIO);
	for (enum donor_check i = 0; (!gguf || rc == -EIO) && i < DONOR_CHECKS; i++)
		finding_set(&e->findings[i], VERDICT_UNKNOWN, "the donor cannot be read: %s",
			    err.text[0] ? err.text : strerror(err.code));
	gguf_free(gguf);
	backing_unref(e->donor.file);
	return rc == -EIO ? 0 : rc;
}

int check_donor_examine(const struct check_groups *groups, const struct check_group *group,
			const struct traits *host, const struct halt *halt,
			struct finding findings[DONOR_CHECKS], double *likeness)
{
	const struct lineage_model base = { groups->model->base, groups->model->gguf,
					    groups->foreign };
	struct examination e = { groups, group, halt, base, { .file = NULL }, findings, NAN };
	int rc;

	if (group->kind == GROUP_MODEL) {
		rc = open_and_examine(&e, host);
	} else if (group->kind == GROUP_SELF) {
		e.donor = base;
		rc = examine_norms(&e, &findings[DONOR_NORMS]);
	} else {
		rc = examine_kin(&e, &findings[DONOR_LINEAGE]);
	}
	*likeness = e.likeness;
	return rc;
}
