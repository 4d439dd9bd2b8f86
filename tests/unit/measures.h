/* SPDX-License-Identifier: MIT */
/* measures.h - models with measured tensors, and the expected measures. */
#ifndef TESTS_UNIT_MEASURES_H
#define TESTS_UNIT_MEASURES_H

#include "fs/lazy/figures.h"
#include "fs/lazy/tensor_measures.h"
#include "fs/tensor/sampling.h"
#include "tests/unit/open_model.h"
#include "tests/unit/zmeasures.h"

/* Measure of a slot's content, over all values. */
struct zmeasure z_of_slot(struct model *model, uint32_t tensor);

/* Save a model of n tensors of 64 floats in class organs, with different measures. */
void save_many(void **state, const char *name, uint32_t n);

/* Save a model with one tensor of that many zeros, in whole blocks, as a sparse file. */
void save_hole(void **state, const char *name, uint32_t type, uint64_t elements);

struct memo *new_readings(struct model *model);

/* Put an importance matrix in force that has a mean weight of 1.5 for SMALL_UP alone. */
void use_importance(void **state, struct model *model);

/* Figures of the current contents of all slots. */
struct figures *figures_now(struct model *model);

#endif
