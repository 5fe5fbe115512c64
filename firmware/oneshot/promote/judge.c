/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/promote/judge.h"

#include "core/run/dataset.h"
#include "model/learn/losses.h"
#include "trained/records.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* One of the two models, and its figures of the current batch. */
struct side {
	struct trained *trained;
	const struct loss *loss;
	struct metrics_shape shape;
	float *output;
	double *z, *row_loss, *row_correct, *row_top; /* row_top is not used */
	double loss_sum, correct;
};

struct judging {
	struct side side[2]; /* the model and the champion */
	const struct judge_wish *wish;
	struct records *records;
	double *label, *weight; /* labels and weights of the current batch */
	double *gain;           /* gain of each record so far */
	uint64_t rows, capacity, won, lost;
};

enum { MODEL, CHAMPION };

/* ---- The same task ---- */

static int check_classes(const struct trained *model, const struct trained *champion, struct error *err)
{
	CLEANUP(json_free) cJSON *ours = NULL, *theirs = NULL;
	const cJSON *a, *b;
	int r;

	if ((r = trained_dataset(model, &ours, err)) < 0 || (r = trained_dataset(champion, &theirs, err)) < 0)
		return r;
	a = dataset_classes(ours);
	b = dataset_classes(theirs);
	if (!a || !b || cJSON_Compare(a, b, true))
		return 0;
	return error_set(err, -EINVAL, "%s has other classes than the champion %s", model->name,
			 champion->name);
}

static bool same_column(const struct model_input *a, const struct model_input *b)
{
	return strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->row_bytes == b->row_bytes;
}

/* Returns whether the loss of the model can measure the champion's outputs, too. */
static bool same_outputs(const struct side *model, const struct side *champion)
{
	const char *ours = model->loss->output_op, *theirs = champion->loss->output_op;

	return model->shape.outputs == champion->shape.outputs && model->loss->kind == champion->loss->kind &&
	       !ours == !theirs && (!ours || strcmp(ours, theirs) == 0);
}

static int check_task(const struct judging *judging, struct error *err)
{
	const struct side *model = &judging->side[MODEL], *champion = &judging->side[CHAMPION];
	const struct model_input ours = model_label(model->trained->model),
				 theirs = model_label(champion->trained->model);

	if (!same_column(&ours, &theirs) || !same_outputs(model, champion))
		return error_set(err, -EINVAL,
				 "%s has %" PRIu64 " outputs, the loss %s and the label \"%s\"; the champion "
				 "%s has %" PRIu64 ", %s and \"%s\": another task",
				 model->trained->name, model->shape.outputs, model->loss->name, ours.name,
				 champion->trained->name, champion->shape.outputs, champion->loss->name,
				 theirs.name);
	if (judging->wish->accuracy && model->shape.kind == METRICS_NUMBERS)
		return error_set(err, -EINVAL, "the loss %s has no accuracy: set promote.objective",
				 model->loss->name);
	return check_classes(model->trained, champion->trained, err);
}

/* ---- Open ---- */

static int open_side(struct side *side, struct trained *trained, uint64_t rows, struct error *err)
{
	int r;

	side->trained = trained;
	trained->saved.config.run.batch_rows = rows;
	if ((r = trained_open_model(trained, true, err)) < 0)
		return r;
	side->loss = loss_find(trained->saved.config.model.loss);
	side->shape = metrics_shape_of(&trained->saved.config, model_classes(trained->model));
	side->output = calloc(rows * side->shape.outputs, sizeof(*side->output));
	side->z = calloc(rows * side->shape.outputs, sizeof(*side->z));
	side->row_loss = calloc(rows, sizeof(*side->row_loss));
	side->row_correct = calloc(rows, sizeof(*side->row_correct));
	side->row_top = calloc(rows, sizeof(*side->row_top));
	return side->loss && side->output && side->z && side->row_loss && side->row_correct && side->row_top
		       ? 0
		       : error_set(err, -ENOMEM, "no memory for the predictions of %s", trained->name);
}

