/**
 * Whose a passkey is, and which decisions need one: read from the entries that add and remove passkeys and from
 * those of approval requests, in the order of the log.
 *
 * @module
 */

import { digestOf } from '../domain/wire/canonical.ts';
import type { AuditEntry } from '../protocol/audit.ts';
import { PasskeyAdded, PasskeyRemoved } from '../protocol/passkey.ts';
import { type Check, failed, notChecked, passedCheck } from './report.ts';

/** Passkeys that one verification remembers: some 30 MB. */
const ENROLMENTS_MAX = 100_000;

/** Approval requests that one verification remembers because they require a passkey: some 10 MB. */
const REQUIRING_MAX = 100_000;

export interface Enrolments {
  /** Takes an entry whose leaf is verified, in the order of the log. */
  see(entry: AuditEntry): void;
  /** Something before was not seen, so the lack of an entry is no proof. */
  miss(): void;
  /** Whether the key was its approver's when the decision was made. */
  check(decision: AuditEntry, key: SigningKey): Check;
  /** The fault of an approval without a passkey, where its request requires one. */
  lack(decision: AuditEntry): Check | undefined;
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
  /** How often something had been missed when it was added. */
  readonly missed: number;
}

/** With `isWhole`, every entry from the first on is given to `see`, or `miss` is called. */
export function createEnrolments({ isWhole = false } = {}): Enrolments {
  const known = new Map<string, Enrolment>();
  /** The ids of requests that require a passkey. */
  const requiring = new Set<string>();
  let isComplete = isWhole;
  let missed = 0;
  return {
    see(entry) {
      if (isRequiring(entry) && requiring.size <= REQUIRING_MAX) {
        requiring.add(entry.approval_request_id as string);
      }
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
            missed,
          });
        }
      }
      const removed = PasskeyRemoved.safeParse(entry.detail);
      const gone = removed.success ? known.get(removed.data.credential_id) : undefined;
      if (gone && gone.principal === entry.root_principal) gone.isRemoved = true;
    },
    miss() {
      isComplete = false;
      missed += 1;
    },
    check(decision, key) {
      const enrolment = known.get(key.credential_id);
      if (enrolment) {
        const owner = ownerCheck(enrolment, decision, key);
        if (owner.outcome !== 'ok' || enrolment.missed === missed) return owner;
        return notChecked(
          'passkey of the approver',
          'an entry that is missing may have removed it',
        );
      }
      const why = 'no earlier entry added this passkey';
      return isComplete
        ? failed('passkey of the approver', why)
        : notChecked('passkey of the approver', `${why}, and not all entries were seen`);
    },
    lack(decision) {
      const { approval_request_id: id, detail } = decision;
      if (!isApproval(decision) || detail?.passkey !== undefined) return undefined;
      if (requiring.has(id ?? '')) {
        return failed('passkey', 'the request requires one, and its approval has none');
      }
      if (requiring.size <= REQUIRING_MAX) return undefined;
      return notChecked('passkey', 'too many requests require one to remember this request');
    },
  };
}

function isRequiring({ entry_type, approval_request_id, detail, success }: AuditEntry): boolean {
  if (entry_type !== 'approval_request' || !success || approval_request_id === null) return false;
  return detail?.require === 'passkey';
}

function isApproval({ entry_type, detail, success }: AuditEntry): boolean {
  const isDecision = entry_type === 'approval_decision' && success;
  return isDecision && ['approved', 'granted'].includes(String(detail?.decision));
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
    ? passedCheck('passkey of the approver', principal ?? '')
    : failed('passkey of the approver', fault);
}
