/* SPDX-License-Identifier: Apache-2.0 */
#include "model/feed.h"

#include <inttypes.h>

enum { FEED_LABEL = GRAPH_INPUTS_MAX, FEED_WEIGHT, FEED_EMPTY };

/* Returns the tensor of the batch with index 0 ... FEED_TENSORS - 1; GRAPH_NO_TENSOR: batches of this graph
 * do not have that tensor. */
static uint32_t tensor_at(const struct graph *graph, uint32_t index)
{
	switch (index) {
	case FEED_LABEL:
		return graph->label;
	case FEED_WEIGHT:
		return graph->weight;
	case FEED_EMPTY:
		return graph->empty;
	default:
		return index < graph->inputs ? graph->input[index] : GRAPH_NO_TENSOR;
	}
}

int feed_open(struct feed *feed, struct gpu *gpu, const struct graph *graph, struct error *err)
{
	int r = 0;

	feed->gpu = gpu;
	feed->graph = graph;
	if (gpu_is_cpu(gpu))
		return 0;
	for (uint32_t index = 0; index < FEED_TENSORS; index++) {
		const uint32_t tensor = tensor_at(graph, index);

		for (uint32_t set = 0; r == 0 && tensor != GRAPH_NO_TENSOR && set < FEED_SETS; set++)
			r = gpu_buffer_create(gpu, graph_at(graph, tensor)->bytes, &feed->device[set][index],
					      err);
	}
	/* Buffers are zeroed on the queue of the kernels, and filled on another one. */
	return r < 0 ? r : gpu_finish(gpu, err);
}

void feed_close(struct feed *feed)
{
	for (uint32_t index = 0; index < FEED_TENSORS; index++) {
		for (uint32_t set = 0; set < FEED_SETS; set++)
			gpu_buffer_free(feed->device[set][index]);
		for (uint32_t way = 0; way < FEED_WRAPS; way++)
			gpu_buffer_free(feed->wrap[index][way].buffer);
	}
}

/* Makes a buffer over host memory, which CPU devices then read in place. OpenCL allows reading in place with
 * CL_MEM_USE_HOST_PTR, and PoCL does it. The memory of a batch is read-only for kernels, and the host writes
 * it only while no kernel reads it. */
static int wrap_host(struct feed *feed, uint32_t index, const void *host, uint64_t bytes,
		     struct gpu_buffer **ret_buffer, struct error *err)
{
	const uint64_t hash = ((uintptr_t)host >> 6) * UINT64_C(0x9E3779B97F4A7C15);
	struct feed_wrap *wrap = &feed->wrap[index][hash >> 56];

	_Static_assert(FEED_WRAPS == 1u << (64 - 56), "the hash's high bits index the table");
	if (wrap->host != host || wrap->bytes != bytes) {
		gpu_buffer_free(wrap->buffer); /* safe while a kernel reads the buffer: OpenCL frees it after
						  the kernel */
		*wrap = (struct feed_wrap){ 0 };
		int r = gpu_buffer_wrap(feed->gpu, host, bytes, &wrap->buffer, err);

		if (r < 0)
			return r;
		wrap->host = host;
		wrap->bytes = bytes;
	}
	*ret_buffer = wrap->buffer;
	return 0;
}

/* Makes the first `bytes` at `host` readable for the kernels, as *ret_buffer. */
static int feed_bytes(struct feed *feed, uint32_t index, const void *host, uint64_t bytes,
		      struct gpu_buffer **ret_buffer, struct error *err)
{
	if (gpu_is_cpu(feed->gpu))
		return wrap_host(feed, index, host, bytes, ret_buffer, err);
	*ret_buffer = feed->device[feed->set][index];
	return bytes ? gpu_send(feed->gpu, *ret_buffer, host, bytes, err) : 0;
}

/* Makes a tensor of the batch readable for the kernels: its first `rows` rows, or the whole tensor if it is
 * not divided into rows. `host` NULL: the batch does not have the tensor, and nothing happens. */
static int feed_tensor(struct feed *feed, uint32_t index, const void *host, uint64_t rows,
		       struct gpu_buffer **ret_buffer, struct error *err)
{
	const struct tensor *tensor = graph_at(feed->graph, tensor_at(feed->graph, index));

	return host ? feed_bytes(feed, index, host,
				 tensor->rows ? rows * tensor->elements * dtype_bytes(tensor->dtype)
					      : tensor->bytes,
				 ret_buffer, err)
		    : 0;
}

