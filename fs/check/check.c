/* SPDX-License-Identifier: MIT */
/* check.c - see check.h. */
#include "fs/check/check.h"
#include "fs/base/donor.h"
#include "fs/check/check_blocks.h"
#include "fs/check/check_donor.h"
#include "fs/check/check_groups.h"
#include "fs/check/check_layout.h"
#include "fs/check/check_merge.h"
#include "fs/check/check_sets.h"
#include "fs/check/check_traits.h"
#include "fs/lazy/whole_text.h"
#include "fs/metadata/metadata.h"
#include "fs/model/merge_force.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/array_grown.h"
#include "fs/util/plural.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Width of the reason of a line that is computed when it is read; a longer one is cut. */
#define REASON_WIDTH 130

/* A line of .check. */
struct row {
	const char *check;
	const struct check_group *group; /* NULL: a check of the model */
	bool is_made;  /* computed when read, by look or, for a group, donor_check */
	bool is_merge; /* and it is the lineage check of a merge */
	bool is_unit;  /* and a close relation to the donor turns a risky finding into ok */
	check_host_fn *look;
	enum donor_check donor_check;
	struct finding finding;
};

struct check {
	struct check_groups *groups;
	struct row *rows;
	size_t n, room;
};

static void release(void *context)
{
	struct check *check = context;

	check_groups_free(check->groups);
	free(check->rows);
	free(check);
}

/* Append an empty row. NULL: out of memory. */
static struct row *add_row(struct check *check, const char *name, const struct check_group *group)
{
	struct row *rows = array_grown(check->rows, check->n, &check->room, sizeof(*rows));

	if (!rows)
		return NULL;
	check->rows = rows;
	check->rows[check->n] = (struct row){ .check = name, .group = group };
	return &check->rows[check->n++];
}

/* Add the checks of the model. If the metadata differs from the base's, a check that needs metadata
 * is computed when read. */
static int add_host(struct check *check)
{
	static const struct {
		const char *name;
		bool of_metadata;
		check_host_fn *look;
	} checks[] = { { "blocks", true, check_host_blocks },
		       { "complete", false, check_host_complete },
		       { "layout", false, check_layout_sizes },
		       { "file_type", false, check_host_types },
		       { "arrays", true, check_host_arrays },
		       { "output", false, check_host_output },
		       { "adapters", false, check_host_adapters },
		       { "experts", true, check_host_experts },
		       { "nextn", true, check_blocks_nextn } };
	const struct check_groups *groups = check->groups;
	const bool changed = groups->grafts || groups->removed || groups->merge ||
			     (groups->edits && groups->edits->n);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct row *row;

		if ((checks[i].look == check_host_output && !check_host_output_any(groups)) ||
		    (checks[i].look == check_host_adapters && groups->adapted.adapters == 0) ||
		    (checks[i].look == check_host_experts && !check_host_experts_any(groups)) ||
		    (checks[i].look == check_blocks_nextn && !check_blocks_has_nextn(groups)))
			continue;
		row = add_row(check, checks[i].name, NULL);
		if (!row)
			return -ENOMEM;
		row->look = checks[i].look;
		row->is_made = checks[i].of_metadata && changed;
		if (!row->is_made)
			rc = row->look(groups, groups->model->gguf, &row->finding);
		/* No line for these checks in the usual case, a finding without text. */
		if (!row->is_made && !row->finding.text[0])
			check->n--;
	}
	return rc;
}

/* Add the checks of a merge. */
static int add_merge(struct check *check)
{
	const struct merge_state *merge = check->groups->merge;
	struct row *row;

	if (!merge)
		return 0;
	row = add_row(check, "merge", NULL);
	if (!row)
		return -ENOMEM;
	check_merge_models(merge, &row->finding);
	if (merge->broken)
		return 0;
	row = add_row(check, "tokenizer", NULL);
	if (!row)
		return -ENOMEM;
	check_merge_tokenizer(merge, &row->finding);
	row = add_row(check, "lineage", NULL);
	if (!row)
		return -ENOMEM;
	row->is_made = row->is_merge = true;
	return 0;
}

static int report_donor(const struct check_groups *groups, const struct check_group *group,
			struct finding *finding)
{
	char slots[96];
	const char *view = NULL;

