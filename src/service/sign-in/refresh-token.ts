/**
 * Refresh tokens: their text names the consent and its generation, under a MAC of the row keys.
 *
 * The store holds the current generation only. An older one still verifies, so the service recognises a
 * refresh token that was used before, also when another party presents it.
 *
 * @module
 */

import type { RowKeys } from '../../keyring/row-keys.ts';

export interface RefreshClaim {
  readonly consentId: string;
  readonly generation: number;
}

const TEXT = /^wrf\.(con_[0-9a-f]{32})\.(\d{1,9})\.([\w-]+\.[\w-]+)$/;

export function refreshToken(rows: RowKeys, { consentId, generation }: RefreshClaim): string {
  const mac = rows.macOf(signedText({ consentId, generation }));
  return `wrf.${consentId}.${generation}.${mac}`;
}

/** Undefined for a text that this service did not make. */
export function readRefreshToken(rows: RowKeys, text: string): RefreshClaim | undefined {
  const [, consentId = '', digits = '', mac = ''] = TEXT.exec(text) ?? [];
  const claim = { consentId, generation: Number(digits) };
  if (consentId === '' || `${claim.generation}` !== digits) return undefined;
  return rows.isMacOf(signedText(claim), mac) ? claim : undefined;
}

function signedText({ consentId, generation }: RefreshClaim): string {
  return `writ refresh token\n${consentId} ${generation}`;
}
