/* SPDX-License-Identifier: MIT */
/* score.h - converts indicators to an angle. Each indicator has a value that stands for noise and
 * one that stands for signal; the score rises between them from 0.1 to 0.9 on a logistic curve. */
#ifndef MEASURE_SCORE_H
#define MEASURE_SCORE_H

/* Normalised entropy: noise from 0.95, signal at 0.70 to 0.30. Below, the score falls again,
 * because a tensor with almost all values equal has no structure either. */
double score_entropy(double entropy);

/* Excess kurtosis: noise at 1/3, signal at 3. Laws flatter than the normal one, down to the uniform
 * one, are no signal; below, the score rises again, so that a two-point law counts like kurtosis
 * 3. */
double score_kurtosis(double kurtosis);

/* Coefficient of variation of the spacings: noise at 0.5, signal at 1. */
double score_spacing(double spacing);

/* Root mean square of the three scores: the length of their vector relative to (1, 1, 1). */
double score_signal(double entropy, double kurtosis, double spacing);

/* Angle of the unit vector (noise, signal), whose sine is the signal, in degrees, [0, 90]. */
double score_theta(double signal);

#endif
