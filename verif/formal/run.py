"""Runs the formal proofs of verif/formal/proofs.toml. Engines:
  pdr   Yosys makes an and-inverter graph, ABC proves it for all time
  bmc   the same for all behaviours of `depth` cycles
  sat   the same for a combinational design

Each proof names mutations: one text in one RTL file replaced by another, or a planted fault of the RTL by its define. A
mutated design must be refuted, else the proof proves nothing and the run fails. Exit codes: 0 all proved and all
mutations refuted, 1 otherwise, 2 usage.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

PREPARE = """
read_verilog -sv -formal {defines} {sources}
{parameters}
prep -top {top} -nordff
flatten
chformal -cover -remove
async2sync
memory_map
setundef -undriven -anyseq
setattr -unset keep
delete -output
opt -full
techmap
opt -fast
dffunmap
abc -g AND -fast
opt_clean
stat
write_aiger -I -B -zinit {aig}
"""


class Failure(Exception):
    pass


def run(command, log, timeout):
    with open(log, "w") as out:
        try:
            done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failure(f"more than {timeout} s: {command[0]}, see {log}")
    text = Path(log).read_text(errors="replace")
    if done.returncode != 0:
        raise Failure(f"{command[0]} ended with {done.returncode}, see {log}\n{text[-600:]}")
    return text


def build(proof, sources, folder):
    """Writes the design with its properties as an and-inverter graph and returns the file."""
    aig = folder / "design.aig"
    parameters = "\n".join(f"chparam -set {k} {v} {proof['top']}" for k, v in proof.get("parameters", {}).items())
    script = PREPARE.format(sources=" ".join(str(s) for s in sources), top=proof["top"], aig=aig, parameters=parameters,
                            defines=" ".join("-D" + d for d in proof.get("defines", [])))
    (folder / "prepare.ys").write_text(script)
    run(["yosys", "-q", "-s", str(folder / "prepare.ys")], folder / "yosys.log", 900)
    return aig


def solve(proof, aig, folder, timeout, depth=None):
    """'proved', 'bounded' (no counterexample to the depth) or 'refuted'."""
    if proof["engine"] == "sat":
        text = run(["yosys-abc", "-c", f"read_aiger {aig}; orpos; strash; dc2; sat -C 0; print_stats"], folder / "abc.log",
                   timeout)
        if re.search(r"\bUNSATISFIABLE", text):
            return "proved"
        if re.search(r"\bSATISFIABLE", text):
            return "refuted"
        raise Failure(f"no decision, see {folder / 'abc.log'}\n{text[-400:]}")
    if proof["engine"] == "pdr" and depth is None:
        engine = f"pdr -T {timeout}"
    else:
        engine = f"bmc3 -T {timeout} -F {depth or proof['depth']}"
    text = run(["yosys-abc", "-c", f"read_aiger {aig}; fold; strash; dc2; scorr; {engine}; print_stats"],
               folder / "abc.log", timeout + 120)
    if re.search(r"was asserted in frame|Output \d+ .*was asserted", text) or "Counter-example" in text:
        return "refuted"
    if "Property proved" in text or re.search(r"Networks are UNSAT|is const-?0|trivially", text):
        return "proved"
    if "No output asserted in" in text and proof["engine"] != "pdr" or "No output failed" in text:
        frames = re.search(r"No output (?:asserted|failed) in (\d+) frames", text)
        if frames and int(frames.group(1)) >= (depth or proof["depth"]):
            return "bounded"
    raise Failure(f"no decision within {timeout} s, see {folder / 'abc.log'}\n{text[-400:]}")


def resolve(name, generated):
    return (generated / "rtl" / name) if (generated / "rtl" / name).exists() else \
        (ROOT / "rtl" / name) if (ROOT / "rtl" / name).exists() else HERE / name


def mutate(source, mutation, folder):
    text = source.read_text()
    if text.count(mutation["find"]) != 1:
        raise Failure(f"mutation of {source.name}: '{mutation['find']}' stands {text.count(mutation['find'])} times in it")
    target = folder / source.name
    target.write_text(text.replace(mutation["find"], mutation["replace"]))
    return target


def one(task):
    """Runs a proof (mutation None) or its refutation; returns (name, verdict, ok, seconds, detail)."""
    proof, index, build_folder, generated, timeout = task
    mutation = None if index is None else proof["mutation"][index]
    name = proof["name"] + ("" if mutation is None else f" / mutant: {mutation['what']}")
    folder = build_folder / (proof["name"] + ("" if index is None else f".mutant{index}"))
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    try:
        sources = [resolve(s, generated) for s in proof["sources"]]
        missing = [s for s in sources if not s.exists()]
        if missing:
            raise Failure(f"no such source: {missing[0]}")
        if mutation is not None and "define" in mutation:
            proof = proof | {"defines": proof.get("defines", []) + [mutation["define"]]}
        elif mutation is not None:
            where = [n for n, s in enumerate(sources) if s.name == mutation["file"]]
            if len(where) != 1:
                raise Failure(f"mutation names {mutation['file']}, which is no source of the proof")
            sources[where[0]] = mutate(sources[where[0]], mutation, folder)
        aig = build(proof, sources, folder)
        verdict = solve(proof, aig, folder, timeout, None if mutation is None else mutation.get("depth", 40))
        ok = verdict == "refuted" if mutation is not None else verdict in ("proved", "bounded")
        detail = ""
    except Failure as failure:
        verdict, ok, detail = "failed", False, str(failure)
    return name, verdict, ok, time.monotonic() - begin, detail


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=Path, default=ROOT / "build" / "generated", help="folder with rtl/tessera_pkg.sv")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "formal", help="folder for logs and intermediate files")
    parser.add_argument("--proofs", type=Path, default=HERE / "proofs.toml")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=900, help="seconds for one proof")
    parser.add_argument("--quick", action="store_true", help="only proofs marked quick")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*", help="proofs to run; all if none")
    arguments = parser.parse_args()
    proofs = tomllib.loads(arguments.proofs.read_text())["proof"]
    known = {p["name"] for p in proofs}
    unknown = [n for n in arguments.names if n not in known]
    if unknown:
        print(f"no proof named {', '.join(unknown)}; there are {', '.join(sorted(known))}", file=sys.stderr)
        return 2
    if arguments.names:
        proofs = [p for p in proofs if p["name"] in arguments.names]
    if arguments.quick:
        proofs = [p for p in proofs if p.get("quick")]
    if arguments.list:
        for p in proofs:
            print(f"{p['name']:24} {p['engine']:4} {len(p.get('mutation', []))} mutants  {p['says']}")
        return 0
    for p in proofs:
        if not p.get("mutation"):
            print(f"proof {p['name']} has no mutant: it could be empty", file=sys.stderr)
            return 1
    tasks = [(p, i, arguments.work, arguments.generated, arguments.timeout)
             for p in proofs for i in [None, *range(len(p["mutation"]))]]
    bad = proved = refuted = 0
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        for name, verdict, ok, seconds, detail in pool.map(one, tasks):
            mutant = " / mutant: " in name
            shown = {"proved": "proved", "bounded": "holds to its depth", "refuted": "refuted"}.get(verdict, verdict)
            print(f"{'ok  ' if ok else 'FAIL'} {name:72} {shown:18} {seconds:6.1f} s", flush=True)
            if detail:
                print("     " + detail.replace("\n", "\n     "), flush=True)
            bad += not ok
            proved += ok and not mutant
            refuted += ok and mutant
    print(f"{proved} property sets proved or held, {refuted} mutants refuted, {bad} failed")
    return 1 if bad or not tasks else 0


if __name__ == "__main__":
    sys.exit(main())
