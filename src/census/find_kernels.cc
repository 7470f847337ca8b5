#include "census/find_kernels.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <utility>

#include "census/flops.h"

namespace eightfold::census {
namespace {

using hlo::Instruction;
using hlo::Opcode;

// The custom calls that do matrix math, by how their target begins; the first match counts.
// Operands 0 and 1 are the matrices in all of them (query and key for attention).
struct CallTarget {
  std::string_view prefix;
  Family family;
  Backend backend;
};
constexpr CallTarget kCallTargets[] = {
    {"__cudnn$convForwardGraph", Family::kConvolution, Backend::kCudnnGraph},
    {"__cudnn$conv", Family::kConvolution, Backend::kCudnnLegacy},
    {"__cublas$lt$", Family::kDot, Backend::kCublasLt},
    {"__cublas$", Family::kDot, Backend::kCublas},
    {"__cudnn$blockScaledDot", Family::kDot, Backend::kCudnnBlockScaled},
    {"__cudnn$fmha", Family::kAttention, Backend::kCudnnAttention},
    {"__op$block_scaled_dot", Family::kDot, Backend::kUnlowered},  // before it is lowered
};

const CallTarget* FindTarget(std::string_view target) {
  for (const CallTarget& known : kCallTargets) {
    if (target.starts_with(known.prefix)) return &known;
  }
  return nullptr;
}

bool IsPlainMatrixOp(Opcode opcode) {
  return opcode == Opcode::kConvolution || opcode == Opcode::kDot || opcode == Opcode::kScaledDot ||
         opcode == Opcode::kRaggedDot;
}

const hlo::Shape* FirstArray(const hlo::Shape* shape) {
  return shape->IsTuple() && !shape->tuple.empty() ? shape->tuple[0] : shape;
}

double Bytes(const Instruction& launch) {
  double total = std::max<double>(0, static_cast<double>(hlo::ByteSize(*launch.shape)));
  for (const Instruction* operand : launch.operands) {
    total += std::max<double>(0, static_cast<double>(hlo::ByteSize(*operand->shape)));
  }
  return total;
}

std::string MemberString(std::string_view json, std::string_view member) {
  // Looked up without parsing the whole config: there is one of these for every fusion of the
  // module.
  std::string key = "\"" + std::string(member) + "\":\"";
  size_t at = json.find(key);
  if (at == std::string_view::npos) return "";
  at += key.size();
  return std::string(json.substr(at, json.find('"', at) - at));
}

Backend FusionBackend(const Instruction& fusion) {
  std::string_view kind = fusion.Bytes(hlo::Field::kFusionKind);
  if (kind != "kCustom" && kind != "custom") return Backend::kLoop;
  std::string name = MemberString(fusion.backend_config, "kind");
  if (name.starts_with("__triton")) return Backend::kTriton;
  if (name.starts_with("__cudnn")) return Backend::kCudnnFusion;
  return Backend::kCustomFusion;
}

// What cuDNN or cuBLAS does behind the product, from the call's configuration.
std::vector<std::string> CallEpilogue(const Instruction& call) {
  std::vector<std::string> ops;
  std::string graph = MemberString(call.backend_config, "serialized_graph");
  // "ID:[type]name(ID,…);" for each op, the convolution itself first.
  for (size_t at = graph.find(']'); at != std::string::npos; at = graph.find(']', at + 1)) {
    std::string name = graph.substr(at + 1, graph.find('(', at) - at - 1);
    if (name != "conv") ops.push_back(name);
  }
  if (call.custom_call_target() == "__cudnn$convBiasActivationForward") ops.push_back("bias");
  std::string activation = MemberString(call.backend_config, "activation_mode");
  if (activation.size() > 1 && activation != "kNone") ops.push_back(activation.substr(1));
  std::string epilogue = MemberString(call.backend_config, "epilogue");
  if (!epilogue.empty() && epilogue != "DEFAULT") ops.push_back(epilogue);
  for (std::string& op : ops) {
    std::ranges::transform(op, op.begin(), [](unsigned char c) { return std::tolower(c); });
  }
  return ops;
}

bool MovesDataOnly(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kBroadcast:
    case Opcode::kBitcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kCopy:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
      return true;
    default:
      return false;
  }
}

// The operations behind a dot in the computation of its fusion, along its users.
std::vector<std::string> FusedEpilogue(const Instruction& dot) {
  std::vector<std::string> ops;
  hlo::Users users(*dot.parent);
  std::vector<char> behind(dot.parent->instructions.size());
  behind[dot.index] = 1;
  std::vector<const Instruction*> pending = {&dot};
  while (!pending.empty()) {
    const Instruction* at = pending.back();
    pending.pop_back();
    for (const Instruction* user : users.Of(*at)) {
      if (std::exchange(behind[user->index], 1)) continue;
      pending.push_back(user);
    }
  }
  for (const Instruction* instruction : dot.parent->instructions) {
    if (!behind[instruction->index] || instruction == &dot || MovesDataOnly(instruction->opcode))
      continue;
    ops.emplace_back(hlo::Name(instruction->opcode));
  }
  return ops;
}

class Finder {
 public:
  Finder(const hlo::Module& module, const CallGraph& graph)
      : graph_(graph), stack_frames_(module) {}

