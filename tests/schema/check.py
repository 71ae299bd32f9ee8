"""Whether kprof's documents are what docs/schema says: check.py report|plan|diff|bench|keys KPROF SEEDS

Every report (and plan) of every recorded trace, and of made-up ones that fill each field, in JSON
and YAML, with all options that change a document, is validated. The schemas allow no key that they
do not name, so that whoever adds one to the emitter must add it there, and, as «keys» sees to, to
the page that explains it. Exit status 77: python3-jsonschema or python3-yaml is not installed.
"""

import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

try:
    import jsonschema
    import yaml
except ImportError as error:
    DEBIAN = "/usr/bin/python3"  # where Debian's packages are, whatever python3 comes first
    if os.path.realpath(sys.executable) != os.path.realpath(DEBIAN) and os.path.exists(DEBIAN):
        os.execv(DEBIAN, [DEBIAN, *sys.argv])
    print("SKIP:", error)
    sys.exit(77)

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = {"report": "docs/report-yaml.md", "plan": "docs/plan.md", "diff": "docs/diff.md",
         "bench": "docs/kernels.md", "ab": "docs/rules.md", "ab-self-test": "docs/ab.md"}
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# All that changes a report: sets that together name every option of «kprof report» but --output,
# --color, --operators and --junit. The last set must leave the document as it is.
REPORTS = [(), ("--threshold", "0", "--iterations", "token", "--fail-on", "total.calls < 0"),
           ("--by", "process", "--shares", "--gaps", "--fusion", "--roofline", "--names", "mangled",
            "--top", "1", "--iterations", "auto")]
FLEET = ("--gpus", "1000", "--gpu-price", "30000", "--gpu-hour", "2.5", "--kwh-price", "0.2",
         "--gpu-watts", "700", "--engineer-weeks", "6", "--engineer-week", "5000", "--currency",
         "EUR", "--tokens-per-s", "1000000", "--requests-per-s", "100")
AB = os.path.join(SOURCE, "tests", "recorded", "llm_decode_graph.ab.yaml")
PLANS = [(), ("--target", "all=3x", "--threshold", "0", "--ab", AB, *FLEET),
         ("--unit-range", "token", "--units-per-range", "4", "--gpus", "8", "--gpu-hour", "3")]
# A trace with itself, and with another, which has other kernels.
OTHER = os.path.join(SOURCE, "tests", "operators", "hf_llama.kprof")
DIFFS = [(), ("--margin", "3", "--iterations", "token"),
         ("--allow-not-comparable", "--fail-on", "total.calls < -999999999",
          OTHER)]


def schema_path(kind):
    return f"docs/schema/kprof.{kind}.v1.json"


def schema_of(kind):
    with open(os.path.join(SOURCE, schema_path(kind)), encoding="utf-8") as file:
        return json.load(file)


# Their documents are large, and differ in numbers only: one set of options will do.
LARGE = "tests/recorded/"


def traces(kind, seeds):
    folders = ["samples/traces/*.kprof", "tests/operators/*.kprof", "tests/fuzz/regressions/*"]
    if kind == "report":
        folders.append(LARGE + "*.kprof")
    found = [path for folder in folders for path in sorted(glob.glob(os.path.join(SOURCE, folder)))]
    made = sorted(glob.glob(os.path.join(seeds, "*.kprof")))
    if len(found) < 12 or not made:
        sys.exit(f"FAIL: there should be traces in {folders} and {seeds}")
    return found + made


def leaves(error):
    """The errors behind «null or a map»: those of the map."""
    if error.validator not in ("oneOf", "anyOf") or not error.context:
        return [error]
    maps = [inner for inner in error.context if inner.validator != "type"]
    return [leaf for inner in maps for leaf in leaves(inner)] or [error]


def where(path):
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def name_of(part, schema):
    """What a part of a schema is called in it."""
    for name, definition in schema["$defs"].items():
        if definition == part:
            return f"$defs/{name}"
    return "its properties"


def explain(kind, schema, error):
    """One line that says which key is missing where."""
    path, place = where(error.absolute_path) or "the document", name_of(error.schema, schema)
    if error.validator in ("additionalProperties", "unevaluatedProperties"):
        known = set(error.schema.get("properties", {}))
        unknown = re.findall(r"'([^']*)'(?=,|\s(?:was|were) unexpected)", error.message) or \
            sorted(set(error.instance) - known)
        return (f"{path} has the key {', '.join(unknown)}, which {schema_path(kind)} does not name: "
                f"add it to {place} there, and say in {PAGES[kind]} what it means")
    if error.validator in ("required", "dependentRequired"):
        return (f"{path}: {error.message}, says {place} of {schema_path(kind)}: a key of v1 never "
                "goes away; if it may be absent, take it out of «required» there")
    return f"{path}: {error.message[:200]}; {schema_path(kind)} ({place}) says otherwise"


def document(kprof, kind, trace, options, form):
    """The parsed document; None where kprof refused. It must refuse in one line."""
    twice = kind == "diff" and OTHER not in options
    run = subprocess.run([kprof, kind, "--format", form, *options, trace, *[trace] * twice],
                         capture_output=True,
                         timeout=200, env={**os.environ, "XDG_CACHE_HOME": "/nonexistent"},
                         check=False)
    if run.returncode == 125 and not run.stdout and run.stderr.count(b"\n") == 1:
        return None
    if run.returncode != 0:
        raise ValueError(f"kprof ended with {run.returncode}: {run.stderr[:300]!r}")
    text = run.stdout.decode()
    return json.loads(text) if form == "json" else yaml.load(text, Loader=LOADER)


