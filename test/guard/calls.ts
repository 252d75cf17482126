/**
 * What the tests of upstreams share: a call of a tool, its failure, and a credential that must appear nowhere.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UpstreamCall } from '../../src/guard/upstream.ts';
import { createLog, type Logger } from '../../src/log.ts';
import { HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';

/** A credential of an upstream. */
export const CANARY = 'canary-7f3a91c2d4';

/** A log that keeps its lines. */
export function keptLog(): { readonly log: Logger; text(): string } {
  const lines: string[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(line) });
  return { log, text: () => lines.join('') };
}

/** A write, unless the test says otherwise. */
export function calling(name: string, given: Partial<UpstreamCall> = {}): UpstreamCall {
  const tool = { name, description: '', inputSchema: { type: 'object' } };
  const signal = new AbortController().signal;
  return { tool, parameters: {}, invocationId: 'inv_1', isRead: false, signal, ...given };
}

/** What a call throws, which never contains the credential. */
export async function failureOf(promise: Promise<unknown>): Promise<NoEffect | HandlerFailure> {
  const thrown = await promise.then(
    () => assert.fail('expected a failure'),
    (error: unknown) => error,
  );
  assert.ok(NoEffect.is(thrown) || HandlerFailure.is(thrown), String(thrown));
  assert.ok(!`${thrown.stack}${JSON.stringify(thrown)}${thrown.cause}`.includes(CANARY));
  return thrown;
}

/** What the files of a folder and of its folders contain. */
export function textsIn(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) =>
      statSync(path).isDirectory() ? textsIn(path) : [readFileSync(path, 'latin1')],
    );
}

/** A path in a folder of its own, which is removed. */
export async function withFile(run: (path: string) => Promise<unknown>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-guard-'));
  await run(join(folder, 'file')).finally(() => rmSync(folder, { recursive: true }));
}

/** Resolves when a condition holds. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}