  std::vector<Kernel> Run() {
    for (const CallNode& node : graph_.nodes()) {
      for (const Instruction* instruction : node.computation->instructions) {
        Visit(node, *instruction);
      }
    }
    return std::move(kernels_);
  }

 private:
  void Visit(const CallNode& node, const Instruction& instruction) {
    if (instruction.opcode == Opcode::kFusion) {
      VisitFusion(node, instruction);
    } else if (instruction.opcode == Opcode::kCustomCall) {
      const CallTarget* target = FindTarget(instruction.custom_call_target());
      if (target != nullptr && instruction.operands.size() >= 2) {
        AddCall(node, instruction, *target);
      }
    } else if (IsPlainMatrixOp(instruction.opcode) && instruction.operands.size() >= 2) {
      AddPlain(node, instruction, instruction, Backend::kUnlowered);
    }
  }

  // Walks the fused computation and the fusions nested in it.
  void VisitFusion(const CallNode& node, const Instruction& fusion) {
    if (fusion.called.empty() || !HoldsMatrixMath(*fusion.called[0])) return;
    Backend backend = FusionBackend(fusion);
    std::vector<const hlo::Computation*> pending = {fusion.called[0]};
    while (!pending.empty()) {
      const hlo::Computation* fused = pending.back();
      pending.pop_back();
      for (const Instruction* instruction : fused->instructions) {
        if (instruction->opcode == Opcode::kFusion && !instruction->called.empty()) {
          pending.push_back(instruction->called[0]);
        } else if (IsPlainMatrixOp(instruction->opcode) && instruction->operands.size() >= 2) {
          AddPlain(node, *instruction, fusion, backend);
        } else if (const Instruction* product = ProductOfReduce(*instruction)) {
          AddReduce(node, *instruction, *product, fusion);
        }
      }
    }
  }

  // Whether a computation, or one fused into it, may hold a kernel. Remembered: most fusions hold
  // none, and fused computations are looked at once.
  bool HoldsMatrixMath(const hlo::Computation& computation) {
    auto [it, is_new] = holds_.try_emplace(&computation, false);
    if (!is_new) return it->second;
    std::vector<const hlo::Computation*> pending = {&computation};
    while (!pending.empty()) {
      const hlo::Computation* fused = pending.back();
      pending.pop_back();
      for (const Instruction* instruction : fused->instructions) {
        if (IsPlainMatrixOp(instruction->opcode) || instruction->opcode == Opcode::kReduce) {
          return holds_[&computation] = true;
        }
        if (instruction->opcode == Opcode::kFusion) {
          pending.insert(pending.end(), instruction->called.begin(), instruction->called.end());
        }
      }
    }
    return false;
  }

  // The multiply under a sum that stands for a matmul, or null: XLA keeps the dot's op_name on
  // both.
  const Instruction* ProductOfReduce(const Instruction& reduce) {
    if (reduce.opcode != Opcode::kReduce || reduce.operands.size() != 2) return nullptr;
    std::string_view op_name = hlo::DecodeMetadata(reduce.metadata).op_name;
    if (!op_name.ends_with("dot_general") && !op_name.ends_with("conv_general_dilated"))
      return nullptr;
    const Instruction* at = reduce.operands[0];
    while (at->operands.size() == 1 &&
           (MovesDataOnly(at->opcode) || at->opcode == Opcode::kConvert)) {
      at = at->operands[0];
    }
    if (at->opcode != Opcode::kMultiply) return nullptr;
    return hlo::DecodeMetadata(at->metadata).op_name == op_name ? at : nullptr;
  }

