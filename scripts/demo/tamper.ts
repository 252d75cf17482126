/**
 * What somebody with access to the database does: raises the budget of a token with SQL, beside the running service.
 *
 * @module
 */

import { DatabaseSync } from '@photostructure/sqlite';

const RAISE = 'UPDATE budgets SET max = 500000 WHERE token_id = ?';

/** Edits the row, and returns the statement for the viewer. Amounts are stored in cents. */
export function raiseBudget(file: string, tokenId: string): string {
  const database = new DatabaseSync(file);
  try {
    const { changes } = database.prepare(RAISE).run(tokenId);
    if (changes !== 1) throw new Error(`the statement changed ${changes} rows`);
    return `SQL: ${RAISE.replace('?', "'tok_…'")}`;
  } finally {
    database.close();
  }
}
