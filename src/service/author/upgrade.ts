/**
 * Upgrading: compares the declarations of this start with those of the last one.
 *
 * Callers and approvals rely on a contract version, so a declaration that changed without a new version is
 * reported, with what the change makes unusable. The kept declarations are advice: a row that was edited
 * or lost changes what is reported, and nothing else. Decision 14 has the cases of several processes.
 *
 * @module
 */

import { CAPABILITIES_MAX } from '../../domain/catalog/catalog.ts';
import { changedFields } from '../../domain/catalog/changes.ts';
import { declarationDigest, declarationOf } from '../../domain/catalog/declaration.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import type { Capability, Catalog } from '../../protocol/capability.ts';
import type {
  DeclarationRecord,
  DeclarationStore,
  StaleApprovals,
} from '../../storage/port/declaration-store.ts';

/** Declared ones, and as many that are no longer declared. */
const KEPT_MAX = 2 * CAPABILITIES_MAX;

/** Capabilities that one start reports and counts for; a further line gives the number of the others. */
const REPORTED_MAX = 20;

/** Requests and grants that one count looks at. */
const LOOKED_AT_MAX = 200;

/** Fields that one line names. */
const FIELDS_NAMED_MAX = 8;

type UpgradeStore = DeclarationStore & { now(): Date };

/** One sentence for each changed or removed capability. Then keeps the declarations of this start. */
export async function upgradeWarnings(store: UpgradeStore, catalog: Catalog): Promise<string[]> {
  const kept = await store.keptDeclarations(KEPT_MAX);
  const now = store.now();
  const last = new Map(kept.map((each) => [each.capability, each]));
  const declared = [...catalog.capabilities.values()];
  const changed = declared.filter((each) => isChanged(each, last.get(each.name)));
  const removed = kept.filter(({ capability }) => !catalog.capabilities.has(capability));

  const left = await removedWarnings(store, removed, now);
  const warnings = [
    ...(await changeWarnings(store, changed, last)),
    ...left.warnings,
    ...beyond(changed.length, 'changed without a new contract_version'),
    ...beyond(removed.length, 'are no longer declared'),
  ];
  const fresh = declared.filter((each) => !isKept(each, last.get(each.name)));
  if (fresh.length > 0 || left.gone.length > 0) {
    await store.keepDeclarations(
      fresh.map((each) => recordOf(each, now)),
      left.gone,
    );
  }
  return warnings;
}

function isKept(capability: Capability, last: DeclarationRecord | undefined): boolean {
  const isOfVersion = last?.contract_version === capability.contract_version;
  return isOfVersion && last.digest === declarationDigest(capability);
}

function isChanged(capability: Capability, last: DeclarationRecord | undefined): boolean {
  if (last?.contract_version !== capability.contract_version) return false;
  return last.digest !== declarationDigest(capability);
}

async function changeWarnings(
  store: UpgradeStore,
  changed: readonly Capability[],
  last: ReadonlyMap<string, DeclarationRecord>,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const capability of changed.slice(0, REPORTED_MAX)) {
    const { name, contract_version } = capability;
    const stale = await store.staleApprovals({
      capability: name,
      fits: { contract_version, declaration_digest: declarationDigest(capability) },
      now: store.now(),
      limit: LOOKED_AT_MAX,
    });
    const fields = fieldsText(last.get(name), capability);
    const advice = `write a higher contract_version than ${contract_version} when a declaration changes`;
    warnings.push(
      `Capability "${name}" changed without a new contract_version (${fields}): ${lossText(stale)}; ${advice}`,
    );
  }
  return warnings;
}

/** A removed capability is kept, and reported at each start, while something still waits for it. */
async function removedWarnings(
  store: UpgradeStore,
  removed: readonly DeclarationRecord[],
  now: Date,
): Promise<{ readonly warnings: string[]; readonly gone: string[] }> {
  const warnings: string[] = [];
  const gone: string[] = [];
  for (const { capability } of removed.slice(0, REPORTED_MAX)) {
    const stale = await store.staleApprovals({ capability, now, limit: LOOKED_AT_MAX });
    if (stale.requests + stale.grants === 0) gone.push(capability);
    else warnings.push(`Capability "${capability}" is no longer declared: ${lossText(stale)}`);
  }
  return { warnings, gone };
}

function beyond(count: number, what: string): string[] {
  return count > REPORTED_MAX ? [`${count - REPORTED_MAX} more capabilities ${what}`] : [];
}

function fieldsText(last: DeclarationRecord | undefined, capability: Capability): string {
  const fields = changedFields(readText(last?.declaration), declarationOf(capability));
  const more = fields.length - FIELDS_NAMED_MAX;
  const named = fields.slice(0, FIELDS_NAMED_MAX).join(', ');
  return more > 0 ? `${named} and ${more} more fields` : named;
}

/** A text that was edited may be no JSON: the whole declaration then counts as changed. */
function readText(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

function lossText({ requests, grants, isComplete }: StaleApprovals): string {
  if (requests + grants === 0 && isComplete) return 'no pending approval depends on it';
  const counted = `${counts(requests, 'pending approval request')} and ${counts(grants, 'unused grant')}`;
  return `${isComplete ? '' : 'at least '}${counted} can no longer be used`;
}

function counts(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function recordOf(capability: Capability, kept_at: Date): DeclarationRecord {
  return {
    capability: capability.name,
    contract_version: capability.contract_version,
    digest: declarationDigest(capability),
    declaration: canonicalJson(declarationOf(capability)),
    kept_at,
  };
}
