/* SPDX-License-Identifier: MIT */
/* check_donor.h - checks that read the files of host and donor: metadata, and samples of
 * weights. */
#ifndef FS_CHECK_CHECK_DONOR_H
#define FS_CHECK_CHECK_DONOR_H

#include "fs/check/check_verdict.h"

#include <stdbool.h>

struct check_group;
struct check_groups;
struct halt;
struct traits;

/* The checks in the order of their lines. */
enum donor_check {
	DONOR_BYTES,
	DONOR_ARCHITECTURE,
	DONOR_DIMENSIONS,
	DONOR_ROPE,
	DONOR_EPSILON,
	DONOR_PARTS,
	DONOR_TOKENIZER,
	DONOR_LINEAGE,
	DONOR_SPREADS,
	DONOR_NORMS,
	DONOR_NAMES,
	DONOR_CHECKS,
};

/* "bytes", "architecture", ... */
const char *check_donor_name(enum donor_check check);

/* Whether the check applies to grafts of that group. For a donor that is no model, lineage is found
 * from the grafts alone; of grafts from the base itself only norms are checked. */
bool check_donor_applies(enum donor_check check, const struct check_group *group);

/* Whether the finding, which is set then, is known without reading files: the check does not apply,
 * or the donor is unknown. */
bool check_donor_known(enum donor_check check, const struct check_group *group,
		       struct finding *finding);

/* Make all checks that apply, and compute the likeness of the matrices (check_lineage.h; NaN:
 * unknown). host has the traits of the base. May take long. Returns 0, -EINTR soon after halt, or
 * -ENOMEM. */
int check_donor_examine(const struct check_groups *groups, const struct check_group *group,
			const struct traits *host, const struct halt *halt,
			struct finding findings[DONOR_CHECKS], double *likeness);

#endif