static void done(struct judging *judging)
{
	for (int i = MODEL; i <= CHAMPION; i++) {
		free(judging->side[i].output);
		free(judging->side[i].z);
		free(judging->side[i].row_loss);
		free(judging->side[i].row_correct);
		free(judging->side[i].row_top);
	}
	records_closep(&judging->records);
	free(judging->label);
	free(judging->weight);
	free(judging->gain);
}

static int open_both(struct judging *judging, struct trained *model, struct trained *champion,
		     struct error *err)
{
	const struct records_source test = { .split = SPLIT_TEST, .labels = true };
	const uint64_t rows = model->saved.config.run.batch_rows;
	struct side *ours = &judging->side[MODEL], *theirs = &judging->side[CHAMPION];
	int r;

	if ((r = open_side(ours, model, rows, err)) < 0 || (r = open_side(theirs, champion, rows, err)) < 0 ||
	    (r = check_task(judging, err)) < 0 ||
	    (r = records_open(model, &test, model->model, &judging->records, err)) < 0 ||
	    (r = records_also(judging->records, champion, err)) < 0)
		return r;
	judging->label = calloc(rows * ours->shape.label_elements, sizeof(*judging->label));
	judging->weight = calloc(rows, sizeof(*judging->weight));
	return judging->label && judging->weight ? 0 : error_set(err, -ENOMEM, "no memory for a batch");
}

/* ---- A batch ---- */

/* Returns the number before the last layer's softmax or sigmoid. A probability of 0 or 1, as float32 rounds
 * it, counts as the nearest float32 to it. */
static double logit(const struct loss *loss, float output)
{
	const double p = fmax((double)output, 0x1p-126), rest = fmax(1 - (double)output, 0x1p-24);

	if (!loss->output_op)
		return (double)output;
	return strcmp(loss->output_op, "softmax") == 0 ? log(p) : log(p / rest);
}

static int predict(struct side *side, const struct model_batch *batch, struct error *err)
{
	int r = model_predict(side->trained->model, batch->input, batch->rows, side->output, err);

	for (uint64_t i = 0; r == 0 && i < batch->rows * side->shape.outputs; i++) {
		if (!isfinite(side->output[i]))
			return error_set(err, -EDOM, "%s predicts %g", side->trained->name,
					 (double)side->output[i]);
		side->z[i] = logit(side->loss, side->output[i]);
	}
	return r < 0 ? error_prefix(err, "%s", side->trained->name) : 0;
}

/* Reads the labels and weights of a batch as numbers. */
static int read_labels(struct judging *judging, const struct model_batch *batch, struct error *err)
{
	const struct side *side = &judging->side[MODEL];
	const struct metrics_batch labels = { .rows = batch->rows, .label = batch->label };
	const double classes = side->shape.outputs > 1 ? (double)side->shape.outputs : 2;

	for (uint64_t i = 0; i < batch->rows * side->shape.label_elements; i++) {
		judging->label[i] = metrics_label_at(&side->shape, &labels, i);
		if (side->loss->class_label && !(judging->label[i] >= 0 && judging->label[i] < classes)) {
			(void)error_set(err, -EBADMSG, "found class %g, expected 0 .. %g", judging->label[i],
					classes - 1);
			return records_blame(records_origin(judging->records, (uint32_t)i), err);
		}
	}
	for (uint32_t i = 0; batch->weight && i < batch->rows; i++)
		judging->weight[i] = (double)batch->weight[i];
	return 0;
}

/* Measures the predictions of a side. The loss is the model's, also for the champion: both are measured
 * alike. */
