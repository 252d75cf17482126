/**
 * Parameters that are long, deep, odd, huge or empty, to every capability of the showcase and of the starter, over HTTP,
 * MCP and a pipe: each is answered or refused, and none is a defect.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { service as starter } from '../../examples/starter/src/service.ts';
import { travelDesk } from '../../examples/travel/service.ts';
import type { DeclaredInput } from '../../src/protocol/capability.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { group } from '../support/missing.ts';
import { testService } from '../support/world.ts';
import { openPipe } from '../surfaces/pipe.ts';

/** The texts of JSON values. Some are not well-formed, and some have no exact number. */
const HOSTILE = [
  JSON.stringify('x'.repeat(33_000)),
  JSON.stringify('\u0001\u202e\u{1f600}'.repeat(6_000)),
  '"\\ud800"',
  '"\\u0000"',
  '""',
  '[]',
  '{}',
  'null',
  'true',
  '-0',
  '-1e300',
  '1e308',
  '1e999',
  '5e-324',
  '0.1234567890123',
  '9007199254740993',
  `${'['.repeat(25)}${']'.repeat(25)}`,
  `[${'1,'.repeat(2_000)}1]`,
  `{${Array.from({ length: 1_500 }, (_, i) => `"k${i}":1`).join()}}`,
];

/** A value that the input may take, so that a call gets as far as the hostile one lets it. */
function plain({ type, allowed_values, default: given }: DeclaredInput): unknown {
  if (given !== undefined) return given;
  if (allowed_values?.length) return allowed_values[0];
  if (type === 'number' || type === 'integer') return 500;
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  if (type === 'object') return {};
  return type === 'date' ? '2026-12-01' : 'BK-1000';
}

for (const [name, definition] of [
  ['the showcase', travelDesk],
  ['the starter', starter],
] as const) {
  group(`hostile parameters to ${name}`, async () => {
    const key = 'k'.repeat(40);
    const declared = [...definition.catalog.capabilities.values()];
    const scopes = [...new Set(declared.flatMap((each) => each.minimum_scope))];
    const identity = { key, principal: 'human:hostile@example.com', scopes };
    const settings = { identities: [identity], rate_limits: 'off' };
    const service = await testService({ definition, settings });
    const { token } = await service.issue(key, { scope: scopes });
    const pipe = openPipe(service.runtime);
    const answersTo = async (capability: string, parameters: string) => {
      const called = await service.ask('POST', `/svc/invoke/${capability}`, {
        bearer: token,
        body: `{"parameters":${parameters}}`,
      });
      const params = `{"name":"${capability}","arguments":${parameters}}`;
      const tool = await service.ask('POST', '/mcp', {
        bearer: token,
        headers: { accept: 'application/json, text/event-stream' },
        body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
      });
      const asked = `"auth":{"bearer":"${token}"},"capability":"${capability}"`;
      pipe.say(
        `{"jsonrpc":"2.0","id":1,"method":"svc.invoke","params":{${asked},"parameters":${parameters}}}`,
      );
      return { called, tool, piped: JSON.stringify(await pipe.next()) };
    };

    for (const [capability, { inputs }] of definition.catalog.capabilities) {
      const base: JsonObject = Object.fromEntries(
        inputs.map((input) => [input.name, plain(input)]),
      );
      test(`${capability} is never a defect`, async () => {
        service.log.length = 0;
        for (const { name: input } of inputs) {
          for (const hostile of HOSTILE) {
            const others = JSON.stringify({ ...base, [input]: undefined }).slice(1, -1);
            const parameters = `{${others === '' ? '' : `${others},`}${JSON.stringify(input)}:${hostile}}`;
            const { called, tool, piped } = await answersTo(capability, parameters);

            const what = `${input} = ${hostile.slice(0, 40)}`;
            assert.ok(called.status < 500, `${what}: ${called.text?.slice(0, 500)}`);
            assert.ok(tool.status < 500, `${what}: ${tool.text}`);
            assert.doesNotMatch(`${tool.text}${piped}`, /internal_error|-32603/, what);
          }
        }
        assert.deepEqual(
          service.log.filter((line) => /"level":"(?:error|fatal)"/.test(line)),
          [],
        );
      });
    }
  });
}
