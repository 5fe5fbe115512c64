/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of a model: it learns what the float64 reference learns, repeats its bits, and
 * reports errors. */
#include "model/memory.h"
#include "tests/reference.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the three headers above. */
#include <cmocka.h>

#define ROWS    24u
#define INPUTS  40u
#define CLASSES 3u
#define BATCHES 6u

static struct gpu *gpu;
static float input[BATCHES][ROWS * INPUTS] __attribute__((aligned(4096)));
static int64_t label[BATCHES][ROWS * CLASSES] __attribute__((aligned(4096)));
static uint8_t empty[BATCHES][ROWS];
static struct config_layer layers[] = { DENSE(70), RELU, DROPOUT(0.2), DENSE(16), RELU, DENSE(3), SOFTMAX };

/* A net with moving averages, a frozen layer and a residual connection. */
static struct config_layer with_state[] = {
	OP("dense", ATTRIBUTES(2, INT_ATTRIBUTE("units", 16), BOOL_ATTRIBUTE("use_bias", 0))),
	OP("batch_norm", ATTRIBUTES(1, FLOAT_ATTRIBUTE("momentum", 0.8))),
	OP("swish"),
	OP("dense", ATTRIBUTES(2, INT_ATTRIBUTE("units", 16), BOOL_ATTRIBUTE("trainable", 0))),
	OP("add", INPUTS_OF(2, "dense_1", "swish")),
	DENSE(3),
	SOFTMAX
};

static struct config state_config(void)
{
	return model_config(with_state, sizeof(with_state) / sizeof(*with_state), INPUTS, CLASSES, ROWS);
}

static struct config small_config(void)
{
	return model_config(layers, sizeof(layers) / sizeof(*layers), INPUTS, CLASSES, ROWS);
}

static struct model *open_model(const struct config *config, bool training)
{
	struct error err = { 0 };
	struct model *model = NULL;

	if (model_open(gpu, config, training, &model, &err) < 0)
		fail_msg("%s", err.text);
	return model;
}

static struct model_batch batch_at(uint64_t step)
{
	const uint64_t b = step % BATCHES;

	return (struct model_batch){ .input = { input[b] },
				     .label = label[b],
				     .rows = ROWS,
				     .valid_rows = ROWS,
				     .first_row = step * ROWS };
}

static void train(struct model *model, uint64_t from, uint64_t to)
{
	struct error err = { 0 };

	for (uint64_t step = from; step < to; step++) {
		const struct model_batch batch = batch_at(step);

		if (model_train(model, &batch, &err) < 0)
			fail_msg("step %" PRIu64 ": %s", step, err.text);
	}
}

static const struct model_tensor *snapshot(struct model *model, uint32_t *count)
{
	struct error err = { 0 };
	const struct model_tensor *tensors = NULL;

	if (model_snapshot(model, &err) < 0 || model_snapshot_tensors(model, &tensors, count, &err) < 0)
		fail_msg("%s", err.text);
	return tensors;
}

static void assert_same_state(struct model *a, struct model *b)
{
	uint32_t count_a = 0, count_b = 0;
	const struct model_tensor *left = snapshot(a, &count_a), *right = snapshot(b, &count_b);

	assert_int_equal(count_a, count_b);
	for (uint32_t i = 0; i < count_a; i++) {
		assert_string_equal(left[i].name, right[i].name);
		assert_int_equal(left[i].bytes, right[i].bytes);
		assert_memory_equal(left[i].data, right[i].data, left[i].bytes);
	}
	model_snapshot_release(a);
	model_snapshot_release(b);
}

static void must(int r, const struct error *err)
{
	if (r < 0)
		fail_msg("%s", err->text);
}

/* Returns the largest difference between the model and the reference, over parameters and state of layers. */
static double worst(struct model *model, const struct reference *reference)
{
	uint32_t count = 0;
	const struct model_tensor *tensors = snapshot(model, &count);
	double most = 0;

	for (uint32_t t = 0; t < count; t++)
		for (uint32_t i = 0; i < reference->graph->tensors; i++) {
			const struct tensor *tensor = graph_at(reference->graph, i);

			if ((tensor->role != ROLE_PARAMETER && tensor->role != ROLE_STATE) ||
			    strcmp(tensor->name, tensors[t].name) != 0)
				continue;
			for (uint64_t e = 0; e < tensor->elements; e++)
				most = fmax(most, fabs((double)((const float *)tensors[t].data)[e] -
						       reference->value[i][e]));
		}
	model_snapshot_release(model);
	return most;
}

static void load_reference(struct model *model, struct reference *reference)
{
	uint32_t count = 0;
	const struct model_tensor *tensors = snapshot(model, &count);

	reference_load(reference, tensors, count);
	model_snapshot_release(model);
}

