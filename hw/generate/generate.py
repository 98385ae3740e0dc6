"""Writes every generated file: generate.py OUTPUT_FOLDER [--docs FOLDER].

OUTPUT_FOLDER gets hw/generated/*, rtl/*.sv, firmware/tessera/*.h and, in hw/checks, what the agreement test
evaluates; with --docs FOLDER the manual pages are written there and nothing else. A file is touched only if its content changes.
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import arith  # noqa: E402
import c  # noqa: E402
import c_xtile  # noqa: E402
import c_xtile_checks  # noqa: E402
import checks  # noqa: E402
import cpp  # noqa: E402
import docs  # noqa: E402
import sv  # noqa: E402
from model import Model, TableError  # noqa: E402


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(arguments):
    try:
        model = Model()
    except TableError as error:
        print(f"hw/generate: {error}", file=sys.stderr)
        return 1
    if arguments[:1] == ["--docs"]:
        for name, text in docs.pages(model).items():
            write(Path(arguments[1]) / name, text)
        return 0
    out = Path(arguments[0])
    write(out / "hw/generated/isa.h", cpp.isa(model))
    write(out / "hw/generated/machine.h", cpp.machine(model))
    write(out / "hw/generated/registers.h", cpp.registers(model))
    write(out / "hw/generated/transcendental.inc", arith.cpp())
    for form in arith.transcendental.FORMATS:
        write(out / f"rtl/transcendental_{form.name}.sv", arith.sv(form))
    write(out / "rtl/tessera_pkg.sv", sv.package(model))
    write(out / "firmware/tessera/machine.h", c.machine(model))
    write(out / "firmware/tessera/xtile.h", c_xtile.header(model))
    for name, text in c_xtile_checks.files(model).items():
        write(out / "hw/checks" / name, text)
    write(out / "hw/checks/constants.inc", checks.constants_inc(model))
    write(out / "hw/checks/constants.c", checks.constants_c(model))
    write(out / "hw/checks/tessera_pkg_probe.sv", checks.constants_probe(model))
    return 0


sys.exit(main(sys.argv[1:]))
