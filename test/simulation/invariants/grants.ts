/**
 * Approvals: one grant for each request, by enough different approvers, used by its own requester only as often
 * and as long as it says.
 *
 * @module
 */

import type { ApprovalRecord, GrantRecord } from '../../../src/storage/port/records.ts';
import { broken } from '../broken.ts';
import type { Call, Executed, Shadow, Subject } from './shadow.ts';
import { tokenOf } from './shadow.ts';
import { isRequested } from './transitions.ts';

interface Request {
  readonly record: ApprovalRecord;
  readonly chain: string;
  readonly approvers: Set<string>;
  grant?: GrantRecord | undefined;
  decided?: 'approved' | 'denied' | 'expired' | undefined;
}

interface Grant {
  readonly record: GrantRecord;
  readonly chain: string;
  uses: number;
}

export function grants(shadow: Shadow): Subject {
  const requests = new Map<string, Request>();
  /** The pending request of each question. */
  const pending = new Map<string, Request>();
  const kept = new Map<string, Grant>();

  const requestOf = (id: string) =>
    requests.get(id) ?? broken('one-grant', `request "${id}" was decided and never stored`);

  return {
    store: {
      requestApproval(event) {
        const [record] = event.args;
        if (typeof event.result !== 'object' || 'exceeded' in event.result) return;
        const chain = chainOf(shadow, record);
        const question = questionOf(record, chain);
        if (!isRequested(event)) {
          refuseOther(requestOf(event.result.approval_request_id), record, question);
          return;
        }
        const before = pending.get(question);
        if (
          before &&
          before.decided === undefined &&
          before.record.expires_at > record.created_at
        ) {
          const ids = `"${before.record.approval_request_id}" and "${record.approval_request_id}"`;
          broken('one-grant', `one question has the pending requests ${ids}`);
        }
        const request = { record, chain, approvers: new Set<string>() };
        requests.set(record.approval_request_id, request);
        pending.set(question, request);
      },
      approve(event) {
        if (event.result !== 'approved' && event.result !== 'counted') return;
        const request = requestOf(event.args[0].approval_request_id);
        const grant = approved(request, event);
        if (grant) kept.set(grant.grant_id, { record: grant, chain: request.chain, uses: 0 });
      },
      deny({ args: [{ approval_request_id, now }], result }) {
        if (result !== 'denied') return;
        const request = requestOf(approval_request_id);
        refuseDecided(request, now, 'denied');
        request.decided = 'denied';
      },
      expireApprovals({ entries = [] }) {
        for (const { leaf } of entries) requestOf(requestIn(leaf)).decided = 'expired';
      },
      admit({ args: [{ intent, grant: use, now }], result }) {
        if (!result.admitted) return;
        const call = shadow.calls.get(intent.operation_id) as Call;
        if (use) take(kept.get(use.grant_id), use.grant_id, call, now);
        else refuseUnapproved(shadow, call);
      },
      load({ result: { grant } }) {
        if (grant) compareUses(kept, grant);
      },
    },
  };
}

const decoder = new TextDecoder();

/** The request that an entry names. */
function requestIn(leaf: Uint8Array): string {
  return JSON.parse(decoder.decode(leaf)).approval_request_id;
}

function chainOf(shadow: Shadow, { token_id, subject, root_principal }: ApprovalRecord): string {
  return token_id === undefined
    ? `${root_principal} > ${subject}`
    : tokenOf(shadow, token_id).chain;
}

/** What makes two requests the same question. */
function questionOf(record: ApprovalRecord, chain: string): string {
  const { capability, contract_version, declaration_digest, parameters_digest, session_id } =
    record;
  return JSON.stringify([
    chain,
    capability,
    contract_version,
    declaration_digest,
    parameters_digest,
    session_id,
  ]);
}

/** The store answered with a request that exists: it must be the same question, and open. */
function refuseOther(found: Request, asked: ApprovalRecord, question: string): void {
  const { record, chain, decided } = found;
  if (questionOf(record, chain) !== question) {
    broken(
      'chains',
      `a question of ${asked.subject} got request "${record.approval_request_id}" of ${chain}`,
    );
  }
  if (decided !== undefined) {
    broken(
      'one-grant',
      `a new question got request "${record.approval_request_id}", which is ${decided}`,
    );
  }
}

function approved(request: Request, { args: [decision], result }: Executed<'approve'>) {
  const { record, approvers } = request;
  const { approver, grant, now } = decision;
  const id = record.approval_request_id;
  refuseDecided(request, now, 'approved');
  if (approvers.has(approver)) broken('one-grant', `${approver} approved request "${id}" twice`);
  const isRequester = record.requested_through.includes(approver);
  if (isRequester && approver !== record.root_principal) {
    broken('one-grant', `${approver} asked for request "${id}" and approved it`);
  }
  approvers.add(approver);
  if (result === 'counted') return undefined;
  if (!grant) broken('one-grant', `request "${id}" is approved without a grant`);
  if (approvers.size < record.approvals_required) {
    const votes = `${approvers.size} of ${record.approvals_required} approvals`;
    broken('one-grant', `request "${id}" has a grant after ${votes}`);
  }
  const fits =
    grant.approval_request_id === id &&
    grant.capability === record.capability &&
    grant.parameters_digest === record.parameters_digest;
  if (!fits) broken('one-grant', `grant "${grant.grant_id}" is not for request "${id}"`);
  request.grant = grant;
  request.decided = 'approved';
  return grant;
}

function refuseDecided({ record, decided, grant }: Request, now: Date, what: string): void {
  const id = record.approval_request_id;
  if (grant)
    broken('one-grant', `request "${id}" has grant "${grant.grant_id}", and was ${what} again`);
  if (decided) broken('one-grant', `request "${id}" was ${decided}, and was ${what}`);
  if (record.expires_at <= now) broken('one-grant', `request "${id}" was ${what} after its expiry`);
}

function take(grant: Grant | undefined, id: string, call: Call, now: Date): void {
  if (!grant)
    broken('grant-uses', `operation "${call.id}" used grant "${id}", which does not exist`);
  const { record, chain } = grant;
  const { admission, token } = call;
  if (chain !== token.chain) broken('chains', `${token.chain} used grant "${id}" of ${chain}`);
  grant.uses += 1;
  if (grant.uses > record.max_uses) {
    broken('grant-uses', `grant "${id}" of ${record.max_uses} uses was used ${grant.uses} times`);
  }
  if (record.expires_at <= now) broken('grant-uses', `grant "${id}" was used after its expiry`);
  const isSame =
    record.capability === admission.intent.capability &&
    record.parameters_digest === admission.grant?.parameters_digest;
  if (!isSame) broken('grant-uses', `grant "${id}" was used for another call`);
  const { grant_type, session_id } = record;
  if (grant_type === 'session_bound' && session_id !== token.record.session_id) {
    broken('grant-uses', `grant "${id}" of session "${session_id}" was used in another one`);
  }
}

/** A capability that always needs approval is not admitted without a grant. */
function refuseUnapproved({ options }: Shadow, { id, admission: { intent } }: Call): void {
  const when = options.capabilities?.get(intent.capability)?.approval?.when;
  if (when === 'always')
    broken('grant-uses', `operation "${id}" of "${intent.capability}" was not approved`);
}

function compareUses(kept: ReadonlyMap<string, Grant>, { grant_id, uses }: GrantRecord): void {
  const grant = kept.get(grant_id);
  if (grant?.uses === uses) return;
  broken(
    'ledger-is-log',
    `grant "${grant_id}" has ${uses} uses, its calls give ${grant?.uses ?? 'none'}`,
  );
}