static void follows_reference(const struct config *config)
{
	struct error err = { 0 };
	struct model *model = open_model(config, true);
	struct reference reference;
	struct model_metrics metrics;
	double loss = 0, correct = 0;

	must(model_init(model, &err), &err);
	reference_open(&reference, &model->graph);
	load_reference(model, &reference);
	for (uint64_t step = 0; step < 5; step++) {
		const struct model_batch batch = batch_at(step);

		train(model, step, step + 1);
		reference_train(&reference, &batch, step);
		loss += reference.loss_sum;
		correct += reference.correct_sum;
	}
	/* Each of the 5 steps changes a parameter by about 1e-3. float32 loses about 1e-7 of a step, and more
	 * where a gradient is near zero under Adam. */
	assert_true(worst(model, &reference) < 2e-5);
	must(model_metrics(model, &metrics, &err), &err);
	assert_int_equal(metrics.rows, 5 * ROWS);
	assert_near(metrics.loss, loss / (5 * ROWS), 1e-5);
	assert_near(metrics.accuracy, correct / (5 * ROWS), 1e-9);
	reference_close(&reference);
	model_close(model);
}

static void test_adam_follows_reference(void **state)
{
	const struct config config = small_config();

	(void)state;
	follows_reference(&config);
}

static void test_state_follows_reference(void **state)
{
	struct config config = state_config();

	(void)state;
	config.optimizer.name = "sgd";
	follows_reference(&config);
}

static void test_sgd_follows_reference(void **state)
{
	struct config config = small_config();

	(void)state;
	config.optimizer.name = "sgd";
	config.optimizer.learning_rate = 0.05;
	follows_reference(&config);
	config.optimizer.momentum = 0.9;
	follows_reference(&config);
	config.optimizer.nesterov = true;
	follows_reference(&config);
}

/* Everything between the gradients and the update at once, and its effect on the reported loss. */
static void test_update_follows_reference(void **state)
{
	struct config_layer net[] = { DENSE(70), RELU, DENSE(3), SOFTMAX };
	struct config config = model_config(net, 4, INPUTS, CLASSES, ROWS);

	(void)state;
	net[0].attribute[net[0].attributes++] = (struct config_attribute)FLOAT_ATTRIBUTE("kernel_l2", 0.01);
	net[0].attribute[net[0].attributes++] = (struct config_attribute)FLOAT_ATTRIBUTE("kernel_l1", 0.001);
	net[2].attribute[net[2].attributes++] = (struct config_attribute)FLOAT_ATTRIBUTE("bias_l2", 0.1);
	follows_reference(&config);
	config.optimizer.name = "adamw";
	config.optimizer.gradient_accumulation_steps = 2;
	config.optimizer.global_clipnorm = 0.1;
	config.optimizer.use_ema = true;
	config.optimizer.ema_overwrite_frequency = 2;
	config.optimizer.schedule = "cosine";
	config.optimizer.decay_steps = 8;
	config.optimizer.warmup_steps = 2;
	follows_reference(&config);
}

static void test_learns(void **state)
{
	const struct config config = small_config();
	struct model *model = open_model(&config, true);
	struct error err = { 0 };
	struct model_metrics before, after;
	const struct model_batch batch = batch_at(0);

	(void)state;
	must(model_init(model, &err), &err);
	must(model_evaluate(model, &batch, &err), &err);
	must(model_metrics(model, &before, &err), &err);
	must(model_metrics_reset(model, &err), &err);
	train(model, 0, 120);
	must(model_metrics_reset(model, &err), &err);
	must(model_evaluate(model, &batch, &err), &err);
	must(model_metrics(model, &after, &err), &err);
	assert_int_equal(after.rows, ROWS);
	assert_true(after.loss < before.loss / 4);
	assert_true(after.accuracy > 0.9);
	assert_int_equal(model_step(model), 120);
	model_close(model);
}

static void test_same_seed_same_bits(void **state)
{
	struct config config = small_config();
	struct model *a = open_model(&config, true), *b = open_model(&config, true);
	struct error err = { 0 };
	uint32_t count = 0;
	char first[64];

	(void)state;
	must(model_init(a, &err), &err);
	must(model_init(b, &err), &err);
	train(a, 0, 9);
	train(b, 0, 9);
	assert_same_state(a, b);
	/* Another seed makes another model. */
	memcpy(first, snapshot(a, &count)[0].data, sizeof(first));
	model_snapshot_release(a);
	config.run.seed = 45;
	must(model_init(b, &err), &err);
	assert_memory_not_equal(snapshot(b, &count)[0].data, first, sizeof(first));
	model_snapshot_release(b);
	model_close(a);
	model_close(b);
}

