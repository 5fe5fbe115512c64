/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ring_shared.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SLOTS 4

static char folder[64], path[80];

static const struct ring_geometry geometry = {
	.slots = SLOTS,
	.columns = 2,
	.column = { { "x", RING_FLOAT32, 16, 4096 }, { "empty", RING_UINT8, 1, 4096 } },
};

static int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/kiln-ring-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/ring", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

static int fresh(void **state)
{
	(void)state;
	(void)unlink(path);
	return 0;
}

static struct ring *writer(void)
{
	struct ring *ring;
	struct error err;

	if (ring_create(path, &geometry, 0, &ring, &err) < 0)
		fail_msg("%s", err.text);
	return ring;
}

static struct ring *reader(void)
{
	struct ring *ring;
	struct error err;

	if (ring_open(path, &ring, &err) < 0)
		fail_msg("%s", err.text);
	return ring;
}

static struct cursor at(uint64_t batch)
{
	struct cursor cursor = { .version = CURSOR_VERSION, .batch = batch };

	return cursor;
}

/* Publish the slot for `batch`; its cursor is the place after it. */
static void publish(struct ring *ring, uint64_t batch, enum ring_kind kind)
{
	struct ring_slot *slot;

	assert_int_equal(ring_claim(ring, &slot), 0);
	slot->kind = kind;
	slot->rows = slot->valid_rows = 2;
	slot->batch = batch;
	slot->cursor = at(batch + 1);
	memset(ring_column_data(ring, slot, 0), (int)batch, 32);
	ring_commit(ring);
}

static const struct ring_slot *expect(struct ring *ring, uint64_t batch)
{
	const struct ring_slot *slot;
	struct error err;

	assert_int_equal(ring_next(ring, &slot, &err), 0);
	assert_int_equal(slot->batch, batch);
	assert_int_equal(((const uint8_t *)ring_column_data(ring, slot, 0))[31], (uint8_t)batch);
	return slot;
}

static uint64_t begin(struct ring *ring)
{
	struct cursor from;
	bool closed;
	uint64_t generation = ring_request(ring, &from, &closed);

	ring_begin(ring, generation);
	return from.batch;
}

static void slots_arrive_in_order(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct ring_slot *slot;
	struct cursor from = at(7);
	struct error err;

	(void)state;
	ring_attach(r, &from);
	assert_int_equal(begin(w), 7);
	for (uint64_t i = 0; i < SLOTS; i++)
		publish(w, 7 + i, RING_DATA);
	assert_int_equal(ring_claim(w, &slot), -EAGAIN);
	for (uint64_t i = 0; i < SLOTS; i++)
		ring_release(r, expect(r, 7 + i));
	assert_int_equal(ring_next(r, (const struct ring_slot **)&slot, &err), -EAGAIN);
	assert_int_equal(ring_claim(w, &slot), 0);
	ring_close(r);
	ring_close(w);
}

static void tail_moves_over_the_finished_prefix(void **state)
{
	struct ring *w = writer(), *r = reader();
	const struct ring_slot *held[SLOTS];
	struct ring_slot *slot;
	struct cursor from = at(0);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	for (uint64_t i = 0; i < SLOTS; i++)
		publish(w, i, RING_DATA);
	for (uint64_t i = 0; i < SLOTS; i++)
		held[i] = expect(r, i);
	ring_release(r, held[1]);
	ring_release(r, held[2]);
	assert_int_equal(ring_claim(w, &slot), -EAGAIN);
	ring_release(r, held[0]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ring_claim(w, &slot), 0);
	assert_int_equal(ring_claim(w, &slot), -EAGAIN);
	ring_close(r);
	ring_close(w);
}

static void other_generations_are_passed_unread(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(0);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 0, RING_DATA);
	publish(w, 1, RING_DATA);
	from = at(40);
	ring_attach(r, &from);
	publish(w, 2, RING_DATA);
	assert_int_equal(begin(w), 40);
	publish(w, 40, RING_DATA);
	ring_release(r, expect(r, 40));
	ring_close(r);
	ring_close(w);
}

static void a_restarted_writer_goes_on(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(5);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 5, RING_DATA);
	publish(w, 6, RING_DATA);
	ring_close(w);
	w = writer();
	assert_int_equal(begin(w), 7);
	publish(w, 7, RING_DATA);
	for (uint64_t i = 5; i < 8; i++)
		ring_release(r, expect(r, i));
	ring_close(r);
	ring_close(w);
}

static void a_reader_at_the_right_place_needs_no_rewind(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(0);

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	for (uint64_t i = 0; i < SLOTS; i++)
		publish(w, i, RING_DATA);
	ring_release(r, expect(r, 0));
	ring_close(r);
	r = reader();
	from = at(1);
	ring_attach(r, &from);
	ring_release(r, expect(r, 1));
	ring_close(r);
	ring_close(w);
}

static void an_error_ends_its_generation(void **state)
{
	struct ring *w = writer(), *r = reader();
	struct cursor from = at(3);
	bool closed;

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 3, RING_ERROR);
	ring_close(w);
	w = writer();
	assert_int_equal(ring_request(w, &from, &closed), 1);
	assert_true(closed);
	ring_release(r, expect(r, 3));
	from = at(4);
	ring_attach(r, &from);
	assert_int_equal(ring_request(w, &from, &closed), 2);
	assert_false(closed);
	ring_close(r);
	ring_close(w);
}

