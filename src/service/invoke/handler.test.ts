import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { rootToken, usd } from '../../../test/support/fixtures.ts';
import type { BindingFacts } from '../../domain/invocation/bindings.ts';
import { createLog } from '../../log.ts';
import { system } from '../../platform.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { run, type Steps } from '../../steps.ts';
import { openStore } from '../../storage/open.ts';
import type { Store } from '../../storage/port/store.ts';
import { type Handler, type HandlerContext, NoEffect } from '../author/handler.ts';
import type { SchemaReader } from '../author/schema.ts';
import type { TokenCaller } from '../caller/caller.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { type Done, runHandler, withinDeadline } from './handler.ts';
import type { HandlerParts } from './inner.ts';

let store: Store;
let lines: string[];

beforeEach(async () => {
  store = closedAtEnd(await openStore('memory:'));
  lines = [];
});

function callerOf(): TokenCaller {
  const token = rootToken({ purpose: { task_id: 't', deep: { list: [1] } } });
  const { subject: principal, root_principal, caller_class } = token;
  const loaded = { token, lineage: [], freezes: [], bindings: [] };
  return { kind: 'token', principal, root_principal, caller_class, token, loaded };
}

interface Given {
  readonly caller?: TokenCaller;
  readonly parameters?: JsonObject;
  readonly bound?: ReadonlyMap<string, BindingFacts>;
  readonly deadlineMs?: number;
  readonly platform?: typeof system;
  readonly readOutput?: SchemaReader;
}

const LENT = 'the-token-of-a-person';

function running(handler: Handler, given: Given = {}) {
  const { caller = callerOf(), parameters = {}, bound = new Map(), deadlineMs = 10_000 } = given;
  const { platform = system } = given;
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  // Running a handler uses no other part.
  const code = new Map([['tested', { readOutput: given.readOutput }]]);
  const requires = [{ capability: 'other', called_by: 'handler' }];
  const catalog = { capabilities: new Map([['tested', { requires }]]) };
  const definition = { id: 'desk', code, catalog } as unknown as ServiceParts['definition'];
  const accounts = { tokenOf: async () => LENT } as unknown as ServiceParts['accounts'];
  const parts = { store, log, platform, definition, accounts } as HandlerParts;
  const call = { ids: { invocation_id: 'inv-000000000000' }, caller };
  const progress = async () => undefined;
  const capability = 'tested';
  const work = {
    handler,
    capability,
    parameters,
    bound,
    approval: 'undeclared',
    progress,
  } as const;
  return run(
    withinDeadline(platform, deadlineMs, (signal) => runHandler(parts, call, work, signal)),
  );
}

test('runHandler() passes copies, so that a handler cannot change the call', async () => {
  const caller = callerOf();
  const parameters = { deep: { list: [1] } };
  const facts: BindingFacts = {
    type: 'quote',
    capability: 'book',
    root_principal: caller.root_principal,
    price: usd(5n),
    data: { deep: { list: [1] } },
    issued_at: new Date(0),
  };
  const before = structuredClone({ token: caller.token, parameters, facts });

  const done = await running(
    (sent, context) => {
      for (const copy of [sent, context.token.purpose, context.bindings.quote?.data ?? {}]) {
        (copy.deep as { list: number[] }).list.push(2);
      }
      context.token.expires_at.setFullYear(3000);
      return {};
    },
    { caller, parameters, bound: new Map([['quote', facts]]) },
  );

  assert.equal(done.outcome, 'completed');
  assert.deepEqual({ token: caller.token, parameters, facts }, before);
});

test('runHandler() passes a frozen context that can be spread', async () => {
  const done = await running((_sent, context) => {
    const { cost, ...rest } = context;
    cost({ currency: 'USD', amount: 1 });
    rest.log.info({}, 'told through a copy');
    const isFixed = Object.isFrozen(context) && Object.isFrozen(context.log);
    return { aborted: rest.signal.aborted, invocation_id: rest.invocation_id, isFixed };
  });

  const invocation_id = 'inv-000000000000';
  assert.deepEqual(done.result, { aborted: false, invocation_id, isFixed: true });
  assert.deepEqual(done.reported, usd(100n));
  assert.match(lines.join(''), /"invocation_id":"inv-000000000000".*told through a copy/);
});

test('runHandler() ignores costs and bindings after the handler ended', async () => {
  let later: (() => void) | undefined;

  const done = await running((_parameters, context) => {
    context.issueBinding({ type: 'quote', capability: 'book' });
    context.cost({ currency: 'USD', amount: 1 });
    later = () => {
      context.issueBinding({ type: 'quote', capability: 'book' });
      context.cost({ currency: 'USD', amount: 2 });
    };
    return {};
  });
  later?.();

  assert.equal(done.bindings.length, 1);
  assert.deepEqual(done.reported, usd(100n));
});

test('runHandler() returns the last reported cost', async () => {
  const done = await running((_parameters, context) => {
    context.cost({ currency: 'USD', amount: 1 });
    context.cost({ currency: 'USD', amount: 0.5 });
    return {};
  });

  assert.deepEqual(done.reported, usd(50n));
});