/* Kill and resume at every step of a short run: a checkpoint holds the whole state. */
static void resumes(const struct config *config)
{
	struct model *straight = open_model(config, true), *resumed = open_model(config, true);
	struct error err = { 0 };

	must(model_init(straight, &err), &err);
	for (uint64_t cut = 0; cut < 6; cut++) {
		const struct cursor place = { .version = CURSOR_VERSION, .step = cut, .batch = 77 + cut };
		struct cursor found;
		uint32_t count = 0;
		const struct model_tensor *tensors;

		model_cursor_set(straight, &place);
		tensors = snapshot(straight, &count);
		for (uint32_t i = 0; i < count; i++)
			must(model_tensor_load(resumed, tensors[i].name, tensors[i].data, tensors[i].bytes,
					       &err),
			     &err);
		model_snapshot_release(straight);
		model_cursor_get(resumed, &found);
		assert_memory_equal(&found, &place, sizeof(place));
		assert_int_equal(model_step(resumed), cut);
		train(straight, cut, cut + 1);
		train(resumed, cut, cut + 1);
		assert_same_state(straight, resumed);
	}
	model_close(straight);
	model_close(resumed);
}

/* Puts a copy at one of many offsets of its area. */
static const void *moved(char *area, uint64_t random, const void *data, size_t bytes)
{
	return memcpy(area + random % 4096 * 64, data, bytes);
}

/* Buffers that wrap a batch's tensors are found by address; two tensors of one batch never share one,
 * wherever they are. */
static void test_batches_lie_anywhere(void **state)
{
	enum { STEPS = 1000, AREA = 4096 * 64 + 65536 };
	const struct config config = small_config();
	CLEANUP(model_closep) struct model *still = open_model(&config, true);
	CLEANUP(model_closep) struct model *moving = open_model(&config, true);
	CLEANUP(free_ptr) char *area = aligned_alloc(4096, 3 * AREA);
	struct error err = { 0 };
	uint64_t random = 1;
	void *ticket;

	(void)state;
	assert_non_null(area);
	must(model_init(still, &err), &err);
	must(model_init(moving, &err), &err);
	for (uint64_t step = 0; step < STEPS; step++) {
		const uint64_t b = step % BATCHES;
		struct model_batch batch = batch_at(step);

		batch.empty = empty[b];
		must(model_train(still, &batch, &err), &err);
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		batch.input[0] = moved(area, random >> 52, input[b], sizeof(input[b]));
		batch.label = moved(area + AREA, random >> 40, label[b], sizeof(label[b]));
		batch.empty = moved(area + 2 * AREA, random >> 28, empty[b], sizeof(empty[b]));
		batch.ticket = &batch;
		must(model_train(moving, &batch, &err), &err);
		must(model_batch_done(moving, true, &ticket, &err), &err);
	}
	assert_same_state(still, moving);
}

/* Batches in the memory that the model was told of, at its end, beside it, and after it is gone: the same
 * bits. The rows are so wide that a batch is no small tensor. */
static void test_batches_lie_in_known_memory(void **state)
{
	enum { WIDE = 512, NUMBERS = ROWS * WIDE, AREA = 8 * 4096 + NUMBERS * sizeof(float) };
	struct config config = small_config();
	CLEANUP(model_closep) struct model *apart = NULL, *known = NULL;
	CLEANUP(free_ptr) char *area = aligned_alloc(4096, AREA), *other = aligned_alloc(4096, AREA);
	CLEANUP(free_ptr) float *numbers = calloc(NUMBERS, sizeof(float));
	struct error err = { 0 };
	void *ticket;

	(void)state;
	assert_true(area && other && numbers);
	config.feature[0].shape[0] = WIDE;
	apart = open_model(&config, true);
	known = open_model(&config, true);
	must(model_init(apart, &err), &err);
	must(model_init(known, &err), &err);
	for (uint64_t step = 0; step < 40; step++) {
		struct model_batch batch = batch_at(step);
		char *in = step % 5 == 3 ? other : area;

		if (step % 10 == 0)
			must(model_batch_memory(known, step < 30 ? area : NULL, step < 30 ? AREA : 0, &err),
			     &err);
		fill_batch(step, ROWS, WIDE, CLASSES, numbers, label[step % BATCHES]);
		batch.input[0] = numbers;
		batch.ticket = &batch;
		must(model_train(apart, &batch, &err), &err);
		batch.input[0] = memcpy(in + (step % 9) * 4096, numbers, NUMBERS * sizeof(float));
		must(model_train(known, &batch, &err), &err);
		must(model_batch_done(apart, true, &ticket, &err), &err);
		must(model_batch_done(known, true, &ticket, &err), &err);
		if (gpu_stages(gpu) && (step == 2 || step == 4))
			assert_true((known->feed.set[0].host[FEED_INPUT] != NULL) == (step == 4));
	}
	assert_same_state(apart, known);
	for (uint64_t b = 0; b < BATCHES; b++)
		fill_batch(b, ROWS, INPUTS, CLASSES, input[b], label[b]);
}

