/* SPDX-License-Identifier: Apache-2.0 */
#include "model/feed.h"

#include <inttypes.h>
#include <string.h>

/* Tensors of up to this size are small: the host copies as many bytes in the time that an enqueue of NVIDIA's
 * driver takes (6 us, tests/bench/README.md). */
#define SMALL_BYTES ((uint64_t)32768)
#define LARGE       UINT64_MAX

/* Returns the number of tensors of a batch of this graph. */
static uint32_t tensors_of(const struct graph *graph)
{
	return FEED_INPUT + graph->inputs;
}

/* Returns the tensor of the batch with index 0 ... tensors_of() - 1; GRAPH_NO_TENSOR: batches of this graph
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
		return graph->input[index - FEED_INPUT];
	}
}

/* Gives each small tensor its place. Returns the bytes that they need together. */
static uint64_t place_small(struct feed *feed)
{
	uint64_t bytes = 0;

	for (uint32_t index = 0; index < tensors_of(feed->graph); index++) {
		const uint32_t tensor = tensor_at(feed->graph, index);

		feed->place[index] = LARGE;
		if (tensor == GRAPH_NO_TENSOR || graph_at(feed->graph, tensor)->bytes > SMALL_BYTES)
			continue;
		feed->place[index] = bytes;
		bytes += (graph_at(feed->graph, tensor)->bytes + GPU_ALIGN_BYTES - 1) / GPU_ALIGN_BYTES *
			 GPU_ALIGN_BYTES;
	}
	return bytes;
}

static int open_set(struct feed *feed, struct feed_set *set, uint64_t small_bytes, struct error *err)
{
	int r = 0;

	if (small_bytes && (r = gpu_buffer_create(feed->gpu, small_bytes, &set->small, err)) == 0)
		r = gpu_host_create(feed->gpu, small_bytes, &set->small_host, err);
	for (uint32_t index = 0; r == 0 && index < tensors_of(feed->graph); index++) {
		const uint32_t tensor = tensor_at(feed->graph, index);

		if (tensor == GRAPH_NO_TENSOR)
			continue;
		r = feed->place[index] == LARGE
			    ? gpu_buffer_create(feed->gpu, graph_at(feed->graph, tensor)->bytes,
						&set->device[index], err)
			    : gpu_buffer_sub(set->small, feed->place[index],
					     graph_at(feed->graph, tensor)->bytes, &set->device[index], err);
	}
	return r;
}

static void close_set(struct feed_set *set)
{
	for (uint32_t index = FEED_TENSORS; index-- > 0;) {
		gpu_buffer_free(set->device[index]);
		gpu_host_free(set->host[index]);
	}
	gpu_buffer_free(set->small);
	gpu_host_free(set->small_host);
}

int feed_open(struct feed *feed, struct gpu *gpu, const struct graph *graph, struct error *err)
{
	uint64_t small_bytes;
	int r = 0;

	feed->gpu = gpu;
	feed->graph = graph;
	if (gpu_is_cpu(gpu)) {
		feed->wrap = calloc(tensors_of(graph), sizeof(*feed->wrap));
		return feed->wrap ? 0 : error_set(err, -ENOMEM, "model: out of memory");
	}
	small_bytes = place_small(feed);
	for (uint32_t set = 0; r == 0 && set < FEED_SETS; set++)
		r = open_set(feed, &feed->set[set], small_bytes, err);
	/* Buffers are zeroed on the queue of the kernels, and filled on another one. */
	return r < 0 ? r : gpu_finish(gpu, err);
}

void feed_close(struct feed *feed)
{
	for (uint32_t set = 0; set < FEED_SETS; set++)
		close_set(&feed->set[set]);
	for (uint32_t index = 0; feed->wrap && index < tensors_of(feed->graph); index++)
		for (uint32_t way = 0; way < FEED_WRAPS; way++)
			gpu_buffer_free(feed->wrap[index][way].buffer);
	free(TAKE(feed->wrap));
	gpu_host_free(feed->pinned);
}

