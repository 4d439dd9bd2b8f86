/* SPDX-License-Identifier: MIT */
/* reading.h - the place where the Z-measure of one content is kept. Everything in it belongs to
 * readings.h. */
#ifndef FS_READING_H
#define FS_READING_H

#include "fs/model/memo_state.h"
#include "measure/zmeasure.h"

/* Zeros are a reading that nobody has asked for. */
struct reading {
	struct once once;
	struct zmeasure result;
};

#endif
