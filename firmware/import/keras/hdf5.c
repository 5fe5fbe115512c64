/* SPDX-License-Identifier: Apache-2.0 */
#include "import/keras/hdf5.h"

#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PATH_TEXT_BYTES 1200u

struct hdf5 {
	hid_t file;
	const char *what;
	hsize_t bytes, read; /* size of the file; bytes of the datasets that were read */
};

int hdf5_open(const char *path, const char *what, struct hdf5 **ret_file, struct error *err)
{
	struct hdf5 *file = calloc(1, sizeof(*file));

	if (!file)
		return error_set(err, -ENOMEM, "%s: no memory to read it", what);
	(void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	(void)H5PLset_loading_state(0);
	file->what = what;
	file->file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (file->file < 0 || H5Fget_filesize(file->file, &file->bytes) < 0) {
		if (file->file >= 0)
			(void)H5Fclose(file->file);
		free(file);
		return error_set(err, -EBADMSG, "%s: model.weights.h5 is no HDF5 file, or it is damaged",
				 what);
	}
	*ret_file = file;
	return 0;
}

void hdf5_close(struct hdf5 *file)
{
	if (!file)
		return;
	(void)H5Fclose(file->file);
	free(file);
}

void hdf5_closep(struct hdf5 **file)
{
	hdf5_close(*file);
}

/* ---- Objects ---- */

static void close_id(const hid_t *id)
{
	if (*id >= 0)
		(void)H5Idec_ref(*id);
}

/* Opens the object at a path, link by link. Returns a negative number where a link is missing or no hard
 * link. */
static hid_t open_object(hid_t file, const char *path)
{
	char name[PATH_TEXT_BYTES];
	hid_t at = H5Gopen2(file, "/", H5P_DEFAULT);

	while (at >= 0 && *path) {
		const size_t length = strcspn(path, "/");
		H5L_info_t link;
		hid_t next = -1;

		(void)snprintf(name, sizeof(name), "%.*s", (int)length, path);
		if (H5Lget_info(at, name, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD)
			next = H5Oopen(at, name, H5P_DEFAULT);
		(void)H5Idec_ref(at);
		at = next;
		path += length;
		path += *path == '/';
	}
	return at;
}

/* Writes the name that Keras gave the layer, an attribute of its group, or "" where there is none. */
static void read_name(hid_t group, char *out, size_t size)
{
	CLEANUP(close_id)
	hid_t attribute = H5Aexists(group, "name") > 0 ? H5Aopen(group, "name", H5P_DEFAULT) : -1;
	CLEANUP(close_id) hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
	CLEANUP(close_id) hid_t space = attribute < 0 ? -1 : H5Aget_space(attribute);
	char *text = NULL;

	*out = '\0';
	if (type < 0 || space < 0 || H5Tis_variable_str(type) <= 0 ||
	    H5Sget_simple_extent_npoints(space) != 1)
		return;
	if (H5Aread(attribute, type, &text) >= 0 && text)
		(void)snprintf(out, size, "%s", text);
	(void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
}

/* ---- Datasets ---- */

/* Tells whether a type is IEEE numbers of 32 or 64 bits, the lowest byte first. */
static bool is_ieee(hid_t type)
{
	return H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F64LE) > 0;
}

/* Tells whether a dataset is floats that lie in the file in one piece. */
static bool is_plain(hid_t set)
{
	CLEANUP(close_id) hid_t how = H5Dget_create_plist(set);
	CLEANUP(close_id) hid_t type = H5Dget_type(set);
	H5D_layout_t layout;

	if (how < 0 || type < 0)
		return false;
	layout = H5Pget_layout(how);
	return (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT) && H5Pget_external_count(how) == 0 &&
	       H5Pget_nfilters(how) == 0 && is_ieee(type);
}

static bool has_shape(hid_t set, const struct tensor *like)
{
	CLEANUP(close_id) hid_t space = H5Dget_space(set);
	CLEANUP(close_id) hid_t type = H5Dget_type(set);
	hsize_t size[H5S_MAX_RANK], bytes;
	bool same = H5Sget_simple_extent_ndims(space) == (int)like->rank &&
		    H5Sget_simple_extent_dims(space, size, NULL) >= 0;

	for (uint32_t i = 0; same && i < like->rank; i++)
		same = size[i] == like->shape[i];
	return same && !__builtin_mul_overflow(like->elements, H5Tget_size(type), &bytes) &&
	       H5Dget_storage_size(set) >= bytes;
}

/* Counts the bytes of a dataset. Returns false where all that was read is more than the file has: many links
 * to one dataset would make a small file large. */
static bool fits_file(struct hdf5 *file, hid_t set)
{
	const hsize_t bytes = H5Dget_storage_size(set);

	if (bytes > file->bytes - file->read)
		return false;
	file->read += bytes;
	return true;
}

static int read_set(struct hdf5 *file, const struct network_layer *layer, const char *path,
		    const struct tensor *like, float *numbers, struct error *err)
{
	CLEANUP(close_id) hid_t set = open_object(file->file, path);
	char shape[SHAPE_TEXT_BYTES];

	if (set < 0 || H5Iget_type(set) != H5I_DATASET)
		return error_set(err, -EBADMSG, "%s: %s: model.weights.h5 has no weight %s", file->what,
				 layer->origin, path);
	if (!is_plain(set))
		return error_set(err, -EBADMSG, "%s: %s: %s in model.weights.h5 is not floats in one piece",
				 file->what, layer->origin, path);
	if (!has_shape(set, like))
		return error_set(err, -EBADMSG, "%s: %s: %s in model.weights.h5 has another shape than %s",
				 file->what, layer->origin, path, shape_text(like, shape));
	if (!fits_file(file, set))
		return error_set(
			err, -EBADMSG,
			"%s: %s: %s in model.weights.h5 is the weight of other layers, too: together "
			"the weights are larger than the file",
			file->what, layer->origin, path);
	if (H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) < 0)
		return error_set(err, -EBADMSG, "%s: %s: %s in model.weights.h5 is cut or damaged",
				 file->what, layer->origin, path);
	return 0;
}

/* ---- Places ---- */

/* Writes where Keras puts a weight. Keras puts those of a recurrent layer into its cell, and those of an
 * attention into the layers inside: query_kernel is query_dense/vars/0. */
static void place_of(const struct network_layer *layer, const char *parameter, uint32_t index,
		     char out[static PATH_TEXT_BYTES])
{
	const char *op = network_op(layer);
	const char *inside = strcmp(parameter, "attention_output_kernel") == 0 ||
					     strcmp(parameter, "attention_output_bias") == 0
				     ? "output"
				     : parameter;

	if (strcmp(op, "multi_head_attention") == 0)
		(void)snprintf(out, PATH_TEXT_BYTES, "%s/%.*s_dense/vars/%d", layer->weights,
			       (int)strcspn(inside, "_"), inside, strstr(parameter, "bias") ? 1 : 0);
	else if (strcmp(op, "lstm") == 0 || strcmp(op, "gru") == 0 || strcmp(op, "simple_rnn") == 0)
		(void)snprintf(out, PATH_TEXT_BYTES, "%s/cell/vars/%" PRIu32, layer->weights,
			       layer->first + index);
	else
		(void)snprintf(out, PATH_TEXT_BYTES, "%s/vars/%" PRIu32, layer->weights,
			       layer->first + index);
}

/* Compares the name of the group's layer with that of the graph: the groups have numbers, and a file whose
 * layers are counted otherwise would give the layers wrong weights. Layers inside of others have other names.
 */
static int check_name(const struct hdf5 *file, const struct network_layer *layer, struct error *err)
{
	char path[PATH_TEXT_BYTES], name[PATH_TEXT_BYTES];
	hid_t group;
	size_t length;

	(void)snprintf(path, sizeof(path), "%s/vars", layer->weights);
	group = open_object(file->file, path);
	if (group < 0 || strchr(layer->weights + strlen("layers/"), '/')) {
		close_id(&group);
		return 0;
	}
	read_name(group, name, sizeof(name));
	close_id(&group);
	length = strlen(name);
	if (length &&
	    (strncmp(layer->origin, name, length) != 0 || strncmp(layer->origin + length, " (", 2) != 0))
		return error_set(err, -EBADMSG, "%s: %s: %s in model.weights.h5 is that of the layer %s",
				 file->what, layer->origin, layer->weights, name);
	return 0;
}

int hdf5_weight(void *context, const struct network_layer *layer, const char *parameter, uint32_t index,
		const struct tensor *like, float *numbers, struct error *err)
{
	struct hdf5 *file = context;
	char path[PATH_TEXT_BYTES];
	int r;

	if (!layer->weights)
		return error_set(err, -EBADMSG, "%s: %s: no place of its weight %s is known", file->what,
				 layer->origin, parameter);
	r = index == 0 ? check_name(file, layer, err) : 0;
	if (r < 0)
		return r;
	place_of(layer, parameter, index, path);
	r = read_set(file, layer, path, like, numbers, err);
	for (uint64_t i = 0; r == 0 && strcmp(parameter, "moving_variance") == 0 && i < like->elements; i++)
		numbers[i] = fmaxf(numbers[i], layer->least_variance);
	return r;
}
