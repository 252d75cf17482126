/**
 * Invoke, dry run, permissions and the list of tools agree about the conditions of a token, whatever they are, and a
 * child allows no call that its parent does not allow.
 *
 * @module
 */

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import type { Conditions } from '../../src/domain/conditions/condition.ts';
import { judge } from '../../src/domain/conditions/judge.ts';
import { conditionWords } from '../../src/domain/conditions/words.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { anyCondition, anyValue } from '../support/conditions.ts';
import { rounds } from '../support/rounds.ts';
import { ALICE, type ConditionsDesk, conditionsDesk } from './conditions-desk.ts';

/** Room for a machine that does much else; nothing is concluded from the time. */
const PATIENCE_MS = 120_000;

const ANY = fc.record({
  root: anyCondition,
  child: fc.option(anyCondition, { nil: undefined, freq: 2 }),
  values: fc.array(anyValue, { minLength: 2, maxLength: 3 }),
});

/** A value that a reader of requests takes. */
const isReadable = (value: unknown) => typeof value !== 'number' || Math.abs(value) < 2 ** 53;

test('every surface applies the same conditions', { timeout: PATIENCE_MS }, async () => {
  const desk = await conditionsDesk();
  const met = new Map<string, number>();
  const count = (outcome: string) => void met.set(outcome, (met.get(outcome) ?? 0) + 1);

  await fc.assert(
    fc.asyncProperty(ANY, async ({ root, child, values }) => {
      const parent = (await desk.issued({ conditions: { act: { value: root } } })).body;
      // Operators of approvals, and an upper bound alone.
      if (parent.failure) return count(parent.failure.type);
      const request = { scope: ['w.use'], parent_token: parent.token_id, subject: 'agent:b' };
      const asked = { ...request, conditions: { act: { value: child ?? root } } };
      const below = (await desk.issued(asked, parent.token)).body;
      count(below.failure?.type ?? 'narrower');

      for (const value of values.filter(isReadable)) {
        const parameters = JSON.parse(JSON.stringify({ value }));
        const isAllowed = await agreed(desk, parent, parameters);
        count(isAllowed ? 'allowed' : 'refused');
        const isBelow = !below.failure && (await agreed(desk, below, parameters));
        assert.ok(isAllowed || !isBelow, `${JSON.stringify([root, child, parameters])}`);
      }
    }),
    { numRuns: rounds(30), endOnFailure: true },
  );

  for (const outcome of ['allowed', 'refused', 'narrower', 'scope_escalation']) {
    assert.ok((met.get(outcome) ?? 0) > 0, JSON.stringify([...met]));
  }
});

/** Whether the call is allowed, in the words of every surface. */
async function agreed(
  desk: ConditionsDesk,
  { token, conditions }: IssueAnswer,
  parameters: { value?: unknown },
): Promise<boolean> {
  const where = conditions?.act as Conditions;
  const [invoked, tried, permissions, tools] = await Promise.all([
    desk.invoke(token, 'act', parameters),
    desk.dryRun(token, 'act', parameters),
    desk.ask('POST', '/svc/permissions', { bearer: token }),
    desk.ask('POST', '/mcp', {
      bearer: token,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      headers: { accept: 'application/json, text/event-stream' },
    }),
  ]);
  const isAllowed = judge(where, { parameters }, 'allows').result === 'in';
  const told = JSON.stringify([where, parameters, invoked.body]);
  assert.equal(invoked.status === 200, isAllowed, told);
  assert.equal(tried.body.would_be_admitted, isAllowed, told);
  assert.deepEqual(tried.body.failure?.conditions, invoked.body.failure?.conditions, told);

  const words = conditionWords(where);
  const { constraints } = permissions.body.available.find(
    (each: { capability: string }) => each.capability === 'act',
  );
  assert.deepEqual(constraints.conditions, { where, words });
  const tool = toolsIn(tools.text).find(({ name }) => name === 'act');
  assert.ok(tool);
  assert.ok(tool.description.includes(`only where ${words.join(' and ')}.`), told);
  const { properties, required } = tool.inputSchema;
  if (isAllowed) assert.ok(isWithin(properties.value, parameters.value), `${told} ${tools.text}`);
  if (isAllowed)
    assert.ok(
      required.every((name) => Object.hasOwn(parameters, name)),
      told,
    );
  return isAllowed;
}

interface Property {
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
}

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, Property>>;
    readonly required: readonly string[];
  };
}

function toolsIn(text = ''): readonly Tool[] {
  const json = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}');
  return JSON.parse(json).result?.tools ?? [];
}

/** The keywords that a list of tools has. Without a property there is no such argument. */
function isWithin(property: Property | undefined, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (!property) return false;
  const { enum: listed, minimum, maximum } = property;
  if (listed && !listed.includes(value)) return false;
  if (typeof value !== 'number') return true;
  return value >= (minimum ?? value) && value <= (maximum ?? value);
}

test('a token without conditions says none anywhere', async () => {
  const desk = await conditionsDesk();
  const { token, conditions } = await desk.issue(ALICE, { scope: ['w.use'], subject: 'agent:a' });

  const { body } = await desk.ask('POST', '/svc/permissions', { bearer: token });

  assert.equal(conditions, null);
  assert.ok(!JSON.stringify(body).includes('"conditions"'));
  const { constraints } = JSON.parse(atob(token.split('.')[1] as string));
  assert.deepEqual(Object.keys(constraints), ['max_delegation_depth']);
});
