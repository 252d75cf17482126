/**
 * Rows of a small ledger, changed, put back, removed and added by an attacker who can write the database.
 *
 * @module
 */

import {
  callTamperings,
  type Dialect,
  debtTamperings,
  declarationTamperings,
  otherTamperings,
  type Row,
} from './call-tamperings.ts';
import type { SmallLedger } from './small-ledger.ts';

export const SQLITE: Dialect = {
  list: (text) => `'["${text}"]'`,
  families: 'tokens',
  charge: { amount: 'charge_amount', currency: 'charge_currency' },
};
export const POSTGRES: Dialect = {
  list: (text) => `ARRAY['${text}']`,
  families: 'families',
  charge: { amount: 'amount', currency: 'currency' },
};

/** A change, what the finding is about, and what it says. */
export interface Tampering {
  readonly name: string;
  readonly sql: string;
  readonly what: string;
  readonly where: string;
  readonly says: RegExp;
}

/** Makes a second row of one that is there, under another id. */
function copyOf(table: string, key: string, [from, to]: [string, string], changes = ''): string {
  return `CREATE TEMP TABLE one AS SELECT * FROM ${table} WHERE ${key} = '${from}';
    UPDATE one SET ${key} = '${to}'${changes};
    INSERT INTO ${table} SELECT * FROM one; DROP TABLE one`;
}

