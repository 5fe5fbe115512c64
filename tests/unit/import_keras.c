/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of config.json become those of kiln.conf, or are refused by name and place. */
#include "import/keras/model.h"
#include "import/network/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Prints the network of a config.json, or its refusals. The caller frees it. */
static char *text_of(const char *json)
{
	CLEANUP(json_free) cJSON *parsed = NULL;
	CLEANUP(network_closep) struct network *network = NULL;
	const struct conf conf = { .what = "test.keras", .outputs = 3 };
	struct error err = { 0 };
	const cJSON *item;
	size_t bytes;
	char *text = NULL;
	FILE *out = open_memstream(&text, &bytes);

	if (json_parse("config.json", json, strlen(json), &parsed, &err) < 0 ||
	    network_open(&network, &err) < 0)
		fail_msg("%s: %s", json, err.text);
	if (keras_model_read(parsed, network, &err) < 0)
		(void)fprintf(out, "ERROR %s\n", err.text);
	cJSON_ArrayForEach(item, network->refusals)
		(void)fprintf(out, "REFUSED %s\n", item->valuestring);
	if (!*err.text && !network->refusals->child)
		conf_print(network, &conf, out);
	cJSON_ArrayForEach(item, network->notes)
		(void)fprintf(out, "NOTE %s\n", item->valuestring);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect(const char *json, const char *words)
{
	CLEANUP(free_ptr) char *text = text_of(json);

	if (!strstr(text, words))
		fail_msg("%s\nfound %s\nexpected %s", json, text, words);
}

/* ---- One layer behind an input [6, 5, 3] ---- */

#define INPUT(shape)                                                                                    \
	"{\"module\":\"keras.layers\",\"class_name\":\"InputLayer\",\"config\":{\"batch_shape\":" shape \
	",\"dtype\":\"float32\",\"name\":\"x\"}}"
#define LAYER(class, keys)                                                                                  \
	"{\"module\":\"keras.layers\",\"class_name\":\"" class "\",\"config\":{\"name\":\"a\","             \
							       "\"trainable\":true,\"dtype\":"              \
							       "\"float32\"" keys                           \
							       "},\"build_config\":{\"input_shape\":[null," \
							       "6,5,3]}}"
#define SEQUENTIAL(layers) \
	"{\"module\":\"keras\",\"class_name\":\"Sequential\",\"config\":{\"layers\":[" layers "]}"
#define ONE(class, keys) SEQUENTIAL(INPUT("[null,6,5,3]") "," LAYER(class, keys)) "}"

static const struct {
	const char *json, *words;
} cases[] = {
	{ ONE("Dense", ",\"units\":3,\"activation\":\"linear\",\"use_bias\":true"),
	  "{ op = \"dense\"; name = \"a\"; units = 3; }" },
	{ ONE("Dense", ",\"units\":3,\"activation\":{\"class_name\":\"function\",\"config\":\"relu6\"}"),
	  "units = 3; activation = \"relu6\"; }" },
	{ ONE("Dense", ",\"units\":3,\"kernel_regularizer\":{\"module\":\"keras\",\"class_name\":\"L1L2\","
		       "\"config\":{\"l1\":0.0,"
		       "\"l2\":0.25}},\"bias_constraint\":null"),
	  "units = 3; kernel_l2 = 0.25; }" },
	{ ONE("Conv2D",
	      ",\"filters\":4,\"kernel_size\":[3,3],\"strides\":[2,1],\"padding\":\"same\",\"groups\":1,"
	      "\"data_format\":\"channels_last\""),
	  "filters = 4; kernel_size = 3; strides = [ 2, 1 ]; padding = \"same\"; }" },
	{ ONE("MaxPooling2D", ",\"pool_size\":[3,3],\"strides\":[3,3]"),
	  "{ op = \"max_pooling2d\"; name = \"a\"; pool_size = 3; }" },
	{ ONE("ZeroPadding2D", ",\"padding\":[[1,2],[0,3]]"), "padding = [ 1, 2, 0, 3 ]; }" },
	{ ONE("ZeroPadding2D", ",\"padding\":[[2,2],[2,2]]"), "padding = 2; }" },
	{ ONE("BatchNormalization", ",\"axis\":[3],\"momentum\":0.99,\"epsilon\":0.01"),
	  "{ op = \"batch_norm\"; name = \"a\"; epsilon = 0.01; }" },
	{ ONE("Activation", ",\"activation\":\"leaky_relu\""),
	  "op = \"leaky_relu\"; name = \"a\"; negative_slope = 0.2; }" },
	{ ONE("SeparableConv2D", ",\"filters\":4,\"kernel_size\":[3,3],\"use_bias\":true"),
	  "{ op = \"depthwise_conv2d\"; name = \"a_depthwise\"; kernel_size = 3; use_bias = false; },\n"
	  "    { op = \"conv2d\"; name = \"a\"; filters = 4; kernel_size = 1; }" },
	{ ONE("Normalization", ",\"axis\":[-1],\"mean\":null,\"variance\":null"),
	  "{ op = \"normalization\"; name = \"a\"; }" },
	{ SEQUENTIAL(LAYER("Dense", ",\"units\":3")) "}",
	  "{ name = \"input_layer\"; dtype = \"float32\"; shape = [ 6, 5, 3 ]; }" },
	{ SEQUENTIAL(INPUT("[null,5]") "," LAYER("Embedding", ",\"input_dim\":9,\"output_dim\":3")) "}",
	  "{ name = \"x\"; dtype = \"int64\"; shape = [ 5 ]; }" },
	{ SEQUENTIAL("{\"module\":\"keras\",\"class_name\":\"Dense\",\"config\":{\"name\":\"a\",\"units\":3,"
		     "\"dtype\":{\"class_"
		     "name\":"
		     "\"DTypePolicy\",\"config\":{\"name\":\"mixed_bfloat16\"}}},\"build_config\":{\"input_"
		     "shape\":["
		     "null,4]}}") "}",
	  "  precision = \"mixed_bfloat16\";" },
	/* Two layers of a name in a row, of which the second does nothing. */
	{ SEQUENTIAL(INPUT("[null,5]") "," LAYER("Dense", ",\"units\":3") "," LAYER("Identity", "") "," LAYER(
		  "Dense", ",\"units\":4")) "}",
	  "name = \"a\"; units = 3; },\n    { op = \"dense\"; name = \"a_1\"; units = 4; }" },

	{ ONE("RandomZoom", ",\"height_factor\":0.2,\"width_factor\":0.0"),
	  "height_factor = 0.2; width_factor = 0; }" },
	{ ONE("Rescaling",
	      ",\"scale\":{\"class_name\":\"__numpy__\",\"config\":{\"value\":[2,2,2]}},\"offset\":0.0"),
	  "{ op = \"rescaling\"; name = \"a\"; scale = 2; }" },
	{ ONE("Rescaling",
	      ",\"scale\":{\"class_name\":\"__numpy__\",\"config\":{\"value\":[1,2,3]}},\"offset\":0.0"),
	  "REFUSED a (Rescaling), layer 2 of 2: scale = {\"class_name\":\"__numpy__\"" },
	{ ONE("Reshape", ",\"target_shape\":[5,null]"),
	  "REFUSED a (Reshape), layer 2 of 2: target_shape = [5,null]: Kiln's layer has no such values" },
	{ ONE("Reshape", ",\"target_shape\":[[5],18]"),
	  "REFUSED a (Reshape), layer 2 of 2: target_shape = [[5],18]: Kiln's layer has no such values" },
	{ ONE("ZeroPadding2D", ",\"padding\":[[1,null],[1,1]]"),
	  "REFUSED a (ZeroPadding2D), layer 2 of 2: padding is not" },
	{ SEQUENTIAL(INPUT("[null,5]") ",{\"module\":\"keras.layers\",\"class_name\":\"Normalization\","
				       "\"config\":{\"name\":\"a\",\"trainable\":false,\"axis\":[-1]},"
				       "\"build_config\":{\"input_shape\":[null,5]}}") "}",
	  "{ op = \"normalization\"; name = \"a\"; }" },

	{ ONE("Mine", ""), "REFUSED a (Mine), layer 2 of 2: Kiln has no such layer" },
	{ ONE("Functional", ""),
	  "REFUSED a (Functional), layer 2 of 2: Kiln has no models inside of models" },
	{ SEQUENTIAL("{\"module\":\"keras\",\"class_name\":\"Dense\",\"config\":{\"name\":\"a\",\"units\":3,"
		     "\"dtype\":\"float16\"},"
		     "\"build_config\":{\"input_shape\":[null,4]}}") "}",
	  "dtype = \"float16\": Kiln has float32" },
	{ ONE("Lambda", ",\"function\":{\"code\":\"4wEA\"}"),
	  "REFUSED a (Lambda), layer 2 of 2: Kiln has no such layer" },
	{ ONE("Dense", ",\"units\":3,\"activation\":\"glu\""),
	  "a (Dense), layer 2 of 2: activation = \"glu\": Kiln has no such function" },
	{ ONE("Dense", ",\"units\":3,\"kernel_constraint\":{\"class_name\":\"NonNeg\"}"),
	  "kernel_constraint = {" },
	{ ONE("Dense", ",\"units\":3,\"activity_regularizer\":{\"module\":\"keras\",\"class_name\":\"L2\","
		       "\"config\":{\"l2\":1}}"),
	  "REFUSED a (Dense), layer 2 of 2: activity_regularizer = " },
	{ ONE("Conv2D", ",\"filters\":3,\"kernel_size\":[1,1],\"groups\":3"),
	  "groups = 3: Kiln's layer does not have this value" },
	{ ONE("Conv2D", ",\"filters\":3,\"kernel_size\":[1,1],\"data_format\":\"channels_first\""),
	  "Kiln has channels_last" },
	{ ONE("LayerNormalization", ",\"axis\":[1]"), "axis = [1]: Kiln's layer does not have this value" },
	{ ONE("GRU", ",\"units\":3,\"reset_after\":false"), "reset_after = false" },
	{ ONE("LSTM", ",\"units\":3,\"recurrent_dropout\":0.5"), "recurrent_dropout = 0.5" },
	{ ONE("ZeroPadding2D", ",\"padding\":[[],[1]]"), "REFUSED a (ZeroPadding2D)" },
	{ ONE("Bidirectional", ",\"merge_mode\":\"concat\",\"layer\":{\"class_name\":\"Mine\"}"),
	  "layer is Mine, Kiln has LSTM" },
	{ SEQUENTIAL(INPUT("[null,5]") ",{\"module\":\"keras\",\"class_name\":\"SeparableConv2D\"}") "}",
	  "layer 2 of 2: it has no config" },
	{ ONE("Bidirectional", ",\"merge_mode\":null"), "merge_mode = null" },
	{ SEQUENTIAL(INPUT("[null,null,3]") "," LAYER("Dense", ",\"units\":3")) "}",
	  "REFUSED x (InputLayer), layer 1 of 2: a dimension is not known" },
	{ "{\"module\":\"keras\",\"class_name\":\"Sequential\",\"config\":{\"layers\":[]}}",
	  "ERROR config.json: config.layers is not a list of layers" },
	{ "[]", "ERROR config.json: the model is no class of Keras" },
	{ "{\"module\":null,\"class_name\":\"Sequential\",\"config\":{\"layers\":[]}}",
	  "ERROR config.json: the model is Sequential of no module of Keras" },
	{ ONE("Bidirectional",
	      ",\"merge_mode\":\"concat\",\"layer\":{\"module\":null,\"class_name\":\"LSTM\"}"),
	  "layer is LSTM, Kiln has LSTM, GRU and SimpleRNN of Keras" },
	{ ONE("TimeDistributed",
	      ",\"layer\":{\"module\":null,\"class_name\":\"Dense\",\"config\":{\"units\":3}}"),
	  "the layer inside is Dense, Kiln has Dense of Keras" },
	{ ONE("Dense", ",\"units\":3,\"kernel_regularizer\":{\"module\":null,\"class_name\":\"L2\","
		       "\"config\":{\"l2\":1}}"),
	  "REFUSED a (Dense), layer 2 of 2: kernel_regularizer = " },
};

static void test_layers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect(cases[i].json, cases[i].words);
}

