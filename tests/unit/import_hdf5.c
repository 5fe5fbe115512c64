/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 files as Keras writes them are read; those that lead elsewhere, or say more than they hold, are
 * refused. */
#include "import/keras/hdf5.h"

#include <hdf5.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "scratch.h"

#define ROWS    2u
#define COLUMNS 3u

static const float numbers[ROWS * COLUMNS] = { 1, -2, 3, 4.5f, 0, 6 };
static char path[128];

/* ---- Files ---- */

static hid_t a_file(void)
{
	hid_t file;

	(void)snprintf(path, sizeof(path), "%s/weights.h5", root);
	file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	assert_true(file >= 0);
	(void)H5Gclose(H5Gcreate2(file, "layers", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	(void)H5Gclose(H5Gcreate2(file, "layers/dense", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	(void)H5Gclose(H5Gcreate2(file, "layers/dense/vars", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	return file;
}

/* Adds a dataset of this type, made as `how` says, with the numbers. */
static void add_set(hid_t file, const char *name, hid_t type, hsize_t rows, hid_t how)
{
	const hsize_t size[] = { rows, COLUMNS };
	const hid_t space = H5Screate_simple(2, size, NULL);
	const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);

	assert_true(set >= 0);
	if (rows == ROWS)
		assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
	(void)H5Dclose(set);
	(void)H5Sclose(space);
}

static void add_name(hid_t file, const char *name)
{
	const hid_t group = H5Gopen2(file, "layers/dense/vars", H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
	const hid_t space = H5Screate(H5S_SCALAR);
	hid_t attribute;

	(void)H5Tset_size(type, H5T_VARIABLE);
	attribute = H5Acreate2(group, "name", type, space, H5P_DEFAULT, H5P_DEFAULT);
	assert_true(H5Awrite(attribute, type, &name) >= 0);
	(void)H5Aclose(attribute);
	(void)H5Sclose(space);
	(void)H5Tclose(type);
	(void)H5Gclose(group);
}

/* ---- Reading ---- */

static int read_as(const char *op, const char *parameter, uint32_t index, float *out, struct error *err)
{
	cJSON *keys = cJSON_CreateObject();
	char origin[] = "hidden (Dense), layer 2 of 4", weights[] = "layers/dense";
	const struct network_layer layer = { .keys = keys, .origin = origin, .weights = weights };
	const struct tensor like = { .rank = 2, .shape = { ROWS, COLUMNS }, .elements = ROWS * COLUMNS };
	struct hdf5 *file = NULL;
	int r = hdf5_open(path, "model.keras", &file, err);

	(void)cJSON_AddStringToObject(keys, "op", op);
	if (r == 0)
		r = hdf5_weight(file, &layer, parameter, index, &like, out, err);
	hdf5_close(file);
	cJSON_Delete(keys);
	return r;
}

static void refuses(const char *words)
{
	float out[ROWS * COLUMNS];
	struct error err = { 0 };

	assert_int_equal(read_as("dense", "kernel", 0, out, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "hidden (Dense), layer 2 of 4"));
	if (!strstr(err.text, words))
		fail_msg("found %s, expected %s", err.text, words);
}

static void reads(const char *op, const char *parameter, uint32_t index)
{
	float out[ROWS * COLUMNS];
	struct error err = { 0 };

	if (read_as(op, parameter, index, out, &err) != 0)
		fail_msg("%s: %s", parameter, err.text);
	assert_memory_equal(out, numbers, sizeof(numbers));
}

/* ---- Tests ---- */

static void test_places(void **state)
{
	static const char *const groups[] = { "layers/dense/cell",         "layers/dense/cell/vars",
					      "layers/dense/query_dense",  "layers/dense/query_dense/vars",
					      "layers/dense/output_dense", "layers/dense/output_dense/vars" };
	const hid_t file = a_file();

	(void)state;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		(void)H5Gclose(H5Gcreate2(file, groups[i], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	add_set(file, "layers/dense/vars/1", H5T_IEEE_F32LE, ROWS, H5P_DEFAULT);
	add_set(file, "layers/dense/cell/vars/2", H5T_IEEE_F64LE, ROWS, H5P_DEFAULT);
	add_set(file, "layers/dense/query_dense/vars/0", H5T_IEEE_F32LE, ROWS, H5P_DEFAULT);
	add_set(file, "layers/dense/output_dense/vars/1", H5T_IEEE_F32LE, ROWS, H5P_DEFAULT);
	add_name(file, "hidden");
	(void)H5Fclose(file);
	reads("dense", "bias", 1);
	reads("gru", "bias", 2);
	reads("multi_head_attention", "query_kernel", 0);
	reads("multi_head_attention", "attention_output_bias", 7);
	refuses("has no weight layers/dense/vars/0");
}

static void test_name_of_another_layer(void **state)
{
	const hid_t file = a_file();

	(void)state;
	add_set(file, "layers/dense/vars/0", H5T_IEEE_F32LE, ROWS, H5P_DEFAULT);
	add_name(file, "hid");
	(void)H5Fclose(file);
	refuses("layers/dense in model.weights.h5 is that of the layer hid");
}

static void test_links(void **state)
{
	static const char elsewhere[] = "layers/dense/elsewhere";
	hid_t file = a_file();

	(void)state;
	add_set(file, elsewhere, H5T_IEEE_F32LE, ROWS, H5P_DEFAULT);
	(void)H5Lcreate_soft("/layers/dense/elsewhere", file, "layers/dense/vars/0", H5P_DEFAULT,
			     H5P_DEFAULT);
	(void)H5Fclose(file);
	refuses("has no weight layers/dense/vars/0");
	file = a_file();
	(void)H5Lcreate_external(path, "/layers/dense/elsewhere", file, "layers/dense/vars/0", H5P_DEFAULT,
				 H5P_DEFAULT);
	add_set(file, elsewhere, H5T_IEEE_F32LE, ROWS, H5P_DEFAULT);
	(void)H5Fclose(file);
	refuses("has no weight layers/dense/vars/0");
	file = a_file();
	add_set(file, elsewhere, H5T_IEEE_F32LE, ROWS, H5P_DEFAULT);
	(void)H5Lcreate_hard(file, elsewhere, file, "layers/dense/vars/0", H5P_DEFAULT, H5P_DEFAULT);
	(void)H5Fclose(file);
	reads("dense", "kernel", 0);
}

/* The numbers of one dataset cannot be read more often than the file has bytes for. */
static void test_one_set_many_times(void **state)
{
	const struct tensor like = { .rank = 2, .shape = { ROWS, COLUMNS }, .elements = ROWS * COLUMNS };
	cJSON *keys = cJSON_CreateObject();
	char origin[] = "hidden (Dense), layer 2 of 4", weights[] = "layers/dense";
	const struct network_layer layer = { .keys = keys, .origin = origin, .weights = weights };
	const hid_t made = a_file();
	struct hdf5 *file = NULL;
	struct error err = { 0 };
	float out[ROWS * COLUMNS];
	hsize_t bytes = 0, read = 0;

	(void)state;
	add_set(made, "layers/dense/vars/0", H5T_IEEE_F32LE, ROWS, H5P_DEFAULT);
	assert_true(H5Fflush(made, H5F_SCOPE_GLOBAL) >= 0 && H5Fget_filesize(made, &bytes) >= 0);
	(void)H5Fclose(made);
	(void)cJSON_AddStringToObject(keys, "op", "dense");
	assert_int_equal(hdf5_open(path, "model.keras", &file, &err), 0);
	for (; read + sizeof(numbers) <= bytes; read += sizeof(numbers))
		assert_int_equal(hdf5_weight(file, &layer, "kernel", 0, &like, out, &err), 0);
	assert_int_equal(hdf5_weight(file, &layer, "kernel", 0, &like, out, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "together the weights are larger than the file"));
	hdf5_close(file);
	cJSON_Delete(keys);
}

static void test_forms(void **state)
{
	const hsize_t chunk[] = { 1, COLUMNS };
	hid_t how = H5Pcreate(H5P_DATASET_CREATE), file = a_file();
	char other[128];

	(void)state;
	(void)H5Pset_chunk(how, 2, chunk);
	add_set(file, "layers/dense/vars/0", H5T_IEEE_F32LE, ROWS, how);
	(void)H5Fclose(file);
	(void)H5Pclose(how);
	refuses("is not floats in one piece");

	how = H5Pcreate(H5P_DATASET_CREATE);
	(void)snprintf(other, sizeof(other), "%s/secret", root);
	(void)H5Pset_external(how, other, 0, sizeof(numbers));
	file = a_file();
	add_set(file, "layers/dense/vars/0", H5T_IEEE_F32LE, ROWS, how);
	(void)H5Fclose(file);
	(void)H5Pclose(how);
	refuses("is not floats in one piece");

	file = a_file();
	add_set(file, "layers/dense/vars/0", H5T_IEEE_F32BE, ROWS, H5P_DEFAULT);
	(void)H5Fclose(file);
	refuses("is not floats in one piece");

	file = a_file();
	add_set(file, "layers/dense/vars/0", H5T_STD_I32LE, ROWS, H5P_DEFAULT);
	(void)H5Fclose(file);
	refuses("is not floats in one piece");
}

static void test_shapes(void **state)
{
	hid_t file = a_file();

	(void)state;
	add_set(file, "layers/dense/vars/0", H5T_IEEE_F32LE, ROWS + 1, H5P_DEFAULT);
	(void)H5Fclose(file);
	refuses("has another shape than [2, 3]");

	/* A group in the place of a dataset. */
	file = a_file();
	(void)H5Gclose(H5Gcreate2(file, "layers/dense/vars/0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
	(void)H5Fclose(file);
	refuses("has no weight layers/dense/vars/0");
}

static void test_no_hdf5(void **state)
{
	struct hdf5 *file = NULL;
	struct error err = { 0 };
	FILE *out;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/text.h5", root);
	out = fopen(path, "w");
	assert_non_null(out);
	(void)fputs("no HDF5", out);
	(void)fclose(out);
	assert_int_equal(hdf5_open(path, "model.keras", &file, &err), -EBADMSG);
	assert_string_equal(err.text, "model.keras: model.weights.h5 is no HDF5 file, or it is damaged");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_name_of_another_layer),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_no_hdf5),
		cmocka_unit_test(test_one_set_many_times),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