function tokenTamperings(
  { root, child, revoked }: SmallLedger,
  { list, families }: Dialect,
): Row[] {
  const set = (change: string, id: string = child) =>
    `UPDATE tokens SET ${change} WHERE token_id = '${id}'`;
  const lineage = `, parent_token_id = NULL, lineage = ${list('tok_new')}, depth = 0`;
  return [
    [
      'an edited scope',
      set(`scope = ${list('operator:*')}`),
      'token',
      child,
      /scope is \["operator/,
    ],
    [
      'an edited subject',
      set("subject = 'agent:thief'"),
      'token',
      child,
      /subject is "agent:thief"/,
    ],
    [
      'a later expiry',
      set(`expires_at = (SELECT max(expires_at) FROM freezes_later)`),
      'token',
      child,
      /expires_at/,
    ],
    [
      'a capability taken away',
      set("capability = 'other'"),
      'token',
      child,
      /capability is "other"/,
    ],
    ['another class', set("caller_class = 'internal'"), 'token', child, /claims_digest is/],
    ['a purpose taken away', set("purpose = '{}'"), 'token', child, /claims_digest is/],
    ['conditions taken away', set('conditions = NULL'), 'token', child, /claims_digest is/],
    [
      'conditions of a child wider than those of its parent',
      set('conditions = NULL'),
      'token',
      child,
      /allows more than its parent .*: conditions$/,
    ],
    ['another chain', set("chain = 'sha256:00'"), 'token', child, /chain is "sha256:00"/],
    ['more depth', set('max_delegation_depth = 9'), 'token', child, /claims_digest is/],
    [
      'another digest',
      set("claims_digest = 'sha256:00'"),
      'token',
      child,
      /claims_digest is "sha256:00"/,
    ],
    ['another key', set("kid = 'key-9'"), 'token', child, /kid is "key-9"/],
    ['a revocation taken back', set('revoked_at = NULL', revoked), 'token', revoked, /not revoked/],
    ['a revocation made up', set('revoked_at = issued_at'), 'token', child, /no entry says so/],
    [
      'a token removed',
      `DELETE FROM tokens WHERE token_id = '${child}'`,
      'token',
      child,
      /is missing/,
    ],
    [
      'a token added',
      copyOf('tokens', 'token_id', [root, 'tok_new'], lineage),
      'token',
      'tok_new',
      /no entry/,
    ],
    [
      'children uncounted',
      `UPDATE ${families} SET children = 7 WHERE token_id = '${root}'`,
      'token',
      root,
      /counts 7 children, the log says 1/,
    ],
  ];
}

/** A child that no delegation could have made, whatever else is found about its row. */
function widerTamperings({ root, child }: SmallLedger, { list }: Dialect): Row[] {
  const set = (change: string, id: string = child) =>
    `UPDATE tokens SET ${change} WHERE token_id = '${id}'`;
  const wider = (field: string, sql: string): Row => [
    `a child of wider ${field}`,
    sql,
    'token',
    child,
    new RegExp(`allows more than its parent .*: ${field}$`),
  ];
  return [
    wider('scope', set(`scope = ${list('operator:*')}`)),
    wider('expires_at', set('expires_at = (SELECT max(expires_at) FROM freezes_later)')),
    wider('max_delegation_depth', set('max_delegation_depth = 9')),
    wider('depth', set('depth = 0')),
    wider('capability', set("capability = 'other'", root)),
    wider('purpose', set(`purpose = '{"task_id":"other"}'`, root)),
    wider('budget', `UPDATE budgets SET max = 9999 WHERE token_id = '${child}'`),
    [
      'a parent removed',
      `DELETE FROM tokens WHERE token_id = '${root}'`,
      'token',
      child,
      /parent .* is missing/,
    ],
  ];
}

function budgetTamperings({ root, child, revoked }: SmallLedger): Row[] {
  const set = (change: string, id: string) =>
    `UPDATE budgets SET ${change} WHERE token_id = '${id}'`;
  return [
    [
      'spending forgotten',
      'UPDATE budgets SET consumed = 0',
      'budget',
      root,
      /0\.00 USD are spent, the log says 0\.15/,
    ],
    [
      'spending put back',
      set('consumed = consumed - 10', child),
      'budget',
      child,
      /0\.05 USD are spent/,
    ],
    [
      'spending made up',
      set('consumed = consumed + 1', child),
      'budget',
      child,
      /0\.16 USD are spent/,
    ],
    [
      'a reservation forgotten',
      set('reserved = 0', root),
      'budget',
      root,
      /0\.00 USD are reserved, the open calls hold 0\.07/,
    ],
    ['a higher ceiling', set('max = 999999', child), 'budget', child, /budget is .*9999\.99/],
    ['a ceiling in no currency', set("currency = 'USA'", child), 'token', child, /cannot be read/],
    [
      'a ceiling beyond what is counted',
      set('max = 9000000000000000000', child),
      'token',
      child,
      /cannot be read/,
    ],
    [
      'spending in no currency',
      set("currency = 'USA', consumed = 0", child),
      'budget',
      child,
      /0 of "USA" are spent, the log says 15 of "USA"/,
    ],
    [
      'a budget removed',
      `DELETE FROM budgets WHERE token_id = '${child}'`,
      'budget',
      child,
      /budget is null/,
    ],
    [
      'a budget added',
      copyOf('budgets', 'token_id', [root, revoked]),
      'budget',
      revoked,
      /budget is .*the log says null/,
    ],
  ];
}

function decisionTamperings(
  { pending, denied, granted, grant }: SmallLedger,
  { list }: Dialect,
): Row[] {
  const set = (change: string, id: string) =>
    `UPDATE approval_requests SET ${change} WHERE approval_request_id = '${id}'`;
  const votes = `FROM approvals WHERE approval_request_id = '${granted}'`;
  const given = (change: string) => `UPDATE grants SET ${change} WHERE grant_id = '${grant}'`;
  return [
    [
      'a denial taken back',
      set("status = 'pending', decided_by = NULL", denied),
      'request',
      denied,
      /status is "pending", the log says "denied"/,
    ],
    ['a denial by another', set("decided_by = 'human:x'", denied), 'request', denied, /decided_by/],
    [
      'a reason made up',
      set("reason = 'forged'", granted),
      'request',
      granted,
      /reason is "forged"/,
    ],
    ['no time', set('decided_at = NULL', granted), 'request', granted, /decided_at is null/],
    [
      'another time',
      set('decided_at = (SELECT max(expires_at) FROM freezes_later)', denied),
      'request',
      denied,
      /decided_at is "2100-/,
    ],
    [
      'a vote in another place',
      `UPDATE approvals SET place = 7 WHERE approval_request_id = '${granted}' AND place = 1`,
      'request',
      granted,
      /human:two in place 7/,
    ],
    [
      'a denial made up',
      set("status = 'denied'", pending),
      'request',
      pending,
      /status is "denied"/,
    ],
    [
      'an approval without a vote',
      set("status = 'approved', grant_id = 'gnt_x'", pending),
      'request',
      pending,
      /status is "approved"/,
    ],
    [
      'other parameters',
      set(`parameters = '{"seats":9}'`, pending),
      'request',
      pending,
      /request_digest/,
    ],
    [
      'a smaller quorum',
      set('approvals_required = 1', granted),
      'request',
      granted,
      /approvals_required is 1/,
    ],
    [
      'hands forgotten',
      set(`requested_through = ${list('agent:asker')}`, pending),
      'request',
      pending,
      /does not name human:root/,
    ],
    [
      'a request removed',
      `DELETE FROM approval_requests WHERE approval_request_id = '${pending}'`,
      'request',
      pending,
      /is missing/,
    ],
    [
      'a request added',
      copyOf('approval_requests', 'approval_request_id', [denied, 'apr_new']),
      'request',
      'apr_new',
      /no entry/,
    ],
    ['a vote removed', `DELETE ${votes} AND place = 0`, 'request', granted, /approvals is/],
    [
      'a vote by another',
      `UPDATE approvals SET approver = 'human:x' WHERE approval_request_id = '${granted}' AND place = 0`,
      'request',
      granted,
      /approvals is \["human:x"/,
    ],
    [
      'other terms',
      `UPDATE approvals SET terms = '{"max_uses":99}' WHERE approval_request_id = '${granted}' AND place = 0`,
      'request',
      granted,
      /terms is \{"max_uses":99\}/,
    ],
    ['uses put back', given('uses = 0'), 'grant', grant, /says 0 uses, the log says 2/],
    ['uses made up', given('uses = 3'), 'grant', grant, /says 3 uses, the log says 2/],
    ['more uses', given('max_uses = 99'), 'grant', grant, /max_uses is 99/],
    [
      'other approved parameters',
      given(`parameters = '{"seats":9}'`),
      'grant',
      grant,
      /grant_digest/,
    ],
    [
      'hands of approvers forgotten',
      given(`approved_through = ${list('human:x')}`),
      'grant',
      grant,
      /grant_digest/,
    ],
    [
      'a grant removed',
      `DELETE FROM grants WHERE grant_id = '${grant}'`,
      'grant',
      grant,
      /is missing/,
    ],
    [
      'a grant added',
      copyOf('grants', 'grant_id', [grant, 'gnt_new'], ", approval_request_id = 'apr_x'"),
      'grant',
      'gnt_new',
      /no entry/,
    ],
  ];
}

export function tamperings(ledger: SmallLedger, dialect: Dialect): Tampering[] {
  const rows = [
    ...tokenTamperings(ledger, dialect),
    ...widerTamperings(ledger, dialect),
    ...budgetTamperings(ledger),
    ...debtTamperings(ledger),
    ...decisionTamperings(ledger, dialect),
    ...callTamperings(ledger, dialect),
    ...declarationTamperings(),
    ...otherTamperings(ledger),
  ];
  return rows.map(([name, sql, what, where, says]) => ({ name, sql, what, where, says }));
}