	for (uint32_t k = 0; k < group->n && group->kind != GROUP_UNKNOWN && !view; k++)
		view = donor_view(groups->content[group->slots[k]]->donor);
	check_groups_slots(groups, group->slots, group->n, slots, sizeof(slots));
	finding_set(finding, group->kind == GROUP_UNKNOWN ? VERDICT_UNKNOWN : VERDICT_OK,
		    "%" PRIu32 " graft%s: %s", group->n, plural(group->n), slots);
	if (group->kind == GROUP_UNKNOWN)
		finding_add(finding, VERDICT_UNKNOWN, "the donor is unknown");
	else if (group->kind == GROUP_MODEL)
		finding_add(finding, VERDICT_OK, "from %s", donor_path(group->donor));
	if (view)
		finding_add(finding, VERDICT_OK, "by .views/%s", view);
	return 0;
}

/* Add the checks of a group that need no file. */
static int add_sets(struct check *check, const struct check_group *group)
{
	static const struct {
		const char *name;
		check_sets_fn *look;
	} checks[] = { { "donor", report_donor },	    { "shape", check_sets_shape },
		       { "role", check_sets_role },	    { "type", check_sets_type },
		       { "distance", check_sets_distance }, { "unit", check_sets_unit } };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct row *row = add_row(check, checks[i].name, group);

		rc = row ? checks[i].look(check->groups, group, &row->finding) : -ENOMEM;
		if (rc == 0 && checks[i].look == check_sets_unit && group->kind != GROUP_SELF)
			row->is_unit = row->is_made = row->finding.verdict == VERDICT_RISKY;
	}
	return rc;
}

static int add_group(struct check *check, const struct check_group *group)
{
	int rc = add_sets(check, group);

	for (enum donor_check of = 0; rc == 0 && of < DONOR_CHECKS; of++) {
		struct row *row;

		if (!check_donor_applies(of, group))
			continue;
		row = add_row(check, check_donor_name(of), group);
		if (!row)
			return -ENOMEM;
		row->donor_check = of;
		row->is_made = !check_donor_known(of, group, &row->finding);
	}
	return rc;
}

/* Compute the rows of the model. */
static int examine_host(const struct check *check, const struct gguf *header, struct row *rows)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < check->n; i++)
		if (rows[i].is_made && !rows[i].group && !rows[i].is_merge)
			rc = rows[i].look(check->groups, header, &rows[i].finding);
	return rc;
}

/* Compute the rows of the donors. */
static int examine_groups(const struct check *check, const struct traits *host, struct row *rows,
			  const struct halt *halt)
{
	struct finding findings[DONOR_CHECKS];
	double likeness;
	int rc = 0;

	for (uint32_t g = 0; rc == 0 && g < check->groups->n; g++) {
		const struct check_group *group = &check->groups->groups[g];

		memset(findings, 0, sizeof(findings));
		rc = check_donor_examine(check->groups, group, host, halt, findings, &likeness);
		for (size_t i = 0; rc == 0 && i < check->n; i++) {
			if (!rows[i].is_made || rows[i].group != group)
				continue;
			if (rows[i].is_unit)
				check_sets_unit_of_kin(check->groups, group, likeness,
						       &rows[i].finding);
			else
				rows[i].finding = findings[rows[i].donor_check];
		}
	}
	return rc;
}

/* Compute the row of the merge. */
static int examine_merge(const struct check *check, struct row *rows, const struct halt *halt)
{
	const struct check_groups *groups = check->groups;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < check->n; i++)
		if (rows[i].is_merge)
			rc = check_merge_lineage(groups->merge, groups->model, halt,
						 &rows[i].finding);
	return rc;
}

/* Compute the rows left for the reading; metadata of a model that cannot be assembled is the
 * base's. */
static int examine(const struct check *check, struct row *rows, const struct halt *halt)
{
	const struct model *model = check->groups->model;
	struct view *view = NULL;
	struct source source;
	struct gguf *made = check_groups_read_header(check->groups, &view, &source);
	const struct gguf *header = made ? made : model->gguf;
	struct traits host;
	int rc;

	if (!made)
		source = backing_source(model->base);
	rc = check_traits_read(header, &source, halt, &host);
	if (rc == 0)
		rc = examine_host(check, header, rows);
	if (rc == 0)
		rc = examine_merge(check, rows, halt);
	if (rc == 0)
		rc = examine_groups(check, &host, rows, halt);
	gguf_free(made);
	view_unref(view);
	return rc;
}

