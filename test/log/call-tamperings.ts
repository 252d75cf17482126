/**
 * Calls of unknown outcome, debts and freezes in a small ledger, changed by an attacker.
 *
 * @module
 */

import type { SmallLedger } from './small-ledger.ts';

/** How each dialect writes a list of one text, and where it counts children. */
export interface Dialect {
  list(text: string): string;
  readonly families: string;
  /** The columns of what a call was charged. */
  readonly charge: { readonly amount: string; readonly currency: string };
}

/** A change, what the finding is about, and what it says. */
export type Row = [name: string, sql: string, what: string, where: string, says: RegExp];

export function callTamperings(ledger: SmallLedger, { charge }: Dialect): Row[] {
  const { unknown, root } = ledger;
  const set = (change: string) => `UPDATE intents SET ${change} WHERE invocation_id = '${unknown}'`;
  const more = `${charge.amount} = 9000, reserved = 9000, consumed = 9000`;
  return [
    ['a greater charge', set(more), 'call', unknown, /charged 90\.00 USD, the log says 0\.10 USD/],
    ['a greater refund', set('consumed = 90'), 'call', unknown, /charged 0\.90 USD/],
    ['a charge in none', set(`${charge.currency} = 'USA'`), 'call', unknown, /charged 10 of "USA"/],
    ['a charge of another', set(`token_id = '${root}'`), 'call', unknown, /is of token/],
    ['an outcome made up', set("outcome = 'completed'"), 'call', unknown, /no row says so/],
    ['an act made up', set('reconciled_at = settled_at'), 'call', unknown, /no row says so/],
    [
      'a call removed',
      `DELETE FROM intents WHERE invocation_id = '${unknown}'`,
      'call',
      unknown,
      /no row says so/,
    ],
    ...closedTamperings(ledger),
  ];
}

function closedTamperings({ closed, root }: SmallLedger): Row[] {
  const set = (change: string) => `UPDATE intents SET ${change} WHERE invocation_id = '${closed}'`;
  return [
    ['an end made up', set("outcome = 'completed'"), 'call', closed, /closed it as "completed"/],
    ['a call of another', set(`token_id = '${root}'`), 'call', closed, /log does not/],
    ['an end by another', set("entry_id = 'other'"), 'call', closed, /entry other closed it/],
    ['a call renamed', set("invocation_id = 'inv_new'"), 'call', 'inv_new', /log does not/],
    ['less consumed', set('consumed = 4'), 'call', closed, /it consumed 4 minor units/],
    ['nothing consumed', set('consumed = 0'), 'call', closed, /it consumed 0 minor units/],
  ];
}

export function declarationTamperings(): Row[] {
  const set = (change: string) => `UPDATE declarations SET ${change}`;
  return [
    ['a declaration edited', set("declaration = '{}'"), 'declaration', 'book_flight', /text gives/],
    [
      'a digest edited',
      set("digest = 'sha256:0'"),
      'declaration',
      'book_flight',
      /digest is sha256:0,/,
    ],
    [
      'a version edited',
      set("contract_version = '2.0.0'"),
      'declaration',
      'book_flight',
      /contract_version is "2\.0\.0", its text says "1\.0\.0"/,
    ],
  ];
}

export function debtTamperings({ owing, child, root }: SmallLedger): Row[] {
  return [
    ['debt forgotten', 'DELETE FROM debts', 'debt', owing, /owes 0\.00 USD, the log says 0\.05/],
    ['less debt', 'UPDATE debts SET amount = 1', 'debt', owing, /owes 0\.01 USD/],
    ['more debt', 'UPDATE debts SET amount = 500', 'debt', owing, /owes 5\.00 USD/],
    [
      'debt made up',
      `INSERT INTO debts (token_id, currency, amount) VALUES ('${child}', 'EUR', 7)`,
      'debt',
      child,
      /owes 0\.07 EUR, the log says 0\.00/,
    ],
    [
      'debt in no currency',
      `INSERT INTO debts (token_id, currency, amount) VALUES ('${child}', 'USA', 7)`,
      'debt',
      child,
      /owes 7 of "USA", the log says 0 of "USA"/,
    ],
    [
      'debt moved',
      `UPDATE debts SET token_id = '${root}'`,
      'debt',
      root,
      /owes 0\.05 USD, the log says 0\.00/,
    ],
  ];
}

export function otherTamperings({ reconciled }: SmallLedger): Row[] {
  return [
    [
      'a freeze lifted',
      "DELETE FROM freezes WHERE what = 'capability'",
      'freeze',
      'capability book_flight',
      /is missing/,
    ],
    [
      'a freeze that ends',
      "UPDATE freezes SET until = frozen_at WHERE what = 'capability'",
      'freeze',
      'capability book_flight',
      /until is/,
    ],
    [
      'a freeze by another',
      "UPDATE freezes SET frozen_by = 'human:x' WHERE what = 'capability'",
      'freeze',
      'capability book_flight',
      /frozen_by is "human:x"/,
    ],
    [
      'a freeze made up',
      "UPDATE freezes SET target = 'cancel' WHERE what = 'capability'",
      'freeze',
      'capability cancel',
      /no entry/,
    ],
    [
      'a reconciliation taken back',
      `UPDATE intents SET reconciled_at = NULL WHERE invocation_id = '${reconciled}'`,
      'call',
      reconciled,
      /row says that the outcome is unknown/,
    ],
  ];
}
