/* SPDX-License-Identifier: Apache-2.0 */
#include "model/base/base.h"

#include "model/base/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* name, scaling or NULL, beginning of the names of PyTorch's classifier or NULL, writer */
/* clang-format off */
#define BASES(row) \
	row(vgg16, "caffe", "classifier.", base_write_vgg) \
	row(vgg19, "caffe", "classifier.", base_write_vgg) \
	row(resnet18, "torch", "fc.", base_write_torch_resnet) \
	row(resnet34, "torch", "fc.", base_write_torch_resnet) \
	row(resnet50, "caffe", NULL, base_write_resnet50) \
	row(mobilenet_v2, "tf", NULL, base_write_mobilenet_v2) \
	row(efficientnet_lite0, "lite", "_fc.", base_write_efficientnet_lite0) \
	row(bert, NULL, "", base_write_bert)
/* clang-format on */

#define ROW(of, scaling_of, head_of, write_of) { #of, scaling_of, head_of, write_of },
static const struct base {
	const char *name, *scaling, *torch_head;
	void (*write)(struct base_writer *writer, const char *name);
} bases[] = { BASES(ROW) };

#define NAME(of, scaling_of, head_of, write_of) ", " #of
const char *base_names(void)
{
	static const char names[] = BASES(NAME);

	return names + strlen(", ");
}

static const struct base *find(const char *name)
{
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (name && !strcmp(bases[i].name, name))
			return &bases[i];
	return NULL;
}

bool base_is_given(const struct config *config)
{
	return config->model.base && *config->model.base;
}

bool base_exists(const char *name)
{
	return find(name) != NULL;
}

bool base_reads_texts(const char *name)
{
	return find(name) && find(name)->write == base_write_bert;
}

const char *base_torch_head(const char *name)
{
	return find(name) ? find(name)->torch_head : NULL;
}

const char *base_scaling(const struct config *config)
{
	static const char *const scalings[] = { [SCALING_CAFFE] = "caffe",
						[SCALING_TF] = "tf",
						[SCALING_TORCH] = "torch",
						[SCALING_LITE] = "lite" };
	const struct base *base = find(config->model.base);

	if (config->model.base_scaling == SCALING_AUTO)
		return base ? base->scaling : NULL;
	return base ? scalings[config->model.base_scaling] : NULL;
}

static void refuse_base(const struct config *config, struct mistakes *mistakes)
{
	struct nearest nearest = { .typed = config->model.base };
	char meant[NEAREST_TEXT_BYTES];

	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		nearest_try(&nearest, bases[i].name);
	mistakes_add(mistakes, config_line(config, "model.base"),
		     "model.base: found \"%.100s\", allowed: %s%s", config->model.base, base_names(),
		     nearest_text(&nearest, meant));
}

bool base_reads(uint32_t rank, const uint64_t *shape)
{
	return rank == 3 && shape[0] >= BASE_SIDE_MIN && shape[1] >= BASE_SIDE_MIN &&
	       shape[2] == BASE_CHANNELS;
}

/* Checks the keys that bert reads, or that only bases for images read. */
static void check_bert(const struct config *config, struct mistakes *mistakes)
{
	const struct config_bert *bert = &config->model.bert;

	if (bert->hidden_size % bert->num_attention_heads)
		mistakes_add(mistakes, config_line(config, "model.bert_num_attention_heads"),
			     "model.bert_num_attention_heads: found %" PRIu64
			     ", allowed: a divisor of bert_hidden_size, %" PRIu64,
			     bert->num_attention_heads, bert->hidden_size);
	if (config->model.base_scaling != SCALING_AUTO)
		mistakes_add(
			mistakes, config_line(config, "model.base_scaling"),
			"model.base_scaling: allowed with model.base = \"bert\": only \"auto\", because it "
			"reads no pixels");
	if (config->model.base_pooling == POOLING_MAX)
		mistakes_add(
			mistakes, config_line(config, "model.base_pooling"),
			"model.base_pooling: found \"max\", allowed with model.base = \"bert\": \"none\", "
			"\"avg\"");
}

/* Checks that bert can read the feature. */
static bool check_ids(const struct config *config, const struct config_feature *feature,
		      struct mistakes *mistakes)
{
	const uint64_t most = config->model.bert.max_position_embeddings;

