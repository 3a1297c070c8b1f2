"""The module against the real library: what was recorded is read back from its JSON lines."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import unittest

_directory = tempfile.TemporaryDirectory()
_file = os.path.join(_directory.name, "out.jsonl")
os.environ["TELLTALE_SINKS"] = f"json:{_file}?overflow=block"
os.environ["TELLTALE_LOG"] = "info,noisy=off"
os.environ["TELLTALE_TRACE"] = "info"

import telltale  # noqa: E402


def lines():
    assert telltale.flush(10)
    with open(_file, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def spans(name):
    return [l for l in lines() if l.get("span") == name and l.get("event") == "complete"]


def span(name):
    found = spans(name)
    assert len(found) == 1, f"{len(found)} spans {name!r}"
    return found[0]


def line(message):
    found = [l for l in lines() if l.get("message") == message]
    assert len(found) == 1, f"{len(found)} lines {message!r}"
    return found[0]


class Spans(unittest.TestCase):
    def test_attributes_keep_value_and_type(self):
        with telltale.span("types", flag=True, low=-(2**63), high=2**64 - 1, huge=2**70, ratio=0.25, text="ö\x00x"):
            pass
        self.assertEqual(
            span("types")["attributes"],
            {"flag": True, "low": -(2**63), "high": 2**64 - 1, "huge": str(2**70), "ratio": 0.25, "text": "ö\x00x"},
        )

    def test_a_container_is_refused_and_leaves_no_span_open(self):
        for value in ([1, 2], {"a": 1}, None, object(), b"key"):
            with self.assertRaises(TypeError) as raised:
                with telltale.span("refused", tensor=value):
                    pass
            self.assertIn("only bool, int, float and str", str(raised.exception))
        with telltale.span("after refusals"):
            pass
        self.assertNotIn("parent_id", span("after refusals"))
        self.assertEqual(spans("refused"), [])

    def test_nesting_late_attributes_events_links_and_module(self):
        with telltale.span("outer") as outer:
            with telltale.span("inner", n=1) as inner:
                inner.set(rows=5, n=2)
                inner.event("retried", attempt=2)
                inner.link(outer, "retry-of")
                inner.kind("client")
                telltale.info("loaded {points} points", points=7, source="disk")
        got = span("inner")
        self.assertEqual(got["parent_id"], span("outer")["span_id"])
        self.assertEqual(got["attributes"], {"n": 2, "rows": 5})
        self.assertEqual(got["events"][0]["name"], "retried")
        self.assertEqual(got["events"][0]["attributes"], {"attempt": 2})
        self.assertEqual(got["links"][0]["kind"], "retry-of")
        self.assertEqual(got["links"][0]["span_id"], span("outer")["span_id"])
        self.assertEqual(got["kind"], "client")
        self.assertEqual(got["target"], __name__)
        said = line("loaded 7 points")
        self.assertEqual(said["span_id"], got["span_id"])
        self.assertEqual(said["attributes"], {"points": 7, "source": "disk"})

    def test_a_scope_is_inherited(self):
        with telltale.scope("job", job_id="j1"):
            with telltale.span("in the job"):
                telltale.warn("said in the job")
        self.assertEqual(span("in the job")["job_id"], "j1")
        self.assertEqual(line("said in the job")["job_id"], "j1")

    def test_an_exception_fails_the_span_and_goes_on(self):
        with self.assertRaises(KeyError):
            with telltale.span("fails"):
                raise KeyError("secret")
        got = span("fails")
        self.assertEqual(got["status"], "error")
        self.assertEqual(got["attributes"], {"error.type": "KeyError"})

    def test_what_is_off_passes_its_parent_on(self):
        with telltale.span("on"):
            with telltale.span("off", level="debug"):
                with telltale.span("below"):
                    telltale.debug("never {n}", n=1)
        self.assertEqual(span("below")["parent_id"], span("on")["span_id"])
        self.assertEqual(spans("off"), [])

    def test_words_that_make_no_sense_are_errors(self):
        with self.assertRaises(ValueError):
            telltale.span("x", level="loud")
        with self.assertRaises(telltale.Error) as raised:
            telltale.set_log_filter("info,a=loud")
        self.assertIn("loud", str(raised.exception))
        with self.assertRaises(RuntimeError):
            telltale.span("not begun").set(n=1)
        with telltale.span("links") as s, self.assertRaises(ValueError):
            s.link(telltale.current(), "friend-of")


@telltale.traced
def plain(n):
    """Adds."""
    telltale.info("in plain {n}", n=n)
    return n + 1


@telltale.traced
def carried():
    pass


@telltale.traced(name="named", level="warn", stage=3)
async def named():
    await asyncio.sleep(0)
    return telltale.current().span


class Traced(unittest.TestCase):
    def test_a_function(self):
        self.assertEqual(plain(1), 2)
        self.assertEqual(plain.__doc__, "Adds.")
        self.assertEqual(line("in plain 1")["span_id"], span("plain")["span_id"])

    def test_a_coroutine_function(self):
        inside = asyncio.run(named())
        got = span("named")
        self.assertEqual(int(got["span_id"], 16), inside)
        self.assertEqual((got["level"], got["attributes"]), ("WARN", {"stage": 3}))

    def test_a_generator_is_refused(self):
        with self.assertRaises(TypeError):

            @telltale.traced
            def numbers():
                yield 1


class Tasks(unittest.TestCase):
    def test_each_task_keeps_its_span(self):
        async def task(k):
            with telltale.scope("task", task_id=f"t{k}") as s:
                for i in range(20):
                    await asyncio.sleep(0)
                    self.assertEqual(telltale.current().span, s.context.span)
                    telltale.info("step {i} of {k}", i=i, k=k)
                    with telltale.span("step", k=k):
                        await asyncio.sleep(0)

        async def all_tasks():
            with telltale.span("all tasks"):
                await asyncio.gather(*(task(k) for k in range(8)))

        asyncio.run(all_tasks())
        root = span("all tasks")
        tasks = {s["task_id"]: s for s in spans("task")}
        self.assertEqual(len(tasks), 8)
        for t in tasks.values():
            self.assertEqual(t["parent_id"], root["span_id"])
        steps = spans("step")
        self.assertEqual(len(steps), 160)
        for s in steps:
            self.assertEqual(s["task_id"], f"t{s['attributes']['k']}")
            self.assertEqual(s["parent_id"], tasks[s["task_id"]]["span_id"])
        said = [l for l in lines() if l.get("message", "").startswith("step ")]
        self.assertEqual(len(said), 160)
        for l in said:
            self.assertEqual(l["task_id"], f"t{l['attributes']['k']}")

    def test_threads_carry_what_is_bound(self):
        def work():
            with telltale.span("on a thread"):
                pass

        async def to_thread():
            with telltale.span("to_thread"):
                await asyncio.to_thread(carried)

        with telltale.span("starts threads"):
            for f in (telltale.bind(work), work):
                t = threading.Thread(target=f)
                t.start()
                t.join()
        asyncio.run(to_thread())
        parents = [s.get("parent_id") for s in spans("on a thread")]
        self.assertEqual(parents, [span("starts threads")["span_id"], None])
        self.assertEqual(span("carried")["parent_id"], span("to_thread")["span_id"])


class Logging(unittest.TestCase):
    def setUp(self):
        self.logger = logging.getLogger("shop.orders")
        self.logger.setLevel(logging.DEBUG)
        self.logger.propagate = False
        self.handler = telltale.Handler()
        self.logger.addHandler(self.handler)

    def tearDown(self):
        self.logger.removeHandler(self.handler)

    def test_a_record_is_a_line_of_its_span(self):
        with telltale.span("orders"):
            self.logger.warning("order %s of {nobody}", "A-17", extra={"order_id": "A-17", "items": 3, "basket": [1]})
        got = line("order A-17 of {nobody}")
        self.assertEqual((got["level"], got["target"], got["span"]), ("WARN", "shop::orders", "orders"))
        self.assertEqual((got["attributes"]["order_id"], got["attributes"]["items"]), ("A-17", 3))
        self.assertNotIn("basket", got["attributes"])

    def test_levels_and_exceptions(self):
        self.logger.debug("is off")
        try:
            raise ZeroDivisionError("here")
        except ZeroDivisionError:
            self.logger.exception("went wrong")
        got = line("went wrong")
        self.assertEqual((got["level"], got["attributes"]["exception.type"]), ("ERROR", "ZeroDivisionError"))
        self.assertIn("test_levels_and_exceptions", got["attributes"]["exception.stacktrace"])
        self.assertFalse([l for l in lines() if l.get("message") == "is off"])

    def test_the_filter_goes_by_the_loggers_name(self):
        noisy = logging.getLogger("noisy.library")
        noisy.addHandler(self.handler)
        noisy.propagate = False
        noisy.error("never")
        self.assertFalse([l for l in lines() if l.get("message") == "never"])


class Loading(unittest.TestCase):
    def run_python(self, code, **environment):
        return subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )

    def test_a_missing_library_is_said_with_what_to_do(self):
        done = self.run_python("import telltale", TELLTALE_LIBRARY="/nowhere/libtelltale.so.1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("set TELLTALE_LIBRARY", done.stderr.splitlines()[-1])

    def test_start_says_which_variable_makes_no_sense(self):
        done = self.run_python("import telltale; telltale.start()", TELLTALE_RING="3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("TELLTALE_RING", done.stderr)

    def test_exit_flushes(self):
        with tempfile.TemporaryDirectory() as d:
            out = os.path.join(d, "o.jsonl")
            done = self.run_python(
                "import telltale\nwith telltale.span('last'): pass", TELLTALE_SINKS=f"json:{out}"
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(out, encoding="utf-8") as f:
                self.assertEqual(json.loads(f.read())["span"], "last")


if __name__ == "__main__":
    unittest.main()
