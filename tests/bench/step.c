/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures a training step of a network whose data are in memory: microseconds per step, medians of rounds,
 * and the time of all cores for one (cpu_us), as a JSON line. For step-mlp it also measures the five GEMMs of
 * the same step in OpenBLAS, if that is installed; rounds of both alternate. The result is compared with the
 * float64 reference first. The line ends with a checksum of the weights after the last step: the same device
 * and number of steps give the same one. Usage: step NET [ROUNDS] [STEPS]
 */
#include "tests/bench/measure.h"
#include "tests/bench/openblas.h"
#include "tests/reference.h"

#include <inttypes.h>

#define BATCHES    8u
#define ROUNDS_MAX 101u
/* Of the network of an embedding_bag, as on film reviews: three quarters of a row's places have a token. */
#define TABLE      200000
#define TOKENS_MAX 256u

static struct config_layer article[] = { DENSE(256), RELU,         DROPOUT(0.2), DENSE(16),
					 RELU,       DROPOUT(0.2), DENSE(2),     SOFTMAX };
static struct config_layer bag[] = { OP("embedding_bag", INPUTS_OF(1, "tokens"),
					ATTRIBUTES(2, INT_ATTRIBUTE("input_dim", TABLE),
						   INT_ATTRIBUTE("output_dim", 32))),
				     DENSE(2), SOFTMAX };
static struct config_layer lstm[] = { OP("lstm", ATTRIBUTES(1, INT_ATTRIBUTE("units", 128))), DENSE(2),
				      SOFTMAX };
static struct config_layer attention[] = {
	OP("multi_head_attention", ATTRIBUTES(3, INT_ATTRIBUTE("num_heads", 12), INT_ATTRIBUTE("key_dim", 32),
					      BOOL_ATTRIBUTE("use_bias", 0))),
	OP("global_average_pooling1d"), DENSE(2), SOFTMAX
};
static struct config_layer head[] = { DENSE(2), SOFTMAX };
static struct config_layer large[] = { DENSE(4096), RELU, DENSE(4096), RELU, DENSE(10), SOFTMAX };

/* The size of all-MiniLM-L6-v2. */
static const struct config_bert minilm = {
	.hidden_size = 384,
	.num_hidden_layers = 6,
	.num_attention_heads = 12,
	.intermediate_size = 1536,
	.vocab_size = 30522,
	.max_position_embeddings = 512,
	.layer_norm_eps = 1e-12,
	.hidden_dropout_prob = 0.1,
	.attention_probs_dropout_prob = 0.1,
};

static const struct net {
	const char *name, *text;
	struct config_layer *layers;
	uint32_t count, inputs, classes, rows;
	/* size of the comparison with the reference: small, because float64 is slow */
	uint32_t verified_rows, verified_steps;
	bool beside_openblas;
	int precision;    /* enum config_precision */
	double tolerance; /* of a parameter; in 16 bits a gradient near zero may have the other sign: Adam's
			     first step then differs by two learning rates */
	uint32_t table;   /* the input is a list of tokens, numbers of a table of this size; 0: numbers */
	uint32_t time;    /* the input is [time, inputs / time]; 0: [inputs] */
	const struct config_bert *bert; /* the base of the network; NULL: none */
} nets[] = {
	{ "step-mlp", "512-256-16-2, batch 128", article, 8, 512, 2, 128, 128, 3, true, PRECISION_FLOAT32,
	  2e-5, 0, 0, NULL },
	{ "step-mlp-large", "1024-4096-4096-10, batch 512", large, 6, 1024, 10, 512, 8, 1, false,
	  PRECISION_FLOAT32, 2e-5, 0, 0, NULL },
	{ "step-mlp-large-bf16", "1024-4096-4096-10, batch 512, mixed_bfloat16", large, 6, 1024, 10, 512, 8,
	  1, false, PRECISION_MIXED_BFLOAT16, 2.1e-3, 0, 0, NULL },
	{ "step-mlp-large-f16", "1024-4096-4096-10, batch 512, mixed_float16", large, 6, 1024, 10, 512, 8, 1,
	  false, PRECISION_MIXED_FLOAT16, 2.1e-3, 0, 0, NULL },
	{ "step-bag", "an embedding_bag of 200 000 tokens x 32, batch 128", bag, 3, 1, 2, 128, 16, 1, false,
	  PRECISION_FLOAT32, 2e-5, TABLE, 0, NULL },
	{ "lstm-step", "lstm of 128 units, batch 64 x 100 x 64", lstm, 3, 100 * 64, 2, 64, 16, 1, false,
	  PRECISION_FLOAT32, 2e-5, 0, 100, NULL },
	{ "attention-step", "multi_head_attention of 12 heads of 32, batch 32 x 128 x 384", attention, 4,
	  128 * 384, 2, 32, 2, 1, false, PRECISION_FLOAT32, 2e-5, 0, 128, NULL },
	{ "bert-step", "fine-tuning of all-MiniLM-L6-v2, batch 32 x 128 tokens", head, 2, 128, 2, 32, 1, 1,
	  false, PRECISION_FLOAT32, 2e-5, 30522, 0, &minilm },
};

