/* SPDX-License-Identifier: MIT */
/* chart.h - theta.svg: the picture of a mounted model. */
#ifndef FS_CHART_H
#define FS_CHART_H

#include "fs/sheet.h"

sheet_print chart_print;

#endif
