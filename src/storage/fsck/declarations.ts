/**
 * Compares a stored declaration with itself: no entry tells of it, and it is advice that no rule decides by.
 *
 * @module
 */

import { textDigest } from '../../domain/wire/canonical.ts';
import { isObject } from '../../domain/wire/json.ts';
import type { DeclarationRecord } from '../port/declaration-store.ts';
import type { RowCheck } from './rows.ts';

export function checkDeclaration(check: RowCheck, row: DeclarationRecord): void {
  const text = row.declaration;
  const digest = textDigest(text);
  if (digest !== row.digest) {
    const detail = `its digest is ${row.digest}, its text gives ${digest}`;
    check.report('declaration', row.capability, detail);
    return;
  }
  const declared: unknown = JSON.parse(text);
  const version = isObject(declared) ? declared.contract_version : undefined;
  if (version === row.contract_version) return;
  const detail = `its contract_version is "${row.contract_version}", its text says "${version}"`;
  check.report('declaration', row.capability, detail);
}