def check_trace(kprof, kind, schema, trace):
    """Lines of complaint, and how many documents there were."""
    validator = jsonschema.Draft202012Validator(schema)
    complaints, documents = [], []
    sets = {"report": REPORTS, "plan": PLANS, "diff": DIFFS}[kind]
    for number, options in enumerate(sets[1:2] if LARGE in trace else sets):
        both = []
        # One description makes both formats: they can differ by their back ends only, not by options.
        for form in ("json", "yaml") if not options else ("json",):
            label = f"{os.path.relpath(trace, SOURCE)} {' '.join(options)} ({form})"
            try:
                both.append(document(kprof, kind, trace, options, form))
            except (ValueError, yaml.YAMLError, subprocess.TimeoutExpired) as error:
                complaints.append(f"{label}: {error}")
        if len(both) == 2 and both[0] != both[1]:
            complaints.append(f"{label}: YAML and JSON differ")
        documents += both
        for error in validator.iter_errors(both[0]) if both and both[0] else []:
            complaints += [f"{explain(kind, schema, leaf)} [{label}]" for leaf in leaves(error)]
    if kind == "report" and not complaints and LARGE not in trace and \
            documents[0] != documents[-1]:
        complaints.append(f"{trace}: options about what text shows changed the document")
    return complaints, sum(made is not None for made in documents)


def check_documents(kind, kprof, seeds):
    schema, complaints, count, said = schema_of(kind), [], 0, set()
    jsonschema.Draft202012Validator.check_schema(schema)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for lines, made in pool.map(lambda trace: check_trace(kprof, kind, schema, trace),
                                    traces(kind, seeds)):
            complaints += lines
            count += made
    for line in complaints:
        general = re.sub(r"\[[^]]*\]", "", line)
        if general not in said and len(said) < 40:
            print("FAIL:", line)
        said.add(general)
    print(f"{count} documents of kprof {kind}, {len(said)} kinds of complaint")
    return not complaints and count > 0


# Each form of a shape, and references.
BENCHES = [("softmax", "--shape", "3x64", "--against", "torch"),
           ("linear_skinny", "--shape", "1x8x64,int8"), ("argmax", "--shape", "2x100"),
           ("attention_decode", "--shape", "2x2x1x32x64,page=16,varied", "--against", "torch")]


def check_bench(kprof):
    """kprof bench on the fake GPU; without device code there is nothing to check."""
    fakes = os.path.join(SOURCE, "tests", "fake_gpu")
    environment = {**os.environ, "XDG_CACHE_HOME": "/nonexistent", "KP_STUB": "good", "KP_FAKE": "graph_idle",
                   "KPROF_PYTHON": os.path.join(fakes, "references_python"), "PYTHON": sys.executable,
                   "LD_LIBRARY_PATH": os.path.join(os.path.dirname(kprof), "tests/fake_gpu/cuda")}
    if not os.path.exists(os.path.join(environment["LD_LIBRARY_PATH"], "libcuda.so.1")):
        print("SKIP: built without the fake GPU")
        sys.exit(77)
    validator, good = jsonschema.Draft202012Validator(schema_of("bench")), True
    for words in BENCHES:
        both = []
        for form in ("json", "yaml"):
            run = subprocess.run([kprof, "bench", *words, "--format", form], capture_output=True,
                                 env=environment, timeout=200, check=False)
            if b"without nvcc" in run.stderr:
                print("SKIP: built without nvcc")
                sys.exit(77)
            text = run.stdout.decode()
            both.append(json.loads(text) if form == "json" else yaml.load(text, Loader=LOADER))
        problems = [explain("bench", validator.schema, leaf)
                    for error in validator.iter_errors(both[0]) for leaf in leaves(error)]
        problems += ["YAML and JSON differ"] * (both[0] != both[1])
        for line in problems:
            print(f"FAIL: {line} [{' '.join(words)}]")
        good = good and not problems
    return good


def keys_of(part):
    """All keys that a schema names."""
    if isinstance(part, dict):
        for name, inner in part.items():
            if name == "properties":
                yield from inner
            yield from keys_of(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from keys_of(inner)


def check_keys():
    """Every key of a schema is explained."""
    good = True
    for kind, page in PAGES.items():
        with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
            words = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall("`([^`]*)`", file.read()))))
        patterns = [re.compile(r"^(.*)_(per_call(_ci95)?|source)$")]  # of each metric
        for key in sorted(set(keys_of(schema_of(kind)))):
            metric = patterns[0].match(key)
            if key not in words and not (metric and metric[1] in words):
                print(f"FAIL: {page} does not say what `{key}` is")
                good = False
    return good


def main():
    kind = sys.argv[1]
    good = check_keys() if kind == "keys" else check_bench(sys.argv[2]) if kind == "bench" else \
        check_documents(kind, sys.argv[2], sys.argv[3])
    sys.exit(0 if good else 1)


main()
