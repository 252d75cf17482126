/**
 * The decisions in an exported file that passkeys confirmed, or should have: each is verified by the entries
 * before it.
 *
 * @module
 */

import type { Enrolments } from '../enrolments.ts';
import type { LeafReading } from '../leaf.ts';
import { hasPasskey, passkeyChecks } from '../passkey.ts';
import type { Tally } from './lines.ts';

interface Reading {
  readonly tally: Tally;
  readonly enrolments: Enrolments;
}

/** Takes the entries in their order. `name` names the entry in a report. */
export async function passkeyTally(
  { tally, enrolments }: Reading,
  { entry, erased }: Exclude<LeafReading, { fault: string }>,
  name: string,
): Promise<void> {
  if (erased !== undefined) {
    // The leaf names the type, and only entries of sessions add or remove passkeys.
    if (erased === 'contents' || entry.entry_type === 'session') enrolments.miss();
    return;
  }
  enrolments.see(entry);
  const lack = enrolments.lack(entry);
  if (lack === undefined && !hasPasskey(entry)) return;
  const checks = lack ? [lack] : (await passkeyChecks(entry, enrolments)).checks;
  for (const check of checks) {
    tally.add(check.what, { ...check, detail: `${name}: ${check.detail}` });
  }
}
