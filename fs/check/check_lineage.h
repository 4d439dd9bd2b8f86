/* SPDX-License-Identifier: MIT */
/* check_lineage.h - do two models descend from one? Further training changes weights little, so
 * weights at the same places stay similar. The samples of both have the same places
 * (measure/sample.h). */
#ifndef FS_CHECK_CHECK_LINEAGE_H
#define FS_CHECK_CHECK_LINEAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct finding;
struct gguf_tensor;
struct halt;

/* Location of a tensor's values. The file is borrowed. */
struct weights {
	struct backing *file;
	uint64_t offset, elements;
	uint32_t type; /* a type that can be decoded */
};

/* The same tensor of host and donor. */
struct tensor_pair {
	struct weights host, donor;
	bool norm; /* a vector, else a matrix */
};

/* A model: its file, its parsed header and a mark for each tensor, all borrowed. */
struct lineage_model {
	struct backing *file;
	const struct gguf *gguf;
	const bool *foreign; /* tensors, by number, that are of another model; NULL: none is */
};

/* The functions return 0, -EINTR soon after halt, or -ENOMEM. Tensors that cannot be read or
 * decoded make the finding VERDICT_UNKNOWN. */

/* Cosines of tensors of the same name and shape, at most 24 norms and 24 matrices. *likeness is the
 * median of the matrices, NaN if there is none. */
int check_lineage_cosines(const struct lineage_model *host, const struct lineage_model *donor,
			  const struct halt *halt, struct finding *finding, double *likeness);

/* The same for n pairs, for a donor whose grafts alone are known. */
int check_lineage_of_pairs(const struct tensor_pair *pairs, size_t n, const struct halt *halt,
			   struct finding *finding, double *likeness);

/* Correlation over the blocks of the spreads of attention's matrices. */
int check_lineage_spreads(const struct lineage_model *host, const struct lineage_model *donor,
			  const struct halt *halt, struct finding *finding);

/* Root mean square, NaN if unknown. */
int check_lineage_rms(const struct weights *weights, const struct halt *halt, double *rms);

/* Locate the weights of a tensor. False: its type has no values, or it is empty. */
bool check_lineage_weights(struct backing *file, const struct gguf_tensor *tensor,
			   struct weights *weights);

/* Judge the medians of the cosines of that many norms and matrices. */
struct cosines {
	size_t norms, matrices;
	double of_norms, of_matrices;
};
void check_lineage_judge(const struct cosines *cosines, struct finding *finding);

#endif
