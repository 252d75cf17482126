/**
 * Whose a passkey is: read from the entries that add and remove passkeys, in the order of the log.
 *
 * @module
 */

import { digestOf } from '../domain/wire/canonical.ts';
import type { AuditEntry } from '../protocol/audit.ts';
import { PasskeyAdded, PasskeyRemoved } from '../protocol/passkey.ts';
import { type Check, failed, notChecked, ok } from './report.ts';

/** Passkeys that one verification remembers: some 30 MB. */
const ENROLMENTS_MAX = 100_000;

export interface Enrolments {
  /** Takes an entry whose leaf is verified, in the order of the log. */
  see(entry: AuditEntry): void;
  /** Something before was not seen, so the lack of an entry is no proof. */
  miss(): void;
  /** Whether the key was its approver's when the decision was made. */
  check(decision: AuditEntry, key: SigningKey): Check;
}

interface SigningKey {
  readonly credential_id: string;
  readonly key_digest: string;
  readonly rp_id: string;
}

interface Enrolment extends Omit<SigningKey, 'credential_id'> {
  readonly principal: string | null;
  readonly usable_from: string;
  isRemoved: boolean;
}

/** With `isWhole`, every entry from the first on is given to `see`, or `miss` is called. */
export function createEnrolments({ isWhole = false } = {}): Enrolments {
  const known = new Map<string, Enrolment>();
  let isComplete = isWhole;
  return {
    see(entry) {
      if (entry.entry_type !== 'session' || !entry.success) return;
      const added = PasskeyAdded.safeParse(entry.detail);
      if (added.success) {
        const { credential_id, public_key, rp_id, usable_from } = added.data;
        if (known.size >= ENROLMENTS_MAX) isComplete = false;
        else {
          known.set(credential_id, {
            principal: entry.root_principal,
            key_digest: digestOf(public_key),
            rp_id,
            usable_from,
            isRemoved: false,
          });
        }
      }
      const removed = PasskeyRemoved.safeParse(entry.detail);
      const gone = removed.success ? known.get(removed.data.credential_id) : undefined;
      if (gone && gone.principal === entry.root_principal) gone.isRemoved = true;
    },
    miss() {
      isComplete = false;
    },
    check(decision, key) {
      const enrolment = known.get(key.credential_id);
      if (enrolment) return ownerCheck(enrolment, decision, key);
      const why = 'no earlier entry added this passkey';
      return isComplete
        ? failed('passkey of the approver', why)
        : notChecked('passkey of the approver', `${why}, and not all entries were seen`);
    },
  };
}

function ownerCheck(enrolment: Enrolment, decision: AuditEntry, key: SigningKey): Check {
  const { principal, usable_from } = enrolment;
  const isEarly = Date.parse(decision.timestamp) < Date.parse(usable_from);
  const fault = [
    principal !== decision.root_principal && 'another principal added it',
    enrolment.key_digest !== key.key_digest && 'it was added with another key',
    enrolment.rp_id !== key.rp_id && 'it was added for another host',
    isEarly && `it counts from ${usable_from} on`,
    enrolment.isRemoved && 'it had been removed',
  ].find((found) => found !== false);
  return fault === undefined
    ? ok('passkey of the approver', principal ?? '')
    : failed('passkey of the approver', fault);
}
