/**
 * Reads tokens in SQLite: the immutable part as one text, the rest beside it.
 *
 * Every call reads the whole row of its token; most find the same text as the call before.
 *
 * @module
 */

import type { LineageLink, TokenRecord } from '../port/records.ts';
import { fixedTokens, linkFrom } from '../tables/lineage.ts';
import type { Connection } from './connection.ts';
import { TOKENS, timeOf } from './rows.ts';

/** A token as it stands in one snapshot. */
export interface HeldToken {
  readonly token: TokenRecord;
  readonly link: LineageLink;
  /** Rarely true; when false, a call skips the query for freezes. */
  readonly anyFreeze: boolean;
}

/** Tokens that this snapshot has already read. */
export type TokensSeen = Map<string, HeldToken | undefined>;

export function readHeld(
  connection: Connection,
  tokenId: string,
  seen?: TokensSeen,
): HeldToken | undefined {
  const before = seen?.get(tokenId);
  if (before) return before;
  const row = connection.get<TokenRow>(TOKEN, tokenId);
  const held = row && heldOf(row);
  seen?.set(tokenId, held);
  return held;
}

interface TokenRow {
  readonly fixed: string;
  readonly revoked_at: bigint | null;
  readonly revoked_mac: string | null;
  readonly reserved: bigint | null;
  readonly consumed: bigint | null;
  readonly any_freeze: bigint;
}

/** The amount is text in the JSON, because it may exceed what a JSON number holds. */
const TOKEN = `
  SELECT json_object(${TOKENS.columns.map((name) => `'${name}', t.${name}`).join(', ')},
      'currency', b.currency, 'max', CAST(b.max AS TEXT)) AS fixed,
    t.revoked_at, t.revoked_mac, b.reserved, b.consumed, EXISTS (SELECT 1 FROM freezes) AS any_freeze
  FROM tokens t LEFT JOIN budgets b USING (token_id) WHERE t.token_id = ?`;

const fixedOf = fixedTokens(TOKENS);

function heldOf({ fixed, any_freeze, ...row }: TokenRow): HeldToken {
  const link = linkFrom(fixedOf(fixed), {
    revoked_at: row.revoked_at === null ? undefined : timeOf(row.revoked_at),
    revoked_mac: row.revoked_mac ?? undefined,
    reserved: row.reserved ?? undefined,
    consumed: row.consumed ?? undefined,
  });
  return { token: link.token, link, anyFreeze: any_freeze !== 0n };
}