/* Takes back the tickets that the model hands back, at least one if `wait`, and spoils the memory of their
 * batches. Returns how many. */
static uint64_t take_back(struct model *model, bool wait, uint64_t bytes)
{
	struct error err = { 0 };
	uint64_t taken = 0;
	void *ticket;

	for (;; taken++) {
		must(model_batch_done(model, wait && taken == 0, &ticket, &err), &err);
		if (!ticket)
			return taken;
		memset(ticket, 0xff, bytes);
	}
}

/* Two batches are in flight, from memory that is overwritten as soon as it comes back: the same bits as with
 * a model that waits for each. */
static void test_memory_is_read_before_it_comes_back(void **state)
{
	enum { WIDE = 512, BYTES = ROWS * WIDE * sizeof(float), SLOTS = 3 };
	struct config config = small_config();
	CLEANUP(model_closep) struct model *apart = NULL, *known = NULL;
	CLEANUP(free_ptr) char *area = aligned_alloc(4096, (size_t)SLOTS * BYTES);
	CLEANUP(free_ptr) float *numbers = calloc(1, BYTES);
	struct error err = { 0 };
	uint64_t taken = 0;
	void *ticket;

	(void)state;
	assert_true(area && numbers);
	config.feature[0].shape[0] = WIDE;
	apart = open_model(&config, true);
	known = open_model(&config, true);
	must(model_init(apart, &err), &err);
	must(model_init(known, &err), &err);
	must(model_batch_memory(known, area, (uint64_t)SLOTS * BYTES, &err), &err);
	for (uint64_t step = 0; step < 40; step++) {
		struct model_batch batch = batch_at(step);

		taken += take_back(known, step - taken == SLOTS, BYTES);
		fill_batch(step, ROWS, WIDE, CLASSES, numbers, label[step % BATCHES]);
		batch.input[0] = batch.ticket = area + step % SLOTS * BYTES;
		memcpy(batch.ticket, numbers, BYTES);
		must(model_train(known, &batch, &err), &err);
		batch.input[0] = numbers;
		must(model_train(apart, &batch, &err), &err);
		must(model_batch_done(apart, true, &ticket, &err), &err);
	}
	while (taken < 40)
		taken += take_back(known, true, BYTES);
	assert_same_state(apart, known);
	for (uint64_t b = 0; b < BATCHES; b++)
		fill_batch(b, ROWS, INPUTS, CLASSES, input[b], label[b]);
}

/* Memory that the driver does not pin is an error that allows batches there. */
static void test_memory_that_is_not_pinned(void **state)
{
	const struct config config = small_config();
	CLEANUP(model_closep) struct model *model = NULL;
	struct error err = { 0 };

	(void)state;
	if (!gpu_stages(gpu))
		skip();
	model = open_model(&config, true);
	must(model_init(model, &err), &err);
	assert_true(model_batch_memory(model, input, UINT64_C(1) << 60, &err) < 0);
	assert_non_null(strstr(err.text, "bytes of host memory"));
	train(model, 0, 3);
}

static void test_resume_continues_bits(void **state)
{
	const struct config config = small_config(), with_moving_averages = state_config();

	(void)state;
	resumes(&config);
	resumes(&with_moving_averages);
}

/* Also with partly accumulated gradients and the moving average. */
static void test_resume_between_updates(void **state)
{
	struct config config = small_config();

	config.optimizer.gradient_accumulation_steps = 4;
	config.optimizer.clipnorm = 0.5;
	config.optimizer.use_ema = true;
	(void)state;
	resumes(&config);
}

/* Each optimizer from its slots' first values on, and again from the slots of a checkpoint. */
static void test_every_optimizer_resumes(void **state)
{
	static const char *const names[] = { "sgd", "rmsprop", "adagrad", "adamax", "lion" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct config config = small_config();

		config.optimizer.name = names[i];
		config.optimizer.momentum = i < 2 ? 0.9 : 0; /* of those that read it */
		resumes(&config);
		/* Lion's step is as large for a gradient near 0, whose sign is a matter of rounding. */
		if (strcmp(names[i], "lion") != 0)
			follows_reference(&config);
	}
}

