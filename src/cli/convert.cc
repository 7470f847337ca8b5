#include <memory>
#include <optional>

#include "cli/choice.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace eightfold::cli {
namespace {

struct Options {
  std::string in;
  std::string out;
  std::optional<OutputForm> form;
  std::optional<hlo::ProtoKind> kind;
  hlo::IdScheme ids = hlo::IdScheme::kPerComputation;
};

// A proto stays the message that it was, so that nothing around the module is lost.
hlo::ProtoKind KindOf(const hlo::Module& module) {
  if (module.has_config) return hlo::ProtoKind::kModuleWithConfig;
  return module.outer.empty() ? hlo::ProtoKind::kModule : hlo::ProtoKind::kHloProto;
}

Result<ExitCode> Run(const Options& options) {
  EF_TRY(Input input, OpenInput(options.in));
  // The other form than the input's is what a conversion to standard output is for.
  OutputForm other = input.kind == InputKind::kHloProto ? OutputForm::kText : OutputForm::kProto;
  OutputForm form = options.form.value_or(other);
  if (!options.form) {
    EF_TRY(form, FormOf(options.out, other));
  }
  EF_TRY(std::unique_ptr<hlo::Module> module, LoadModule(input));
  WriteOptions write{.kind = options.kind.value_or(KindOf(*module)), .ids = options.ids};
  EF_CHECK_OK(WriteModule(*module, form, options.out, write));
  return ExitCode::kClean;
}

}  // namespace

void RegisterConvert(CLI::App& app, Command& command) {
  CLI::App* verb =
      AddVerb(app, command, "convert", "Turn HLO text into a proto, or a proto into text",
              {"eightfold convert move.pb move.hlo",
               "xla_tool | eightfold convert - module.pb --ids sequential"});
  auto options = std::make_shared<Options>();
  verb->add_option("IN", options->in,
                   "HLO text or proto, told apart by content; - for standard input")
      ->required();
  verb->add_option("OUT", options->out,
                   "a .pb file for a proto, .hlo or .txt for text; - for standard output")
      ->required();
  AddChoice<OutputForm>(*verb, "--to", options->form, "text or proto, whatever OUT is called",
                        {{"text", OutputForm::kText}, {"proto", OutputForm::kProto}})
      ->type_name("FORM");
  AddChoice<hlo::ProtoKind>(
      *verb, "--message", options->kind,
      "which proto: module (HloModuleProto), hlo_proto (HloProto) or with_config "
      "(HloModuleProtoWithConfig); default: the one that was read",
      {{"module", hlo::ProtoKind::kModule},
       {"hlo_proto", hlo::ProtoKind::kHloProto},
       {"with_config", hlo::ProtoKind::kModuleWithConfig}})
      ->type_name("NAME");
  AddChoice<hlo::IdScheme>(
      *verb, "--ids", options->ids,
      "how a proto numbers instructions: local (within their computation, for XLA from "
      "jaxlib 0.7.2 on; the default), sequential (older) or keep",
      {{"local", hlo::IdScheme::kPerComputation},
       {"sequential", hlo::IdScheme::kSequential},
       {"keep", hlo::IdScheme::kKeep}})
      ->type_name("SCHEME");
  verb->callback([options, &command] { command.run = [options] { return Run(*options); }; });
}

}  // namespace eightfold::cli