static void measure(const struct judging *judging, const struct model_batch *batch, struct side *side)
{
	const struct side *model = &judging->side[MODEL];
	const struct loss_reference reference = { .rows = batch->rows,
						  .outputs = side->shape.outputs,
						  .label_elements = side->shape.label_elements,
						  .z = side->z,
						  .label = judging->label,
						  .sample = batch->weight ? judging->weight : NULL,
						  .config = &model->trained->saved.config,
						  .row_loss = side->row_loss,
						  .row_correct = side->row_correct,
						  .row_top = side->row_top };

	loss_reference(model->loss, &reference);
	for (uint32_t i = 0; i < batch->rows; i++) {
		side->loss_sum += side->row_loss[i];
		side->correct += side->row_correct[i];
	}
}

static int make_room(struct judging *judging, uint64_t rows, struct error *err)
{
	const uint64_t capacity = 2 * (judging->rows + rows);
	double *grown;

	if (judging->rows + rows <= judging->capacity)
		return 0;
	grown = reallocarray(judging->gain, capacity, sizeof(*grown));
	if (!grown)
		return error_set(err, -ENOMEM, "no memory for the figures of %" PRIu64 " records", capacity);
	judging->gain = grown;
	judging->capacity = capacity;
	return 0;
}

/* Notes what each record says about the two, seen from the model. */
static void compare_rows(struct judging *judging, uint32_t rows)
{
	const struct side *model = &judging->side[MODEL], *champion = &judging->side[CHAMPION];
	const double sign = judging->wish->maximize ? 1 : -1;

	for (uint32_t i = 0; i < rows; i++) {
		const double hit = sign * (model->row_correct[i] - champion->row_correct[i]);

		judging->won += hit > 0;
		judging->lost += hit < 0;
		judging->gain[judging->rows++] = sign * (model->row_loss[i] - champion->row_loss[i]);
	}
}

static int judge_batch(struct judging *judging, const struct model_batch *batch, struct error *err)
{
	struct model_batch second;
	int r = read_labels(judging, batch, err);

	if (r < 0 || (r = make_room(judging, batch->rows, err)) < 0)
		return r;
	records_second(judging->records, &second);
	for (int i = MODEL; i <= CHAMPION; i++) {
		if ((r = predict(&judging->side[i], i == MODEL ? batch : &second, err)) < 0)
			return r;
		measure(judging, batch, &judging->side[i]);
	}
	compare_rows(judging, batch->rows);
	return 0;
}

/* ---- All records ---- */

static struct judge_figures figures_of(const struct judging *judging, const struct side *side)
{
	const double rows = (double)judging->rows;

	return (struct judge_figures){ .loss = side->loss_sum / rows,
				       .accuracy = side->shape.kind == METRICS_NUMBERS
							   ? (double)NAN
							   : side->correct / rows };
}

static int conclude(const struct judging *judging, struct judgement *ret_judgement, struct error *err)
{
	*ret_judgement = (struct judgement){ .model = figures_of(judging, &judging->side[MODEL]),
					     .champion = figures_of(judging, &judging->side[CHAMPION]),
					     .left_out = records_skipped(judging->records) };
	for (uint64_t i = 0; i < judging->rows; i++)
		if (!isfinite(judging->gain[i]))
			return error_set(err, -EDOM, "the loss of record %" PRIu64 " of the test is %g", i,
					 judging->gain[i]);
	if (!judging->wish->accuracy)
		return paired_bootstrap(judging->gain, judging->rows, PAIRED_SEED, &ret_judgement->paired,
					err);
	ret_judgement->paired = paired_mcnemar(judging->rows, judging->won, judging->lost);
	return 0;
}

int judge(struct trained *model, struct trained *champion, const struct judge_wish *wish,
	  struct judgement *ret_judgement, struct error *err)
{
	CLEANUP(done) struct judging judging = { .wish = wish };
	struct model_batch batch;
	int r = open_both(&judging, model, champion, err);

	while (r == 0 && (r = records_next(judging.records, &batch, err)) > 0)
		r = judge_batch(&judging, &batch, err);
	if (r == 0 && judging.rows == 0)
		r = error_set(err, -ENODATA, "%s: the test split has no record", model->name);
	return r < 0 ? r : conclude(&judging, ret_judgement, err);
}
