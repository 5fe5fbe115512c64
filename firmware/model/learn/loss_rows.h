/* SPDX-License-Identifier: Apache-2.0 */
/* The formulae of the losses, in float64: the reference of the kernels. Each function returns the loss of a
 * row and writes its gradient unless dz is NULL, both without weights. z [outputs]; label [outputs], of
 * loss_sparse_row() [1]. */
#pragma once

#include "model/learn/losses.h"

double loss_softmax_row(uint64_t classes, const double *z, const double *label,
			const struct loss_settings *settings, double *dz);
double loss_sparse_row(uint64_t classes, const double *z, const double *label,
		       const struct loss_settings *settings, double *dz);
double loss_sigmoid_row(uint64_t units, const double *z, const double *label,
			const struct loss_settings *settings, double *dz);
double loss_softmax_focal_row(uint64_t classes, const double *z, const double *label,
			      const struct loss_settings *settings, double *dz);
double loss_sigmoid_focal_row(uint64_t units, const double *z, const double *label,
			      const struct loss_settings *settings, double *dz);
double loss_squared_row(uint64_t outputs, const double *z, const double *label,
			const struct loss_settings *settings, double *dz);
double loss_absolute_row(uint64_t outputs, const double *z, const double *label,
			 const struct loss_settings *settings, double *dz);
double loss_huber_row(uint64_t outputs, const double *z, const double *label,
		      const struct loss_settings *settings, double *dz);
double loss_log_cosh_row(uint64_t outputs, const double *z, const double *label,
			 const struct loss_settings *settings, double *dz);
double loss_poisson_row(uint64_t outputs, const double *z, const double *label,
			const struct loss_settings *settings, double *dz);
double loss_hinge_row(uint64_t outputs, const double *z, const double *label,
		      const struct loss_settings *settings, double *dz);
double loss_squared_hinge_row(uint64_t outputs, const double *z, const double *label,
			      const struct loss_settings *settings, double *dz);
double loss_divergence_row(uint64_t outputs, const double *z, const double *label,
			   const struct loss_settings *settings, double *dz);
double loss_cosine_row(uint64_t outputs, const double *z, const double *label,
		       const struct loss_settings *settings, double *dz);
