#include "selfplay/game.h"

#include <span>

#include "selfplay/board_ops.h"
#include "selfplay/in_a_row.h"
#include "selfplay/othello.h"

namespace eightfold::selfplay {
namespace {

using hlo::Builder;
using hlo::Instruction;
using hlo::PrimitiveType;

constexpr auto kF32 = PrimitiveType::kF32;
constexpr auto kU64 = PrimitiveType::kU64;

// All games. To add one, add it here and to StartOf in bitboard.cc.
std::span<const Game* const> Games() {
  static const OthelloGame othello;
  static const InARowGame connect4 = InARowGame::ConnectFour();
  static const InARowGame tictactoe = InARowGame::TicTacToe();
  static const Game* const games[] = {&othello, &connect4, &tictactoe};
  return games;
}

Instruction* Word(Builder& b, Instruction* state, int64_t word) {
  int64_t batch = state->shape->dims[0];
  return b.Reshape(b.Slice(state, {{0, batch, 1}, {word, word + 1, 1}}), {batch});
}

}  // namespace

Instruction* Game::Init(Builder& b, int64_t batch) const {
  std::vector<int64_t> words = {static_cast<int64_t>(info_.start[0]),
                                static_cast<int64_t>(info_.start[1]), 0};
  std::vector<int64_t> dims = {kWords};
  return b.Broadcast(b.ConstantInts(kU64, dims, words), {batch, kWords}, {1});
}

Instruction* Game::Player(Builder& b, Instruction* state) const {
  Instruction* flags = Word(b, state, 2);
  return b.Convert(b.And(flags, Bits(b, flags, kSecondPlayer)), PrimitiveType::kS32);
}

Instruction* Game::Observe(Builder& b, Instruction* state) const {
  Words words = Split(b, state);
  int64_t batch = state->shape->dims[0];
  auto cells = static_cast<int64_t>(info_.cells.size());
  Instruction* player = b.Convert(Player(b, state), kF32);
  Instruction* planes[] = {b.Convert(Stones(b, words.own, info_.cells), kF32),
                           b.Convert(Stones(b, words.other, info_.cells), kF32),
                           b.Broadcast(player, {batch, cells}, {0})};
  for (Instruction*& plane : planes) plane = b.Reshape(plane, {batch, cells, 1});
  Instruction* all = b.Concatenate({planes[0], planes[1], planes[2]}, 2);
  return b.Reshape(all, {batch, info_.rows, info_.columns, kPlanes});
}

Game::Words Game::Split(Builder& b, Instruction* state) {
  return {.own = Word(b, state, 0), .other = Word(b, state, 1), .flags = Word(b, state, 2)};
}

Instruction* Game::Join(Builder& b, const Words& words) {
  int64_t batch = words.own->shape->dims[0];
  auto column = [&](Instruction* word) { return b.Reshape(word, {batch, 1}); };
  return b.Concatenate({column(words.own), column(words.other), column(words.flags)}, 1);
}

Instruction* Game::Stones(Builder& b, Instruction* board, const std::vector<int64_t>& bits) {
  std::vector<int64_t> masks;
  for (int64_t bit : bits) masks.push_back(static_cast<int64_t>(uint64_t{1} << bit));
  auto count = static_cast<int64_t>(bits.size());
  int64_t batch = board->shape->dims[0];
  Instruction* each = b.Broadcast(b.ConstantInts(kU64, {&count, 1}, masks), {batch, count}, {1});
  return HasBits(b, b.And(b.Broadcast(board, {batch, count}, {0}), each));
}

uint64_t Game::AllCells() const {
  uint64_t all = 0;
  for (int64_t bit : info_.cells) all |= uint64_t{1} << bit;
  return all;
}

const Game* FindGame(std::string_view name) {
  for (const Game* game : Games()) {
    if (game->info().name == name) return game;
  }
  return nullptr;
}

std::vector<std::string_view> GameNames() {
  std::vector<std::string_view> names;
  for (const Game* game : Games()) names.push_back(game->info().name);
  return names;
}

}  // namespace eightfold::selfplay