/* Use the average as the model; a second time changes nothing. */
static void test_finalize(void **state)
{
	struct config config = small_config();
	struct error err = { 0 };
	struct model *model;
	const struct model_tensor *tensors;
	float average[INPUTS * 70], parameter[INPUTS * 70];
	uint32_t count = 0;

	(void)state;
	config.optimizer.use_ema = true;
	model = open_model(&config, true);
	must(model_init(model, &err), &err);
	train(model, 0, 5);
	tensors = snapshot(model, &count);
	memcpy(parameter, tensors[0].data, sizeof(parameter));
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(tensors[i].name, "optimizer/average/dense/kernel"))
			memcpy(average, tensors[i].data, sizeof(average));
	model_snapshot_release(model);
	assert_memory_not_equal(parameter, average, sizeof(average));
	for (int time = 0; time < 2; time++) {
		must(model_finalize(model, &err), &err);
		tensors = snapshot(model, &count);
		assert_memory_equal(tensors[0].data, average, sizeof(average));
		model_snapshot_release(model);
	}
	model_close(model);
	/* Without a moving average nothing changes. */
	config.optimizer.use_ema = false;
	model = open_model(&config, true);
	must(model_init(model, &err), &err);
	train(model, 0, 5);
	must(model_finalize(model, &err), &err);
	assert_memory_equal(snapshot(model, &count)[0].data, parameter, sizeof(parameter));
	model_snapshot_release(model);
	model_close(model);
}

/* A step of the article's network on a CPU device is one chain: seven launches of GEMMs and the loss
 * (tests/unit/ops_dense.c), the update, the metrics. */
static void test_launches(void **state)
{
	struct config_layer article[] = { DENSE(256), RELU,         DROPOUT(0.2), DENSE(16),
					  RELU,       DROPOUT(0.2), DENSE(2),     SOFTMAX };
	const struct config config = model_config(article, 8, 512, 2, 128);
	struct model *model = open_model(&config, true);

	(void)state;
	if (gpu_is_cpu(gpu)) {
		assert_int_equal(model->train.launches, 1 + 9);
		assert_int_equal(plan_enqueued(&model->train), 1);
	}
	model_close(model);
}

/* A batch with fewer rows, and with rows that do not count: equal to the reference. */
static void test_partial_batch(void **state)
{
	static const uint32_t rows_of[] = { 1, 7, 23, ROWS };
	const struct config config = small_config();
	struct model *model = open_model(&config, true);
	struct reference reference;
	struct error err = { 0 };
	struct model_metrics metrics;
	double loss = 0;
	uint64_t rows = 0;

	(void)state;
	must(model_init(model, &err), &err);
	reference_open(&reference, &model->graph);
	load_reference(model, &reference);
	for (uint64_t step = 0; step < 4; step++) {
		struct model_batch batch = batch_at(step);

		batch.rows = batch.valid_rows = rows_of[step];
		if (step >= 2) {
			memset(empty[step], 0, sizeof(empty[step]));
			empty[step][0] = empty[step][5] = 1;
			batch.empty = empty[step];
			batch.valid_rows -= 2;
		}
		must(model_train(model, &batch, &err), &err);
		reference_train(&reference, &batch, step);
		loss += reference.loss_sum;
		rows += batch.valid_rows;
	}
	assert_true(worst(model, &reference) < 2e-5);
	must(model_metrics(model, &metrics, &err), &err);
	assert_int_equal(metrics.rows, rows);
	assert_near(metrics.loss, loss / (double)rows, 1e-5);
	reference_close(&reference);
	model_close(model);
}

static void predicts(const struct config *config)
{
	struct model *model = open_model(config, true), *predictor = open_model(config, false);
	struct error err = { 0 };
	struct reference reference;
	struct model_metrics metrics;
	const struct model_tensor *tensors;
	const struct model_batch batch = batch_at(1);
	static float probability[(2 * ROWS + 5) * CLASSES];
	uint32_t count = 0, loaded = 0;

	must(model_init(model, &err), &err);
	train(model, 0, 3);
	must(model_metrics_reset(model, &err), &err);
	must(model_evaluate(model, &batch, &err), &err);
	must(model_metrics(model, &metrics, &err), &err);
	reference_open(&reference, &model->graph);
	tensors = snapshot(model, &count);
	reference_load(&reference, tensors, count);
	reference_pass(&reference, &batch, false, 3);
	assert_near(metrics.loss, reference.loss_sum / ROWS, 1e-5);
	assert_near(metrics.accuracy, reference.correct_sum / ROWS, 1e-9);

	/* The predictor has the parameters and the layers' state, and accepts any number of rows. */
	for (uint32_t i = 0; i < count; i++)
		loaded += model_tensor_load(predictor, tensors[i].name, tensors[i].data, tensors[i].bytes,
					    &err) == 0;
	model_snapshot_release(model);
	(void)model_tensors(predictor, &count);
	assert_int_equal(loaded, count);
	assert_string_equal(model_graph_hash(model), model_graph_hash(predictor));
	must(model_predict(predictor, (const void *const[]){ input[1] }, ROWS + 5, probability, &err), &err);
	for (uint32_t i = 0; i < ROWS * CLASSES; i++)
		assert_near(probability[i], reference.value[model->graph.output][i], 1e-5);
	must(model_predict(model, (const void *const[]){ input[1] }, ROWS + 5, probability + ROWS * CLASSES,
			   &err),
	     &err);
	reference_close(&reference);
	model_close(model);
	model_close(predictor);
}

