/* SPDX-License-Identifier: Apache-2.0 */
/* RMSprop (Hinton, 2012), Adagrad (Duchi et al., 2011), Adamax (Kingma and Ba, 2015) and Lion (Chen et al.,
 * 2023), in Keras's form. */
#include "model/learn/loss_scale.h"
#include "model/learn/update.h"

#include <math.h>

/* Appends the launch of a kernel of UPDATE_PARAMETERS (kernels/update.cl). */
static void emit(struct plan *plan, uint64_t from, uint64_t to, const char *kernel,
		 const double numbers[static 3])
{
	const struct graph *graph = plan->graph;
	const uint32_t second =
		graph->optimizer->slots(graph->config) > 1 ? graph->slot_region[1] : GRAPH_NO_TENSOR;

	plan_emit(plan,
		  &(struct launch){
			  .kernel = kernel,
			  .on_update = true,
			  .groups = { optimizer_groups(plan, to - from) },
			  ARGUMENTS(INOUT(graph->parameter_region), IN(graph->gradient_region),
				    INOUT(graph->slot_region[0]), argument_optional(second, ARGUMENT_INOUT),
				    UINT((uint32_t)from), UINT((uint32_t)to), OUT(graph->chunk_fault),
				    AT(RATE), optimizer_decay(plan), FLOAT(numbers[0]), FLOAT(numbers[1]),
				    FLOAT(numbers[2]), loss_scale_verdict(graph)),
		  });
}

static uint32_t one_slot(const struct config *config)
{
	(void)config;
	return 1;
}

static uint32_t two_slots(const struct config *config)
{
	(void)config;
	return 2;
}

/* ---- RMSprop ---- */

static uint32_t rmsprop_slots(const struct config *config)
{
	return config->optimizer.momentum > 0 ? 2 : 1;
}

static void rmsprop_emit(struct plan *plan, uint64_t from, uint64_t to)
{
	const struct config *config = plan->graph->config;

	emit(plan, from, to, "rmsprop",
	     (double[]){ config->optimizer.rho, config->optimizer.momentum, config->optimizer.epsilon });
}

static void rmsprop_reference(const struct config *config, double rate, uint64_t t, uint64_t n,
			      const double *gradient, double *parameter, double *v, double *m)
{
	const double rho = config->optimizer.rho, momentum = config->optimizer.momentum;

	(void)t;
	for (uint64_t i = 0; i < n; i++) {
		double step;

		v[i] = rho * v[i] + (1 - rho) * gradient[i] * gradient[i];
		step = rate * gradient[i] / sqrt(v[i] + config->optimizer.epsilon);
		if (momentum > 0)
			step = m[i] = momentum * m[i] + step;
		parameter[i] -= step;
	}
}

const struct optimizer optimizer_rmsprop = {
	.name = "rmsprop",
	.learning_rate = 0.001,
	.slot = { "v", "m" },
	.slots = rmsprop_slots,
	.emit = rmsprop_emit,
	.reference = rmsprop_reference,
};

/* ---- Adagrad ---- */

static double adagrad_first(const struct config *config)
{
	return config->optimizer.initial_accumulator_value;
}

static void adagrad_emit(struct plan *plan, uint64_t from, uint64_t to)
{
	emit(plan, from, to, "adagrad", (double[]){ 0, 0, plan->graph->config->optimizer.epsilon });
}

static void adagrad_reference(const struct config *config, double rate, uint64_t t, uint64_t n,
			      const double *gradient, double *parameter, double *sum, double *unused)
{
	(void)t;
	(void)unused;
	for (uint64_t i = 0; i < n; i++) {
		sum[i] += gradient[i] * gradient[i];
		parameter[i] -= rate * gradient[i] / sqrt(sum[i] + config->optimizer.epsilon);
	}
}

const struct optimizer optimizer_adagrad = {
	.name = "adagrad",
	.learning_rate = 0.001,
	.slot = { "sum" },
	.slots = one_slot,
	.first = adagrad_first,
	.emit = adagrad_emit,
	.reference = adagrad_reference,
};

/* ---- Adamax ---- */

static void adamax_emit(struct plan *plan, uint64_t from, uint64_t to)
{
	const struct config *config = plan->graph->config;

	emit(plan, from, to, "adamax",
	     (double[]){ 1 - config->optimizer.beta_1, optimizer_beta_2(config, plan->graph->optimizer),
			 config->optimizer.epsilon });
}

static double adamax_correction(const struct config *config, uint64_t t)
{
	return 1 / (1 - pow(config->optimizer.beta_1, (double)t));
}

extern const struct optimizer optimizer_adamax;

static void adamax_reference(const struct config *config, double rate, uint64_t t, uint64_t n,
			     const double *gradient, double *parameter, double *m, double *u)
{
	const double beta_1 = config->optimizer.beta_1, beta_2 = optimizer_beta_2(config, &optimizer_adamax);

	for (uint64_t i = 0; i < n; i++) {
		m[i] = beta_1 * m[i] + (1 - beta_1) * gradient[i];
		u[i] = fmax(beta_2 * u[i], fabs(gradient[i]));
		parameter[i] -=
			rate * adamax_correction(config, t) * m[i] / (u[i] + config->optimizer.epsilon);
	}
}

const struct optimizer optimizer_adamax = {
	.name = "adamax",
	.learning_rate = 0.001,
	.beta_2 = 0.999,
	.slot = { "m", "u" },
	.slots = two_slots,
	.emit = adamax_emit,
	.correction = adamax_correction,
	.reference = adamax_reference,
};

/* ---- Lion ---- */

static void lion_emit(struct plan *plan, uint64_t from, uint64_t to)
{
	const struct config *config = plan->graph->config;

	emit(plan, from, to, "lion",
	     (double[]){ config->optimizer.beta_1, optimizer_beta_2(config, plan->graph->optimizer), 0 });
}

extern const struct optimizer optimizer_lion;

static void lion_reference(const struct config *config, double rate, uint64_t t, uint64_t n,
			   const double *gradient, double *parameter, double *m, double *unused)
{
	const double beta_1 = config->optimizer.beta_1, beta_2 = optimizer_beta_2(config, &optimizer_lion);

	(void)t;
	(void)unused;
	for (uint64_t i = 0; i < n; i++) {
		const double way = beta_1 * m[i] + (1 - beta_1) * gradient[i];

		parameter[i] -= rate * ((way > 0) - (way < 0));
		m[i] = beta_2 * m[i] + (1 - beta_2) * gradient[i];
	}
}

const struct optimizer optimizer_lion = {
	.name = "lion",
	.learning_rate = 0.001,
	.beta_2 = 0.99,
	.slot = { "m" },
	.slots = one_slot,
	.emit = lion_emit,
	.reference = lion_reference,
};
