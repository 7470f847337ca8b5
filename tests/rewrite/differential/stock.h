#ifndef EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_STOCK_H_
#define EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_STOCK_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pjrt/plugin.h"
#include "target/gpu.h"

namespace eightfold::differential {

// What stock did with one module. Protos are HloProto; empty: that pass changed nothing.
struct Stock {
  std::string answer;     // "ok", "ok fixed", or the first line of the error
  bool finished = false;  // all passes ran; what fails later is of no interest
  std::string before;     // after convolutions became cuDNN calls
  std::string after;      // after the rewrite
  std::string compiled;   // HloModuleProtoWithConfig, when compiling succeeded
};

// A process that has a stock plugin loaded and runs it on module after module. Started anew when
// the plugin brings it down.
class StockRunner {
 public:
  enum class Extent {
    kTwoPasses,  // the convolution passes only, some milliseconds each
    kWhole,      // everything, without dumps
  };
  // `program` is rewrite_differential_stock. `fix`, a fix::Describe, runs through the pass hook;
  // empty: none.
  StockRunner(std::string program, pjrt::Plugin plugin, const target::Gpu& gpu, Extent extent,
              std::string fix = {});
  StockRunner(const StockRunner&) = delete;
  StockRunner& operator=(const StockRunner&) = delete;
  ~StockRunner();

  // `module` is a serialized HloModuleProto. Errors: the process cannot be started. A crash is an
  // answer.
  Result<Stock> Run(std::string_view module);

  int crashes() const { return crashes_; }
  const pjrt::Plugin& plugin() const { return plugin_; }

 private:
  Result<void> Start();
  void Stop();
  // A line of the process; "" when it ended.
  std::string ReadLine();
  Stock Collect(std::string answer);

  std::string program_;
  pjrt::Plugin plugin_;
  Extent extent_;
  std::string fix_;
  std::filesystem::path folder_;
  pid_t process_ = 0;
  int to_ = -1, from_ = -1;
  int crashes_ = 0;
};

}  // namespace eightfold::differential

#endif  // EIGHTFOLD_TESTS_REWRITE_DIFFERENTIAL_STOCK_H_
