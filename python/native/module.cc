// The Python module eightfold._native: what the package in ../eightfold calls.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <CLI/Config.hpp>  // defines what cli::CompileFlags' header only declares
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/auditing.h"
#include "cli/config.h"
#include "native/device.h"
#include "native/failure.h"
#include "native/hooks.h"
#include "report/json.h"
#include "report/table.h"
#include "report/wording.h"

namespace nb = nanobind;

namespace eightfold::python {
namespace {

// The environment and eightfold.toml come before the plugin that is installed beside JAX.
Result<void> ChoosePlugin(cli::CompileFlags& flags, const std::string& otherwise) {
  if (!flags.plugin.empty() || otherwise.empty()) return {};
  std::error_code error;
  EF_TRY(cli::Defaults defaults, cli::LoadDefaults(std::filesystem::current_path(error)));
  if (defaults.plugin.empty()) flags.plugin = otherwise;
  return {};
}

Result<report::Report> RunAudit(const std::string& name, std::optional<std::string> content,
                                const std::string& path, const std::string& otherwise_plugin,
                                cli::CompileFlags flags) {
  EF_CHECK_OK(ChoosePlugin(flags, otherwise_plugin));
  cli::AuditOptions options{.program = name, .before = "", .no_compile = false, .flags = flags};
  if (!content) {
    options.program = path;
    return cli::Audit(options);
  }
  cli::Input input{.path = name,
                   .kind = cli::DetectKind(*content),
                   .source = Source::FromBytes(name, *std::move(content))};
  return cli::AuditInput(input, options);
}

// A report as Python holds it.
struct Audited {
  std::shared_ptr<const report::Report> report;
};

Audited Audit(const std::string& name, std::optional<nb::bytes> content, const std::string& path,
              const std::string& target, const std::string& plugin,
              const std::string& otherwise_plugin, int partitions, const std::string& fix) {
  std::optional<std::string> bytes;
  if (content) bytes.emplace(content->c_str(), content->size());
  cli::CompileFlags flags{
      .target = target, .plugin = plugin, .partitions = partitions, .fix = fix, .in_python = true};
  nb::gil_scoped_release release;
  return {std::make_shared<const report::Report>(
      ValueOrThrow(RunAudit(name, std::move(bytes), path, otherwise_plugin, std::move(flags))))};
}

std::vector<std::string> Headlines(const Audited& audited) {
  std::vector<std::string> lines;
  for (const report::Section& section : audited.report->sections) {
    for (std::string& line : report::Headlines(section.census)) lines.push_back(std::move(line));
  }
  return lines;
}

std::string Table(const Audited& audited, bool color, size_t width, size_t top) {
  return report::WriteTable(*audited.report,
                            {.color = color, .width = width, .top = top, .headline_only = false});
}

std::optional<target::Gpu> Gpu(const std::string& name) { return ValueOrThrow(GpuFor(name)); }

nb::dict CountsOf(const Hooks& hooks) {
  pjrt::PassHook::Counts counts = hooks.counts();
  nb::dict dict;
  dict["calls"] = counts.calls;
  dict["changed"] = counts.changed;
  dict["failed"] = counts.failed;
  dict["seconds"] = counts.seconds;
  return dict;
}

Hooks FixHooks(const std::string& library, const target::Gpu& gpu, const std::string& extent) {
  return ValueOrThrow(Hooks::Fix(library, gpu, extent));
}

Hooks AuditHooks(const std::string& library, const std::optional<target::Gpu>& gpu,
                 const std::string& folder) {
  return ValueOrThrow(Hooks::Audit(library, gpu, folder));
}

void DefineHooks(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<target::Gpu>(m, "Gpu");
  nb::class_<Hooks>(m, "Hooks")
      .def_prop_ro("plugin", [](const Hooks& hooks) { return hooks.plugin().Name(); })
      .def_prop_ro("target", &Hooks::target)
      .def_prop_ro("upstream", &Hooks::upstream)
      .def_prop_ro("rewritten", &Hooks::rewritten)
      .def_prop_ro("error", &Hooks::error)
      .def("counts", &CountsOf)
      .def("close", &Hooks::Close, nb::call_guard<nb::gil_scoped_release>());
  m.def("gpu", &Gpu, "name"_a);
  m.def("fix_hooks", &FixHooks, "library"_a, "gpu"_a, "extent"_a);
  m.def("audit_hooks", &AuditHooks, "library"_a, "gpu"_a.none(), "folder"_a);
}

std::string Json(const Audited& audited) { return report::WriteJson(*audited.report); }

}  // namespace
}  // namespace eightfold::python

NB_MODULE(_native, m) {
  using namespace eightfold;
  using namespace nb::literals;
  // A process may end with a report or a hook in hand; nobody needs to hear of it.
  nb::set_leak_warnings(false);
  python::RaiseFailures();
  m.attr("version") = EIGHTFOLD_VERSION;
  nb::class_<python::Audited>(m, "Report")
      .def("json", &python::Json)
      .def("headlines", &python::Headlines)
      .def("table", &python::Table, "color"_a, "width"_a, "top"_a);
  m.def("audit", &python::Audit, "name"_a, "content"_a.none(), "path"_a, "target"_a, "plugin"_a,
        "otherwise_plugin"_a, "partitions"_a, "fix"_a);
  python::DefineHooks(m);
}
