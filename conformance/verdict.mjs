// The suite judges the scenarios it scores, and ignores what it runs beside them. This judges those by the same rules,
// wants a reason for each expected failure, and says what went wrong in each check that failed.
//
// usage: node verdict.mjs RESULTS_DIR REVISION EXPECTED_FAILURES
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

const [resultsDir, revision, expectedFile] = process.argv.slice(2);
const suite = new URL('node_modules/@modelcontextprotocol/conformance/', import.meta.url);
const required = parse(readFileSync(new URL(`requirements/${revision}.yaml`, suite), 'utf8'));
const expectedText = readFileSync(expectedFile, 'utf8');
const expected = new Set(parse(expectedText)?.server ?? []);

const unscored = required.not_scored.filter(({ leg }) => leg === 'server');
const kinds = new Map([
  ...required.server.map((scenario) => [scenario, 'scored']),
  ...unscored.map(({ scenario, reason }) => [scenario, reason === 'extension' ? 'extension' : 'unscored']),
]);
const runs = new Map(readdirSync(resultsDir).map(readRun));

const problems = [
  ...withoutReason(expectedText).map((entry) => `${entry} is expected to fail, without a reason`),
  ...[...expected].filter((entry) => !runs.has(entry.split(':')[0])).map((entry) => `${entry} did not run`),
  ...[...kinds.keys()].filter((name) => !runs.has(name)).map((name) => `${name} did not run`),
];
const counts = Object.fromEntries(['scored', 'unscored', 'extension'].map((kind) => [kind, { passed: 0, failed: 0 }]));
for (const [name, checks] of runs) {
  const kind = kinds.get(name);
  const failures = new Map(checks.filter(isFailure).map((check) => [check.id, check]));
  counts[kind][failures.size > 0 ? 'failed' : 'passed'] += 1;
  if (kind !== 'extension') report(name, failures);
  if (kind === 'unscored') problems.push(...judge(name, checks, failures));
}

const line = ({ passed, failed }) => `${passed} passed, ${failed} failed`;
console.log(`scored: ${line(counts.scored)}`);
console.log(`unscored: ${line(counts.unscored)}`);
console.log(`extensions, which do not count: ${line(counts.extension)}`);
for (const problem of problems) console.error(`error: ${problem}`);
process.exit(problems.length > 0 ? 1 : 0);

// The suite puts the checks of a scenario into `server-NAME-TIMESTAMP/checks.json`.
function readRun(folder) {
  const name = folder.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T[\d-]+Z$/, '');
  const file = `${resultsDir}/${folder}/checks.json`;
  if (existsSync(file)) return [name, JSON.parse(readFileSync(file, 'utf8'))];
  return [name, [{ id: name, status: 'FAILURE', errorMessage: 'the scenario broke off' }]];
}

// With a list of expected failures the suite counts a warning, a SHOULD that was not met, as a failure.
function isFailure({ status }) {
  return status === 'FAILURE' || status === 'WARNING';
}

function isExpected(name, id) {
  return expected.has(name) || expected.has(`${name}:${id}`);
}

function report(name, failures) {
  for (const { id, status, errorMessage } of failures.values()) {
    console.log(`${status}${isExpected(name, id) ? ' (expected)' : ''} ${name}:${id}`);
    console.log(`    ${errorMessage ?? 'no message'}`);
  }
}

function judge(name, checks, failures) {
  const unexpected = [...failures.keys()].filter((id) => !isExpected(name, id));
  const passed = checks.filter(({ id, status }) => status === 'SUCCESS' && !failures.has(id));
  const stale = new Set(passed.map(({ id }) => `${name}:${id}`).filter((entry) => expected.has(entry)));
  if (failures.size === 0 && expected.has(name)) stale.add(name);
  return [
    ...unexpected.map((id) => `${name}:${id} failed`),
    ...[...stale].map((entry) => `${entry} is expected to fail, and passes`),
  ];
}

// A reason is a comment beside the entry, or one that ends on the line above it.
function withoutReason(yaml) {
  const lines = yaml.split('\n');
  const isEntry = (text) => /^\s*-\s/.test(text);
  const explained = (text, at) => /\s#\s*\S/.test(text) || /^\s*#\s*\S/.test(lines[at - 1] ?? '');
  return lines.filter((text, at) => isEntry(text) && !explained(text, at)).map((text) => text.replace(/^\s*-\s+/, ''));
}
