// A PJRT plugin that does what the program's text says, instead of compiling it.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fake_transforms.h"
#include "pjrt/abi.h"

namespace fake {

using namespace eightfold::pjrt;

namespace {

constexpr size_t kTableSize = 96;

// The error and executable types are opaque to the caller, so they may be anything here.
struct FakeError {
  std::string message;
};

}  // namespace

abi::Error* NewError(std::string message) {
  return reinterpret_cast<abi::Error*>(new FakeError{std::move(message)});
}

namespace {

void ErrorDestroy(void* raw) {
  auto* args = static_cast<abi::ErrorDestroyArgs*>(raw);
  delete reinterpret_cast<FakeError*>(args->error);
}

void ErrorMessage(void* raw) {
  auto* args = static_cast<abi::ErrorMessageArgs*>(raw);
  const auto* error = reinterpret_cast<const FakeError*>(args->error);
  args->message = error->message.data();
  args->message_size = error->message.size();
}

abi::Error* Nothing(void*) { return nullptr; }

abi::Error* TopologyCreate(void* raw) {
  auto* args = static_cast<abi::TopologyCreateArgs*>(raw);
  for (size_t i = 0; i < args->num_options; ++i) {
    std::string_view value(args->options[i].string_value, args->options[i].value_size);
    if (value.find("reject_me") != std::string_view::npos)
      return NewError("cannot parse the config");
  }
  return nullptr;
}

void EatMemory() {
  for (;;) {
    constexpr size_t kChunk = size_t{8} << 20;
    char* chunk = static_cast<char*>(malloc(kChunk));
    if (chunk == nullptr) abort();
    memset(chunk, 1, kChunk);
    usleep(2000);
  }
}

// Some plugins compile parts of a program in threads of their own.
void TransformInParallel(const std::string& module) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = module]() mutable { (void)RunTransforms(0, copy); });
  }
  for (std::thread& thread : threads) thread.join();
}

// What 0.12 does where CUDA's tools are missing: its dump is all that is left of the compile.
void DumpAndCrash(const std::string& module) {
  const std::string flags = getenv("XLA_FLAGS");
  const size_t at = flags.find("--xla_dump_to=") + strlen("--xla_dump_to=");
  const std::string folder = flags.substr(at, flags.find(' ', at) - at);
  mkdir(folder.c_str(), 0700);
  std::ofstream file(folder + "/module_0001.m.sm_120_gpu_after_optimizations.hlo.pb");
  file << '\x0a' << static_cast<char>(module.size()) << module << std::flush;
  fprintf(stderr, "Can't find libdevice directory\n");
  std::raise(SIGSEGV);
}

abi::Error* Compile(void* raw) {
  auto* args = static_cast<abi::CompileArgs*>(raw);
  const std::string program(args->program->code, args->program->code_size);
  fprintf(stderr, "pid=%d\n", getpid());
  if (program == "hang") {
    for (;;) pause();
  }
  if (program == "abort") {
    fprintf(stderr, "F1130 01:19:03.583840   11256 a/b/fake.cc:12] Check failed: 1 == 2 at once\n");
    fprintf(stderr, "*** Check failure stack trace: ***\n    @     0x7f  fake::Compile\n");
    abort();
  }
  if (program == "crash") std::raise(SIGSEGV);
  if (program == "exit") {
    fprintf(stderr, "Unknown flag in XLA_FLAGS: --xla_no_such_flag\n");
    exit(1);
  }
  if (program == "eat") EatMemory();
  if (program == "refuse") return NewError("this program is not for me");
  if (program == "flags") fprintf(stderr, "XLA_FLAGS=[%s]\n", getenv("XLA_FLAGS"));
  if (program.starts_with("parallel")) TransformInParallel(program);
  std::string module = program;
  for (int stage : {0, 1}) {
    if (std::optional<std::string> error = RunTransforms(stage, module)) return NewError(*error);
  }
  if (program == "crash late") DumpAndCrash("compiled " + module);
  auto* compiled = new std::string("compiled " + module);
  args->executable = reinterpret_cast<abi::Executable*>(compiled);
  return nullptr;
}

abi::Error* ExecutableDestroy(void* raw) {
  auto* args = static_cast<abi::ExecutableDestroyArgs*>(raw);
  delete reinterpret_cast<std::string*>(args->executable);
  return nullptr;
}

abi::Error* OptimizedProgram(void* raw) {
  auto* args = static_cast<abi::OptimizedProgramArgs*>(raw);
  const auto* compiled = reinterpret_cast<const std::string*>(args->executable);
  if (args->program->code != nullptr)
    memcpy(args->program->code, compiled->data(), compiled->size());
  args->program->code_size = compiled->size();
  args->program->format = "hlo_with_config";
  args->program->format_size = 15;
  return nullptr;
}

struct Table {
  abi::ApiTable head;
  void* functions[kTableSize];
};

Table MakeTable() {
  Table table{};
  table.head.struct_size = sizeof(Table);
#ifndef WITHOUT_TRANSFORMS
  table.head.extensions = TransformExtension();
#endif
  table.head.version.struct_size = sizeof(abi::Version);
  table.head.version.minor_version = 112;
  for (void*& function : table.functions) function = reinterpret_cast<void*>(&Nothing);
  const auto set = [&table](abi::Function at, auto* function) {
    table.functions[static_cast<size_t>(at)] = reinterpret_cast<void*>(function);
  };
  set(abi::Function::kErrorDestroy, &ErrorDestroy);
  set(abi::Function::kErrorMessage, &ErrorMessage);
  set(abi::Function::kTopologyCreate, &TopologyCreate);
  set(abi::Function::kCompile, &Compile);
  set(abi::Function::kExecutableDestroy, &ExecutableDestroy);
  set(abi::Function::kExecutableOptimizedProgram, &OptimizedProgram);
  return table;
}

}  // namespace
}  // namespace fake

extern "C" const void* GetPjrtApi() {
  static const fake::Table table = fake::MakeTable();
  return &table;
}