static void test_evaluate_and_predict(void **state)
{
	const struct config config = small_config(), with_moving_averages = state_config();

	(void)state;
	predicts(&config);
	predicts(&with_moving_averages);
}

/* State of a layer has Keras's names, changes with the batches, and has no slots; in a frozen layer it
 * stays. */
static void test_layers_keep_state(void **state)
{
	const struct config config = state_config();
	struct model *model = open_model(&config, true);
	struct error err = { 0 };
	float frozen[16 * 16], mean[16];
	const struct model_tensor *tensors;
	uint32_t count = 0, found = 0;

	(void)state;
	must(model_init(model, &err), &err);
	tensors = snapshot(model, &count);
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(tensors[i].name, "dense_1/kernel"))
			memcpy(frozen, tensors[i].data, sizeof(frozen));
	model_snapshot_release(model);
	train(model, 0, 3);
	tensors = snapshot(model, &count);
	for (uint32_t i = 0; i < count; i++) {
		assert_null(strstr(tensors[i].name, "/dense_1/"));
		assert_null(strstr(tensors[i].name, "/batch_norm/moving"));
		if (!strcmp(tensors[i].name, "dense_1/kernel"))
			assert_memory_equal(tensors[i].data, frozen, sizeof(frozen));
		if (!strcmp(tensors[i].name, "batch_norm/moving_mean"))
			memcpy(mean, tensors[i].data, sizeof(mean));
		found += !strncmp(tensors[i].name, "batch_norm/", 11);
	}
	model_snapshot_release(model);
	assert_int_equal(found, 4);
	for (uint32_t c = 0; c < 16; c++)
		assert_true(mean[c] != 0);
	model_close(model);
}

/* A NaN in the input appears in the loss of the same step; a huge learning rate breaks a parameter while
 * the loss is still finite. */
static void test_nan_is_found(void **state)
{
	struct config config = small_config();
	struct model *model = open_model(&config, true);
	struct error err = { 0 };
	struct model_metrics metrics;
	const struct model_tensor *tensors;
	static float bad[ROWS * INPUTS];
	char where[128];
	uint32_t count;
	struct model_batch batch = batch_at(0);

	(void)state;
	must(model_init(model, &err), &err);
	train(model, 0, 2);
	memcpy(bad, input[0], sizeof(bad));
	bad[17] = NAN;
	batch.input[0] = bad;
	batch.part = (struct order_part){ .lanes = 3, .first = 1, .own = 1, .lane_rows = ROWS };
	must(model_train(model, &batch, &err), &err);
	must(model_snapshot(model, &err), &err);
	assert_int_equal(model_snapshot_tensors(model, &tensors, &count, &err), -EDOM);
	model_snapshot_release(model);
	assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
	assert_non_null(strstr(
		err.text, "step 3: the loss became NaN or infinite, as 'sentence' holds nan in element "));
	(void)snprintf(where, sizeof(where), "element %u of row %" PRIu64 " of the pass, %u of its batch",
		       17 % INPUTS, batch.first_row + 17 / INPUTS * 3 + 1, 17 / INPUTS);
	assert_non_null(strstr(err.text, where));
	batch = batch_at(3);
	assert_int_equal(model_train(model, &batch, &err), -EDOM);
	model_close(model);

	config.optimizer.name = "sgd";
	config.optimizer.learning_rate = 1e39; /* becomes infinite as float32 */
	model = open_model(&config, true);
	must(model_init(model, &err), &err);
	train(model, 0, 1);
	assert_int_equal(model_metrics(model, &metrics, &err), -EDOM);
	assert_non_null(strstr(err.text, "step 1: dense/kernel became NaN or infinite"));
	assert_null(strstr(err.text, "holds"));
	model_close(model);
}

