#ifndef EIGHTFOLD_SELFPLAY_GAME_H_
#define EIGHTFOLD_SELFPLAY_GAME_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "hlo/builder.h"

// Board games for two players as HLO, a batch of B games at once.
//
// A state is u64[B,3]: the stones of the player to move, those of the other player, and a word of
// flags (kSecondPlayer, and what the game adds). A bit is a cell of the board; which one is the
// game's choice (GameInfo::cells). After a move the players change places, so a game looks the same
// from both sides. Programs store states as they are: as loop carries, as nodes of a tree.
namespace eightfold::selfplay {

struct GameInfo {
  std::string_view name;  // as flags spell it: "othello6"
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t actions = 0;  // A; the last one is the pass where `has_pass`
  bool has_pass = false;
  int64_t longest = 0;         // no game has more moves, passes counted
  std::vector<int64_t> cells;  // bit of each cell, row by row from the top
  uint64_t start[2] = {};      // stones of the first player, who moves first, and of the second
};

class Game {
 public:
  static constexpr int64_t kPlanes = 3;
  static constexpr int64_t kWords = 3;            // of a state
  static constexpr uint64_t kSecondPlayer = 1;    // flag: the second player is to move
  static constexpr uint64_t kFirstOfTheGame = 2;  // lowest flag that games may use

  explicit Game(GameInfo info) : info_(std::move(info)) {}
  Game(const Game&) = delete;
  Game& operator=(const Game&) = delete;
  virtual ~Game() = default;

  const GameInfo& info() const { return info_; }

  // u64[batch,3]: the start of the game.
  hlo::Instruction* Init(hlo::Builder& b, int64_t batch) const;
  // pred[B,A]: what may be played; nothing where the game is over. A pass is legal where nothing
  // else is.
  virtual hlo::Instruction* Legal(hlo::Builder& b, hlo::Instruction* state) const = 0;
  // The states after `action`, s32[B], which is legal. A game that is over stays as it is, whatever
  // the action. (What an illegal action leads to is not defined, but is a state.)
  virtual hlo::Instruction* Step(hlo::Builder& b, hlo::Instruction* state,
                                 hlo::Instruction* action) const = 0;
  // pred[B]: whether the game is over.
  virtual hlo::Instruction* Terminal(hlo::Builder& b, hlo::Instruction* state) const = 0;
  // f32[B]: 1, 0 or -1 when the player to move has won, drawn or lost; 0 while nobody has.
  virtual hlo::Instruction* Result(hlo::Builder& b, hlo::Instruction* state) const = 0;
  // s32[B]: 0 or 1, the player to move.
  hlo::Instruction* Player(hlo::Builder& b, hlo::Instruction* state) const;
  // f32[B,rows,columns,3] of zeros and ones: the stones of the player to move, those of the other,
  // and Player everywhere.
  hlo::Instruction* Observe(hlo::Builder& b, hlo::Instruction* state) const;

 protected:
  // The words of a state, u64[B] each.
  struct Words {
    hlo::Instruction* own = nullptr;
    hlo::Instruction* other = nullptr;
    hlo::Instruction* flags = nullptr;
  };
  static Words Split(hlo::Builder& b, hlo::Instruction* state);
  static hlo::Instruction* Join(hlo::Builder& b, const Words& words);
  // pred[B,n]: whether `board`, u64[B], has a stone at each of `bits`.
  static hlo::Instruction* Stones(hlo::Builder& b, hlo::Instruction* board,
                                  const std::vector<int64_t>& bits);
  // All cells of the board.
  uint64_t AllCells() const;

 private:
  GameInfo info_;
};

// The game of this name, or null. "othello6", "connect4", "tictactoe".
const Game* FindGame(std::string_view name);
// All names, for messages.
std::vector<std::string_view> GameNames();

}  // namespace eightfold::selfplay

#endif  // EIGHTFOLD_SELFPLAY_GAME_H_
