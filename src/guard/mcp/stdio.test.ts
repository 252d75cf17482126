import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'vitest';
import { CANARY, calling, failureOf, keptLog, until, withFile } from '../../../test/guard/calls.ts';
import { system } from '../../platform.ts';
import { HandlerFailure, NoEffect } from '../../service/author/handler.ts';
import type { Upstream } from '../upstream.ts';
import { openStdioUpstream, type StdioUpstreamOptions } from './stdio.ts';

const SERVER = 'test/guard/stdio-server.mjs';
const EVERYTHING = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';

/** Opens a server, gives it to a test, and closes it. Returns what was logged. */
async function withServer(
  mode: string | readonly string[],
  run: (upstream: Upstream) => Promise<void>,
  more: Partial<StdioUpstreamOptions> = {},
): Promise<string> {
  const { log, text } = keptLog();
  const args = typeof mode === 'string' ? [mode] : mode;
  const upstream = openStdioUpstream({
    command: [process.execPath, SERVER, ...args],
    environment: { ...process.env, TOKEN: CANARY, OTHER: 'not passed on' },
    env: ['TOKEN'],
    cwd: process.cwd(),
    deadlineMs: 10_000,
    startMs: 20_000,
    platform: system,
    log,
    ...more,
  });
  try {
    await run(upstream);
  } finally {
    await upstream.close();
  }
  assert.ok(!text().includes(CANARY));
  return text();
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('openStdioUpstream() lists and calls the tools of a server of 2025', async () => {
  await withServer('honest', async (upstream) => {
    assert.deepEqual(await upstream.tools(), [
      { name: 'echo', description: 'Returns its text', inputSchema: { type: 'object' } },
      { name: 'write', title: 'Write', description: '', inputSchema: { type: 'object' } },
    ]);
    assert.deepEqual(await upstream.call(calling('echo', { parameters: { text: 'hi' } })), {
      content: [{ type: 'text', text: 'hi' }],
    });
  });
});

test('openStdioUpstream() lists and calls the tools of a server of 2026', async () => {
  await withServer(
    [],
    async (upstream) => {
      const [echo] = await upstream.tools();
      assert.ok(echo);
      const result = await upstream.call(
        calling('echo', { tool: echo, parameters: { text: 'hi' } }),
      );

      assert.deepEqual(result, { content: [{ type: 'text', text: 'hi (2026-07-28)' }] });
    },
    { command: [process.execPath, 'test/guard/newer-server.mjs'] },
  );
});

test('openStdioUpstream() lists and calls the tools of the reference server', async () => {
  await withServer(
    [],
    async (upstream) => {
      const tools = await upstream.tools();
      const echo = tools.find(({ name }) => name === 'echo');

      assert.ok(echo && tools.length > 5);
      const result = await upstream.call(
        calling('echo', { tool: echo, parameters: { message: 'hi' } }),
      );
      assert.deepEqual(result, { content: [{ type: 'text', text: 'Echo: hi' }] });
    },
    { command: [process.execPath, EVERYTHING, 'stdio'] },
  );
});

test('openStdioUpstream() speaks with a server that ends when it is asked before the handshake', async () => {
  await withServer('dies-on-discover', async (upstream) => {
    assert.equal((await upstream.tools()).length, 2);
  });
});

test('tools() says in one line how a command ended at its start', async () => {
  await withServer('dies-at-start', async (upstream) => {
    await assert.rejects(upstream.tools(), {
      message:
        'Cannot list the tools of "node": it ended with exit code 3: ⟨U+001B⟩[31mno licence for [secret]⟨U+202E⟩',
    });
    // Until the next try the reason is the same.
    const failure = await failureOf(upstream.call(calling('echo')));
    assert.equal(failure.type, 'service_unavailable');
    assert.match(failure.message, /^Cannot complete "echo": it ended with exit code 3: /);
  });
});

test('tools() says that a command does not exist', async () => {
  await withServer(
    [],
    (upstream) =>
      assert.rejects(upstream.tools(), {
        message: 'Cannot list the tools of "no-such": it cannot be started (ENOENT)',
      }),
    { command: ['/no-such-folder/no-such', CANARY] },
  );
});

test('tools() names a variable that the policy passes on and that is not set', async () => {
  await withServer(
    'honest',
    (upstream) => assert.rejects(upstream.tools(), /the variable MISSING is not set$/),
    { env: ['TOKEN', 'MISSING'] },
  );
});

test('tools() ends with the start time when a server hangs at its start', async () => {
  await withServer(
    'hangs-at-start',
    (upstream) =>
      assert.rejects(upstream.tools(), /it does not answer as an MCP server in 400 ms$/),
    { startMs: 400 },
  );
});

test('openStdioUpstream() ignores lines that are no messages', async () => {
  await withServer('garbage', async (upstream) => {
    assert.equal((await upstream.tools()).length, 2);
  });
});

const endless: [mode: string, why: RegExp][] = [
  ['thousands', /it lists more than 1000 tools$/],
  ['endless-pages', /it lists more than 100 pages of tools$/],
  ['same-cursor', /it lists a page again$/],
];
for (const [mode, why] of endless) {
  test(`tools() refuses a list without an end: ${mode}`, async () => {
    await withServer(mode, (upstream) => assert.rejects(upstream.tools(), why));
  });
}

test('tools() leaves out tools that do not fit, and logs why', async () => {
  const logged = await withServer('odd-tools', async (upstream) => {
    assert.deepEqual(
      (await upstream.tools()).map(({ name }) => name),
      ['echo', 'inner'],
    );
  });

  for (const why of [
    'its name is listed twice',
    'description: it has more than 8192 bytes',
    'inputSchema: it refers to another document',
    'inputSchema: expected an object',
    '"tool":"#8","why":"expected an object"',
  ]) {
    assert.ok(logged.includes(why), why);
  }
});

test('call() gives the outcome as unknown when the server dies during a write', async () => {
  await withServer('dies-in-call', async (upstream) => {
    await upstream.tools();
    const failure = await failureOf(upstream.call(calling('write')));

    assert.ok(HandlerFailure.is(failure));
    assert.equal(failure.type, 'outcome_unknown');
    assert.match(failure.message, /it ended with exit code 7\. The tool may have acted$/);
    // During the pause before the next start, a call fails at once and has no effect.
    const next = await failureOf(upstream.call(calling('write')));
    assert.ok(NoEffect.is(next));
    assert.equal(next.type, 'service_unavailable');
  });
});

test('call() sends nothing after the deadline of the call', async () => {
  await withServer('honest', async (upstream) => {
    const failure = await failureOf(
      upstream.call(calling('write', { signal: AbortSignal.abort() })),
    );

    assert.ok(NoEffect.is(failure));
    assert.equal(failure.type, 'service_unavailable');
  });
});

test('call() repeats a read once after a restart', async () => {
  await withFile((file) =>
    withServer(['dies-once', file], async (upstream) => {
      const [tool = assert.fail()] = await upstream.tools();
      assert.deepEqual(await upstream.call(calling('echo', { isRead: true, tool })), {
        content: [{ type: 'text', text: 'after a restart' }],
      });
    }),
  );
});

for (const server of ['dies-in-call', 'dies-once']) {
  const isOther = server === 'dies-once';
  test(`call() does not repeat a read ${isOther ? 'of a tool that changed' : 'twice'}`, async () => {
    await withFile((file) =>
      withServer([server, file], async (upstream) => {
        const [tool = assert.fail()] = await upstream.tools();
        const reviewed = isOther ? { ...tool, description: 'Another' } : tool;
        const call = calling('echo', { isRead: true, tool: reviewed });
        assert.equal((await failureOf(upstream.call(call))).type, 'service_unavailable');
      }),
    );
  });
}

test('call() ends at the deadline of the call and cancels it upstream', async () => {
  await withFile((file) =>
    withServer(['cancel-file', file], async (upstream) => {
      await upstream.tools();
      const deadline = new AbortController();
      const asking = failureOf(upstream.call(calling('write', { signal: deadline.signal })));
      await until(() => existsSync(file));
      deadline.abort(new Error('late'));
      const failure = await asking;

      assert.equal(failure.type, 'outcome_unknown');
      await until(() => readFileSync(file, 'utf8') === 'cancelled');
    }),
  );
});

const silent = ['hangs-in-call', 'wrong-ids'];
for (const mode of silent) {
  test(`call() ends at the deadline of the upstream: ${mode}`, async () => {
    await withServer(
      mode,
      async (upstream) => {
        await upstream.tools();
        const write = await failureOf(upstream.call(calling('write')));
        const read = await failureOf(upstream.call(calling('echo', { isRead: true })));

        assert.match(write.message, /no answer in 2000 ms\. The tool may have acted$/);
        assert.equal(write.type, 'outcome_unknown');
        assert.equal(read.type, 'service_unavailable');
      },
      // The server starts within it, also on a busy machine.
      { deadlineMs: 2_000 },
    );
  });
}

test('call() ends a server that sends a line of 50 MB', async () => {
  await withServer('huge-line', async (upstream) => {
    const failure = await failureOf(upstream.call(calling('write')));

    assert.equal(failure.type, 'outcome_unknown');
    assert.match(failure.message, /it sent a line of more than 8388608 bytes/);
  });
});

test('call() ends a server that streams messages for ever', async () => {
  await withServer('flood', async (upstream) => {
    const failure = await failureOf(upstream.call(calling('write')));

    assert.equal(failure.type, 'outcome_unknown');
    assert.match(failure.message, /it sent more than 10000 lines that nothing asked for/);
  });
});

test('call() names the bound of a result that is too large, and that the tool ran', async () => {
  await withServer('big-result', async (upstream) => {
    const failure = await failureOf(upstream.call(calling('write')));

    assert.ok(HandlerFailure.is(failure));
    assert.equal(failure.type, 'upstream_failed');
    assert.match(failure.message, /it is longer than 1048576 bytes\. The tool ran/);
  });
});

test('call() shows the error of a tool as visible text without the credential', async () => {
  await withServer('tool-error', async (upstream) => {
    const failure = await failureOf(upstream.call(calling('write')));
    assert.equal(failure.type, 'upstream_failed');
    assert.equal(
      failure.message,
      'Cannot complete "write": the tool reports an error: Bad⟨U+202E⟩ token [secret] ⟨U+001B⟩[31m',
    );
    assert.ok(NoEffect.is(await failureOf(upstream.call(calling('write', { isRead: true })))));
  });
});

test('call() has no effect where the server says that it did not run the request', async () => {
  await withServer('refuses', async (upstream) => {
    const failure = await failureOf(upstream.call(calling('write')));

    assert.ok(NoEffect.is(failure));
    assert.equal(failure.type, 'upstream_failed');
    assert.match(failure.message, /code -32602: .*unknown field, token \[secret\]$/);
  });
  await withServer('breaks', async (upstream) => {
    const failure = await failureOf(upstream.call(calling('write')));

    assert.ok(HandlerFailure.is(failure));
    assert.equal(failure.type, 'upstream_failed');
  });
});

test('call() refuses an answer that is no result of a tool', async () => {
  await withServer('not-a-result', async (upstream) => {
    const failure = await failureOf(upstream.call(calling('write')));

    assert.equal(failure.type, 'outcome_unknown');
    assert.match(failure.message, /it answered with something that is not MCP/);
  });
});

test('call() returns structured content as the result itself', async () => {
  await withServer('structured', async (upstream) => {
    assert.deepEqual(await upstream.call(calling('echo')), { sum: 3 });
  });
});

test('openStdioUpstream() passes on only ordinary and named variables, and hides their values', async () => {
  await withServer('environment', async (upstream) => {
    const environment = await upstream.call(calling('echo'));

    assert.equal(environment.TOKEN, '[secret]');
    assert.equal(environment.PATH, process.env.PATH);
    assert.equal(environment.OTHER, undefined);
    assert.ok(!JSON.stringify(environment).includes(CANARY));
  });
});

test('openStdioUpstream() refuses a server that asks for sampling', async () => {
  await withServer('asks-for-sampling', async (upstream) => {
    assert.deepEqual(await upstream.call(calling('echo')), {
      content: [{ type: 'text', text: 'refused with -32601' }],
    });
  });
});

test('watch() reports tools that changed in the middle', async () => {
  await withServer('changes', async (upstream) => {
    const changed = new Promise<void>((resolve) => upstream.watch(resolve));
    await upstream.call(calling('echo'));
    await changed;

    assert.equal((await upstream.tools())[0]?.description, 'Now deletes everything');
  });
});

test('watch() reports that the server went away and that it came back', async () => {
  await withServer('dies-in-call', async (upstream) => {
    let reports = 0;
    upstream.watch(() => {
      reports += 1;
    });
    await failureOf(upstream.call(calling('write')));
    await until(() => reports >= 2);

    assert.equal((await upstream.tools()).length, 2);
  });
});

test('close() does not wait for a server that hangs at its start', async () => {
  await withServer('hangs-at-start', async () => undefined, { startMs: 120_000 });
});

test('close() ends a child that ignores SIGTERM, and what it started', async () => {
  await withFile(async (file) => {
    let pids: number[] = [];
    await withServer(['stubborn', file], async (upstream) => {
      await upstream.tools();
      pids = JSON.parse(readFileSync(file, 'utf8'));
      assert.deepEqual(pids.map(isAlive), [true, true]);
    });

    await until(() => !pids.some(isAlive));
  });
});

test('call() refuses an access token of a person: a command has no login', async () => {
  await withServer('honest', async (upstream) => {
    const failure = await failureOf(upstream.call(calling('echo', { accessToken: CANARY })));

    assert.ok(NoEffect.is(failure));
    assert.match(failure.message, /it takes no access token of a person$/);
  });
});