static void one_writer_and_one_reader(void **state)
{
	struct ring *w = writer(), *r = reader(), *other;
	struct error err;

	(void)state;
	assert_int_equal(ring_create(path, &geometry, 0, &other, &err), -EBUSY);
	assert_int_equal(ring_open(path, &other, &err), -EBUSY);
	ring_close(r);
	r = reader();
	ring_close(r);
	ring_close(w);
}

static void another_schema_retires_the_ring(void **state)
{
	struct ring *w = writer(), *r = reader(), *other;
	struct ring_geometry changed = geometry;
	const struct ring_slot *slot;
	struct error err;

	(void)state;
	changed.column[0].capacity = 8192;
	ring_close(w);
	assert_int_equal(ring_create(path, &changed, 20, &other, &err), -EBUSY);
	assert_int_equal(ring_next(r, &slot, &err), -EPIPE);
	ring_close(r);
	assert_int_equal(ring_create(path, &changed, 20, &other, &err), 0);
	ring_close(other);
}

/* One field of the header is hostile at a time; opening must refuse it by its words. */
static void hostile_headers_are_refused(void **state)
{
	static const struct {
		size_t offset;
		uint64_t value;
		size_t bytes;
		int code;
	} cases[] = {
		{ offsetof(struct ring_control, magic), 1, 8, -EBADMSG },
		{ offsetof(struct ring_control, version), 99, 4, -EBADMSG },
		{ offsetof(struct ring_control, slots), 0, 4, -EBADMSG },
		{ offsetof(struct ring_control, slots), 4000, 4, -EBADMSG },
		{ offsetof(struct ring_control, slots), UINT32_MAX, 4, -EBADMSG },
		{ offsetof(struct ring_control, columns), 65, 4, -EBADMSG },
		{ offsetof(struct ring_control, slot_bytes), 1, 8, -EBADMSG },
		{ offsetof(struct ring_control, file_bytes), UINT64_MAX, 8, -EBADMSG },
		{ offsetof(struct ring_control, head), 1000, 8, -EBADMSG },
		{ offsetof(struct ring_control, tail), 1, 8, -EBADMSG },
		{ offsetof(struct ring_control, retired), 1, 4, -ESTALE },
		{ offsetof(struct ring_control, column[0].capacity), UINT64_MAX, 8, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ring *r;
		struct error err;
		int fd;

		ring_close(writer());
		fd = open(path, O_RDWR);
		assert_int_equal(pwrite(fd, &cases[i].value, cases[i].bytes, (off_t)cases[i].offset),
				 cases[i].bytes);
		close(fd);
		assert_int_equal(ring_open(path, &r, &err), cases[i].code);
		assert_true(strlen(err.text) > 10);
		(void)unlink(path);
	}
}

static void a_wild_slot_is_an_error(void **state)
{
	static const struct {
		size_t offset;
		uint32_t value;
	} cases[] = {
		{ offsetof(struct ring_slot, sequence), 9 },
		{ offsetof(struct ring_slot, kind), 77 },
		{ offsetof(struct ring_slot, split), 3 },
		{ offsetof(struct ring_slot, rows), UINT32_MAX },
		{ offsetof(struct ring_slot, valid_rows), 100 },
		{ offsetof(struct ring_slot, columns), 1 },
		{ offsetof(struct ring_slot, column[1].bytes), 4097 },
		{ offsetof(struct ring_slot, column[1].offset), 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ring *w = writer(), *r = reader();
		const struct ring_slot *slot;
		struct cursor from = at(0);
		struct error err;

		ring_attach(r, &from);
		(void)begin(w);
		publish(w, 0, RING_DATA);
		memcpy((uint8_t *)ring_slot_at(w, 0) + cases[i].offset, &cases[i].value, sizeof(uint32_t));
		assert_int_equal(ring_next(r, &slot, &err), -EBADMSG);
		ring_close(r);
		ring_close(w);
		(void)unlink(path);
	}
}

static void a_cut_file_is_an_error(void **state)
{
	struct ring *w = writer(), *r = reader();
	const struct ring_slot *slot;
	struct cursor from = at(0);
	struct error err;

	(void)state;
	ring_attach(r, &from);
	(void)begin(w);
	publish(w, 0, RING_DATA);
	assert_int_equal(truncate(path, 0), 0);
	/* The first look meets the hole and finds zeros; from then on the ring is dead. */
	assert_true(ring_next(r, &slot, &err) < 0);
	assert_int_equal(ring_next(r, &slot, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "cut"));
	ring_close(r);
	ring_close(w);
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(slots_arrive_in_order, fresh),
		cmocka_unit_test_setup(tail_moves_over_the_finished_prefix, fresh),
		cmocka_unit_test_setup(other_generations_are_passed_unread, fresh),
		cmocka_unit_test_setup(a_restarted_writer_goes_on, fresh),
		cmocka_unit_test_setup(a_reader_at_the_right_place_needs_no_rewind, fresh),
		cmocka_unit_test_setup(an_error_ends_its_generation, fresh),
		cmocka_unit_test_setup(one_writer_and_one_reader, fresh),
		cmocka_unit_test_setup(another_schema_retires_the_ring, fresh),
		cmocka_unit_test_setup(hostile_headers_are_refused, fresh),
		cmocka_unit_test_setup(a_wild_slot_is_an_error, fresh),
		cmocka_unit_test_setup(a_cut_file_is_an_error, fresh),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
