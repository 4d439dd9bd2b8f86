/* SPDX-License-Identifier: MIT */
/* score.h - from indicators to an angle. Each indicator has a value that means noise and one that
 * means signal; its score rises from 0.1 at the one to 0.9 at the other on a logistic curve. */
#ifndef MEASURE_SCORE_H
#define MEASURE_SCORE_H

/* Normalised entropy: noise from 0.95, signal at 0.70 to 0.30; below that the score falls again,
 * because a tensor that is almost all one value has no structure either. */
double score_entropy(double entropy);

/* Excess kurtosis: noise at 1/3, signal at 3. Flatter than normal is no signal down to the uniform
 * law; from there the score rises again, so that a two-point law counts like kurtosis 3. */
double score_kurtosis(double kurtosis);

/* Coefficient of variation of the spacings: noise at 0.5, signal at 1. */
double score_spacing(double spacing);

/* The length of the vector of the three scores relative to (1, 1, 1): their root mean square. */
double score_signal(double entropy, double kurtosis, double spacing);

/* The angle of the unit vector (noise, signal) whose sine the signal is, in degrees, [0, 90]. */
double score_theta(double signal);

#endif
