#ifndef EIGHTFOLD_PJRT_ABI_EXECUTE_H_
#define EIGHTFOLD_PJRT_ABI_EXECUTE_H_

#include <cstddef>
#include <cstdint>

#include "pjrt/abi.h"

// The part of the PJRT C ABI that runs programs; see abi.h for the conventions. Structs have the
// fields of ABI 0.81, which newer plugins take; older ones ignore what is beyond theirs.
namespace eightfold::pjrt::abi {

// Objects that only the plugin looks into.
struct Buffer;
struct Device;
struct DeviceDescription;
struct Event;
struct LoadedExecutable;
struct Memory;
struct SerializedExecutable;

// EventDestroy and EventAwait.
struct EventArgs {
  size_t struct_size;
  Extension* extensions;
  Event* event;
};

struct ClientCreateArgs {
  size_t struct_size;
  Extension* extensions;
  const NamedValue* options;
  size_t num_options;
  void* key_value_get;
  void* key_value_get_context;
  void* key_value_put;
  void* key_value_put_context;
  Client* client;  // out
  void* key_value_try_get;
  void* key_value_try_get_context;
};

struct ClientDestroyArgs {
  size_t struct_size;
  Extension* extensions;
  Client* client;
};

struct ClientPlatformNameArgs {
  size_t struct_size;
  Extension* extensions;
  Client* client;
  const char* name;  // out, lives as long as the client
  size_t name_size;  // out
};

struct ClientAddressableDevicesArgs {
  size_t struct_size;
  Extension* extensions;
  Client* client;
  Device* const* devices;  // out
  size_t num_devices;      // out
};

struct DeviceGetDescriptionArgs {
  size_t struct_size;
  Extension* extensions;
  Device* device;
  DeviceDescription* description;  // out
};

struct DeviceDescriptionKindArgs {
  size_t struct_size;
  Extension* extensions;
  DeviceDescription* description;
  const char* kind;  // out
  size_t kind_size;  // out
};

struct ClientCompileArgs {
  size_t struct_size;
  Extension* extensions;
  Client* client;
  const Program* program;
  const char* options;  // serialized CompileOptionsProto
  size_t options_size;
  LoadedExecutable* executable;  // out
};

// How a buffer lies in memory.
struct TiledLayout {
  size_t struct_size;
  Extension* extensions;
  const int64_t* minor_to_major;
  size_t minor_to_major_size;
  const int64_t* tile_dims;
  const size_t* tile_dim_sizes;
  size_t num_tiles;
};

struct MemoryLayout {
  size_t struct_size;
  Extension* extensions;
  TiledLayout tiled;  // the largest alternative of a union
  int type;           // 0: tiled
};

enum HostBufferSemantics : int { kOnlyDuringCall = 0 };

struct BufferFromHostBufferArgs {
  size_t struct_size;
  Extension* extensions;
  Client* client;
  const void* data;
  int type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;
  size_t num_byte_strides;
  HostBufferSemantics semantics;
  Device* device;
  Memory* memory;
  MemoryLayout* device_layout;
  Event* done_with_host_buffer;  // out
  Buffer* buffer;                // out
};

struct BufferDestroyArgs {
  size_t struct_size;
  Extension* extensions;
  Buffer* buffer;
};

struct BufferElementTypeArgs {
  size_t struct_size;
  Extension* extensions;
  Buffer* buffer;
  int type;  // out
};

struct BufferDimensionsArgs {
  size_t struct_size;
  Extension* extensions;
  Buffer* buffer;
  const int64_t* dims;  // out, lives as long as the buffer
  size_t num_dims;      // out
};

struct BufferIsDeletedArgs {
  size_t struct_size;
  Extension* extensions;
  Buffer* buffer;
  bool is_deleted;  // out
};

struct BufferReadyEventArgs {
  size_t struct_size;
  Extension* extensions;
  Buffer* buffer;
  Event* event;  // out
};

struct BufferToHostBufferArgs {
  size_t struct_size;
  Extension* extensions;
  Buffer* buffer;
  MemoryLayout* host_layout;
  void* destination;
  size_t destination_size;
  Event* event;  // out
};

struct LoadedExecutableGetExecutableArgs {
  size_t struct_size;
  Extension* extensions;
  LoadedExecutable* loaded;
  Executable* executable;  // out, to be destroyed by the caller
};

struct LoadedExecutableDestroyArgs {
  size_t struct_size;
  Extension* extensions;
  LoadedExecutable* executable;
};

struct ExecutableNumOutputsArgs {
  size_t struct_size;
  Extension* extensions;
  Executable* executable;
  size_t num_outputs;  // out
};

struct ExecutableSerializeArgs {
  size_t struct_size;
  Extension* extensions;
  const Executable* executable;
  const char* bytes;                             // out
  size_t size;                                   // out
  SerializedExecutable* serialized;              // out, owns the bytes
  void (*deleter)(SerializedExecutable* owner);  // out
};

struct ExecutableDeserializeAndLoadArgs {
  size_t struct_size;
  Extension* extensions;
  Client* client;
  const char* bytes;
  size_t size;
  LoadedExecutable* executable;    // out
  const char* overriding_options;  // none: those that it was compiled with
  size_t overriding_options_size;
};

struct ExecuteOptions {
  size_t struct_size;
  Extension* extensions;
  void* send_callbacks;
  void* receive_callbacks;
  size_t num_send_operations;
  size_t num_receive_operations;
  int launch_id;
  const int64_t* kept_inputs;  // which are not donated, whatever the program says
  size_t num_kept_inputs;
  void* context;
  const char* call_location;
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
};

struct ExecuteArgs {
  size_t struct_size;
  Extension* extensions;
  LoadedExecutable* executable;
  ExecuteOptions* options;
  Buffer* const* const* argument_lists;  // [device][argument]
  size_t num_devices;
  size_t num_arguments;
  Buffer** const* output_lists;    // [device][output], filled in
  Event** device_complete_events;  // [device], filled in; may be null
  Device* execute_device;
};

}  // namespace eightfold::pjrt::abi

#endif  // EIGHTFOLD_PJRT_ABI_EXECUTE_H_