/* ---- Graphs ---- */

#define TENSOR(of)                                                                                     \
	"{\"class_name\":\"__keras_tensor__\",\"config\":{\"shape\":[null,4],\"keras_history\":[\"" of \
	"\",0,0]}}"
#define CALL(args) "{\"args\":[" args "],\"kwargs\":{}}"
#define IN(name)                                                                                           \
	"{\"module\":\"keras.layers\",\"class_name\":\"InputLayer\",\"config\":{\"batch_shape\":[null,4]," \
	"\"dtype\":\"float32\",\"name\":\"" name "\"},\"inbound_nodes\":[]}"
#define DENSE(name, calls)                                                                   \
	"{\"module\":\"keras.layers\",\"class_name\":\"Dense\",\"config\":{\"name\":\"" name \
	"\",\"units\":4},"                                                                   \
	"\"inbound_nodes\":[" calls "]}"
#define OPERATION(class, name, calls)                                                                   \
	"{\"module\":\"keras.src.ops.numpy\",\"class_name\":\"" class "\",\"config\":{\"name\":\"" name \
								      "\"},"                            \
								      "\"inbound_nodes\":[" calls "]}"
#define FUNCTIONAL(layers, outputs)                                                           \
	"{\"module\":\"keras\",\"class_name\":\"Functional\",\"config\":{\"layers\":[" layers \
	"],\"output_layers\":" outputs "}}"
