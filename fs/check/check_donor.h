/* SPDX-License-Identifier: MIT */
/* check_donor.h - what has to be looked up in the files of host and donor: their metadata, and
 * samples of their weights. */
#ifndef FS_CHECK_CHECK_DONOR_H
#define FS_CHECK_CHECK_DONOR_H

#include "fs/check/check_verdict.h"

#include <stdbool.h>

struct check_group;
struct check_groups;
struct halt;
struct traits;

/* The checks, in the order in which they are shown. */
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

/* Does it tell anything about grafts of that group? Without a model as their donor, lineage is
 * found from the grafts alone, and nothing of a graft of the base itself but its norms. */
bool check_donor_applies(enum donor_check check, const struct check_group *group);

/* Is it known without looking into files? Then the finding is set: what the check would need is not
 * known. */
bool check_donor_known(enum donor_check check, const struct check_group *group,
		       struct finding *finding);

/* Find out all that applies, and how alike the matrices of both are (check_lineage.h; NAN where it
 * is not known). host are the traits of the base. May take long: ends with -EINTR soon
 * after halt; else 0 or -ENOMEM. */
int check_donor_examine(const struct check_groups *groups, const struct check_group *group,
			const struct traits *host, const struct halt *halt,
			struct finding findings[DONOR_CHECKS], double *likeness);

#endif
