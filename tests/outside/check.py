"""Reads the JSON lines of examples/outside and checks what they say: check.py FILE JOB_ID."""

import json
import sys


def main():
    path, job = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(text) for text in file if text.strip()]

    def want(condition, what):
        if not condition:
            sys.exit(f"outside: expected {what} in {path}:\n" + "\n".join(map(str, lines)))

    spans = {line["span"]: line for line in lines if line.get("event") == "complete"}
    logs = [line for line in lines if line.get("message") == "did 3 things"]
    want(set(spans) == {"serve", "work"}, "the ends of the spans serve and work")
    want(len(logs) == 1, 'one log line "did 3 things"')
    for line in [*spans.values(), *logs]:
        want(line.get("job_id") == job, f"job_id={job!r} on every line")
        want(line["target"] == "example", "the module's name as target on every line")
        want(line["trace_id"] == spans["serve"]["trace_id"], "one trace")
    want(spans["work"]["attributes"].get("n") == 3, "n=3 on the span work")
    want(spans["work"]["parent_id"] == spans["serve"]["span_id"], "work beneath serve")
    want(logs[0]["span_id"] == spans["work"]["span_id"], "the log line in the span work")
    print(f"outside: {len(lines)} JSON lines, each as it should be")


main()