#define LAST "[\"z\",0,0]"
/* A layer with attributes and calls. */
#define OTHER(class, name, keys, calls)                                                                    \
	"{\"module\":\"keras.layers\",\"class_name\":\"" class "\",\"config\":{\"name\":\"" name "\"" keys \
							       "},\"inbound_nodes\":[" calls "]}"
#define WORDS(name) \
	OTHER("Embedding", name, ",\"input_dim\":9,\"output_dim\":3,\"mask_zero\":true", CALL(TENSOR("x")))
#define IS_WORD(name, of, number) OPERATION("NotEqual", name, CALL(TENSOR(of) "," number))
#define LSTM_WITH(keywords) \
	OTHER("LSTM", "z", ",\"units\":3", "{\"args\":[" TENSOR("e") "],\"kwargs\":{" keywords "}}")
#define ATTENTION_OF(args, keywords)                                                                      \
	FUNCTIONAL(IN("x") "," DENSE("a", CALL(TENSOR("x"))) "," DENSE("b", CALL(TENSOR("x"))) "," OTHER( \
			   "MultiHeadAttention", "z", ",\"num_heads\":2,\"key_dim\":2",                   \
			   "{\"args\":[" args "],\"kwargs\":{" keywords "}}"),                            \
		   LAST)

static const struct {
	const char *json, *words;
} graphs[] = {
	{ FUNCTIONAL(IN("x") "," DENSE("y", CALL(TENSOR("x"))) "," OPERATION(
			     "Add", "z", CALL(TENSOR("y") "," TENSOR("x"))),
		     LAST),
	  "{ op = \"add\"; name = \"z\"; inputs = [ \"y\", \"x\" ]; }" },
	{ FUNCTIONAL(IN("x") "," DENSE("y", CALL(TENSOR("x"))) "," OPERATION("Subtract", "z",
									     CALL("3.5," TENSOR("y"))),
		     LAST),
	  "{ op = \"rescaling\"; name = \"z\"; scale = -1; offset = 3.5; }" },
	{ FUNCTIONAL(IN("x") "," DENSE("y", CALL(TENSOR("x"))) "," OPERATION("TrueDivide", "z",
									     CALL(TENSOR("y") ",4")),
		     LAST),
	  "{ op = \"rescaling\"; name = \"z\"; scale = 0.25; }" },
	{ FUNCTIONAL(IN("label") "," DENSE("target", CALL(TENSOR("label"))) "," DENSE("z",
										      CALL(TENSOR("target"))),
		     LAST),
	  "{ name = \"label_of_row\"; " },

	{ FUNCTIONAL(IN("x") "," DENSE("y", CALL(TENSOR("x")) "," CALL(TENSOR("y"))) "," DENSE(
			     "z", CALL(TENSOR("x"))),
		     LAST),
	  "REFUSED y (Dense), layer 2 of 3: it is called 2 times" },
	{ FUNCTIONAL(IN("x") "," DENSE("y", CALL(TENSOR("x"))) "," DENSE("z", CALL(TENSOR("x"))),
		     "[[\"y\",0,0],[\"z\",0,0]]"),
	  "REFUSED the model: 2 outputs: Kiln has one" },
	{ FUNCTIONAL(IN("x") "," DENSE("z", CALL(TENSOR("x"))) "," DENSE("y", CALL(TENSOR("x"))), LAST),
	  "REFUSED the model: its output is that of z, Kiln's is that of the last layer, y" },
	{ FUNCTIONAL(IN("x") "," DENSE("z", CALL(TENSOR("later"))), LAST),
	  "REFUSED z (Dense), layer 2 of 2: it reads later, which no layer before it gives" },
	{ FUNCTIONAL(IN("x") "," DENSE("z", CALL("")), LAST),
	  "REFUSED z (Dense), layer 2 of 2: it reads no layer and no input" },
	{ FUNCTIONAL(IN("x") "," OPERATION("NotEqual", "m",
					   CALL(TENSOR("x") ",0")) "," DENSE("z", CALL(TENSOR("m"))),
		     LAST),
	  "REFUSED z (Dense), layer 3 of 3: it reads the mask m as numbers" },
	{ FUNCTIONAL(IN("x") "," DENSE("z", "{\"args\":[" TENSOR("x") "],\"kwargs\":{\"training\":true}}"),
		     LAST),
	  "REFUSED z (Dense), layer 2 of 2: Kiln has no argument training of the call" },
	{ FUNCTIONAL(IN("x") "," OPERATION("Maximum", "z", CALL(TENSOR("x") ",0")), LAST),
	  "Kiln has no such operation of these arguments" },
	{ FUNCTIONAL(IN("x") "," OPERATION("Sort", "z", CALL(TENSOR("x"))), LAST),
	  "REFUSED z (Sort), layer 2 of 2: Kiln has no such layer" },
	{ FUNCTIONAL(IN("x") "," WORDS("e") "," IS_WORD("m", "x", "0") "," OPERATION(
			     "LogicalOr", "n",
			     CALL(TENSOR("m") "," TENSOR(
				     "m"))) "," LSTM_WITH("\"training\":false,\"mask\":" TENSOR("n")),
		     LAST),
	  "{ op = \"lstm\"; name = \"z\"; units = 3; }" },
	{ FUNCTIONAL(IN("x") "," WORDS("e") "," IS_WORD("m", "x", "1") "," LSTM_WITH("\"mask\":" TENSOR("m")),
		     LAST),
	  "REFUSED m (NotEqual), layer 3 of 4: a mask is that of the ids" },
	{ FUNCTIONAL(IN("x") "," IN("y") "," WORDS("e") "," IS_WORD("m", "y", "0") "," LSTM_WITH(
			     "\"mask\":" TENSOR("m")),
		     LAST),
	  "REFUSED m (NotEqual), layer 4 of 5: a mask is that of the ids" },
	{ FUNCTIONAL(IN("x") "," WORDS("e") "," IS_WORD("m", "x", "0") "," OPERATION(
			     "LogicalAnd", "n",
			     CALL(TENSOR("m") "," TENSOR("x"))) "," LSTM_WITH("\"mask\":" TENSOR("n")),
		     LAST),
	  "REFUSED n (LogicalAnd), layer 4 of 5: a mask is that of the ids" },
	{ FUNCTIONAL(IN("x") "," WORDS("e") "," IS_WORD("m", "x", "0") "," LSTM_WITH("\"mask\":" TENSOR("x")),
		     LAST),
	  "REFUSED z (LSTM), layer 4 of 4: Kiln has no argument mask of the call" },
	{ FUNCTIONAL(IN("x") "," WORDS("e") "," IS_WORD("m", "x",
							"0") "," LSTM_WITH("\"attention_mask\":" TENSOR("m")),
		     LAST),
	  "REFUSED z (LSTM), layer 4 of 4: Kiln has no argument attention_mask of the call" },
	{ ATTENTION_OF(TENSOR("x"), "\"key\":" TENSOR("b") ",\"value\":" TENSOR("a")),
	  "inputs = [ \"x\", \"a\", \"b\" ]" },
	{ ATTENTION_OF(TENSOR("x") "," TENSOR("a"), "\"value\":" TENSOR("b")),
	  "REFUSED z (MultiHeadAttention), layer 4 of 4: argument 2 of the call is given twice" },
	{ ATTENTION_OF(TENSOR("x"), "\"key\":" TENSOR("b")),
	  "REFUSED z (MultiHeadAttention), layer 4 of 4: argument 3 of the call is given, and one before it "
	  "is not" },
	{ FUNCTIONAL(IN("x") ",{\"module\":\"__main__\",\"class_name\":\"Dense\",\"registered_name\":"
			     "\"Dense\",\"config\":{\"name\":\"z\",\"units\":4},\"inbound_nodes\":[" CALL(
				     TENSOR("x")) "]}",
		     LAST),
	  "REFUSED z (Dense), layer 2 of 2: module and registered_name are not those of Keras" },
	{ FUNCTIONAL(IN("x") ",{\"module\":\"keras.layers\",\"class_name\":\"Dense\",\"registered_name\":\"p>"
			     "Dense\",\"config\":{\"name\":\"z\",\"units\":4},\"inbound_nodes\":[" CALL(
				     TENSOR("x")) "]}",
		     LAST),
	  "REFUSED z (Dense), layer 2 of 2: module and registered_name are not those of Keras" },
	{ FUNCTIONAL(IN("x") "," DENSE("z", CALL(TENSOR("x"))), "[\"y\",0,0]"),
	  "REFUSED the model: its output is that of y, which is no layer" },
	{ FUNCTIONAL(IN("x") "," DENSE("row_of_outputs", CALL(TENSOR("x"))), "[\"row_of_outputs\",0,0]"),
	  "{ op = \"dense\"; name = \"row_of_outputs_1\"; units = 4; }" },
	{ FUNCTIONAL(DENSE("z", CALL("")), LAST), "REFUSED the model: it has no layer, or no input" },
};

