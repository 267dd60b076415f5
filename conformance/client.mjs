// Runs the client scenarios a revision requires, and those it added later, against a client; all but those about
// authorization, which this client leaves to others. The suite would run them all, or one. A warning counts as a failure,
// as in the server's run.
//
// usage: node client.mjs CLIENT REVISION EXPECTED_FAILURES
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

const [client, revision, expectedFile] = process.argv.slice(2);
const suite = new URL('node_modules/@modelcontextprotocol/conformance/', import.meta.url);
const required = parse(readFileSync(new URL(`requirements/${revision}.yaml`, suite), 'utf8'));
const expected = new Set(parse(readFileSync(expectedFile, 'utf8'))?.client ?? []);

const later = required.not_scored.filter(({ leg, reason }) => leg === 'client' && reason !== 'extension');
const scenarios = [...required.client, ...later.map(({ scenario }) => scenario)].filter((name) => !name.startsWith('auth/'));

const problems = [...expected].filter((name) => !scenarios.includes(name)).map((name) => `${name} did not run`);
for (const scenario of scenarios) {
  const faults = run(scenario);
  console.log(`${(faults.length === 0 ? 'ok' : expected.has(scenario) ? 'known' : 'FAIL').padEnd(6)} ${scenario}`);
  if (faults.length === 0 && expected.has(scenario)) problems.push(`${scenario} is expected to fail, and passes`);
  if (!expected.has(scenario)) problems.push(...faults.map((fault) => `${scenario}: ${fault}`));
}
for (const problem of problems) console.error(`error: ${problem}`);
process.exit(problems.length > 0 ? 1 : 0);

// Runs one scenario and says what went wrong in it.
function run(scenario) {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-client-'));
  const main = new URL('dist/index.js', suite).pathname;
  const options = ['--command', client, '--scenario', scenario, '--spec-version', revision, '--output-dir', folder];
  try {
    execFileSync(process.execPath, [main, 'client', ...options], { stdio: 'pipe' });
    return failures(folder);
  } catch (error) {
    const found = failures(folder);
    return found.length > 0 ? found : [String(error.stdout).trim().split('\n').pop()];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// The suite puts checks.json and what the client printed into a folder of the scenario's name and time.
function failures(folder) {
  const run = readdirSync(folder).map((name) => join(folder, name)).at(0);
  if (run === undefined) return ['the suite wrote no checks'];
  const checks = JSON.parse(readFileSync(join(run, 'checks.json'), 'utf8'));
  if (checks.length === 0) return ['nothing was checked'];
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  const stderr = readFileSync(join(run, 'stderr.txt'), 'utf8').trim();
  const said = failed.length > 0 && stderr !== '' ? [`the client said: ${stderr}`] : [];
  return [...failed.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? 'no message'}`), ...said];
}
