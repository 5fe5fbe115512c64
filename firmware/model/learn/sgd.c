/* SPDX-License-Identifier: Apache-2.0 */
/* Stochastic gradient descent, plain or with momentum, the latter also Nesterov's, with Keras's formulae. */
#include "model/learn/loss_scale.h"
#include "model/learn/update.h"

static uint32_t sgd_slots(const struct config *config)
{
	return config->optimizer.momentum > 0;
}

static void sgd_emit(struct plan *plan, uint64_t from, uint64_t to)
{
	const struct graph *graph = plan->graph;
	const struct config *config = graph->config;

	if (!sgd_slots(config)) {
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "sgd",
				  .on_update = true,
				  .groups = { optimizer_groups(plan, to - from) },
				  ARGUMENTS(INOUT(graph->parameter_region), IN(graph->gradient_region),
					    UINT((uint32_t)from), UINT((uint32_t)to), OUT(graph->chunk_fault),
					    AT(RATE), optimizer_decay(plan), loss_scale_verdict(graph)),
			  });
		return;
	}
	plan_emit(plan, &(struct launch){
				.kernel = "sgd_momentum",
				.on_update = true,
				.groups = { optimizer_groups(plan, to - from) },
				ARGUMENTS(INOUT(graph->parameter_region), IN(graph->gradient_region),
					  INOUT(graph->slot_region[0]), UINT((uint32_t)from),
					  UINT((uint32_t)to), OUT(graph->chunk_fault), AT(RATE),
					  optimizer_decay(plan), FLOAT(config->optimizer.momentum),
					  INT(config->optimizer.nesterov), loss_scale_verdict(graph)),
			});
}

static void sgd_reference(const struct config *config, double rate, uint64_t t, uint64_t n,
			  const double *gradient, double *parameter, double *m, double *unused)
{
	const double momentum = config->optimizer.momentum;

	(void)t;
	(void)unused;
	for (uint64_t i = 0; i < n; i++) {
		if (!sgd_slots(config)) {
			parameter[i] -= rate * gradient[i];
			continue;
		}
		m[i] = momentum * m[i] - rate * gradient[i];
		parameter[i] += config->optimizer.nesterov ? momentum * m[i] - rate * gradient[i] : m[i];
	}
}

const struct optimizer optimizer_sgd = {
	.name = "sgd",
	.learning_rate = 0.01,
	.slot = { "m" },
	.slots = sgd_slots,
	.emit = sgd_emit,
	.reference = sgd_reference,
};
