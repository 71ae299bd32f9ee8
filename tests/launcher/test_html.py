"""The report as one HTML file: well-formed, self-contained, safe with any name, bounded in size."""

import base64
import glob
import hashlib
import html.parser
import json
import os
import re
import unittest

from harness import SOURCE, Case
from test_import import kernel, kineto
from test_report import HOSTILE

VOID = {"meta", "br", "link", "img", "input", "hr"}
TRACES = sorted(glob.glob(os.path.join(SOURCE, "samples/traces/*.kprof")) +
                glob.glob(os.path.join(SOURCE, "tests/recorded/*.kprof")))


class Page(html.parser.HTMLParser):
    """Checks that tags are balanced, and gathers them, their attributes and the texts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts, self.raw = [], [], [], {}
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] in ("script", "style"):
            self.raw.setdefault(self.open[-1], []).append(data)
        else:
            self.texts.append(data)

    def ids(self):
        return [attrs["id"] for _, attrs in self.tags if "id" in attrs]


class HtmlCase(Case):
    def page(self, *words):
        text = self.report("-f", "html", *words)
        self.text = text
        return Page(text)

    def check(self, page):
        """What holds for every page."""
        for tag, attrs in page.tags:
            self.assertNotIn(tag, ("link", "img", "iframe", "object", "embed", "form", "base"))
            for name, value in attrs.items():
                self.assertFalse(name.startswith("on"), (tag, name))
                if name in ("href", "src", "action", "srcset", "data", "xlink:href"):
                    self.assertTrue(value.startswith("#"), (tag, name, value))
                if name.startswith("data-") or name in ("d", "x", "y", "cx", "cy", "points"):
                    self.assertIsNone(re.search("nan|inf", value), (tag, name, value[:80]))
                if name == "style":
                    self.assertRegex(value, r"^--w:\d+(\.\d)?%$")
        self.assertEqual([tag for tag, _ in page.tags].count("script"), 1)
        self.assertNotRegex("".join(page.raw["style"]), r"@import|url\(|https?:")
        self.assertEqual(self.text.replace("http://www.w3.org/2000/svg", "").count("://"), 0)
        ids = page.ids()
        self.assertEqual(len(ids), len(set(ids)))
        for tag, attrs in page.tags:  # links, and what describes what
            for name in ("href", "aria-labelledby", "aria-describedby"):
                if name in attrs:
                    self.assertIn(attrs[name].lstrip("#"), ids)


class Pages(HtmlCase):
    def test_every_recorded_trace(self):
        for trace in TRACES:
            self.check(self.page(trace))
            self.assertLess(len(self.text), 400_000, trace)

    def test_the_policy_allows_the_script_and_nothing_else(self):
        page = self.page(TRACES[0])
        policy = next(attrs["content"] for tag, attrs in page.tags
                      if attrs.get("http-equiv") == "Content-Security-Policy")
        (script,) = page.raw["script"]
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        self.assertEqual(policy, "default-src 'none'; style-src 'unsafe-inline'; "
                                 f"script-src 'sha256-{digest}'; base-uri 'none'; "
                                 "form-action 'none'")

    def test_tables_are_accessible(self):
        page = self.page(os.path.join(SOURCE, "samples/traces/torch_decode.kprof"))
        self.assertEqual([tag for tag, _ in page.tags].count("h1"), 1)
        heads = [attrs for tag, attrs in page.tags if tag == "th"]
        self.assertTrue(heads)
        for attrs in heads:
            self.assertIn(attrs["scope"], ("col", "row"))
        self.assertEqual(dict(page.tags)["html"]["lang"], "en")
        for tag, attrs in page.tags:
            if tag == "svg" and attrs.get("class") == "line":
                self.assertEqual(attrs["role"], "img")
                self.assertTrue(attrs["aria-label"])

    def test_the_figures_are_those_of_the_report(self):
        trace = os.path.join(SOURCE, "samples/traces/torch_decode.kprof")
        page, report = self.page(trace), self.report_json(trace)
        first = report["operators"][0]
        self.assertIn(first["name"], page.texts)
        self.assertIn(f"{first['share_of_kernel_time_pct']:.1f}% *", page.texts)
        for kernel_row in report["kernels"][:20]:
            self.assertIn(kernel_row["name"], page.texts)
        for finding in report["findings"]:
            self.assertIn(finding["sentence"] + ".", page.texts)
        self.assertEqual(page.ids().count("fusion"), 1)
        for row in report["operators"]:
            self.assertIn(f"{row['critical_path_share_of_span_pct']:.1f}%", page.texts)
        marks = sum(1 for row in report["operators"]
                    if 2 * row["written_out_ns"] > row["total_ns"])
        self.assertGreater(marks, 0)
        self.assertEqual(list(page.texts).count(", written out"), marks)

    def test_the_timeline_ends_as_the_span_does(self):
        """A GPU's span begins and ends with memory operations, too; windows are said."""
        for trace in TRACES:
            page, report = self.page(trace), self.report_json(trace)
            for gpu in range(len(report["gpus"])):
                span, windows = re.findall(r"busy [0-9.]+% of ([^ <]+)( in windows)?</span>",
                                           self.text)[gpu]
                first, end = re.findall(r'class="ends"><span>([^<]*)</span><span>([^<]*)<',
                                        self.text)[gpu]
                if not windows:
                    self.assertEqual((first, end), ("0", span), trace)
                else:
                    self.assertEqual((first, end.split(" ")[1]), ("first activity", "later"))

    def test_the_plan_is_that_of_kprof_plan(self):
        """At most what its bytes and launches allow; at no cost only where nothing of that is known."""
        seen = set()
        for name in ("samples/traces/llm_decode_graph", "tests/recorded/traffic_graph_4",
                     "tests/operators/convnet"):
            trace = os.path.join(SOURCE, name + ".kprof")
            made = self.kprof("plan", "--format", "json", trace)
            cards = [card for card in json.loads(made.stdout)["cards"] if card["kernel"]]
            page = self.report("-f", "html", trace)
            table = re.search('id="plan">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
            self.assertEqual(bool(table), bool(cards), trace)
            rows = re.findall("<tr>(.*?)</tr>", table[1], re.DOTALL) if table else []
            self.assertEqual(len(rows), len(cards))
            for card, row in zip(cards, rows):
                cells = re.findall("<t[dh][^>]*>([^<]*)</t[dh]>", row)
                most = {outcome["level"]: outcome["speed_up"] for outcome in card["outcomes"]}
                known = "at_most" in most
                self.assertEqual(cells[0], card["operator"])
                self.assertEqual(cells[-1], f"{most['at_most' if known else 'bound']:.2f}x" +
                                 ("" if known else " at no cost"))
                if card["limit_speed_up"] is None and known:
                    self.assertEqual(cells[-4], f"at most {card['speed_up_at_most']:.2f}x")
                seen.add((known, card["limit_speed_up"] is None))
        self.assertLessEqual({(True, True), (True, False)}, seen)

    def test_the_roofline_is_there_where_counters_are(self):
        self.assertIn("roofline", self.page(os.path.join(
            SOURCE, "tests/recorded/decode_graph_50us.kprof")).ids())
        self.assertNotIn("roofline", self.page(os.path.join(
            SOURCE, "samples/traces/torch_decode.kprof")).ids())

    def test_extension_and_option_agree(self):
        trace = TRACES[0]
        self.report("-o", "a.html", trace)
        self.assertEqual(self.read("a.html").decode(), self.report("-f", "html", trace))

    def test_an_empty_trace(self):
        self.make_trace()
        self.check(self.page("made.kprof"))


class Hostile(HtmlCase):
    NAMES = [b"</code></td><script>alert(1)</script>", b"\"><img src=x onerror=alert(1)>",
             b"'onmouseover='alert(1)", b"&lt;b&gt;", b"<!--", b"-->", b"]]>", b"</style>",
             b"</svg><a href=javascript:alert(1)>x</a>", b"\x1b[31mred\x1b[0m", b"a\nb\rc",
             "\u202e\u2066reversed".encode(), b"x" * 1500, b"{{constructor}}", b"${alert(1)}"]

    def test_names_are_inert(self):
        names = [*self.NAMES, *HOSTILE]
        self.make_trace(*("hex:" + name.hex() for name in names))
        page = self.page("made.kprof")
        self.check(page)
        tags = {tag for tag, _ in page.tags}
        self.assertNotIn("a", {tag for tag, attrs in page.tags
                               if tag == "a" and not attrs["href"].startswith("#")})
        self.assertFalse(tags & {"img", "b>"})
        self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f]", self.text))

    def test_commands_hosts_and_devices_are_inert(self):
        evil = self.NAMES[0].decode() + self.NAMES[1].decode()
        for rank in (evil, "1"):
            name = "a" if rank == evil else "b"
            self.write(name + ".json", json.dumps(kineto(
                [kernel(evil, 1.5, 2), {**kernel(evil, 5, 1), "cat": "gpu_memcpy"},
                 {"ph": "X", "cat": "user_annotation", "name": evil, "pid": 1, "tid": 1, "ts": 0,
                  "dur": 9}], host_name=evil, deviceProperties=[{"id": 0, "name": evil}],
                distributedInfo={"rank": 1 if name == "b" else 0})))
            result = self.kprof("import", "-o", name + ".kprof", name + ".json")
            self.assertEqual(result.returncode, 0, result.stderr)
        page = self.page("a.kprof", "b.kprof")
        self.check(page)
        self.assertIn("ranks", page.ids())
        self.assertTrue(any(evil in text for text in page.texts))

    def test_size_is_bounded(self):
        """Ten times the kernels that a page shows, with long names."""
        self.make_trace(*(f"kernel_{at:05d}_" + "y" * 300 for at in range(2000)))
        page = self.page("made.kprof")
        self.check(page)
        self.assertLess(len(self.text), 500_000)
        self.assertTrue(any(re.fullmatch(r"\d+ more rows are not shown\.", text)
                            for text in page.texts))


if __name__ == "__main__":
    unittest.main()
