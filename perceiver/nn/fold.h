// What can be computed of an attend module's weights before any input is seen.
#pragma once

#include "perceiver/kernels/attention/wide_attention.h"
#include "perceiver/kernels/embedding/row_tables.h"
#include "perceiver/nn/array.h"
#include "perceiver/nn/attention_config.h"
#include "perceiver/nn/layers.h"

namespace perceiver {

// x -> weight x + bias
struct LinearMap {
  Tensor weight, bias;  // [out, in], [out]
};

// The parameters and settings of a cross-attend or a self-attend.
struct AttendParts {
  LayerNorm norm_q{nullptr}, norm_kv{nullptr};  // of a self-attend, these are one
  LayerNorm norm_mlp{nullptr};
  Linear q{nullptr}, k{nullptr}, v{nullptr}, o{nullptr};
  Linear widen{nullptr}, narrow{nullptr};
  // Makes outputs of what the attend gives, [E, D]; undefined: there is none.
  LinearMap output = {};
  // Of narrowed() parts: the output's part of what is attended to, [E, V], with all of the bias.
  // The narrowed result does not hold it.
  LinearMap output_of_attended = {};
  int64_t num_heads = 1;
  bool query_residual = true;
  Semantics semantics = {};
};

// Of an attend, whatever the number of elements: what decides how it is best computed.
struct AttendShape {
  int64_t heads = 1;
  int64_t q_channels = 0, kv_channels = 0;  // of its two arrays
  int64_t qk_channels = 0, v_channels = 0;  // of all heads
  int64_t hidden = 0;                       // of the MLP
  int64_t results = 0;                      // of what the attend gives; of narrowed() parts fewer
  int64_t outputs = 0;                      // of the output layer; 0: there is none
  bool query_residual = true, narrowed = false, tanh_gelu = true;
};
AttendShape shape_of(const AttendParts& parts);

// Whether the output layer has fewer channels than the queries, so that folding it pays.
bool folds_output(const AttendShape& shape);
inline bool folds_output(const AttendParts& parts) { return folds_output(shape_of(parts)); }

// Whether a GPU attends to the folded output's part of the sum along with the values: in channels
// that would be padding, if it fits them, and wherever the sum itself is without it.
bool outputs_ride(const AttendShape& shape);

// linear(norm(x)) = map(x^) where x^ is x with mean 0 and variance 1: the norm's scale and
// offset go into the weights.
LinearMap folded(const LayerNorm& norm, const Linear& linear);

LinearMap as_map(const Linear& linear);
LinearMap side_by_side(const LinearMap& a, const LinearMap& b);  // [a(x), b(x)]

// A single head needs no projection of the longer of its two arrays. Where that is the array of
// keys:
//   q . k = q . (W_k x^ + b_k) = (W_k^T q) . x^ + (the same for every key, which softmax ignores),
//   f_O(A v) = W_o (A (W_v x^ + b_v)) + b_o = (W_o W_v) (A x^) + (W_o b_v + b_o),
// so that x^ itself is both keys and values.
struct AbsorbedKeys {
  LinearMap query;    // x_q^ -> queries over the channels of x_kv
  LinearMap output;   // A x^ -> what the attention adds
  Tensor value_bias;  // W_o b_v: the part of the output's bias that needs a key to come with
};
AbsorbedKeys absorb_keys(const AttendParts& parts);

// Where it is the array of queries:
//   q . k = (W_q x^ + b_q) . k = x^ . (W_q^T k) + b_q . k,   f_O(A v) = A (v W_o^T) + b_o.
struct AbsorbedQueries {
  LinearMap keys;      // x_kv^ -> keys over the channels of x_q
  LinearMap values;    // x_kv^ -> what a key adds to the output
  LinearMap key_bias;  // x_kv^ -> [1], added to the key's scores
  Tensor output_bias;
};
AbsorbedQueries absorb_queries(const AttendParts& parts);

// A GPU's keys of absorbed queries have one channel more, which is 1 in every query: the key's bias
// is its weight.
constexpr int64_t absorbed_key_channels(int64_t query_channels) {
  return padded_channels(query_channels + 1);
}

// The output layer behind the MLP's residual sum:
//   f(x + narrow(h)) = W x + (W W_narrow) h + (W b_narrow + b),
// which saves a product and the sum itself where outputs have fewer channels than x.
struct FoldedOutput {
  LinearMap of_sum;     // x -> E, with all of the bias
  LinearMap of_hidden;  // h -> E
};
FoldedOutput fold_output(const AttendParts& parts);

// second(first(x))
LinearMap composed_output(const LinearMap& first, const Linear& second);

// of_sum of what a key adds to the output, as absorbed queries have it: of attended values any
// linear map may be attended to instead. x_kv^ -> E, with all of the bias
LinearMap absorb_output(const AttendParts& parts);

// Whether the parts' results are without what the output layer needs but the MLP's: narrowed()
// ones.
inline bool are_narrowed(const AttendParts& p) { return p.output_of_attended.weight.defined(); }

// A norm over D channels of what k channels make, x -> A x + a, sees k + 1 directions of the D:
// with C (A x + a) = Q R [x; 1], where C takes the mean away and columns of Q are orthonormal, the
// norm of R [x; 1] is the same. To be a LayerNorm again, over n = k + 2 channels and with the same
// epsilon, it needs rows of mean 0, which a reflection gives, and the factor sqrt(n / D).
//   norm_D(A x + a) = back norm_n(map(x)), norms without scale and offset
struct NarrowNorm {
  LinearMap map;  // [n, k]
  Tensor back;    // [D, n]
};
NarrowNorm narrow_norm(const LinearMap& wide);

// An attend of a single head without a residual of its queries, all of which end in the same
// `filling` [D - F], and whose results only its output layer sees: the same in fewer channels, F +
// 2 of the queries and at most two more than the values' of the results.
struct NarrowedAttend {
  AttendParts parts;
  LinearMap queries;  // makes such a query of one without its filling, [F] -> [F + 2]
};
NarrowedAttend narrowed(const AttendParts& parts, const Tensor& filling);

// Whether that can be done, and is less work.
bool narrows(const AttendShape& shape, int64_t filling);
// The shape of the narrowed attend.
AttendShape narrowed(const AttendShape& shape, int64_t filling);

// The keys and values of learned sums: with ' for the mean over channels taken away,
//   norm(e + p) = r (e' + p'),   r = 1 / sqrt(|e' + p'|^2 / C + epsilon),
//   W norm(e + p) + b = r (W e' + W p') + b,
// of which all but the last line's sum is known before any ids are.
RowTables tabulate(const AttendParts& parts, const LearnedSums& sums);

// Whether N queries are best given the keys and values of learned sums by tables. These have at
// most 4,096 rows, ids and places together: with 2,310 of bytes they save the product of 2,048 with
// each text; with 32,000 word pieces most rows would never be used.
bool tabulates(const AttendParts& parts, int64_t queries, const LearnedSums& x_kv);

// Which form takes the fewest multiplications for N queries and M keys. Of narrowed parts there is
// but one.
enum class AttendForm { kPlain, kAbsorbedKeys, kAbsorbedQueries };
AttendForm cheapest_form(const AttendShape& shape, int64_t queries, int64_t keys);

}  // namespace perceiver
