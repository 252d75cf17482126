/**
 * Debts: what handlers reported beyond what was reserved, by token and currency.
 *
 * Apart from budgets: a token without one can be overrun too, and no admission looks at them.
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
