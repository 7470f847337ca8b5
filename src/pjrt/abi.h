#ifndef EIGHTFOLD_PJRT_ABI_H_
#define EIGHTFOLD_PJRT_ABI_H_

#include <cstddef>
#include <cstdint>

// The part of the PJRT C ABI (major version 0) that we call, in our own words. A plugin exports
// `GetPjrtApi`, which returns a pointer to an ApiTable. The table only ever grows at its end, so an
// entry is there when the table's struct_size reaches it (Api::Has checks). Every args struct
// starts with its own size, which tells the plugin which fields the caller knows.
namespace eightfold::pjrt::abi {

// What we were written against. Plugins with another major version are refused.
constexpr int kMajorVersion = 0;

// Extensions hang off the table (and off some structs) in a linked list.
struct Extension {
  size_t struct_size;
  int type;
  Extension* next;
};

struct Version {
  size_t struct_size;
  Extension* extensions;
  int major_version;
  int minor_version;
};

// Position of a function in the table.
enum class Function : size_t {
  kErrorDestroy = 0,
  kErrorMessage = 1,
  kErrorGetCode = 2,
  kPluginInitialize = 3,
  kPluginAttributes = 4,
  kEventDestroy = 5,
  kEventAwait = 8,
  kClientCreate = 10,
  kClientDestroy = 11,
  kClientPlatformName = 12,
  kClientAddressableDevices = 16,
  kClientCompile = 20,
  kClientBufferFromHostBuffer = 22,
  kDeviceDescriptionKind = 26,
  kDeviceGetDescription = 29,
  kExecutableDestroy = 40,
  kExecutableNumOutputs = 44,
  kExecutableOptimizedProgram = 48,
  kExecutableSerialize = 49,
  kLoadedExecutableDestroy = 50,
  kLoadedExecutableGetExecutable = 51,
  kLoadedExecutableExecute = 55,
  kExecutableDeserializeAndLoad = 56,
  kBufferDestroy = 58,
  kBufferElementType = 59,
  kBufferDimensions = 60,
  kBufferIsDeleted = 68,
  kBufferToHostBuffer = 70,
  kBufferReadyEvent = 72,
  kTopologyCreate = 82,
  kTopologyDestroy = 83,
  kCompile = 89,
};

struct ApiTable {
  size_t struct_size;
  Extension* extensions;
  Version version;
  // The functions follow; FunctionAt() is the only way to them.
};

constexpr size_t kFunctionsOffset = sizeof(ApiTable);
static_assert(kFunctionsOffset == 40);

// Objects that only the plugin looks into.
struct Error;
struct Topology;
struct Client;
struct Executable;

using GenericFunction = Error* (*)(void* args);

// Every args struct below begins like this; zero it, then set struct_size.
struct ErrorDestroyArgs {
  size_t struct_size;
  Extension* extensions;
  Error* error;
};

struct ErrorMessageArgs {
  size_t struct_size;
  Extension* extensions;
  const Error* error;
  const char* message;  // out, lives as long as the error
  size_t message_size;  // out
};

struct ErrorGetCodeArgs {
  size_t struct_size;
  Extension* extensions;
  const Error* error;
  int code;  // out, an absl::StatusCode
};

struct PluginInitializeArgs {
  size_t struct_size;
  Extension* extensions;
};

enum NamedValueType : int { kString = 0, kInt64 = 1, kInt64List = 2, kFloat = 3, kBool = 4 };

struct NamedValue {
  size_t struct_size;
  Extension* extensions;
  const char* name;
  size_t name_size;
  NamedValueType type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;  // elements of a string or list, else 1
};

struct PluginAttributesArgs {
  size_t struct_size;
  Extension* extensions;
  const NamedValue* attributes;  // out, lives as long as the process
  size_t num_attributes;         // out
};

struct TopologyCreateArgs {
  size_t struct_size;
  Extension* extensions;
  const char* name;
  size_t name_size;
  const NamedValue* options;
  size_t num_options;
  Topology* topology;  // out
};

struct TopologyDestroyArgs {
  size_t struct_size;
  Extension* extensions;
  Topology* topology;
};

struct Program {
  size_t struct_size;
  Extension* extensions;
  char* code;  // not const in the ABI, though compiling only reads it
  size_t code_size;
  const char* format;  // "hlo", "hlo_with_config" or "mlir"
  size_t format_size;
};

struct CompileArgs {
  size_t struct_size;
  Extension* extensions;
  const Topology* topology;
  const Program* program;
  const char* options;  // serialized CompileOptionsProto
  size_t options_size;
  Client* client;          // null: nothing on a device is asked
  Executable* executable;  // out
};

struct ExecutableDestroyArgs {
  size_t struct_size;
  Extension* extensions;
  Executable* executable;
};

// Called twice: with code null it fills in the size, with a buffer of that size the bytes.
struct OptimizedProgramArgs {
  size_t struct_size;
  Extension* extensions;
  Executable* executable;
  Program* program;
};

// The extension through which a plugin calls back with the modules that it compiles: every
// registered transform, in the order of registration, each with what the one before made of it.
// Later plugins append functions.
constexpr int kTransformExtension = 24;

struct Bytes {
  const char* data;
  size_t size;
};

// All results are zero when a transform is called.
struct TransformArgs {
  size_t struct_size;
  struct Header {
    int64_t version;
    void* data;              // out
    void (*cleanup)(void*);  // out, may be null: called with data once the results were read
    bool has_error;          // out; makes the compile fail
    int code;                // out, an absl::StatusCode
    Bytes message;           // out
  } header;
  Bytes hlo_in;   // serialized HloModuleProto
  Bytes hlo_out;  // out, lives until the cleanup; read when changed
  bool changed;   // out
};

// The plugin keeps the pointer that it was given, hands it back with every call, and calls dtor
// when it will not use it any more: after a removal, when the compiles that had begun are over. A
// registration that fails may have called it, too.
struct TransformCallbacks {
  int64_t version;  // 1
  void (*dtor)(TransformCallbacks*);
  void (*transform)(TransformCallbacks*, TransformArgs*);
};

struct RegisterTransformArgs {
  size_t struct_size;
  const char* name;
  size_t name_size;
  int stage;
  TransformCallbacks* callbacks;
};

// Removes the first transform at `stage` that was registered as `name`.
struct RemoveTransformArgs {
  size_t struct_size;
  int stage;
  const char* name;
  size_t name_size;
  void* reserved;
  bool found;  // out
};

struct TransformExtension {
  Extension base;
  Error* (*register_transform)(RegisterTransformArgs*);
  Error* (*remove_transform)(RemoveTransformArgs*);
};
static_assert(sizeof(TransformExtension) == 40);

}  // namespace eightfold::pjrt::abi

#endif  // EIGHTFOLD_PJRT_ABI_H_
