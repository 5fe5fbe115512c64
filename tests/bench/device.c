/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures an OpenCL device for a trainer: the time to compile the kernels and to load them from the
 * cache, and the cost of a launch, of an empty queue and of a copy; on a GPU also of a batch's copy from
 * memory that is not pinned, from pinned memory and from memory like a ring's. Every copy is compared before
 * it is timed. Prints JSON lines, the device and its limits first. Part of tools/gpu-check. Usage: device
 */
#include "tests/bench/measure.h"
#include "tests/reference.h"

#include <sys/mman.h>
#include <unistd.h>

#define COPY_BYTES  (256u << 20)
#define SMALL_BYTES 4096u
#define BATCH_BYTES 262144u /* of the article: 128 rows of 512 floats */
#define ROUNDS      9u
#define LAUNCHES    2000u
#define ROWS        64u
#define INPUTS      32u
#define CLASSES     2u

static struct config_layer layers[] = { DENSE(16), RELU, DENSE(CLASSES), SOFTMAX };
static struct gpu *gpu;

static void must(int rc, const struct error *err)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "device: %s\n", err->text);
	exit(1);
}

static void print(const char *name, double value, const char *unit)
{
	printf("{\"name\":\"gpu-check\",\"case\":\"%s\",\"value\":%.4g,\"unit\":\"%s\"}\n", name, value,
	       unit);
	(void)fflush(stdout);
}

/* ---- Kernels ---- */

/* Time from no program to the end of the first step; PoCL compiles at the first launch. */
static double first_step_us(bool save)
{
	static float input[ROWS * INPUTS] __attribute__((aligned(4096)));
	static int64_t label[ROWS * CLASSES] __attribute__((aligned(4096)));
	const struct config config =
		model_config(layers, sizeof(layers) / sizeof(*layers), INPUTS, CLASSES, ROWS);
	const struct model_batch batch = {
		.input = { input }, .label = label, .rows = ROWS, .valid_rows = ROWS
	};
	const double start = now_us();
	struct model_metrics metrics;
	struct model *model = NULL;
	struct error err = { 0 };
	double end;

	fill_batch(1, ROWS, INPUTS, CLASSES, input, label);
	must(model_open(gpu, &config, true, &model, &err), &err);
	must(model_init(model, &err), &err);
	must(model_train(model, &batch, &err), &err);
	must(model_metrics(model, &metrics, &err), &err);
	end = now_us();
	if (!(metrics.loss > 0)) {
		(void)fprintf(stderr, "device: the first step's loss is %g\n", metrics.loss);
		exit(1);
	}
	if (save)
		must(model_keep_kernels(model, &err), &err);
	model_close(model);
	return end - start;
}

/* ---- Copies ---- */

static void fill(unsigned char *bytes, size_t count, unsigned seed)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
}

static void check_equal(const void *found, const void *expected, size_t bytes, const char *what)
{
	if (memcmp(found, expected, bytes) == 0)
		return;
	(void)fprintf(stderr, "device: %s: other bytes came back\n", what);
	exit(1);
}

struct copies {
	struct gpu_buffer *from, *to;
	unsigned char *out, *in;
	size_t bytes;
};

enum direction { TO_DEVICE, TO_HOST, WITHIN, DIRECTIONS };

static void copy(const struct copies *c, enum direction direction)
{
	struct gpu_event done = { 0 };
	struct error err = { 0 };

	if (direction == TO_DEVICE)
		must(gpu_write(gpu, c->from, 0, c->out, c->bytes, true, &err), &err);
	else if (direction == TO_HOST)
		must(gpu_read(gpu, c->to, 0, c->in, c->bytes, NULL, &err), &err);
	else
		must(gpu_copy(gpu, c->from, c->to, &done, &err), &err);
	must(gpu_finish(gpu, &err), &err);
	gpu_event_free(&done);
}

