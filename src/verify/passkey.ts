/**
 * Verifies, without the service, that a decision was confirmed by a passkey of its approver.
 *
 * The entry of the decision has the assertion and the public key. What the passkey signed is made again from the
 * other fields of the entry, so a changed request, decision or term does not verify. Which person the key belongs
 * to, an earlier entry says: the one that added it.
 *
 * @module
 */

import { clientOrigin } from '../domain/passkey/client-data.ts';
import { decisionChallenge, decisionDigest } from '../domain/passkey/decision.ts';
import { fromBase64url } from '../domain/wire/base64.ts';
import { digestOf } from '../domain/wire/canonical.ts';
import { GrantTerms } from '../protocol/approval.ts';
import type { AuditEntry } from '../protocol/audit.ts';
import type { SignedDecision } from '../protocol/console/views.ts';
import { DecisionPasskey } from '../protocol/passkey.ts';
import { assertionFault } from './assertion.ts';
import { createEnrolments, type Enrolments } from './enrolments.ts';
import { contentCheck, type LeafReading, readEntry } from './leaf.ts';
import { type Check, failed, notChecked, passedCheck, type Report, reportOf } from './report.ts';

/**
 * The checks of a decision that a passkey confirmed.
 *
 * @example
 * import { type PasskeyReport, verifyPasskeyDecision } from 'writ/verify';
 *
 * const report: PasskeyReport = await verifyPasskeyDecision({ entry_id: 'unknown' });
 * console.log(report.decision?.approval_request_id ?? report.checks.map(({ what }) => what));
 */
export interface PasskeyReport extends Report {
  /** What the passkey signed; present when its signature verifies. */
  readonly decision?: SignedDecision | undefined;
  /** The digest of it, as the page and the command line show it. */
  readonly digest?: string | undefined;
}

/**
 * Verifies the entry of a decision that a passkey confirmed. `earlier` are entries of the same log; those after
 * the decision are ignored, and the one that added the passkey must be among them. Whether all of them are in the
 * log, `verifyEntry` says.
 *
 * @example
 * import { verifyPasskeyDecision } from 'writ/verify';
 *
 * const added = { entry_id: 'of the passkey' };
 * const { verdict, checks } = await verifyPasskeyDecision({ entry_id: 'of the decision' }, [added]);
 * console.log(verdict, checks);
 */
export async function verifyPasskeyDecision(
  value: unknown,
  earlier: readonly unknown[] = [],
): Promise<PasskeyReport> {
  const read = readEntry(value);
  if ('fault' in read) return reportOf([failed('entry', read.fault)], PASSKEY_LIMITS);
  const content = contentCheck('entry', read.erased);
  if (read.erased !== undefined) return reportOf([content], PASSKEY_LIMITS);
  const before: Exclude<LeafReading, { fault: string }>[] = [];
  for (const each of earlier) {
    const known = readEntry(each);
    if ('fault' in known) return reportOf([failed('earlier entry', known.fault)], PASSKEY_LIMITS);
    if (known.entry.sequence < read.entry.sequence) before.push(known);
  }
  const enrolments = createEnrolments();
  before.sort((one, other) => one.entry.sequence - other.entry.sequence);
  for (const { entry, erased } of before) {
    if (erased === undefined) enrolments.see(entry);
    else if (entry.entry_type === 'session') enrolments.miss();
  }
  const { checks, ...found } = await passkeyChecks(read.entry, enrolments);
  return { ...reportOf([content, ...checks], PASSKEY_LIMITS), ...found };
}

const PASSKEY_LIMITS = [
  'whether the device that signed was in the hands of its owner, and whether the page showed what it signed',
  'whether the passkey had been removed by an entry that was not given',
] as const;

/** Whether an entry is one that a passkey confirmed. */
export function hasPasskey({ entry_type, detail }: AuditEntry): boolean {
  return entry_type === 'approval_decision' && detail?.passkey !== undefined;
}

type PasskeyFindings = Pick<PasskeyReport, 'checks' | 'decision' | 'digest'>;

/** Checks an entry whose leaf is verified. */
export async function passkeyChecks(
  entry: AuditEntry,
  enrolments: Pick<Enrolments, 'check'>,
): Promise<PasskeyFindings> {
  const passkey = DecisionPasskey.safeParse(entry.detail?.passkey);
  const decision = passkey.success ? decisionOf(entry, passkey.data.nonce) : undefined;
  if (!passkey.success || !decision) {
    const fault = 'the entry is not of a decision that a passkey confirmed';
    return { checks: [failed('passkey', fault)] };
  }
  const { public_key, ...assertion } = passkey.data;
  const page = pageOf(assertion.client_data);
  if (!page) return { checks: [failed('passkey', 'the client data names no page')] };
  const challenge = decisionChallenge(decision);
  const wrong = await assertionFault(assertion, public_key, { ...page, challenge });
  if (wrong?.isUnsupported) return { checks: [notChecked('passkey', wrong.fault)] };
  if (wrong) return { checks: [failed('passkey', wrong.fault)] };
  const signed = passedCheck('passkey', `${decision.decision} "${decision.approval_request_id}"`);
  const owner: Check = enrolments.check(entry, {
    credential_id: assertion.credential_id,
    key_digest: digestOf(public_key),
    rp_id: page.rpId,
  });
  return { checks: [signed, owner], decision, digest: decisionDigest(decision) };
}

/** What the entry says was decided; `undefined` for an entry that says too little. */
function decisionOf(entry: AuditEntry, nonce: string): SignedDecision | undefined {
  const { approval_request_id, parameters_digest, detail, success } = entry;
  const decision = DECISIONS[String(detail?.decision)];
  if (!success || !approval_request_id || !parameters_digest || !decision) return undefined;
  const terms = decision === 'approve' ? GrantTerms.safeParse(detail?.terms) : { data: null };
  const preview_digest = detail?.preview_digest ?? null;
  if (terms.data === undefined || !isText(preview_digest)) return undefined;
  return {
    nonce,
    decision,
    approval_request_id,
    parameters_digest,
    preview_digest,
    terms: terms.data,
  };
}

/** By the word in the entry. An approval is "approved" until the last one, which makes the grant. */
const DECISIONS: Readonly<Record<string, SignedDecision['decision']>> = {
  approved: 'approve',
  granted: 'approve',
  denied: 'deny',
};

function isText(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

/** A service takes only pages of its own host, so the host of the page is the one that the key belongs to. */
function pageOf(clientData: string) {
  const bytes = fromBase64url(clientData);
  const origin = bytes && clientOrigin(bytes);
  if (origin === undefined || !URL.canParse(origin)) return undefined;
  return { origins: [origin], rpId: new URL(origin).hostname };
}