  void AddCall(const CallNode& node, const Instruction& call, const CallTarget& target) {
    Kernel kernel = Start(node, call, call, target.family, target.backend);
    kernel.output = FirstArray(call.shape);
    switch (target.family) {
      case Family::kConvolution:
        kernel.flops = ConvolutionFlops(call);
        break;
      case Family::kAttention:
        kernel.flops = AttentionFlops(call);
        break;
      case Family::kDot:
        kernel.flops = target.backend == Backend::kCublasLt || target.backend == Backend::kCublas
                           ? GemmCallFlops(call)
                           : BlockScaledFlops(call);
    }
    kernel.epilogue = CallEpilogue(call);
    kernels_.push_back(std::move(kernel));
  }

  // [batch, m, k] × [batch, n, k]: the last dimension is contracted.
  static double BlockScaledFlops(const Instruction& call) {
    const hlo::Shape& lhs = *call.operands[0]->shape;
    return DotFlops(lhs, *FirstArray(call.shape), {static_cast<int64_t>(lhs.rank()) - 1});
  }

  void AddPlain(const CallNode& node, const Instruction& op, const Instruction& launch,
                Backend backend) {
    bool convolution = op.opcode == Opcode::kConvolution;
    Kernel kernel =
        Start(node, op, launch, convolution ? Family::kConvolution : Family::kDot, backend);
    kernel.output = op.shape;
    kernel.flops = convolution ? ConvolutionFlops(op) : DotFlops(op);
    if (&launch != &op) kernel.epilogue = FusedEpilogue(op);
    kernels_.push_back(std::move(kernel));
  }

  void AddReduce(const CallNode& node, const Instruction& reduce, const Instruction& product,
                 const Instruction& launch) {
    Kernel kernel = Start(node, reduce, launch, Family::kDot, Backend::kReduce);
    for (int side : {0, 1}) {
      kernel.operands[side] = product.operands[side];
      kernel.runs_in[side] = product.operands[side]->shape->type;
    }
    kernel.output = reduce.shape;
    kernel.flops = 2 * static_cast<double>(std::max<int64_t>(0, hlo::ElementCount(*product.shape)));
    kernels_.push_back(std::move(kernel));
  }

  Kernel Start(const CallNode& node, const Instruction& op, const Instruction& launch,
               Family family, Backend backend) {
    Kernel kernel;
    kernel.instruction = &op;
    kernel.launch = &launch;
    kernel.family = family;
    kernel.backend = backend;
    kernel.node = &node;
    for (size_t side = 0; side < 2 && side < op.operands.size(); ++side) {
      kernel.operands[side] = op.operands[side];
      kernel.runs_in[side] = op.operands[side]->shape->type;
    }
    kernel.bytes = Bytes(launch);
    kernel.metadata = hlo::DecodeMetadata(MetadataOf(node, op, launch));
    kernel.frames = stack_frames_.Walk(kernel.metadata.stack_frame_id);
    if (kernel.frames.empty() && !kernel.metadata.source_file.empty()) {
      kernel.frames.push_back({.file = kernel.metadata.source_file,
                               .function = {},
                               .line = kernel.metadata.source_line,
                               .column = kernel.metadata.source_column});
    }
    return kernel;
  }

  // Expanded operations lose their metadata; the fusion around them or the call of their
  // computation has it.
  static std::string_view MetadataOf(const CallNode& node, const Instruction& op,
                                     const Instruction& launch) {
    if (!op.metadata.empty()) return op.metadata;
    if (!launch.metadata.empty()) return launch.metadata;
    bool called = node.sites.size() == 1 && node.sites.front().via == Via::kCall;
    return called ? node.sites.front().instruction->metadata : std::string_view();
  }

  const CallGraph& graph_;
  hlo::StackFrames stack_frames_;
  std::unordered_map<const hlo::Computation*, bool> holds_;
  std::vector<Kernel> kernels_;
};

}  // namespace

std::vector<Kernel> FindKernels(const hlo::Module& module, const CallGraph& graph) {
  return Finder(module, graph).Run();
}

int CountOpaqueKernels(const CallGraph& graph) {
  constexpr std::string_view kPrefixes[] = {"triton_kernel_call", "__gpu$xla.gpu.triton",
                                            "mosaic_gpu"};
  int count = 0;
  for (const CallNode& node : graph.nodes()) {
    for (const Instruction* instruction : node.computation->instructions) {
      if (instruction->opcode != Opcode::kCustomCall) continue;
      std::string_view target = instruction->custom_call_target();
      count +=
          std::ranges::any_of(kPrefixes, [&](auto prefix) { return target.starts_with(prefix); });
    }
  }
  return count;
}

}  // namespace eightfold::census
