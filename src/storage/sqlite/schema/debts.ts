/**
 * Debts: what handlers reported beyond their reservation, by token and currency.
 *
 * Separate from budgets: a token without a budget can be overrun too, and no admission reads debts.
 *
 * @module
 */

export const DEBTS = `
  CREATE TABLE debts (
    token_id TEXT NOT NULL REFERENCES tokens,
    currency TEXT NOT NULL,
    amount   INTEGER NOT NULL CHECK (amount > 0),
    PRIMARY KEY (token_id, currency)
  ) STRICT, WITHOUT ROWID;
`;