static void print_padded(FILE *out, enum verdict verdict, const char *check, const char *title,
			 const char *reason)
{
	static const size_t widest = sizeof("impossible") - 1;
	const char *name = verdict_name(verdict);
	const int width = REASON_WIDTH + (int)(widest - strlen(name));
	const bool cut = strlen(reason) > REASON_WIDTH;

	fprintf(out, "%s\t%s\t%s%.*s%*s\n", name, check, title, cut ? REASON_WIDTH - 3 : width,
		reason, width - (cut ? REASON_WIDTH - 3 : (int)strlen(reason)), cut ? "..." : "");
}

static void print_row(FILE *out, const struct row *row)
{
	char title[64] = "";

	if (row->group)
		snprintf(title, sizeof(title), "%s: ", row->group->title);
	if (row->is_made)
		print_padded(out, row->finding.verdict, row->check, title, row->finding.text);
	else
		fprintf(out, "%s\t%s\t%s%s\n", verdict_name(row->finding.verdict), row->check,
			title, row->finding.text);
}

static void print_overall(FILE *out, const struct check *check, const struct row *rows)
{
	const struct check_groups *groups = check->groups;
	const uint32_t edits = groups->edits ? groups->edits->n : 0;
	size_t count[VERDICTS] = { 0 };
	enum verdict worst = VERDICT_OK;
	char text[REASON_WIDTH + 1];

	for (size_t i = 0; i < check->n; i++) {
		count[rows[i].finding.verdict]++;
		if (rows[i].finding.verdict > worst)
			worst = rows[i].finding.verdict;
	}
	if (groups->grafts + groups->removed + edits || groups->merge)
		snprintf(text, sizeof(text),
			 "%s%" PRIu32 " graft%s, %" PRIu32 " removed, %" PRIu32
			 " key%s edited; of %zu checks %zu impossible, %zu risky, %zu unknown",
			 groups->merge ? "a merge, " : "", groups->grafts, plural(groups->grafts),
			 groups->removed, edits, plural(edits), check->n, count[VERDICT_IMPOSSIBLE],
			 count[VERDICT_RISKY], count[VERDICT_UNKNOWN]);
	else
		snprintf(text, sizeof(text), "no graft; of %zu checks of the base %zu impossible",
			 check->n, count[VERDICT_IMPOSSIBLE]);
	print_padded(out, worst, "overall", "", text);
}

static void print_rows(FILE *out, const struct check *check, const struct row *rows)
{
	print_overall(out, check, rows);
	for (size_t i = 0; i < check->n; i++)
		print_row(out, &rows[i]);
}

static int print(void *context, const struct halt *halt, FILE *out)
{
	const struct check *check = context;
	struct row *rows;
	bool is_made = false;
	int rc;

	if (!halt) {
		print_rows(out, check, check->rows);
		for (size_t i = 0; i < check->n; i++)
			is_made |= check->rows[i].is_made;
		return !is_made;
	}
	rows = calloc(check->n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	memcpy(rows, check->rows, check->n * sizeof(*rows));
	rc = examine(check, rows, halt);
	if (rc == 0)
		print_rows(out, check, rows);
	free(rows);
	return rc;
}

struct view *check_view(struct model *model, const struct snapshot *snapshot,
			const atomic_bool *ending)
{
	static const struct whole_text_ops ops = { print, release };
	struct check *check = calloc(1, sizeof(*check));
	int rc = -ENOMEM;

	if (!check)
		return NULL;
	check->groups = check_groups_new(model, snapshot);
	if (check->groups)
		rc = add_host(check);
	if (rc == 0)
		rc = add_merge(check);
	for (uint32_t g = 0; rc == 0 && g < check->groups->n; g++)
		rc = add_group(check, &check->groups->groups[g]);
	if (rc == 0)
		return whole_text_view(whole_text_new(&ops, check, ending));
	release(check);
	return NULL;
}
