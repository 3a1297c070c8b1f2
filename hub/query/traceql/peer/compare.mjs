// Is what we take for TraceQL what Grafana's parser takes for TraceQL?
//
//   node compare.mjs ACCEPTS QUERIES COUNT      (the script `compare` beside it installs the peer)
//
// ACCEPTS is our program (accepts.cpp), QUERIES a file of queries, one a line. Besides these, COUNT queries are made from
// them by swapping, leaving out and doubling tokens, always the same ones. What we call no TraceQL the peer must refuse,
// and the other way round; what makes no sense (a number compared with a string) is TraceQL to the peer. Of what we
// don't support we read no further, so there the peer is not asked. The known differences are below.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { parser } from "@grafana/lezer-traceql";

const [accepts, file, count] = process.argv.slice(2);
const listed = readFileSync(file, "utf8").split("\n").filter((l) => l !== "" && !l.startsWith("#"));

function peer(query) {
  let good = true;
  parser.parse(query).iterate({ enter(n) { if (n.type.isError) good = false; } });
  return good;
}

let state = 42;
function random(n) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return (state >> 8) % n;
}
const token = /"(?:[^"\\]|\\.)*"|`[^`]*`|[A-Za-z_][\w:]*|\d+(?:\.\d+)?(?:ns|us|ms|s|m|h)?|&&|\|\||>>|<<|[=!]~|[<>!]=|\S/g;
const tokens = listed.map((q) => q.match(token) ?? []);
const all = tokens.flat();
function mutated() {
  const t = [...tokens[random(tokens.length)]];
  for (let n = 1 + random(2); n > 0 && t.length > 0; n--) {
    const i = random(t.length);
    switch (random(4)) {
      case 0: t.splice(i, 1); break;
      case 1: t.splice(i, 0, t[random(t.length)]); break;
      case 2: t[i] = all[random(all.length)]; break;
      default: { const j = random(t.length); [t[i], t[j]] = [t[j], t[i]]; }
    }
  }
  // A dot and its name belong together.
  return t.join(" ").replace(/(\.) (?=[A-Za-z_"])/g, "$1").replace(/\b(span|resource) \./g, "$1.").replace(/\( \)/g, "()");
}

const queries = [...listed];
for (let i = 0; i < Number(count); i++) queries.push(mutated());
const ours = execFileSync(accepts, { input: queries.join("\n") + "\n", encoding: "utf8", maxBuffer: 1 << 30 }).trim().split("\n");

// Where the two differ and we stay by ours, with the reason.
const known = [
  /\.\s*(parent|resource|span|event|instrumentation|link|with)\b/, // an attribute may be called so: Tempo allows it
];
let differences = 0;
const kinds = {};
queries.forEach((q, i) => {
  kinds[ours[i]] = (kinds[ours[i]] ?? 0) + 1;
  if (ours[i] === "unsupported" || peer(q) === (ours[i] !== "syntax") || known.some((k) => k.test(q))) return;
  if (differences++ < 20) console.log(`${ours[i]}, the peer says ${peer(q) ? "yes" : "no"}: ${q}`);
});
console.log(`${queries.length} queries, ${differences} differences; ${JSON.stringify(kinds)}`);
process.exit(differences === 0 ? 0 : 1);
