/* SPDX-License-Identifier: Apache-2.0 */
#include "model/optimizers.h"

#include "model/kernels.h"
#include "model/plan.h"

#include <math.h>
#include <string.h>

static struct extent per_run(const struct plan *plan, uint64_t vectors)
{
	const struct update_shape shape = update_shape(plan->cpu);

	return (struct extent){ .constant = vectors, .tile = (uint64_t)shape.group * shape.run };
}

static uint64_t region_vectors(const struct plan *plan)
{
	return graph_at(plan->graph, plan->graph->parameter_region)->elements / 16;
}

/* keras.io/api/optimizers: each has its own default. */
#define ADAM_RATE 0.001
#define SGD_RATE  0.01

static double learning_rate(const struct config *config, double own)
{
	return config->optimizer.learning_rate > 0 ? config->optimizer.learning_rate : own;
}

/* ---- adam (Kingma and Ba, 2015), as Keras writes it ---- */

static uint32_t adam_slots(const struct config *config)
{
	(void)config;
	return 2;
}

static void adam_emit(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const struct config *config = graph->config;
	const uint64_t vectors = region_vectors(plan);

	plan_emit(plan, &(struct launch){
				.kernel = "adam",
				.groups = { per_run(plan, vectors) },
				.arguments = 10,
				.argument = { INOUT(graph->parameter_region), IN(graph->gradient_region),
					      INOUT(graph->slot_region[0]), INOUT(graph->slot_region[1]),
					      UINT((uint32_t)vectors), OUT(graph->chunk_fault), AT(RATE),
					      FLOAT(1 - config->optimizer.beta_1),
					      FLOAT(1 - config->optimizer.beta_2),
					      FLOAT(config->optimizer.epsilon) },
			});
}

static double adam_rate(const struct config *config, uint64_t t)
{
	return learning_rate(config, ADAM_RATE) * sqrt(1 - pow(config->optimizer.beta_2, (double)t)) /
	       (1 - pow(config->optimizer.beta_1, (double)t));
}

static void adam_reference(const struct config *config, uint64_t t, uint64_t n, const double *gradient,
			   double *parameter, double *m, double *v)
{
	const double b1 = config->optimizer.beta_1, b2 = config->optimizer.beta_2;
	const double alpha = adam_rate(config, t);

	for (uint64_t i = 0; i < n; i++) {
		m[i] = b1 * m[i] + (1 - b1) * gradient[i];
		v[i] = b2 * v[i] + (1 - b2) * gradient[i] * gradient[i];
		parameter[i] -= alpha * m[i] / (sqrt(v[i]) + config->optimizer.epsilon);
	}
}

/* ---- sgd, with Keras's momentum and Nesterov's ---- */

static uint32_t sgd_slots(const struct config *config)
{
	return config->optimizer.momentum > 0;
}

static void sgd_emit(struct plan *plan)
{
	const struct graph *graph = plan->graph;
	const struct config *config = graph->config;
	const uint64_t vectors = region_vectors(plan);

	if (!sgd_slots(config)) {
		plan_emit(plan,
			  &(struct launch){
				  .kernel = "sgd",
				  .groups = { per_run(plan, vectors) },
				  .arguments = 5,
				  .argument = { INOUT(graph->parameter_region), IN(graph->gradient_region),
						UINT((uint32_t)vectors), OUT(graph->chunk_fault), AT(RATE) },
			  });
		return;
	}
	plan_emit(plan,
		  &(struct launch){
			  .kernel = "sgd_momentum",
			  .groups = { per_run(plan, vectors) },
			  .arguments = 8,
			  .argument = { INOUT(graph->parameter_region), IN(graph->gradient_region),
					INOUT(graph->slot_region[0]), UINT((uint32_t)vectors),
					OUT(graph->chunk_fault), AT(RATE), FLOAT(config->optimizer.momentum),
					INT(config->optimizer.nesterov) },
		  });
}

static double sgd_rate(const struct config *config, uint64_t t)
{
	(void)t;
	return learning_rate(config, SGD_RATE);
}

static void sgd_reference(const struct config *config, uint64_t t, uint64_t n, const double *gradient,
			  double *parameter, double *m, double *unused)
{
	const double rate = sgd_rate(config, t), momentum = config->optimizer.momentum;

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

static const struct optimizer optimizers[] = {
	{ "adam", { "m", "v" }, adam_slots, adam_emit, adam_rate, adam_reference },
	{ "sgd", { "m" }, sgd_slots, sgd_emit, sgd_rate, sgd_reference },
};

const struct optimizer *optimizer_find(const char *name)
{
	for (size_t i = 0; i < sizeof(optimizers) / sizeof(*optimizers); i++)
		if (!strcmp(optimizers[i].name, name))
			return &optimizers[i];
	return NULL;
}

const char *optimizer_names(void)
{
	return "adam, sgd";
}