static const struct net *net;
static float *input[BATCHES];
static int64_t *label[BATCHES];
static int64_t *tokens[BATCHES], splits[257];

static void must(int rc, const struct error *err)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "step: %s\n", err->text);
	exit(1);
}

static uint64_t input_bytes(void)
{
	return ((uint64_t)net->rows * net->inputs * sizeof(float) + 4095) / 4096 * 4096;
}

/* The inputs lie side by side, as in a ring, from which a GPU may copy them itself. */
static void open_data(void)
{
	for (uint64_t b = 0; b < BATCHES; b++) {
		input[b] = b ? input[0] + b * input_bytes() / sizeof(float)
			     : aligned_alloc(4096, BATCHES * input_bytes());
		label[b] = aligned_alloc(4096, ((size_t)net->rows * net->classes * sizeof(int64_t) + 4095) /
						       4096 * 4096);
		if (!input[b] || !label[b])
			abort();
		fill_batch(b, net->rows, net->inputs, net->classes, input[b], label[b]);
	}
}

/* Most tokens are common: of a table of N, about number N x^4 for an even x. Token 0 is none, as padding. */
static void open_tokens(void)
{
	uint64_t seed = 44;

	for (uint64_t b = 0; b < BATCHES; b++) {
		tokens[b] = aligned_alloc(4096, net->rows * TOKENS_MAX * sizeof(int64_t));
		if (!tokens[b])
			abort();
		for (uint64_t i = 0; i < net->rows * TOKENS_MAX; i++)
			tokens[b][i] = 1 + (int64_t)(pow((noise(&seed) + 1) / 2, 4) * (net->table - 1)) %
						   (net->table - 1);
	}
	for (uint64_t r = 0; r <= net->rows; r++)
		splits[r] = (int64_t)(r * TOKENS_MAX * 3 / 4);
}

static void close_data(void)
{
	free(input[0]);
	for (uint64_t b = 0; b < BATCHES; b++) {
		free(label[b]);
		free(tokens[b]);
	}
}

static struct model_batch batch_at(uint64_t step, uint32_t rows)
{
	const uint64_t b = step % BATCHES;
	const void *first = net->table ? (const void *)tokens[b] : input[b];

	return (struct model_batch){ .input = { first, splits },
				     .label = label[b],
				     .rows = rows,
				     .valid_rows = rows,
				     .first_row = step * net->rows };
}

static void train(struct model *model, uint64_t steps, uint32_t rows)
{
	struct model_metrics metrics;
	struct error err = { 0 };

	for (uint64_t i = 0; i < steps; i++) {
		const struct model_batch batch = batch_at(model_step(model), rows);

		must(model_train(model, &batch, &err), &err);
	}
	must(model_metrics(model, &metrics, &err), &err);
}

