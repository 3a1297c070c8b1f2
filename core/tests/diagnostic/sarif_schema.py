"""Validates each SARIF document on standard input against the schema: sarif_schema.py SCHEMA"""
import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as f:
    schema = json.load(f)
validator = jsonschema.validators.validator_for(schema)
validator.check_schema(schema)
check = validator(schema, format_checker=jsonschema.FormatChecker())

text = sys.stdin.buffer.read().decode("utf-8", errors="strict")
decoder, at, documents = json.JSONDecoder(), 0, []
while at < len(text):
    document, at = decoder.raw_decode(text, at)
    while at < len(text) and text[at].isspace():
        at += 1
    documents.append(document)
if len(documents) != 2 or len(documents[0]["runs"][0]["results"]) != 3:
    sys.exit(f"expected two documents, the first with three results; got {len(documents)}")

complaints = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for d in documents for e in check.iter_errors(d)]
# A validator that accepts anything would be no test.
documents[0]["runs"][0]["results"][0]["level"] = "fatal"
if not list(check.iter_errors(documents[0])):
    complaints.append("the validator accepts a level that SARIF hasn't got")
sys.exit("\n".join(complaints) or 0)
