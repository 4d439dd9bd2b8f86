/* SPDX-License-Identifier: MIT */
/* check_lineage.h - are two models of one descent? What training on leaves of it shows in weights
 * that stand at the same places; the same spans of both are looked at (measure/sample.h). */
#ifndef FS_CHECK_CHECK_LINEAGE_H
#define FS_CHECK_CHECK_LINEAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct finding;
struct gguf_tensor;
struct halt;

/* Where the values of a tensor lie. The file is borrowed. */
struct weights {
	struct backing *file;
	uint64_t offset, elements;
	uint32_t type; /* that can be decoded */
};

/* The same tensor of host and donor. */
struct tensor_pair {
	struct weights host, donor;
	bool norm; /* a vector, else a matrix */
};

/* A model: its file and what was parsed of it, both borrowed. */
struct lineage_model {
	struct backing *file;
	const struct gguf *gguf;
};

/* All of these return 0, -EINTR soon after halt, or -ENOMEM. What cannot be read or decoded makes
 * the finding VERDICT_UNKNOWN. */

/* The cosines of tensors of the same name and shape: of at most 24 norms and 24 matrices. *likeness
 * is the median of the matrices, NAN where there is none. */
int check_lineage_cosines(const struct lineage_model *host, const struct lineage_model *donor,
			  const struct halt *halt, struct finding *finding, double *likeness);

/* The same of n pairs, for a donor of which only the grafts are known. */
int check_lineage_of_pairs(const struct tensor_pair *pairs, size_t n, const struct halt *halt,
			   struct finding *finding, double *likeness);

/* How alike the spreads of attention's matrices go from block to block. */
int check_lineage_spreads(const struct lineage_model *host, const struct lineage_model *donor,
			  const struct halt *halt, struct finding *finding);

/* The root of the mean square, NAN where it cannot be told. */
int check_lineage_rms(const struct weights *weights, const struct halt *halt, double *rms);

/* The weights of a tensor. False: its type holds none, or it is empty. */
bool check_lineage_weights(struct backing *file, const struct gguf_tensor *tensor,
			   struct weights *weights);

/* Judge the medians over so many tensors of each kind. */
struct cosines {
	size_t norms, matrices;
	double of_norms, of_matrices;
};
void check_lineage_judge(const struct cosines *cosines, struct finding *finding);

#endif
