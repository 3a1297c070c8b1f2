// Whether the hub holds what send.mjs or go/main.go sent, field by field: compare.mjs TELLTALE HUB-URL SENT
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

const [telltale, hub, sent] = process.argv.slice(2);
const ask = (...words) => JSON.parse(execFileSync(telltale, [...words, '--json', '--hub', hub], { encoding: 'utf8' }));
const { service, spans, logs: lines, metrics } = JSON.parse(sent);
const ways = Object.entries(spans);
assert.ok(ways.length >= 4 && lines.length === 2 && metrics.length === 2);
// What is acknowledged can be asked for within a second.
for (let i = 0; ask('store').waiting !== 0 || ask('store').metric_points < 4; i++) {
  assert.ok(i < 100, 'the hub does not show what it acknowledged');
  await new Promise((r) => setTimeout(r, 50));
}

for (const [way, ids] of ways) {
  const rows = ask('show', ids.trace_id).rows;
  assert.equal(rows.length, 2, way);
  const [parent, child] = rows;
  assert.equal(parent.span_id, ids.parent, way);
  assert.equal(parent.parent_id, undefined, way);
  assert.equal(parent.name, 'parent', way);
  assert.equal(parent.service, service, way);
  assert.equal(parent.node, 'n1', way);
  assert.equal(parent.scope, 'peer', way);
  assert.equal(parent.kind, 'server', way);
  assert.equal(parent.status, 'error', way);
  assert.equal(parent.status_message, 'broken', way);
  assert.equal(parent.state, 'ended', way);
  assert.equal(parent.job_id, way);
  assert.equal(parent.duration_ns, 1_000_000, way);
  const { list, ...plain } = parent.attributes;
  assert.deepEqual(plain, { text: 'ä"\\', number: 42, ratio: 0.5, flag: true }, way);
  assert.deepEqual(typeof list === 'string' ? JSON.parse(list) : list, ['a', 'b'], way);
  assert.equal(parent.events.length, 1, way);
  assert.equal(parent.events[0].name, 'retried', way);
  assert.deepEqual(parent.events[0].attributes, { attempt: 2 }, way);
  assert.equal(parent.links.length, 1, way);
  assert.equal(parent.links[0].trace_id, ids.link.trace_id, way);
  assert.equal(parent.links[0].span_id, ids.link.span_id, way);
  assert.equal(child.span_id, ids.child, way);
  assert.equal(child.parent_id, ids.parent, way);
  assert.equal(child.duration_ns, 1_000, way);
  // Numbers this large don't survive JavaScript's: as text, from the store.
  const [start] = ask('sql', `SELECT CAST(start_ns AS VARCHAR) FROM spans WHERE span_id = '${ids.parent}'`).rows[0];
  assert.equal(start, '1778273112000000005', way);
}
for (const way of lines) {
  const { logs } = ask('logs', `log_${way}`);
  assert.equal(logs.length, 1, way);
  assert.equal(logs[0].body, `line over ${way}`);
  assert.equal(logs[0].severity, 13);
  assert.equal(logs[0].severity_text, 'WARN');
  assert.equal(logs[0].service, service);
  assert.deepEqual(logs[0].attributes, { n: 3 });
}
for (const way of metrics) {
  const rows = ask('sql', `SELECT value, unit, service FROM metrics WHERE name = 'jobs_${way}'`).rows;
  assert.deepEqual(rows, [[7, '{job}', service]], way);
  const took = ask('sql', `SELECT count, value, type FROM metrics WHERE name = 'took_${way}'`).rows;
  assert.deepEqual(took, [[1, 0.3, 'histogram']], way);
}
console.log(`${ways.length} ways of sending spans, logs and metrics: all there`);