	check_bert(config, mistakes);
	if (feature->dtype != CONFIG_INT64 || feature->values_max || feature->rank != 1)
		mistakes_add(mistakes, config_line(config, "model.base"),
			     "model.base: found the input '%s', allowed for bert: the ids of texts, an int64 "
			     "feature of shape [ tokens ] with padding = \"post\"",
			     feature->name);
	else if (feature->padding == PADDING_PRE)
		mistakes_add(mistakes, config_line(config, "model.base"),
			     "model.base: found the input '%s' with padding = \"pre\", allowed for bert: "
			     "\"post\", because the first token of a text has the position 0",
			     feature->name);
	else if (feature->fill != 0)
		mistakes_add(
			mistakes, config_line(config, "model.base"),
			"model.base: found the input '%s' with fill = %g, allowed for bert: 0, the id of "
			"padding",
			feature->name, feature->fill);
	else if (feature->shape[0] > most)
		mistakes_add(mistakes, config_line(config, "model.base"),
			     "model.base: found the input '%s' of %" PRIu64
			     " tokens, allowed: at most bert_max_position_embeddings, %" PRIu64,
			     feature->name, feature->shape[0], most);
	return !mistakes->count;
}

/* Checks that the base can read model.input. Says nothing where the feature does not exist: config_load() has
 * noted that. */
static bool check_input(const struct config *config, struct mistakes *mistakes)
{
	const struct config_feature *feature = config_feature_named(config, config->model.input);
	char shape[128] = "[]";
	size_t used = 0;

	if (!feature)
		return false;
	if (base_reads_texts(config->model.base))
		return check_ids(config, feature, mistakes);
	if (!feature->values_max && feature->dtype != CONFIG_INT64 && feature->dtype != CONFIG_BYTES &&
	    base_reads(feature->rank, feature->shape))
		return true;
	for (uint32_t i = 0; i < feature->rank && used < sizeof(shape); i++)
		used += (size_t)snprintf(shape + used, sizeof(shape) - used, "%s%" PRIu64 "%s",
					 i ? ", " : "[ ", feature->shape[i],
					 i + 1 < feature->rank ? "" : " ]");
	mistakes_add(
		mistakes, config_line(config, "model.base"),
		"model.base: found the input '%s' of shape %s, allowed for %s: a picture, uint8 or float32 "
		"feature of shape [ height, width, %u ], at least %u high and wide",
		feature->name, shape, config->model.base, BASE_CHANNELS, BASE_SIDE_MIN);
	return false;
}

static void write_pooling(struct base_writer *writer, int pooling)
{
	if (pooling == POOLING_AVG && base_reads_texts(writer->config->model.base))
		base_plain(writer, "global_average_pooling1d", "avg_pool");
	else if (pooling == POOLING_AVG)
		base_plain(writer, "global_average_pooling2d", "avg_pool");
	if (pooling == POOLING_MAX)
		base_plain(writer, "global_max_pooling2d", "max_pool");
}

/* Notes a name in base_unfreeze_from that no layer has. */
static void check_unfrozen(const struct config *config, struct base_writer *writer, struct mistakes *mistakes)
{
	char meant[NEAREST_TEXT_BYTES];

	if (!writer->unfreeze_from || !*writer->unfreeze_from)
		return;
	mistakes_add(mistakes, config_line(config, "model.base_unfreeze_from"),
		     "model.base_unfreeze_from: found \"%.100s\", allowed: a layer of %s%s",
		     writer->unfreeze_from, config->model.base, nearest_text(&writer->nearest, meant));
}

void base_expand(const struct config *config, base_add *add, void *context, struct mistakes *mistakes)
{
	const struct base *base = find(config->model.base);
	const char *from = config->model.base_unfreeze_from ? config->model.base_unfreeze_from : "";
	struct base_writer writer = { .add = add,
				      .context = context,
				      .config = config,
				      .line = config_line(config, "model.base"),
				      .frozen = !config->model.base_trainable,
				      .unfreeze_from = from,
				      .nearest = { .typed = from } };

	if (!base)
		refuse_base(config, mistakes);
	if (!base || !check_input(config, mistakes))
		return;
	if (base_scaling(config))
		base_scale(&writer, base_scaling(config));
	base->write(&writer, base->name);
	write_pooling(&writer, config->model.base_pooling);
	check_unfrozen(config, &writer, mistakes);
}
