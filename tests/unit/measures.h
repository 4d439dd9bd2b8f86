/* SPDX-License-Identifier: MIT */
/* measures.h - models whose tensors are measured, and the measures that they have to have. */
#ifndef TESTS_UNIT_MEASURES_H
#define TESTS_UNIT_MEASURES_H

#include "fs/lazy/figures.h"
#include "fs/lazy/tensor_measures.h"
#include "fs/tensor/sampling.h"
#include "tests/unit/open_model.h"
#include "tests/unit/zmeasures.h"

/* Measure of a slot's content, over all its values. */
struct zmeasure z_of_slot(struct model *model, uint32_t tensor);

/* Tensors of a model whose measures differ, all of class organs: 64 floats each. */
void save_many(void **state, const char *name, uint32_t n);

/* A model of one tensor of whole blocks of so many elements, all zeros, as a file of holes: it
 * takes no room on disk. */
void save_hole(void **state, const char *name, uint32_t type, uint64_t elements);

struct memo *new_readings(struct model *model);

/* Put an importance matrix in force that has a mean weight of 1.5 for SMALL_UP, and no other. */
void use_importance(void **state, struct model *model);

/* Figures of the current content of all slots. */
struct figures *figures_now(struct model *model);

#endif
