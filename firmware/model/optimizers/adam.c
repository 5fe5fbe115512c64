/* SPDX-License-Identifier: Apache-2.0 */
/* Adam (Kingma and Ba, 2015), as Keras writes it, and with decoupled weight decay (Loshchilov and Hutter,
 * 2019). */
#include "model/loss_scale.h"
#include "model/optimizers/rows.h"

#include <math.h>

static uint32_t adam_slots(const struct config *config)
{
	(void)config;
	return 2;
}

static void adam_emit(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const struct config *config = graph->config;
	const uint64_t vectors = optimizer_vectors(plan);

	plan_emit(plan, &(struct launch){
				.kernel = "adam",
				.on_update = true,
				.groups = { optimizer_groups(plan, vectors) },
				.arguments = 12,
				.argument = { INOUT(graph->parameter_region), IN(graph->gradient_region),
					      INOUT(graph->slot_region[0]), INOUT(graph->slot_region[1]),
					      UINT((uint32_t)vectors), OUT(graph->chunk_fault), AT(RATE),
					      optimizer_decay(plan), FLOAT(1 - config->optimizer.beta_1),
					      FLOAT(1 - config->optimizer.beta_2),
					      FLOAT(config->optimizer.epsilon), loss_scale_verdict(graph) },
			});
}

static double adam_correction(const struct config *config, uint64_t t)
{
	return sqrt(1 - pow(config->optimizer.beta_2, (double)t)) /
	       (1 - pow(config->optimizer.beta_1, (double)t));
}

static void adam_reference(const struct config *config, double rate, uint64_t t, uint64_t n,
			   const double *gradient, double *parameter, double *m, double *v)
{
	const double b1 = config->optimizer.beta_1, b2 = config->optimizer.beta_2;
	const double alpha = rate * adam_correction(config, t);

	for (uint64_t i = 0; i < n; i++) {
		m[i] = b1 * m[i] + (1 - b1) * gradient[i];
		v[i] = b2 * v[i] + (1 - b2) * gradient[i] * gradient[i];
		parameter[i] -= alpha * m[i] / (sqrt(v[i]) + config->optimizer.epsilon);
	}
}

const struct optimizer optimizer_adam = {
	"adam", 0.001, 0, { "m", "v" }, adam_slots, adam_emit, adam_correction, adam_reference,
};

const struct optimizer optimizer_adamw = {
	"adamw", 0.001, 0.004, { "m", "v" }, adam_slots, adam_emit, adam_correction, adam_reference,
};
