/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model_file.h"

#include "model/build.h"
#include "model/checkpoint.h"
#include "model/config_text.h"
#include "model/formats/expect.h"

#include <string.h>

static int load_config(const char *what, const char *text, struct model_file *model, struct error *err)
{
	if (!text)
		return error_set(err, -EBADMSG,
				 "%s: the file holds no configuration, so Kiln did not write this model",
				 what);
	if (config_text_load(text, &model->config, err) < 0)
		return error_prefix(err, "%s", what);
	model->config.model.precision = PRECISION_FLOAT32; /* as the stored weights; only training uses
							      another precision (storage.h) */
	model->config.model.tensor_float_32 = false;
	model->config.ranks.exact = false; /* only training cuts a batch (plan/parts.h); a last batch of fewer
					      rows would not fit */
	return 0;
}

static int check_tensors(const char *what, const struct model_file *model, struct error *err)
{
	uint32_t count;
	const struct model_tensor *tensors = safetensors_tensors(model->file, &count);

	return expect_tensors(&model->graph,
			      model_file_is_checkpoint(model) ? EXPECT_PARAMETERS : EXPECT_MODEL, what,
			      tensors, count, err);
}

bool model_file_is_checkpoint(const struct model_file *model)
{
	const char *format = safetensors_value(model->file, "format");

	return format && strcmp(format, CHECKPOINT_FORMAT) == 0;
}

int model_file_open(const char *what, const void *data, uint64_t bytes, struct model_file *ret_model,
		    struct error *err)
{
	int r = safetensors_parse(what, data, bytes, &ret_model->file, err);

	if (r == 0 && !model_file_is_checkpoint(ret_model))
		r = checkpoint_expect(what, ret_model->file, "format", MODEL_FORMAT, err);
	return r < 0 ? r : safetensors_require_crcs(ret_model->file, err);
}

int model_file_build(const char *what, const char *config, struct model_file *model, struct error *err)
{
	int r = load_config(what, config ? config : safetensors_value(model->file, "config"), model, err);

	if (r < 0)
		return r;
	if (graph_build(&model->config, false, &model->graph, err) < 0)
		return error_prefix(err, "%s", what);
	r = check_tensors(what, model, err);
	return r < 0 ? r : checkpoint_expect(what, model->file, "graph_hash", model->graph.hash, err);
}

void model_file_done(struct model_file *model)
{
	graph_done(&model->graph);
	config_done(&model->config);
	safetensors_close(model->file);
	*model = (struct model_file){ 0 };
}
