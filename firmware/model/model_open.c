/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a model: plans of its passes, buffers, and the program. */
#include "model/build.h"
#include "model/layout.h"
#include "model/learn/optimizers.h"
#include "model/memory.h"
#include "model/model.h"
#include "model/passes.h"
#include "model/plan/chain.h"
#include "model/plan/kernels.h"
#include "model/plan/lifetime.h"
#include "model/state.h"

static int emit_plans(struct model *model, struct error *err)
{
	struct graph *graph = &model->graph;
	const bool cpu = gpu_is_cpu(model->gpu);
	enum tensor_cores tensor_cores;
	const int r = kernels_tensor_cores(model->gpu, graph->storage, graph->config->model.tensor_float_32,
					   &tensor_cores, err);

	if (r < 0)
		return r;
	plan_init(&model->predict, graph, cpu);
	model->predict.tensor_cores = tensor_cores;
	pass_emit_predict(&model->predict);
	if (!graph->training)
		return 0;
	plan_init(&model->evaluate, graph, cpu);
	model->evaluate.tensor_cores = tensor_cores;
	pass_emit_evaluate(&model->evaluate);
	plan_init(&model->train, graph, cpu);
	model->train.tensor_cores = tensor_cores;
	pass_emit_train(&model->train);
	plan_init(&model->final, graph, cpu);
	optimizer_emit_final(&model->final);
	if (graph->parts == 1)
		return 0;
	plan_init(&model->share.apply, graph, cpu);
	pass_emit_apply(&model->share.apply);
	return 0;
}

static int make_arenas(struct model *model, struct error *err)
{
	const struct gpu_memory have = gpu_memory(model->gpu);
	const struct graph *graph = &model->graph;

	for (enum arena arena = ARENA_STATE; arena < ARENA_MAX; arena++) {
		int r = 0;

		if (graph->arena_bytes[arena])
			r = gpu_buffer_create(model->gpu, graph->arena_bytes[arena], &model->arena[arena],
					      err);
		if (r < 0)
			return memory_refused(graph, arena, &have, r, err);
	}
	return 0;
}

/* Allocates the flights: a ticket's batch has one for each of its micro-batches. */
static int make_flights(struct model *model, struct error *err)
{
	int r;

	model->flights = MODEL_TICKETS_MAX * model->graph.parts;
	model->flight = calloc(model->flights, sizeof(*model->flight));
	if (!model->flight)
		return error_set(err, -ENOMEM, "model: out of memory");
	r = gpu_host_create(model->gpu, model->flights * sizeof(*model->read_fault), &model->fault_host, err);
	if (r == 0)
		model->read_fault = gpu_host_memory(model->fault_host);
	return r;
}

static int make_buffers(struct model *model, struct error *err)
{
	const struct graph *graph = &model->graph;
	int r;

	if ((r = make_arenas(model, err)) == 0)
		r = feed_open(&model->feed, model->gpu, graph, err);
	if (r == 0)
		r = make_flights(model, err);
	model->buffer = calloc(graph->tensors, sizeof(void *));
	if (r == 0 && !model->buffer)
		r = error_set(err, -ENOMEM, "model: out of memory");
	for (uint32_t i = 0; r == 0 && i < graph->tensors; i++) {
		const struct tensor *tensor = graph_at(graph, i);

		if (tensor->arena != ARENA_BATCH && tensor->offset != LIFETIME_NO_PLACE)
			r = gpu_buffer_sub(model->arena[tensor->arena], tensor->offset,
					   layout_buffer_bytes(tensor), &model->buffer[i], err);
		if (r == 0 && tensor->constant)
			r = gpu_write(model->gpu, model->buffer[i], 0, tensor->constant, tensor->bytes, true,
				      err);
	}
	return r;
}

/* Plans and binds the graph, which is built. */
static int open_graph(struct model *model, struct error *err)
{
	struct plan *const plans[] = { &model->predict, &model->evaluate, &model->train, &model->final,
				       &model->share.apply };
	const uint32_t all = model->graph.parts > 1 ? 5 : 4;
	struct gpu_memory have;
	int r;

	if ((r = emit_plans(model, err)) < 0)
		return r;
	layout_work(&model->graph, (const struct plan *const *)plans, model->graph.training ? all : 1);
	have = gpu_memory(model->gpu);
	r = memory_check(&model->graph, gpu_is_cpu(model->gpu), &have, err);
	if (r < 0)
		return error_prefix(err, "%s", gpu_description(model->gpu));
	r = make_buffers(model, err);
	for (size_t i = 0; r == 0 && i < all; i++)
		r = chain_plan(plans[i], model->gpu, model->arena, err);
	if (r == 0)
		r = kernels_build(model->gpu, model->graph.storage, (const struct plan *const *)plans, all,
				  &model->program, err);
	for (size_t i = 0; r == 0 && i < all; i++)
		r = plan_bind(plans[i], model->program, model->buffer, err);
	if (r == 0 && model->graph.parts > 1)
		r = share_open(model, err);
	return r == 0 ? state_open(model, err) : r;
}

/* Opens the whole model, or the base alone. */
static int open_model(struct gpu *gpu, const struct config *config, bool training, bool base,
		      struct model **ret_model, struct error *err)
{
	CLEANUP(model_closep) struct model *model = calloc(1, sizeof(*model));
	int r;

	if (!model)
		return error_set(err, -ENOMEM, "model: out of memory");
	model->gpu = gpu;
	model->config = config;
	r = base ? graph_build_base(config, &model->graph, err)
		 : graph_build(config, training, &model->graph, err);
	if (r == 0)
		r = open_graph(model, err);
	if (r == 0)
		*ret_model = TAKE(model);
	return r;
}

int model_open(struct gpu *gpu, const struct config *config, bool training, struct model **ret_model,
	       struct error *err)
{
	return open_model(gpu, config, training, false, ret_model, err);
}

int model_open_base(struct gpu *gpu, const struct config *config, struct model **ret_model, struct error *err)
{
	return open_model(gpu, config, false, true, ret_model, err);
}

void model_close(struct model *model)
{
	if (!model)
		return;
	(void)(gpu_finish(model->gpu, NULL) < 0);
	for (uint32_t i = 0; i < model->flights; i++)
		gpu_event_free(&model->flight[i].event);
	free(model->flight);
	share_close(model);
	state_close(model);
	plan_done(&model->final);
	plan_done(&model->train);
	plan_done(&model->evaluate);
	plan_done(&model->predict);
	for (uint32_t i = 0; model->buffer && i < model->graph.tensors; i++)
		gpu_buffer_free(model->buffer[i]);
	for (uint32_t i = 0; i < ARENA_MAX; i++)
		gpu_buffer_free(model->arena[i]);
	feed_close(&model->feed);
	gpu_host_free(model->fault_host);
	gpu_program_free(model->program);
	graph_done(&model->graph);
	free(model->buffer);
	free(model);
}

void model_closep(struct model **model)
{
	model_close(*model);
}
