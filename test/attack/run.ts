/**
 * Runs `writ attack` without a process, with the demo credentials of three people.
 *
 * @module
 */

import { atService, type RunOptions } from '../cli/run.ts';
import { AGENT, ALICE, BOB } from '../support/world.ts';

/** A whole run waits for the end of a token and for a checkpoint, and holds connections for seconds. */
export const WHOLE_RUN_MS = 180_000;

const SECRETS = { WRIT_CLIENT_OTHER_CREDENTIAL: AGENT, WRIT_CLIENT_APPROVER_CREDENTIAL: BOB };

export function attack(url: string, args: readonly string[], more: RunOptions = {}) {
  const options = { credential: ALICE, env: SECRETS, ...more };
  return atService(url)(['attack', '--url', url, ...args], options);
}

export interface Line {
  readonly case: string;
  readonly verdict: string;
  readonly evidence: string;
}

export function brokenIn(lines: readonly Line[]): string[] {
  return lines
    .filter(({ verdict }) => verdict === 'broken')
    .map((line) => `${line.case}: ${line.evidence}`);
}