test('runHandler() passes no token of a person on to another capability', async () => {
  const done = await running(async (_, { account, invoke }) => {
    const token = await account('mail');
    const call = invoke('other', { note: `Bearer ${token}` });
    await assert.rejects(call, /^Error: Cannot call "other": it contains the token of a person$/);
    return { refused: true };
  });

  assert.deepEqual(done.result, { refused: true });
});

test('runHandler() treats a throw and a later rejection alike', async () => {
  const atOnce = await running(() => {
    throw new NoEffect('nothing');
  });
  const later = await running(async () => {
    await Promise.resolve();
    throw new NoEffect('nothing');
  });

  assert.deepEqual(atOnce, later);
});

test('runHandler() aborts at the deadline with a reason and resolves `late` at the end', async () => {
  let finish: ((result: JsonObject) => void) | undefined;
  let signal: AbortSignal | undefined;

  const done = await running(
    (_parameters, context) => {
      signal = context.signal;
      context.issueBinding({ type: 'quote', capability: 'book' });
      return new Promise((resolve) => {
        finish = resolve;
      });
    },
    { deadlineMs: 5 },
  );
  finish?.({ late: true });
  const late = await done.late;

  assert.equal(done.outcome, 'indeterminate');
  assert.equal(done.failure?.type, 'outcome_unknown');
  assert.deepEqual(done.bindings, []);
  assert.match(String(signal?.reason), /deadline of 5 ms/);
  assert.equal(late?.outcome, 'completed');
  assert.deepEqual(late?.result, { late: true });
});

test('a copy of the context has everything, and its signal aborts at the deadline', async () => {
  const seen: HandlerContext[] = [];
  const done = await running(
    (_, context) => {
      seen.push({ ...context }, Object.create(context) as HandlerContext);
      return new Promise(() => undefined);
    },
    { deadlineMs: 5 },
  );

  assert.equal(done.outcome, 'indeterminate');
  for (const { signal, invocation_id } of seen) {
    assert.ok(signal.aborted);
    assert.ok(invocation_id.startsWith('inv-'));
  }
});

test('a handler that spoils its signal does not stop the deadline, and no error reaches the timer', async () => {
  const spoiled: ((signal: AbortSignal) => void)[] = [
    (signal) => Object.freeze(signal),
    (signal) => Object.setPrototypeOf(signal, null),
    (signal) => {
      signal.dispatchEvent = () => {
        throw new Error('no');
      };
    },
  ];
  for (const spoil of spoiled) {
    const errors: unknown[] = [];
    const after: typeof system.after = (delayMs, then) =>
      system.after(delayMs, () => {
        try {
          then();
        } catch (error) {
          errors.push(error);
        }
      });
    const done = await Promise.race([
      running(
        (_, { signal }) => {
          spoil(signal);
          return new Promise(() => undefined);
        },
        { deadlineMs: 5, platform: { ...system, after } },
      ),
      new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 1_000)),
    ]);

    assert.deepEqual(errors, []);
    assert.equal(done?.outcome, 'indeterminate');
  }
});

test('a token that arrives while the schema of the output waits is found in what the schema returns', async () => {
  let token: Promise<string> | undefined;
  const done = await running(
    (_, context) => {
      token = context.account('tracker');
      return {};
    },
    { readOutput: async () => ({ value: { token: await token } }) },
  );

  assert.equal(done.outcome, 'failed');
  assert.doesNotMatch(JSON.stringify(done), new RegExp(LENT));
});

test('no member of the context reaches the deadline', async () => {
  const done = await running(async (_, context) => {
    const members = Reflect.ownKeys(context).map((key) => Reflect.get(context, key) as object);
    return { reached: members.filter((member) => 'pass' in Object(member)).length };
  });

  assert.deepEqual(done.result, { reached: 0 });
});

test('withinDeadline() counts the time for which a handler blocked before it waited', async () => {
  let now = 5_000;
  const waits: number[] = [];
  const blocking = (blockedMs: number) => {
    const after: typeof system.after = (ms, then) => {
      waits.push(ms);
      return system.after(60_000, then);
    };
    const platform = { ...system, monotonic: () => now, after };
    function* work(): Steps<Done> {
      now += blockedMs;
      yield Promise.resolve();
      return { outcome: 'completed', result: {}, bindings: [] };
    }
    return run(withinDeadline(platform, 100, work));
  };

  for (const blockedMs of [0, 30, 250]) {
    assert.equal((await blocking(blockedMs)).outcome, 'completed');
  }
  assert.deepEqual(waits, [100, 70, 0]);
});

test('runHandler() does not abort a handler that ends in time', async () => {
  let signal: AbortSignal | undefined;

  await running((_parameters, context) => {
    signal = context.signal;
    return {};
  });

  assert.equal(signal?.aborted, false);
});

test('runHandler() logs the thrown error with the invocation id', async () => {
  await running((_parameters, context) => {
    context.log.info({ step: 1 }, 'on the way');
    throw new Error('for operators only');
  });

  assert.ok(lines.some((line) => line.includes('on the way') && line.includes('inv-000000000000')));
  assert.ok(lines.some((line) => line.includes('for operators only')));
});