static double copy_us(const struct copies *c, enum direction direction)
{
	double us[ROUNDS];

	for (unsigned r = 0; r < ROUNDS; r++) {
		const double start = now_us();

		copy(c, direction);
		us[r] = now_us() - start;
	}
	return median(us, ROUNDS);
}

static void time_copies(size_t bytes)
{
	static const char *const names[DIRECTIONS] = { "host to device", "device to host",
						       "within the device" };
	struct copies c = { .out = aligned_alloc(4096, bytes),
			    .in = aligned_alloc(4096, bytes),
			    .bytes = bytes };
	struct error err = { 0 };
	char name[64];

	if (!c.out || !c.in)
		abort();
	fill(c.out, bytes, 44);
	must(gpu_buffer_create(gpu, bytes, &c.from, &err), &err);
	must(gpu_buffer_create(gpu, bytes, &c.to, &err), &err);
	copy(&c, TO_DEVICE);
	copy(&c, WITHIN);
	copy(&c, TO_HOST);
	check_equal(c.in, c.out, bytes, "host, device, device, host");
	for (enum direction d = TO_DEVICE; d < DIRECTIONS; d++) {
		const double us = copy_us(&c, d);

		(void)snprintf(name, sizeof(name), "copy of %zu bytes, %s", bytes, names[d]);
		if (bytes > SMALL_BYTES)
			print(name, (double)bytes / us / 1e3, "GB/s");
		else
			print(name, us, "us");
	}
	gpu_buffer_free(c.from);
	gpu_buffer_free(c.to);
	free(c.out);
	free(c.in);
}

/* ---- Copies of batches, which run beside kernels ---- */

enum memory { PAGEABLE, PINNED, RING, MEMORIES };

struct sent {
	struct gpu_host *host; /* NULL: the memory is not pinned */
	unsigned char *memory;
	size_t bytes;
};

static void *shared_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* A ring is memory of its own that two processes share; the trainer asks the driver to pin it. */
static void open_sent(struct sent *sent, enum memory kind, size_t bytes)
{
	struct error err = { 0 };

	*sent = (struct sent){ .bytes = bytes };
	if (kind == PINNED) {
		must(gpu_host_create(gpu, bytes, &sent->host, &err), &err);
		sent->memory = gpu_host_memory(sent->host);
	} else {
		sent->memory = shared_memory(bytes);
	}
	if (kind == RING)
		must(gpu_host_wrap(gpu, sent->memory, bytes, &sent->host, &err), &err);
	fill(sent->memory, bytes, 7 + kind);
}

static void close_sent(struct sent *sent, enum memory kind)
{
	gpu_host_free(sent->host);
	if (kind != PINNED)
		(void)munmap(sent->memory, sent->bytes);
}

static void send(const struct sent *sent, struct gpu_buffer *to)
{
	struct error err = { 0 };

	must(gpu_send(gpu, to, 0, sent->memory, sent->bytes, &err), &err);
	must(gpu_finish(gpu, &err), &err);
}

static double send_us(enum memory kind, size_t bytes, struct gpu_buffer *to, unsigned char *back)
{
	struct sent sent;
	struct error err = { 0 };
	double us[ROUNDS];

	open_sent(&sent, kind, bytes);
	send(&sent, to);
	must(gpu_read(gpu, to, 0, back, bytes, NULL, &err), &err);
	check_equal(back, sent.memory, bytes, "a batch");
	for (unsigned r = 0; r < ROUNDS; r++) {
		const double start = now_us();

		send(&sent, to);
		us[r] = now_us() - start;
	}
	close_sent(&sent, kind);
	return median(us, ROUNDS);
}

