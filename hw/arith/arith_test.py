"""Tests of the recorder and of the ranges it proves: every value of the real programs lies in its range, and the program of
one function gives what the program of all gives. That results are right is tested in C++ (tlm/float)."""

import random
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import transcendental  # noqa: E402
from program import Program, ProgramError, signed_width  # noqa: E402


class Recorder(unittest.TestCase):
    def setUp(self):
        self.program = Program("test", ["one"])
        self.a = self.program.input("a", 8)

    def test_ranges_and_widths(self):
        a = self.a
        for value, low, high in ((a - 300, -300, -45), (a * -2, -510, 0), (a >> 3, 0, 31), (a << 4, 0, 4080), (-a, -255, 0),
                                 (a < 7, 0, 1), ((a - 128) >> 1, -64, 63), ((a - 128).low(4), 0, 15),
                                 (self.program.leading_zeros(a, 8), 0, 8), (self.program.minimum(a, 9), 0, 9)):
            self.assertEqual((value.node.low, value.node.high), (low, high))
        self.assertEqual([signed_width(0, 0), signed_width(-1, 0), signed_width(-128, 127), signed_width(0, 128)], [1, 1, 8, 9])

    def test_constants_are_computed(self):
        same = self.program.constant(5)
        for value, expected in ((same + 2, 7), (same * 3 - 1, 14), (same >> 1, 2), (self.a < 256, 1), (self.a.equals(300), 0)):
            self.assertEqual((value.node.kind, value.node.param), ("const", expected))
        self.assertIs(self.program.select(1, self.a, 3), self.a)

    def test_what_cannot_be_exact_is_refused(self):
        a, program = self.a, self.program
        wide = program.input("b", 60)
        for wrong in (lambda: wide * a, lambda: a << (a >> 1), lambda: (a - 1) << (a >> 5), lambda: a >> (a - 9), lambda: (a - 1) | 1,
                      lambda: program.table("t", (1, 2), a), lambda: program.output("r", a, 7), lambda: (a - 1).low(60),
                      lambda: program.leading_zeros(a, 7)):
            self.assertRaises(ProgramError, wrong)

    def test_stages(self):
        early = self.a + 1
        self.program.cut("other")
        self.assertEqual((self.a + 2).node.stage, 0)
        self.program.cut("one")
        self.assertEqual([(self.a + 3).node.stage, (self.a + 1).node.stage, early.node.stage], [1, 0, 0])


class Transcendental(unittest.TestCase):
    def test_ranges_hold_and_programs_agree(self):
        draw = random.Random(5)
        compared = 0
        for form in transcendental.FORMATS:
            shared = transcendental.build(form)
            self.assertLessEqual(max(shared.nodes[i].width for i in shared.used()), 64)
            edges = [k << (form.p - 1) for k in range(1 << (form.bits - form.p + 1))]
            inputs = [(a + d) % (1 << form.bits) for a in edges for d in (-1, 0, 1)]
            inputs += [draw.getrandbits(form.bits) for _ in range(200)]
            for function in form.functions:
                single = transcendental.build(form, function)
                for a in inputs:
                    self.assertEqual(single.evaluate(a=a), shared.evaluate(a=a, op=function))
                    compared += 1
        print(f"programs of one function and of all: {compared} results compared")
        self.assertGreater(compared, 9000)


if __name__ == "__main__":
    unittest.main()