static double worst_parameter(struct model *model, const struct reference *reference)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	uint32_t count = 0;
	double most = 0;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	for (uint32_t t = 0; t < count; t++)
		for (uint32_t i = 0; i < model->graph.tensors; i++) {
			const struct tensor *tensor = graph_at(&model->graph, i);

			if (tensor->role != ROLE_PARAMETER || strcmp(tensor->name, tensors[t].name) != 0)
				continue;
			for (uint64_t e = 0; e < tensor->elements; e++)
				most = fmax(most, fabs((double)((const float *)tensors[t].data)[e] -
						       reference->value[i][e]));
		}
	model_snapshot_release(model);
	return most;
}

/* Check before timing: compare a few steps with float64. */
static void verify(struct model *model)
{
	const struct model_tensor *tensors = NULL;
	struct error err = { 0 };
	struct reference reference;
	uint32_t count = 0;
	double most;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	reference_open(&reference, &model->graph);
	reference_load(&reference, tensors, count);
	model_snapshot_release(model);
	for (uint64_t step = 0; step < net->verified_steps; step++) {
		const struct model_batch batch = batch_at(step, net->verified_rows);

		train(model, 1, net->verified_rows);
		reference_train(&reference, &batch, step);
	}
	most = worst_parameter(model, &reference);
	reference_close(&reference);
	if (!(most <= net->tolerance)) {
		(void)fprintf(stderr, "step: parameters differ from float64 by %g after %u steps\n", most,
			      net->verified_steps);
		exit(1);
	}
}

/* FNV-1a of all weights: http://www.isthe.com/chongo/tech/comp/fnv */
static uint64_t checksum(struct model *model)
{
	const struct model_tensor *tensors = NULL;
	uint64_t sum = UINT64_C(14695981039346656037);
	struct error err = { 0 };
	uint32_t count = 0;

	must(model_snapshot(model, &err), &err);
	must(model_snapshot_tensors(model, &tensors, &count, &err), &err);
	for (uint32_t t = 0; t < count; t++)
		for (uint64_t i = 0; i < tensors[t].bytes; i++)
			sum = (sum ^ ((const unsigned char *)tensors[t].data)[i]) * UINT64_C(1099511628211);
	model_snapshot_release(model);
	return sum;
}

/* ---- OpenBLAS: the same five products ---- */

/* The products of forward, x W1 and h W2, and of backward, x^T dz1, h^T dz2 and dz2 W2^T. The products of the
 * third layer are left out: they are 1 % of the work. */
static void five_gemms(sgemm_function *sgemm)
{
	static float a[512 * 256], b[512 * 256], c[512 * 256];

	sgemm(ROW_MAJOR, PLAIN, PLAIN, 128, 256, 512, 1, input[0], 512, a, 256, 0, c, 256);
	sgemm(ROW_MAJOR, PLAIN, PLAIN, 128, 16, 256, 1, b, 256, a, 16, 0, c, 16);
	sgemm(ROW_MAJOR, TRANSPOSED, PLAIN, 512, 256, 128, 1, input[0], 512, b, 256, 0, c, 256);
	sgemm(ROW_MAJOR, TRANSPOSED, PLAIN, 256, 16, 128, 1, b, 256, a, 16, 0, c, 16);
	sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, 128, 256, 16, 1, b, 16, a, 16, 0, c, 256);
}

static double blas_us(sgemm_function *sgemm, uint64_t steps)
{
	/* Wait until OpenBLAS's threads, which spin for a while after their work, do not use the cores. */
	const struct timespec rest = { .tv_nsec = 150000000 };
	const double start = now_us();
	double spent;

	for (uint64_t i = 0; i < steps; i++)
		five_gemms(sgemm);
	spent = (now_us() - start) / (double)steps;
	(void)nanosleep(&rest, NULL);
	return spent;
}