static void test_graphs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(graphs) / sizeof(*graphs); i++)
		expect(graphs[i].json, graphs[i].words);
}

/* ---- What compile() got ---- */

#define COMPILED(keys) \
	SEQUENTIAL(INPUT("[null,4]") "," LAYER("Dense", ",\"units\":3")) ",\"compile_config\":{" keys "}}"

static const struct {
	const char *json, *words;
} compiled[] = {
	{ COMPILED("\"loss\":\"mse\""), "loss = \"mean_squared_error\";" },
	{ COMPILED("\"loss\":{\"module\":\"keras\",\"class_name\":\"Huber\",\"config\":{\"delta\":0.5}}"),
	  "loss = \"huber\";\n  huber_delta = 0.5;" },
	{ COMPILED("\"loss\":{\"module\":\"keras\",\"class_name\":\"CategoricalCrossentropy\",\"config\":{"
		   "\"from_logits\":true}}"),
	  "units = 3; },\n    { op = \"softmax\"; name = \"softmax\"; }" },
	{ COMPILED("\"loss\":\"categorical_crossentropy\""),
	  "NOTE not taken over: the loss categorical_crossentropy, which Kiln has behind softmax, and the "
	  "last layer is dense" },
	{ COMPILED("\"loss\":\"mse\",\"metrics\":[{\"module\":\"keras.metrics\",\"class_name\":"
		   "\"TopKCategoricalAccuracy\",\"config\":{\"k\":2}}]"),
	  "NOTE not taken over: the metric top_k_categorical_accuracy" },
	{ COMPILED("\"loss\":\"my_loss\""), "NOTE not taken over: the loss my_loss" },
	{ COMPILED("\"optimizer\":{\"module\":\"keras\",\"class_name\":\"AdamW\",\"config\":{\"learning_"
		   "rate\":0."
		   "0010000000474974513,"
		   "\"weight_decay\":0.004,\"clipnorm\":null}}"),
	  "optimizer: { name = \"adamw\"; learning_rate = 0.001; weight_decay = 0.004; };" },
	{ COMPILED("\"loss\":{\"module\":null,\"class_name\":\"Huber\",\"config\":{}}"),
	  "NOTE not taken over: the loss that is none of Keras's own" },
	{ COMPILED("\"optimizer\":\"ftrl\""), "NOTE not taken over: the optimizer ftrl; adam is there" },
	{ COMPILED("\"optimizer\":{\"module\":\"keras\",\"class_name\":\"Adam\",\"config\":{\"amsgrad\":true}"
		   "}"),
	  "NOTE not taken over: amsgrad of the optimizer" },
	{ COMPILED("\"optimizer\":{\"module\":\"keras\",\"class_name\":\"SGD\",\"config\":{\"learning_rate\":"
		   "{\"class_name\":"
		   "\"CosineDecay\"}}}"),
	  "NOTE not taken over: learning_rate of the optimizer, which changes from step to step" },
	{ COMPILED("\"metrics\":[\"accuracy\",{\"module\":\"keras\",\"class_name\":\"AUC\",\"config\":{}}]"),
	  "NOTE not taken over: the metric auc" },
};

