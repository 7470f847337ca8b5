"""eightfold play and eightfold bench on this machine's CPU, whose plugin is fetched when it is not in the cache.

What they write is read with a reader of a few lines, and games are judged by rules of our own: tic-tac-toe's."""

import array
import json
import math
import os
import random
import resource
import signal
import struct
import subprocess
import time
import unittest

from program import EIGHTFOLD, ProgramTest

SMALL = {"--game": "tictactoe", "--width": "16", "--blocks": "1", "--sims": "4", "--batch": "16", "--precision": "f32"}
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
CODES = {"F32": "f", "I64": "q", "I32": "i", "I8": "b", "U64": "Q"}


def read(path):
    """The metadata and the tensors of a safetensors file: name to (dimensions, numbers)."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = entry["shape"], array.array(CODES[entry["dtype"]], data[8 + size + begin:8 + size + end])
    return metadata, tensors


def small(*options):
    """SMALL and `options`, which win."""
    return [word for name, value in SMALL.items() if name not in options for word in (name, value)] + list(options)


def winner(board):
    """1 or -1 for three of a kind in `board`, 0 for none."""
    return next((board[a] for a, b, c in LINES if board[a] and board[a] == board[b] == board[c]), 0)


class PlayTest(ProgramTest):
    def play(self, *options, **how):
        return self.run_program("play", *small(*options), **how)

    def start(self, *options):
        return subprocess.Popen([EIGHTFOLD, "play", *small(*options)], cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def wait_for_checkpoint(self, out):
        deadline = time.monotonic() + 60
        while not (self.folder / out / "checkpoint.safetensors").exists():
            self.assertLess(time.monotonic(), deadline, "nothing is played")
            time.sleep(0.01)

    def shards(self, out):
        """The bytes of each shard, by name."""
        return {path.name: path.read_bytes() for path in (self.folder / out).glob("shard-*")}

    def games(self, out):
        """For each game of all shards its number, moves, and what is said of them."""
        for path in sorted((self.folder / out).glob("shard-*")):
            _, tensors = read(path)
            at = 0
            for i, length in enumerate(tensors["length"][1]):
                moves = []
                for move in range(at, at + length):
                    moves.append({"board": tensors["board"][1][9 * move:9 * move + 9].tolist(),
                                  "weights": tensors["weights"][1][9 * move:9 * move + 9].tolist(),
                                  **{name: tensors[name][1][move] for name in ("player", "action", "value", "outcome")}})
                yield tensors["number"][1][i], tensors["result"][1][i], moves
                at += length
            self.assertEqual(at, len(tensors["action"][1]))


class Games(PlayTest):
    def test_each_is_there_once_and_legal(self):
        self.play("--games", "100", "--games-per-shard", "30", "--out", "o")
        self.assertEqual(sorted(self.shards("o")), [f"shard-0000{i}.safetensors" for i in range(4)])
        numbers = []
        for number, result, moves in self.games("o"):
            numbers.append(number)
            board = [0] * 9  # 1: of the first player
            for i, move in enumerate(moves):
                self.assertEqual(winner(board), 0)
                sign = 1 if i % 2 == 0 else -1
                self.assertEqual(move["player"], i % 2)
                self.assertEqual(move["board"], [sign * stone for stone in board])
                self.assertEqual(board[move["action"]], 0)
                self.assertEqual(move["outcome"], sign * result)
                self.assertTrue(-1 <= move["value"] <= 1)
                self.assertAlmostEqual(sum(move["weights"]), 1, places=4)
                self.assertEqual([w for w, stone in zip(move["weights"], board) if stone], [0] * i)
                board[move["action"]] = sign
            self.assertEqual(winner(board), result)
            self.assertTrue(result or all(board))
        self.assertEqual(sorted(numbers), list(range(100)))

    def test_the_search_finds_wins(self):
        # Three in a row at the next move is worth 1, whatever a network says that has learned nothing.
        self.play("--games", "64", "--sims", "32", "--out", "o")
        chances = found = 0
        for _, _, moves in self.games("o"):
            for move in moves:
                wins = [a for a in range(9) if move["board"][a] == 0
                        and winner(move["board"][:a] + [1] + move["board"][a + 1:]) == 1]
                chances += bool(wins)
                found += move["weights"].index(max(move["weights"])) in wins
        self.assertGreater(chances, 20)
        self.assertGreater(found, 0.9 * chances)

    def test_a_seed_makes_the_games(self):
        for out, seed in (("a", "5"), ("b", "5"), ("c", "6")):
            self.play("--games", "40", "--seed", seed, "--out", out)
        self.assertEqual(self.shards("a"), self.shards("b"))
        self.assertNotEqual(self.shards("a"), self.shards("c"))

    def test_more_seats_than_games(self):
        self.play("--games", "3", "--out", "o")
        self.assertEqual(sorted(number for number, _, _ in self.games("o")), [0, 1, 2])

    def test_other_games_and_precisions(self):
        for game, precision in (("othello6", "fp8"), ("connect4", "bf16")):
            done = self.play("--game", game, "--precision", precision, "--games", "4", "--batch", "4", "--format", "json",
                             "--out", game)
            summary = json.loads(done.stdout)
            self.assertEqual((summary["game"], summary["finished"], summary["games"]), (game, True, 4))
            metadata, tensors = read(self.folder / game / "shard-00000.safetensors")
            self.assertEqual(summary["moves"], sum(tensors["length"][1]))
            self.assertEqual((metadata["game"], metadata["precision"], metadata["batch"]), (game, precision, "4"))

    def test_memory_does_not_grow(self):
        def peak(games):
            code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
                    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
            done = subprocess.run(["python3", "-c", code, EIGHTFOLD, "play",
                                   *small("--batch", "256", "--games", str(games), "--out", f"o{games}")], cwd=self.folder, capture_output=True, timeout=600)
            return int(done.stdout.split()[-1])
        peak(256)  # compiles
        self.assertLess(peak(12000), 1.1 * peak(3000))


class Resuming(PlayTest):
    def test_killed_runs_end_as_others_do(self):
        options = ("--games", "600", "--games-per-shard", "50")
        self.play(*options, "--out", "whole")
        whole = self.shards("whole")
        self.assertEqual(len(whole), 12)
        chance = random.Random(7)
        for often in ("0", "0.05"):
            kills = 0
            while True:
                process = self.start(*options, "--checkpoint", often, "--out", f"killed-{often}")
                try:
                    # Loading takes some tenths of a second, the games about as long.
                    process.communicate(timeout=0.3 + 0.4 * chance.random())
                    self.assertEqual(process.returncode, 0)
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    kills += 1
                    self.assertLess(kills, 200)
            self.assertEqual(self.shards(f"killed-{often}"), whole)
            self.assertEqual(list((self.folder / f"killed-{often}").glob("*.tmp")), [])

    def test_signals_stop_it_at_a_checkpoint(self):
        options = ("--games", "4000", "--games-per-shard", "1000")
        for name in ("SIGINT", "SIGTERM"):
            process = self.start(*options, "--checkpoint", "0", "--out", name)
            self.wait_for_checkpoint(name)
            process.send_signal(getattr(signal, name))
            _, stderr = process.communicate(timeout=60)
            self.assertEqual(process.returncode, -getattr(signal, name))
            self.assertIn(b"the same command goes on from here", stderr)
            done = self.play(*options, "--format", "json", "--out", name)
            summary = json.loads(done.stdout)
            self.assertTrue(summary["finished"])
            self.assertEqual(summary["games"], 4000)
        self.assertEqual(self.shards("SIGINT"), self.shards("SIGTERM"))

    def test_one_that_is_finished_stays_so(self):
        self.play("--games", "20", "--out", "o")
        before = self.shards("o")
        self.assertIn(b"20 of 20 games of tictactoe, 20 of them before", self.play("--games", "20", "--out", "o").stdout)
        self.assertEqual(self.shards("o"), before)


class Errors(PlayTest):
    def fails(self, *options, exit_code=2):
        return self.play(*options, exit_code=exit_code).stderr

    def test_flags_that_make_no_sense(self):
        for options, message in ((("--game", "chess"), "--game cannot be chess"),
                                 (("--batch", "0"), "--batch"),
                                 (("--sims", "many"), "--sims"),
                                 (("--games", "0"), "--games"),
                                 (("--precision", "fp16"), "--precision cannot be fp16"),
                                 (("--device", "tpu"), "--device cannot be tpu"),
                                 (("--network", "nothing.safetensors"), "no such file: nothing.safetensors"),
                                 (("--network", ""), "--network: is empty"),
                                 (("--out", ""), "--out: is empty"),
                                 (("--seed", "-1"), "--seed cannot be -1"),
                                 (("--seed", "18446744073709551616"), "--seed cannot be 18446744073709551616"),
                                 (("--checkpoint", "nan"), "--checkpoint"),
                                 (("--target", "rtx5070"), "--target is for GPUs"),
                                 (("--fix",), "--fix is for GPUs")):
            self.assertIn(message, self.fails(*options, *(() if "--out" in options else ("--out", "o"))))
            self.assertFalse((self.folder / "o" / "checkpoint.safetensors").exists())

    def test_a_file_where_the_folder_should_be(self):
        (self.folder / "o").write_text("mine")
        self.assertIn("cannot make the folder o", self.fails("--out", "o"))
        self.assertEqual((self.folder / "o").read_text(), "mine")

    def test_another_run_is_not_written_over(self):
        self.play("--games", "20", "--out", "o")
        before = self.shards("o")
        for options, message in ((("--seed", "9"), "seed 0, not 9"),
                                 (("--game", "connect4"), "o holds another run: game tictactoe, not connect4"),
                                 (("--games", "30"), "o holds another run: games 20, not 30\n")):
            self.assertIn(message, self.fails(*(() if "--games" in options else ("--games", "20")), *options, "--out", "o"))
        (self.folder / "o" / "checkpoint.safetensors").unlink()
        self.assertIn("o has games, but no", self.fails("--games", "20", "--out", "o"))
        self.assertEqual(self.shards("o"), before)

    def test_files_of_others_stay(self):
        folder = self.folder / "o"
        (folder / "mine.tmp").mkdir(parents=True)
        (folder / "thesis.tmp").write_text("precious")
        (folder / "shard-00007.safetensors.tmp").write_text("what a killed run had begun")
        self.play("--games", "3", "--out", "o")
        self.assertEqual(sorted(path.name for path in folder.iterdir()),
                         ["checkpoint.safetensors", "lock", "mine.tmp", "shard-00000.safetensors", "thesis.tmp"])

    def test_shards_that_are_missing_are_missed(self):
        self.play("--games", "20", "--games-per-shard", "5", "--out", "o")
        (self.folder / "o" / "shard-00000.safetensors").unlink()
        error = self.fails("--games", "20", "--games-per-shard", "5", "--out", "o")
        self.assertIn("o/checkpoint.safetensors counts 4 files of games, and 3 are there", error)
        (self.folder / "o" / "checkpoint.safetensors").unlink()
        before = self.shards("o")
        self.assertIn("o has games, but no", self.fails("--games", "20", "--games-per-shard", "5", "--out", "o"))
        self.assertEqual(self.shards("o"), before)

    def test_a_folder_that_goes_away(self):
        process = self.start("--games", "100000", "--games-per-shard", "10", "--checkpoint", "0", "--out", "o")
        self.wait_for_checkpoint("o")
        (self.folder / "o").rename(self.folder / "moved")
        (self.folder / "o").mkdir()
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b"o was moved or removed", stderr)

    def test_signals_that_are_ignored_stay_ignored(self):
        process = subprocess.Popen([EIGHTFOLD, "play", *small("--games", "20000", "--checkpoint", "0", "--out", "o")],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.wait_for_checkpoint("o")
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0)
        self.assertIn(b"20000 of 20000 games", stdout)

    def test_two_at_once(self):
        process = self.start("--games", "100000", "--checkpoint", "0", "--out", "o")
        self.wait_for_checkpoint("o")
        self.assertIn("another process plays in o", self.fails("--games", "100000", "--out", "o"))
        process.kill()
        process.communicate()

    def test_damaged_checkpoints(self):
        self.play("--games", "20", "--out", "o")
        shards = self.shards("o")
        checkpoint = self.folder / "o" / "checkpoint.safetensors"
        good = checkpoint.read_bytes()
        chance = random.Random(3)
        damaged = [b"", good[:5], good[:-1], good + b"x", b"not a checkpoint at all"]
        for _ in range(20):
            at = chance.randrange(len(good))
            damaged.append(good[:at] + bytes([good[at] ^ 1 << chance.randrange(8)]) + good[at + 1:])
        for bytes_ in damaged:
            checkpoint.write_bytes(bytes_)
            error = self.fails("--games", "20", "--out", "o")
            self.assertIn("checkpoint.safetensors", error)
            self.assertEqual(checkpoint.read_bytes(), bytes_)
            self.assertEqual(self.shards("o"), shards)

    def test_a_full_disk_loses_nothing(self):
        options = ("--games", "300", "--games-per-shard", "100")
        self.play(*options, "--out", "whole")
        size = max(len(shard) for shard in self.shards("whole").values())
        # Files of this process cannot be as large as a shard: the system refuses to write on.
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size - 1000, size - 1000))
        done = subprocess.run([EIGHTFOLD, "play", *small(*options, "--checkpoint", "0", "--out", "o")],
                              cwd=self.folder, capture_output=True, preexec_fn=limit, timeout=600,
                              restore_signals=False)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr.decode(), "cannot write o/[a-z0-9.-]+: File too large\n.*the same command goes on")
        self.assertEqual(list((self.folder / "o").glob("*.tmp")), [])
        self.play(*options, "--out", "o")
        self.assertEqual(self.shards("o"), self.shards("whole"))

    def test_names_that_are_no_text(self):
        summary = json.loads(self.play("--games", "3", "--format", "json", "--out", os.fsdecode(b"o\xff")).stdout)
        self.assertTrue(summary["finished"])

    def test_a_device_that_is_not_there(self):
        error = self.fails("--device", "cuda", "--plugin", "0.10.2", "--out", "o", exit_code=3)
        self.assertIn("found no GPU", error)


class Networks(PlayTest):
    """--network, with files written here."""

    SHAPES = {"stem": (3, 3, 3, 16), "block0.conv0.weight": (3, 3, 16, 16), "block0.conv0.bias": (16,),
              "block0.conv1.weight": (3, 3, 16, 16), "block0.conv1.bias": (16,), "policy": (16, 9), "value": (16, 1)}

    OWN_STONE = ((1 * 3 + 1) * 3 + 0) * 16  # in the stem: centre of the kernel, first plane, first channel

    def network(self, name, **numbers):
        """A file of f32 with pseudo-random weights; `numbers` replace some of a tensor, by their index."""
        header, data, chance = {}, b"", random.Random(1)
        for tensor, shape in self.SHAPES.items():
            size = math.prod(shape)
            values = array.array("f", [0 if tensor.endswith("bias") else chance.gauss(0, 0.1) for _ in range(size)])
            for index, number in numbers.get(tensor.replace(".", "_"), {}).items():
                values[index] = number
            header[tensor] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * size]}
            data += values.tobytes()
        text = json.dumps(header).encode()
        (self.folder / name).write_bytes(struct.pack("<Q", len(text)) + text + data)
        return name

    def weights(self, out):
        """The policy at the first move of each game."""
        return [moves[0]["weights"] for _, _, moves in sorted(self.games(out))]

    def test_f32_files_serve_every_precision(self):
        net = self.network("net.safetensors")
        for precision in ("f32", "bf16", "fp8"):
            self.play("--network", net, "--precision", precision, "--games", "8", "--batch", "8", "--out", precision)
        for precision in ("bf16", "fp8"):
            for one, other in zip(self.weights("f32"), self.weights(precision)):
                self.assertLess(sum(abs(a - b) for a, b in zip(one, other)), 0.1)

    def test_scales_do_not_depend_on_the_batch(self):
        net, networks = self.network("net.safetensors"), set()
        for batch in ("1", "64"):
            self.play("--network", net, "--precision", "fp8", "--batch", batch, "--games", "1", "--out", batch)
            networks.add(read(self.folder / batch / "shard-00000.safetensors")[0]["network"])
        self.assertEqual(len(networks), 1)

    def test_files_that_do_not_fit(self):
        (self.folder / "noise").write_bytes(bytes(range(200)))
        self.assertIn("noise: a header of", self.fails("--network", "noise"))
        net = self.network("net.safetensors")
        for options, message in ((("--blocks", "2"), '"block1.conv0.weight" is missing'), (("--width", "8"), '"stem" is f32'),
                                 (("--game", "connect4"), '"policy" is f32[16,9], the network has f32[16,7]')):
            for precision in ("f32", "fp8"):
                error = self.fails("--network", net, "--precision", precision, *options)
                self.assertIn("net.safetensors: tensor", error)
                self.assertIn(message, error)

    def test_numbers_that_cannot_be(self):
        for number in (math.nan, math.inf, -math.inf):
            net = self.network("net.safetensors", block0_conv1_weight={0: number})
            for precision in ("f32", "fp8"):
                error = self.fails("--network", net, "--precision", precision)
                self.assertIn('tensor "block0.conv1.weight" has a number that is not finite', error)

    def test_what_was_played_before_a_failure_is_kept(self):
        # A stone of one's own counts so much that sums overflow once there are some: in the middle of games.
        net = self.network("net.safetensors", stem={self.OWN_STONE: 1.5e38})
        options = ("--network", net, "--games", "64", "--batch", "64", "--sims", "2")
        error = self.fails(*options, exit_code=3)
        self.assertRegex(error, r"game \d+, move [1-9]: the search gave numbers that are not finite")
        _, tensors = read(self.folder / "o" / "checkpoint.safetensors")
        self.assertGreater(len(tensors["finished.number"][1]), 0)
        self.assertEqual(len(tensors["finished.number"][1]) + sum(n >= 0 for n in tensors["playing.number"][1]), 64)
        self.assertEqual(self.fails(*options, exit_code=3), error)

    def fails(self, *options, exit_code=2):
        return self.play(*options, "--out", "o", exit_code=exit_code).stderr


class Bench(ProgramTest):
    def test_measures_each_precision(self):
        for what in ("forward", "move"):
            done = self.run_program("bench", what, *small("--precision", "f32,bf16,fp8"), "--runs", "5",
                                    "--format", "json")
            report = json.loads(done.stdout)
            self.assertEqual((report["what"], report["batch"], report["runs"]), (what, 16, 5))
            self.assertEqual([row["precision"] for row in report["rows"]], ["f32", "bf16", "fp8"])
            for row in report["rows"]:
                low, high = row["quartiles_ms"]
                self.assertTrue(0 < row["fastest_ms"] <= low <= row["median_ms"] <= high <= row["slowest_ms"])
                self.assertAlmostEqual(row["ratio_to_first"], row["median_ms"] / report["rows"][0]["median_ms"])
        self.assertEqual(done.stderr, "")

    def test_words_it_does_not_know(self):
        for words, word in (("bf16,fp4", "fp4"), ("f32,", ""), (",f32", ""), ("bf16, fp8", " fp8")):
            error = self.run_program("bench", "move", "--precision", words, exit_code=2).stderr
            self.assertIn(f'--precision cannot have "{word}"', error)
        self.assertIn("forward", self.run_program("bench", "backward", exit_code=2).stderr)


if __name__ == "__main__":
    unittest.main()
