/**
 * Ends what tests open: folders, stores, services, servers.
 *
 * Each is ended after the test that opened it. What is opened outside a test is ended after the tests of its
 * file or group; in a script, after the work of `withEnds`. The last opened is ended first. A `beforeAll` hook belongs to no test and to no group, so a
 * file opens what its tests share at its top level, or in the body of a group.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** What a script has opened, while it runs its work. */
let collected: (() => unknown)[] | undefined;

export function atEnd(end: () => unknown): void {
  if (collected) {
    collected.push(end);
    return;
  }
  const ended = async () => void (await end());
  if (TestRunner.getCurrentTest()) onTestFinished(ended);
  else afterAll(ended);
}

/** Gives back what it was given, and closes it at the end. */
export function closedAtEnd<Opened extends { close(): unknown }>(opened: Opened): Opened {
  atEnd(() => opened.close());
  return opened;
}

/** An empty folder, which is removed at the end. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'writ-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** For a script, which no test runner runs: does the work, then ends what the work opened. May be nested. */
export async function withEnds<Result>(work: () => Promise<Result>): Promise<Result> {
  const outer = collected;
  const own: (() => unknown)[] = [];
  collected = own;
  try {
    return await work();
  } finally {
    collected = outer;
    // One that fails does not keep the others open.
    for (const end of own.reverse()) await Promise.resolve(end()).catch(() => undefined);
  }
}
