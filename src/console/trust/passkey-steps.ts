/**
 * The steps about a decision that a passkey confirmed: what the passkey signed, and whose it is.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import { AuditEntry } from '../../protocol/audit.ts';
import { verifyEntry } from '../../verify/entry.ts';
import { hasPasskey, verifyPasskeyDecision } from '../../verify/passkey.ts';
import { type Check, failed, passedCheck } from '../../verify/report.ts';
import { checkStep, type PageAnchors, type Step } from './steps.ts';

interface EarlierEntry {
  readonly entry: unknown;
  readonly checkpoint: unknown;
}

/** None for an entry of another kind. */
export async function passkeySteps(
  entry: unknown,
  earlier: readonly EarlierEntry[],
  anchors: PageAnchors,
): Promise<Step[]> {
  const parsed = AuditEntry.safeParse(entry).data;
  if (!parsed || !hasPasskey(parsed)) return [];
  const values = earlier.map((each) => each.entry);
  const { checks, digest } = await verifyPasskeyDecision(entry, values);
  const isOwner = ({ what }: Check) => what === 'passkey of the approver';
  const signed = checkStep(
    'Check what the passkey signed',
    checks.filter((check) => !isOwner(check)),
  );
  const owner = [
    ...(await Promise.all(earlier.map((each) => coveredCheck(each, parsed, anchors)))),
    ...checks.filter(isOwner),
  ];
  return [
    {
      ...signed,
      note:
        digest === undefined ? undefined : 'the digest of the decision, made again from the entry',
      hashes: digest === undefined ? [] : [{ label: 'hash', hex: digest.replace(/^sha256:/, '') }],
    },
    ...(owner.length > 0
      ? [{ ...checkStep('Check whose passkey it is', owner), isExtra: true }]
      : []),
  ];
}

/** An entry about the passkey must itself be in the log, and before the decision. */
async function coveredCheck(
  { entry, checkpoint }: EarlierEntry,
  decision: AuditEntry,
  anchors: PageAnchors,
): Promise<Check> {
  const { sequence } = isObject(entry) ? entry : {};
  const what = `entry ${String(sequence)} about the passkey`;
  const keys = {
    keys: anchors.keys.keys.map((key) => ({ ...key, isPinned: key.isPinned || !anchors.isNoted })),
    noteKeys: [],
  };
  const { checks, verdict } = await verifyEntry({ entry, checkpoint }, { ...anchors, keys });
  if (verdict !== 'verified') {
    const wrong = checks.find(({ outcome }) => outcome !== 'ok');
    return failed(what, `${wrong?.what ?? 'it'}: ${wrong?.detail ?? 'not verified'}`);
  }
  const isBefore = typeof sequence === 'number' && sequence < decision.sequence;
  return isBefore ? passedCheck(what, 'in the log') : failed(what, 'it is not before the decision');
}