static void test_compiled(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(compiled) / sizeof(*compiled); i++)
		expect(compiled[i].json, compiled[i].words);
}

/* ---- What Kiln itself refuses ---- */

/* Builds the graph of a network, which must have one refusal, that begins with `words`. */
static void expect_refused(const char *json, const char *words)
{
	CLEANUP(json_free) cJSON *parsed = NULL;
	CLEANUP(network_closep) struct network *network = NULL;
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	const struct conf conf = { .what = "test.keras" };
	struct graph graph = { 0 };
	struct error err = { 0 };
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(json_parse("config.json", json, strlen(json), &parsed, &err), 0);
	assert_int_equal(network_open(&network, &err), 0);
	assert_int_equal(keras_model_read(parsed, network, &err), 0);
	assert_null(network->refusals->child);
	conf_print(network, &conf, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(conf_build(network, text, &config, &graph, &err), -EINVAL);
	assert_int_equal(cJSON_GetArraySize(network->refusals), 1);
	if (!strstr(network->refusals->child->valuestring, words))
		fail_msg("%s\nfound %s\nexpected %s", json, network->refusals->child->valuestring, words);
	graph_done(&graph);
}

/* A layer whose attributes are right alone, and wrong beside its input, is refused by its place, too. */
static void test_build(void **state)
{
	(void)state;
	expect_refused(
		SEQUENTIAL(INPUT("[null,4]") "," LAYER("Conv2D", ",\"filters\":3,\"kernel_size\":[3,3]")) "}",
		"a (Conv2D), layer 2 of 2: ");
}

#define SEQUENTIAL_WORDS(layer)                                                                 \
	SEQUENTIAL(INPUT("[null,5]") "," LAYER(                                                 \
		"Embedding", ",\"input_dim\":9,\"output_dim\":3,\"mask_zero\":true") "," layer) \
	"}"
static void test_masks(void **state)
{
	(void)state;
	expect_refused(FUNCTIONAL(IN("x") "," WORDS("e") "," LSTM_WITH("\"mask\":null"), LAST),
		       "z (LSTM), layer 3 of 3: the call has no mask, Kiln's layer gets that of its input");
	expect_refused(
		FUNCTIONAL(IN("x") "," WORDS("w") "," OPERATION(
				   "Multiply", "e", CALL(TENSOR("w") ",8")) "," LSTM_WITH("\"mask\":null"),
			   LAST),
		"z (LSTM), layer 4 of 4: Keras loses the mask at e (Multiply), layer 3 of 4");
	expect_refused(
		SEQUENTIAL_WORDS(LAYER(
			"LSTM", ",\"units\":2,\"return_sequences\":true,\"zero_output_for_mask\":true")),
		"a (LSTM), layer 3 of 3: return_sequences with a mask");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers), cmocka_unit_test(test_graphs), cmocka_unit_test(test_compiled),
		cmocka_unit_test(test_build),  cmocka_unit_test(test_masks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
