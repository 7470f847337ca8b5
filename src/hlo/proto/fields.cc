#include "hlo/proto/fields.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace eightfold::hlo {
namespace {

struct Row {
  uint32_t field;
  std::string_view name;
  FieldKind kind;
};

// HloInstructionProto up to jaxlib 0.12.0.1.
constexpr Row kRows[] = {
    {1, "name", FieldKind::kString},
    {2, "opcode", FieldKind::kString},
    {3, "shape", FieldKind::kMessage},
    {7, "metadata", FieldKind::kMessage},
    {8, "literal", FieldKind::kMessage},
    {9, "parameter_number", FieldKind::kScalar},
    {11, "fusion_kind", FieldKind::kString},
    {13, "tuple_index", FieldKind::kScalar},
    {14, "dimensions", FieldKind::kInts},
    {15, "window", FieldKind::kMessage},
    {16, "convolution_dimension_numbers", FieldKind::kMessage},
    {17, "slice_dimensions", FieldKind::kMessages},
    {18, "exponent_bits", FieldKind::kScalar},
    {19, "mantissa_bits", FieldKind::kScalar},
    {20, "dynamic_slice_sizes", FieldKind::kInts},
    {21, "padding_config", FieldKind::kMessage},
    {22, "outfeed_config", FieldKind::kBytes},
    {23, "distribution", FieldKind::kScalar},
    {24, "epsilon", FieldKind::kFloat},
    {25, "feature_index", FieldKind::kScalar},
    {26, "channel_id", FieldKind::kScalar},
    {27, "infeed_config", FieldKind::kBytes},
    {28, "custom_call_target", FieldKind::kString},
    {29, "outfeed_shape", FieldKind::kMessage},
    {30, "dot_dimension_numbers", FieldKind::kMessage},
    {31, "fft_type", FieldKind::kScalar},
    {32, "fft_length", FieldKind::kInts},
    {33, "gather_dimension_numbers", FieldKind::kMessage},
    {34, "gather_slice_sizes", FieldKind::kInts},
    {35, "id", FieldKind::kScalar},
    {36, "operand_ids", FieldKind::kInts},
    {37, "control_predecessor_ids", FieldKind::kInts},
    {38, "called_computation_ids", FieldKind::kInts},
    {40, "sharding", FieldKind::kMessage},
    {43, "backend_config", FieldKind::kBytes},
    {45, "all_reduce_id", FieldKind::kScalar},
    {47, "is_host_transfer", FieldKind::kScalar},
    {48, "scatter_dimension_numbers", FieldKind::kMessage},
    {49, "replica_groups", FieldKind::kMessages},
    {50, "feature_group_count", FieldKind::kScalar},
    {51, "precision_config", FieldKind::kMessage},
    {52, "source_target_pairs", FieldKind::kMessages},
    {54, "domain_entry_sharding", FieldKind::kMessage},
    {55, "domain_exit_sharding", FieldKind::kMessage},
    {56, "constrain_layout", FieldKind::kScalar},
    {57, "operand_shapes_with_layout", FieldKind::kMessages},
    {58, "batch_group_count", FieldKind::kScalar},
    {59, "triangular_solve_options", FieldKind::kMessage},
    {60, "is_stable", FieldKind::kScalar},
    {61, "parameter_replication", FieldKind::kMessage},
    {62, "cholesky_options", FieldKind::kMessage},
    {63, "comparison_direction", FieldKind::kString},
    {65, "custom_call_has_side_effect", FieldKind::kScalar},
    {66, "delta", FieldKind::kScalar},
    {67, "indices_are_sorted", FieldKind::kScalar},
    {68, "frontend_attributes", FieldKind::kMessage},
    {69, "unique_indices", FieldKind::kScalar},
    {70, "rng_algorithm", FieldKind::kScalar},
    {71, "use_global_device_ids", FieldKind::kScalar},
    {72, "comparison_type", FieldKind::kString},
    {73, "is_cross_program_prefetch", FieldKind::kScalar},
    {74, "output_operand_aliasing", FieldKind::kMessages},
    {75, "padding_type", FieldKind::kScalar},
    {76, "custom_call_schedule", FieldKind::kScalar},
    {77, "custom_call_api_version", FieldKind::kScalar},
    {79, "async_execution_thread", FieldKind::kString},
    {80, "cross_program_prefetch_index", FieldKind::kScalar},
    {81, "k", FieldKind::kScalar},
    {82, "statistics_viz", FieldKind::kMessage},
    {85, "largest", FieldKind::kScalar},
    {87, "collective_device_list", FieldKind::kMessage},
    {88, "original_value", FieldKind::kMessage},
    {89, "is_composite", FieldKind::kScalar},
    {90, "ragged_dot_dimension_numbers", FieldKind::kMessage},
    {91, "result_accuracy", FieldKind::kMessage},
    {92, "iota_collective_device_list", FieldKind::kMessage},
    {93, "mesh_axes_replica_group_list", FieldKind::kMessage},
    {94, "is_reverse", FieldKind::kScalar},
    {95, "num_carries", FieldKind::kScalar},
    {96, "is_associative", FieldKind::kScalar},
    {97, "conv_kind", FieldKind::kScalar},
    {98, "sparsity_config", FieldKind::kMessage},
    {99, "backend_config_payload", FieldKind::kMessage},
    {100, "has_dynamic_root", FieldKind::kScalar},
    {101, "block_scaling_config", FieldKind::kMessage},
    {102, "comparison_order", FieldKind::kString},
    {103, "shuffle_mode", FieldKind::kMessage},
};
constexpr uint32_t kLast = std::end(kRows)[-1].field;

constexpr std::array<Row, kLast + 1> kByField = [] {
  std::array<Row, kLast + 1> table{};
  for (const Row& row : kRows) table[row.field] = row;
  return table;
}();

}  // namespace

FieldKind InstructionFieldKind(uint32_t field) {
  return field <= kLast ? kByField[field].kind : FieldKind::kUnknown;
}

std::string InstructionFieldName(uint32_t field) {
  if (field <= kLast && !kByField[field].name.empty()) return std::string(kByField[field].name);
  return fmt::format("field {}", field);
}

}  // namespace eightfold::hlo