/* The memory of a model is known before it is allocated: to the byte, with the largest users. */
static void test_memory_is_checked(void **state)
{
	const struct config config = small_config();
	struct model *model = open_model(&config, true);
	const struct graph *graph = &model->graph;
	const uint64_t needed = memory_needed(graph, true), state_bytes = graph->arena_bytes[ARENA_STATE];
	struct gpu_memory have = { .bytes = needed, .buffer_bytes = state_bytes };
	struct error err = { 0 };
	char text[64];

	(void)state;
	assert_int_equal(needed, 2 * state_bytes + graph->arena_bytes[ARENA_GRADIENT] +
					 graph->arena_bytes[ARENA_WORK]);
	assert_int_equal(memory_needed(graph, false),
			 needed +
				 FEED_SETS * ROWS * (INPUTS * sizeof(float) + CLASSES * sizeof(int64_t) + 1));
	must(memory_check(graph, true, &have, &err), &err);
	have.bytes--;
	assert_int_equal(memory_check(graph, true, &have, &err), -EINVAL);
	(void)snprintf(text, sizeof(text), "the model needs %.1f MiB (", (double)needed / 1048576);
	assert_non_null(strstr(err.text, text));
	assert_non_null(strstr(err.text, "; most is for layer 'dense' 0.1 MiB, layer 'dense_1' 0."));
	err = (struct error){ .code = -ENOMEM, .text = "no memory" };
	assert_int_equal(memory_refused(graph, ARENA_STATE, &have, -ENOMEM, &err), -ENOMEM);
	assert_string_equal(err.text, "no memory");
	have.buffer_bytes--;
	assert_int_equal(memory_refused(graph, ARENA_STATE, &have, -ENOMEM, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too little memory in one piece: "));
	model_close(model);
}

/* Tickets come back in order, once each, and only when the device has finished. */
static void test_tickets(void **state)
{
	const struct config config = small_config();
	struct model *model = open_model(&config, true);
	struct error err = { 0 };
	char ticket[MODEL_TICKETS_MAX + 1];
	void *back;

	(void)state;
	must(model_init(model, &err), &err);
	must(model_batch_done(model, true, &back, &err), &err);
	assert_null(back);
	for (uint32_t i = 0; i < MODEL_TICKETS_MAX; i++) {
		struct model_batch batch = batch_at(i);

		batch.ticket = &ticket[i];
		must(model_train(model, &batch, &err), &err);
	}
	struct model_batch one_more = batch_at(0);

	one_more.ticket = &ticket[MODEL_TICKETS_MAX];
	assert_int_equal(model_train(model, &one_more, &err), -EBUSY);
	for (uint32_t i = 0; i < MODEL_TICKETS_MAX; i++) {
		must(model_batch_done(model, true, &back, &err), &err);
		assert_ptr_equal(back, &ticket[i]);
	}
	must(model_train(model, &one_more, &err), &err);
	train(model, 0, 10); /* without tickets: nothing waits for these steps */
	must(model_batch_done(model, true, &back, &err), &err);
	assert_ptr_equal(back, &ticket[MODEL_TICKETS_MAX]);
	must(model_batch_done(model, true, &back, &err), &err);
	assert_null(back);
	model_close(model);
}

static void test_snapshot_is_of_its_step(void **state)
{
	const struct config config = small_config();
	struct model *a = open_model(&config, true), *b = open_model(&config, true);
	struct error err = { 0 };
	const struct model_tensor *early, *now;
	uint32_t count = 0;

	(void)state;
	must(model_init(a, &err), &err);
	must(model_init(b, &err), &err);
	train(a, 0, 4);
	train(b, 0, 4);
	must(model_snapshot(a, &err), &err);
	assert_int_equal(model_snapshot(a, &err), -EBUSY);
	train(a, 4, 9); /* the copy comes before these steps on the queue */
	must(model_snapshot_tensors(a, &early, &count, &err), &err);
	now = snapshot(b, &count);
	for (uint32_t i = 0; i < count; i++)
		assert_memory_equal(early[i].data, now[i].data, now[i].bytes);
	model_snapshot_release(a);
	model_snapshot_release(b);
	model_close(a);
	model_close(b);
}

static void test_tensor_names(void **state)
{
	static const char *const names[] = {
		"dense/kernel",   "dense/bias",   "dense_1/kernel",           "dense_1/bias",
		"dense_2/kernel", "dense_2/bias", "optimizer/m/dense/kernel", "optimizer/m/dense/bias",
	};
	const struct config config = small_config();
	struct model *model = open_model(&config, true);
	const struct model_tensor *tensors;
	struct error err = { 0 };
	uint32_t count = 0;

	(void)state;
	tensors = model_tensors(model, &count);
	assert_int_equal(count, 6 * 3 + 5);
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_string_equal(tensors[i].name, names[i]);
	assert_string_equal(tensors[0].dtype, "F32");
	assert_int_equal(tensors[0].rank, 2);
	assert_int_equal(tensors[0].shape[0], INPUTS);
	assert_int_equal(tensors[0].shape[1], 70);
	assert_string_equal(tensors[count - 2].name, "state/step");
	assert_string_equal(tensors[count - 1].name, "state/cursor");
	assert_string_equal(tensors[count - 1].dtype, "U8");
	assert_int_equal(tensors[count - 1].bytes, CURSOR_BYTES);
	assert_int_equal(model_parameters(model), 40 * 70 + 70 + 70 * 16 + 16 + 16 * 3 + 3);
	assert_int_equal(model_tensor_load(model, "dense/bias", names, 4, &err), -EBADMSG);
	assert_int_equal(model_tensor_load(model, "dense/other", names, 4, &err), -ENOENT);
	model_close(model);
}

/* Gradient descent without momentum moves each weight by the rate times its gradient. */
static void test_gradients(void **state)
{
	struct config config = small_config();
	struct model *model;
	CLEANUP(free_ptr) float *before = NULL;
	const struct model_tensor *tensors, *gradients;
	struct error err = { 0 };
	uint32_t count = 0, gradient_count = 0;

	(void)state;
	config.optimizer.name = "sgd";
	config.optimizer.learning_rate = 0.5;
	model = open_model(&config, true);
	must(model_init(model, &err), &err);
	must(model_gradients(model, &gradients, &gradient_count, &err), &err);
	assert_int_equal(gradient_count, 0);
	assert_true(model_learning_rate(model) == 0.5);
	train(model, 0, 3);
	tensors = snapshot(model, &count);
	before = malloc(tensors[0].bytes);
	assert_non_null(before);
	memcpy(before, tensors[0].data, tensors[0].bytes);
	model_snapshot_release(model);
	train(model, 3, 4);
	must(model_gradients(model, &gradients, &gradient_count, &err), &err);
	assert_int_equal(gradient_count, 6);
	tensors = snapshot(model, &count);
	assert_string_equal(gradients[0].name, tensors[0].name);
	for (uint64_t i = 0; i < tensors[0].bytes / sizeof(float); i++) {
		const float *after = tensors[0].data, *gradient = gradients[0].data;

		assert_true(fabsf(before[i] - 0.5f * gradient[i] - after[i]) <= 1e-6f);
	}
	model_snapshot_release(model);
	model_close(model);
}

/* A layer may join all features of a schema but the label: some of them, the first and the last too, are seen
 * to reach the output. */
static void test_joins_all_features(void **state)
{
	enum { JOINED = CONFIG_FEATURES_MAX - 1 };
	static char names[JOINED][8];
	struct config_layer net[] = { OP("concatenate"), DENSE(CLASSES), SOFTMAX };
	struct config config = model_config(net, 3, 1, CLASSES, ROWS);
	struct model_batch batch = batch_at(0);
	float before[ROWS * CLASSES], after[ROWS * CLASSES];
	struct model *model;
	struct error err = { 0 };

	(void)state;
	config.feature[JOINED] = config.feature[1];
	config.features = CONFIG_FEATURES_MAX;
	net[0].inputs = JOINED;
	for (uint32_t i = 0; i < JOINED; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "x%u", i);
		config.feature[i] =
			(struct config_feature){ .name = names[i], .rank = 1, .shape = { INPUTS } };
		net[0].input[i] = names[i];
		batch.input[i] = input[i % BATCHES];
	}
	config.model.input = names[0];
	model = open_model(&config, true);
	must(model_train(model, &batch, &err), &err);
	must(model_predict(model, batch.input, ROWS, before, &err), &err);
	for (uint32_t i = 0; i < JOINED; i += (JOINED - 1) / 14) { /* the first and the last, too */
		const void *was = batch.input[i];

		batch.input[i] = input[(i + 1) % BATCHES];
		must(model_predict(model, batch.input, ROWS, after, &err), &err);
		assert_memory_not_equal(before, after, sizeof(before));
		batch.input[i] = was;
	}
	must(model_predict(model, batch.input, ROWS, after, &err), &err);
	assert_memory_equal(before, after, sizeof(before));
	model_close(model);
}

static int open_all(void **state)
{
	(void)state;
	gpu = open_device();
	for (uint64_t b = 0; b < BATCHES; b++)
		fill_batch(b, ROWS, INPUTS, CLASSES, input[b], label[b]);
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	close_device(gpu);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adam_follows_reference),
		cmocka_unit_test(test_sgd_follows_reference),
		cmocka_unit_test(test_state_follows_reference),
		cmocka_unit_test(test_update_follows_reference),
		cmocka_unit_test(test_learns),
		cmocka_unit_test(test_same_seed_same_bits),
		cmocka_unit_test(test_batches_lie_anywhere),
		cmocka_unit_test(test_batches_lie_in_known_memory),
		cmocka_unit_test(test_memory_is_read_before_it_comes_back),
		cmocka_unit_test(test_memory_that_is_not_pinned),
		cmocka_unit_test(test_resume_continues_bits),
		cmocka_unit_test(test_resume_between_updates),
		cmocka_unit_test(test_every_optimizer_resumes),
		cmocka_unit_test(test_finalize),
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_partial_batch),
		cmocka_unit_test(test_evaluate_and_predict),
		cmocka_unit_test(test_layers_keep_state),
		cmocka_unit_test(test_nan_is_found),
		cmocka_unit_test(test_memory_is_checked),
		cmocka_unit_test(test_tickets),
		cmocka_unit_test(test_snapshot_is_of_its_step),
		cmocka_unit_test(test_tensor_names),
		cmocka_unit_test(test_gradients),
		cmocka_unit_test(test_joins_all_features),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}