/* Returns the time of a step, and sets *ret_cpu to the time of all cores for it. */
static double ours_us(struct model *model, uint64_t steps, double *ret_cpu)
{
	const double start = now_us(), cpu = cpu_us();

	train(model, steps, net->rows);
	*ret_cpu = (cpu_us() - cpu) / (double)steps;
	return (now_us() - start) / (double)steps;
}

static void measure(struct model *model, sgemm_function *sgemm, uint32_t rounds, uint64_t steps)
{
	double ours[ROUNDS_MAX], cpu[ROUNDS_MAX], blas[ROUNDS_MAX], value;

	(void)ours_us(model, steps, cpu);
	for (uint32_t r = 0; r < rounds; r++) {
		ours[r] = ours_us(model, steps, &cpu[r]);
		blas[r] = sgemm ? blas_us(sgemm, steps) : 0;
	}
	value = median(ours, rounds);
	printf("{\"name\":\"%s\",\"case\":\"%s\",\"value\":%.1f,\"unit\":\"us\"", net->name, net->text,
	       value);
	if (sgemm)
		printf(",\"peer\":\"openblas-5-gemms\",\"peer_value\":%.1f,\"ratio\":%.3f",
		       median(blas, rounds), median(blas, rounds) / value);
	printf(",\"cpu_us\":%.1f,\"weights\":\"%016" PRIx64 "\"}\n", median(cpu, rounds), checksum(model));
}

static uint32_t number(const char *text, uint32_t fallback)
{
	const uint32_t asked = text ? (uint32_t)strtoul(text, NULL, 10) : fallback;

	return asked ? asked : 1;
}

int main(int argc, char **argv)
{
	const uint32_t asked = number(argc > 2 ? argv[2] : NULL, 15);
	const uint32_t rounds = asked < ROUNDS_MAX ? asked : ROUNDS_MAX;
	struct model *model = NULL;
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(nets) / sizeof(*nets); i++)
		if (argc > 1 && !strcmp(argv[1], nets[i].name))
			net = &nets[i];
	if (!net) {
		(void)fprintf(
			stderr,
			"usage: step step-mlp|step-mlp-large|step-mlp-large-bf16|step-mlp-large-f16|step-bag|"
			"lstm-step|attention-step|bert-step [ROUNDS] [STEPS]\n");
		return 1;
	}

	struct config config = model_config(net->layers, net->count, net->inputs, net->classes, net->rows);
	sgemm_function *sgemm = net->beside_openblas ? find_sgemm() : NULL;
	struct gpu *gpu = open_device();

	config.model.precision = net->precision;
	if (net->time) {
		config.feature[0].rank = 2;
		config.feature[0].shape[0] = net->time;
		config.feature[0].shape[1] = net->inputs / net->time;
	}
	open_data();
	if (net->table)
		open_tokens();
	if (net->bert) {
		config.model.base = "bert";
		config.model.base_trainable = true;
		config.model.base_pooling = POOLING_AVG;
		config.model.bert = *net->bert;
		config.feature[0].dtype = CONFIG_INT64;
	} else if (net->table) {
		config.features = 3;
		config.feature[2] = (struct config_feature){ .name = "tokens",
							     .dtype = CONFIG_INT64,
							     .values_max = TOKENS_MAX };
	}
	must(model_open(gpu, &config, true, &model, &err), &err);
	must(model_init(model, &err), &err);
	if (!net->table)
		must(model_batch_memory(model, input[0], BATCHES * input_bytes(), &err), &err);
	verify(model);
	(void)fprintf(stderr, "%s: %u launches a step\n", gpu_description(gpu), plan_enqueued(&model->train));
	measure(model, sgemm, rounds, number(argc > 3 ? argv[3] : NULL, 300));
	model_close(model);
	close_device(gpu);
	close_data();
	return 0;
}
