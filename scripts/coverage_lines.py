#!/usr/bin/python3
"""Line coverage of the RTL from files that Verilator's models wrote (preset coverage).

usage: coverage_lines.py FOLDER WAIVERS HTML

Merges FOLDER/*.dat. A line counts if Verilator put a counter on it: a block, a branch, an item of a case. It is
covered if every counter on it was hit in some instance of its module. Prints a table by file and the lines missed;
writes HTML with the sources. Exit code 1 if less than 95 % of the lines are covered, waived ones left out, or if a
waiver fits nothing that is missed.
"""
import collections
import html
import pathlib
import re
import sys
import tomllib

TARGET = 95.0


def read_counters(folder):
    """{file: {line: {(column, comment): count}}}, instances of a module added up."""
    files = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(int)))
    for path in sorted(folder.glob("*.dat")):
        for text in path.read_text(errors="replace").splitlines():
            if not text.startswith("C '"):
                continue
            key, _, count = text[3:].rpartition("' ")
            fields = dict(part.split("\x02", 1) for part in key.split("\x01") if "\x02" in part)
            if not fields.get("page", "").startswith("v_line"):
                continue
            place = (int(fields["n"]), fields.get("o", ""))
            files[fields["f"]][int(fields["l"])][place] += int(count)
    return files


def read_waivers(path):
    """Waivers: file name, regular expression of the line's text, reason."""
    waivers = tomllib.loads(path.read_text()).get("waiver", [])
    for w in waivers:
        if set(w) != {"file", "line", "reason"}:
            sys.exit(f"{path}: a waiver needs file, line and reason, not {sorted(w)}")
    return waivers


def main():
    folder, waiver_path, page = (pathlib.Path(a) for a in sys.argv[1:4])
    files = read_counters(folder)
    if not files:
        sys.exit(f"no line counters in {folder}")
    waivers = read_waivers(waiver_path)
    used = [False] * len(waivers)
    rows, missed, sections = [], [], []
    for name in sorted(files, key=lambda n: pathlib.Path(n).name):
        short = pathlib.Path(name).name
        source = pathlib.Path(name).read_text().splitlines()
        covered = lines = waived = 0
        marks = {}
        for line, counters in sorted(files[name].items()):
            lines += 1
            text = source[line - 1].strip()
            if all(counters.values()):
                covered += 1
                marks[line] = "hit"
                continue
            fits = [n for n, w in enumerate(waivers) if w["file"] == short and re.search(w["line"], text)]
            for n in fits:
                used[n] = True
            if fits:
                waived += 1
                marks[line] = "waived"
                continue
            marks[line] = "miss"
            missed.append((short, line, text))
        rows.append((short, lines, covered, waived))
        body = "".join(
            f'<span class="{marks.get(n, "")}">{n:5}  {html.escape(text)}</span>\n' for n, text in enumerate(source, 1))
        sections.append(f'<h2 id="{short}">{short}</h2><pre>{body}</pre>')
    print(f"{'file':<28} {'lines':>6} {'hit':>6} {'waived':>7} {'%':>7}")
    total = [sum(r[k] for r in rows) for k in (1, 2, 3)]
    for short, lines, covered, waived in rows + [("all", *total)]:
        share = 100.0 * covered / (lines - waived) if lines > waived else 100.0
        print(f"{short:<28} {lines:>6} {covered:>6} {waived:>7} {share:>7.2f}")
    for short, line, text in missed:
        print(f"not covered: {short}:{line}: {text}")
    idle = [w for w, u in zip(waivers, used) if not u]
    for w in idle:
        print(f"waiver without need: {w['file']}: {w['line']}")
    table = "".join(
        f'<tr><td><a href="#{s}">{s}</a><td>{n}<td>{h}<td>{w}' for s, n, h, w in rows)
    reasons = "".join(f"<li>{html.escape(w['file'])}: <code>{html.escape(w['line'])}</code>: {html.escape(w['reason'])}"
                      for w in waivers)
    page.write_text(
        '<!doctype html><meta charset="utf-8"><title>Tessera: RTL lines</title><style>body{font-family:sans-serif;'
        'margin:2em}td{padding:.1em .8em}.hit{background:#dfd}.miss{background:#fbb}.waived{background:#ffd}</style>'
        f"<h1>Lines of the RTL</h1><table><tr><th>file<th>lines<th>hit<th>waived{table}</table>"
        f"<h2>Waivers</h2><ul>{reasons}</ul>{''.join(sections)}")
    share = 100.0 * total[1] / (total[0] - total[2])
    if share < TARGET:
        print(f"{share:.2f} % of the lines are covered; {TARGET} % are asked for")
    return 1 if share < TARGET or idle else 0


if __name__ == "__main__":
    sys.exit(main())