static void time_feeds(size_t bytes)
{
	static const char *const names[MEMORIES] = { "memory that is not pinned", "pinned memory",
						     "a ring that the driver pins" };
	unsigned char *back = aligned_alloc(4096, bytes);
	struct gpu_buffer *to = NULL;
	struct error err = { 0 };
	char name[96];

	if (!back)
		abort();
	must(gpu_buffer_create(gpu, bytes, &to, &err), &err);
	for (enum memory kind = PAGEABLE; kind < MEMORIES; kind++) {
		const double us = send_us(kind, bytes, to, back);

		(void)snprintf(name, sizeof(name), "a batch of %zu bytes from %s%s", bytes, names[kind],
			       kind == PAGEABLE || gpu_stages(gpu) ? "" : " (this driver pins none)");
		print(name, bytes < COPY_BYTES ? us : (double)bytes / us / 1e3,
		      bytes < COPY_BYTES ? "us" : "GB/s");
	}
	gpu_buffer_free(to);
	free(back);
}

/* ---- Launches ---- */

/* Enqueues the smallest possible kernel many times, then once with a wait for its end. */
static void time_launches(void)
{
	struct gpu_program *program = NULL;
	struct gpu_kernel *kernel = NULL;
	struct gpu_buffer *buffer = NULL;
	static const char text[] = "__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void "
				   "one(__global float *x) { x[0] = 1; }";
	const struct gpu_source source = { .name = "one.cl", .text = text, .bytes = sizeof(text) - 1 };
	const uint64_t groups[2] = { 1, 1 };
	double us[ROUNDS], start;
	struct error err = { 0 };

	must(gpu_program_build(gpu, &source, 1, "", &program, &err), &err);
	must(gpu_kernel_create(program, "one", &kernel, &err), &err);
	must(gpu_buffer_create(gpu, SMALL_BYTES, &buffer, &err), &err);
	must(gpu_kernel_set_buffer(kernel, 0, buffer, &err), &err);
	for (unsigned r = 0; r < ROUNDS; r++) {
		start = now_us();
		for (unsigned i = 0; i < LAUNCHES; i++)
			must(gpu_launch(gpu, kernel, groups, &err), &err);
		must(gpu_finish(gpu, &err), &err);
		us[r] = (now_us() - start) / LAUNCHES;
	}
	print("a launch among many", median(us, ROUNDS), "us");
	for (unsigned r = 0; r < ROUNDS; r++) {
		start = now_us();
		must(gpu_launch(gpu, kernel, groups, &err), &err);
		must(gpu_finish(gpu, &err), &err);
		us[r] = now_us() - start;
	}
	print("a launch that is waited for", median(us, ROUNDS), "us");
	gpu_kernel_free(kernel);
	gpu_buffer_free(buffer);
	gpu_program_free(program);
}

/* Names the processor, too: a CPU device is the processor, and every other device gets its data from it. */
static void print_device(void)
{
	char day[16] = "";
	const time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		(void)strftime(day, sizeof(day), "%F", &tm);
	printf("{\"name\":\"gpu-check\",\"case\":\"%s\",\"value\":%ld,\"unit\":\"cores\",\"device\":\"%s\","
	       "\"date\":\"%s\"}\n",
	       gpu_is_cpu(gpu) ? "a CPU device" : "a device with memory of its own",
	       sysconf(_SC_NPROCESSORS_ONLN), gpu_description(gpu), day);
	print("limit: memory", (double)gpu_memory(gpu).bytes / 0x1p30, "GiB");
	print("limit: the largest buffer that is promised", (double)gpu_memory(gpu).buffer_bytes / 0x1p30,
	      "GiB");
	print("limit: groups at the same time, about", gpu_units(gpu), "groups");
	if (gpu_nvidia_capability(gpu))
		print("compute capability", gpu_nvidia_capability(gpu) / 10.0, "1");
}

int main(void)
{
	gpu = open_device();
	print_device();
	print("kernels compiled, to the end of the first step", first_step_us(true) / 1e6, "s");
	print("kernels from the cache, to the end of the first step", first_step_us(false) / 1e3, "ms");
	time_launches();
	time_copies(SMALL_BYTES);
	time_copies(COPY_BYTES);
	if (!gpu_is_cpu(gpu)) {
		time_feeds(BATCH_BYTES);
		time_feeds(COPY_BYTES);
	}
	close_device(gpu);
	return 0;
}