int feed_pin(struct feed *feed, void *memory, uint64_t bytes, struct error *err)
{
	gpu_host_free(feed->pinned);
	feed->pinned = NULL;
	feed->pinned_bytes = bytes;
	if (!memory || !gpu_stages(feed->gpu))
		return 0;
	return gpu_host_wrap(feed->gpu, memory, bytes, &feed->pinned, err);
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

/* Tells whether the device copies from this memory while the caller goes on. */
static bool is_pinned(const struct feed *feed, const void *host, uint64_t bytes)
{
	const uintptr_t from =
		feed->pinned ? (uintptr_t)host - (uintptr_t)gpu_host_memory(feed->pinned) : UINTPTR_MAX;

	return !gpu_stages(feed->gpu) || (from < feed->pinned_bytes && bytes <= feed->pinned_bytes - from);
}

/* Sends a large tensor. */
static int send_large(struct feed *feed, uint32_t index, const void *host, uint64_t bytes, struct error *err)
{
	struct feed_set *set = &feed->set[feed->last];
	int r = 0;

	if (!is_pinned(feed, host, bytes)) {
		if (!set->host[index])
			r = gpu_host_create(feed->gpu,
					    graph_at(feed->graph, tensor_at(feed->graph, index))->bytes,
					    &set->host[index], err);
		if (r < 0)
			return r;
		host = memcpy(gpu_host_memory(set->host[index]), host, bytes);
	}
	return gpu_send(feed->gpu, set->device[index], 0, host, bytes, err);
}

/* Makes the first `bytes` at `host` readable for the kernels, as *ret_buffer. end_batch() sends what is
 * small.
 */
static int feed_bytes(struct feed *feed, uint32_t index, const void *host, uint64_t bytes,
		      struct gpu_buffer **ret_buffer, struct error *err)
{
	struct feed_set *set = &feed->set[feed->last];
	const uint64_t place = feed->place[index];

	if (gpu_is_cpu(feed->gpu))
		return wrap_host(feed, index, host, bytes, ret_buffer, err);
	*ret_buffer = set->device[index];
	if (!bytes)
		return 0;
	if (place == LARGE)
		return send_large(feed, index, host, bytes, err);
	memcpy((uint8_t *)gpu_host_memory(set->small_host) + place, host, bytes);
	if (feed->small_bytes < place + bytes)
		feed->small_bytes = place + bytes;
	return 0;
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
 * has the same size for every batch, and is made once for each slot of a ring. The values of a micro-batch
 * begin anywhere in a slot, so its buffer is made each time. */
static int feed_ragged(struct feed *feed, uint32_t index, const void *const *input, uint64_t rows,
		       struct gpu_buffer **ret_buffer, struct error *err)
{
	const struct tensor *tensor = graph_at(feed->graph, feed->graph->input[index]);
	const int64_t *splits = input[index + 1];
	int r = check_splits(tensor, splits, rows, err);

	if (r < 0)
		return r;
	return feed_bytes(feed, FEED_INPUT + index, input[index],
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

	feed->last = (feed->last + 1) % FEED_SETS;
	feed->small_bytes = 0;
	for (uint32_t i = 0; r == 0 && i < graph->inputs; i++)
		r = graph_at(graph, graph->input[i])->splits == GRAPH_NO_TENSOR
			    ? feed_tensor(feed, FEED_INPUT + i, input[i], rows, &values->input[i], err)
			    : feed_ragged(feed, i, input, rows, &values->input[i], err);
	return r;
}

/* Ends a batch: its kernels wait for its copies. `r` < 0: the batch does not run, so its copies are waited
 * for, and the next batch takes the same set. */
static int end_batch(struct feed *feed, int r, struct error *err)
{
	struct feed_set *set = &feed->set[feed->last];

	if (gpu_is_cpu(feed->gpu))
		return r;
	if (r == 0 && feed->small_bytes)
		r = gpu_send(feed->gpu, set->small, 0, gpu_host_memory(set->small_host), feed->small_bytes,
			     err);
	if (r == 0)
		return gpu_await_sent(feed->gpu, err);
	feed->last = (feed->last + FEED_SETS - 1) % FEED_SETS;
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
