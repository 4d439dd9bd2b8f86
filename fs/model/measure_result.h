/* SPDX-License-Identifier: MIT */
/* measure_result.h - the place where the Z-measure of one content is kept. Everything in it belongs
 * to tensor_measures.h. */
#ifndef FS_MODEL_MEASURE_RESULT_H
#define FS_MODEL_MEASURE_RESULT_H

#include "fs/model/memo_state.h"
#include "measure/zmeasure.h"

/* Zeros are a reading that nobody has asked for. */
struct measure_result {
	struct memo_state once;
	struct zmeasure result;
};

#endif