/* Checks the splits, because kernels do not check them: they must begin at 0, never decrease, and end within
 * the values. */
static int check_splits(const struct tensor *values, const int64_t *splits, uint64_t rows, struct error *err)
{
	for (uint64_t row = 0; row <= rows; row++)
		if (splits[row] < (row ? splits[row - 1] : 0) ||
		    splits[row] > (row ? (int64_t)values->elements : 0))
			return error_set(err, -EBADMSG,
					 "%s: row %" PRIu64 " begins at %" PRId64 ", allowed: %" PRId64
					 " .. %" PRIu64,
					 values->name, row, splits[row], row ? splits[row - 1] : 0,
					 row ? values->elements : 0);
	return 0;
}

/* Makes ragged values readable for the kernels. The last split, in the next input of the batch, is the number
 * of values. A CPU device reads them in place: the buffer covers the largest possible number of values, so it
 * has the same size for every batch and is made only once. */
static int feed_ragged(struct feed *feed, uint32_t index, const void *const *input, uint64_t rows,
		       struct gpu_buffer **ret_buffer, struct error *err)
{
	const struct tensor *tensor = graph_at(feed->graph, feed->graph->input[index]);
	const int64_t *splits = input[index + 1];
	int r = check_splits(tensor, splits, rows, err);

	if (r < 0)
		return r;
	return feed_bytes(feed, index, input[index],
			  gpu_is_cpu(feed->gpu) ? tensor->bytes
						: (uint64_t)splits[rows] * dtype_bytes(tensor->dtype),
			  ret_buffer, err);
}

/* Begins a batch: copies go into the next set. */
static int send_inputs(struct feed *feed, const void *const *input, uint64_t rows, struct plan_values *values,
		       struct error *err)
{
	const struct graph *graph = feed->graph;
	int r = 0;

	feed->set = (feed->set + 1) % FEED_SETS;
	for (uint32_t i = 0; r == 0 && i < graph->inputs; i++)
		r = graph_at(graph, graph->input[i])->splits == GRAPH_NO_TENSOR
			    ? feed_tensor(feed, i, input[i], rows, &values->input[i], err)
			    : feed_ragged(feed, i, input, rows, &values->input[i], err);
	return r;
}

/* Ends a batch: its kernels wait for its copies. `r` < 0: the batch does not run, so its copies are waited
 * for, and the next batch takes the same set. */
static int end_batch(struct feed *feed, int r, struct error *err)
{
	if (gpu_is_cpu(feed->gpu))
		return r;
	if (r == 0)
		return gpu_await_sent(feed->gpu, err);
	feed->set = (feed->set + FEED_SETS - 1) % FEED_SETS;
	(void)!gpu_finish(feed->gpu, NULL);
	return r;
}

int feed_inputs(struct feed *feed, const void *const *input, uint64_t rows, struct plan_values *values,
		struct error *err)
{
	return end_batch(feed, send_inputs(feed, input, rows, values, err), err);
}

int feed_batch(struct feed *feed, const struct model_batch *batch, struct plan_values *values,
	       struct error *err)
{
	const struct graph *graph = feed->graph;
	int r;

	if (!batch->rows || batch->rows > graph->batch_rows || batch->valid_rows > batch->rows)
		return error_set(err, -EINVAL, "batch: found %u rows, %u valid, allowed: 1 to %" PRIu64,
				 batch->rows, batch->valid_rows, graph->batch_rows);
	values->rows = (int32_t)batch->rows;
	values->valid_rows = (int32_t)batch->valid_rows;
	values->row_weight = batch->valid_rows ? 1.0f / (float)batch->valid_rows : 0;
	values->first_row = (uint32_t)batch->first_row;
	r = send_inputs(feed, batch->input, batch->rows, values, err);
	if (r == 0)
		r = feed_tensor(feed, FEED_LABEL, batch->label, batch->rows, &values->label, err);
	if (r == 0 && graph->weight != GRAPH_NO_TENSOR)
		r = feed_tensor(feed, FEED_WEIGHT, batch->weight, batch->rows, &values->weight, err);
	if (r == 0)
		r = feed_tensor(feed, FEED_EMPTY, batch->empty, batch->rows, &values->empty, err);
	return end_batch(feed, r, err);
}
