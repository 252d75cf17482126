/**
 * Starts what an anchored service adds to its log: the sealer, its witnesses and the guard of its mark.
 *
 * @module
 */

import { logOrigin } from '../../domain/log/checkpoint.ts';
import { vkeyText } from '../../domain/log/note-key.ts';
import type { MarkStore } from '../../storage/port/mark.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { currentOrigin, logSigner } from './compare-log.ts';
import { type Sealer, startSealer } from './sealer.ts';
import { createWitnesses, witnessGuard } from './witness.ts';

/**
 * Starts the sealer of a service whose trust level is `anchored`. Compares the log before anything is written: the store
 * may hold another log than the signed one.
 */
export async function startAnchoredSealer(
  parts: Pick<
    ServiceParts,
    'definition' | 'config' | 'store' | 'keyring' | 'log' | 'platform' | 'callOut' | 'instanceId'
  > & {
    /** Runs after each comparison of the log with what was signed. */
    readonly onCompared: () => Promise<void>;
  },
  mark: MarkStore | undefined,
): Promise<Sealer | undefined> {
  const { level, anchoring } = parts.definition.trust;
  if (level !== 'anchored' || !anchoring) return undefined;
  const { store, keyring, log, platform, callOut, instanceId } = parts;
  const serviceId = parts.definition.id;
  const witnesses = createWitnesses({ store, callOut, log, witnesses: parts.config.witnesses });
  const { logId } = await currentOrigin(store);
  const keys = keyring
    .noteKeys(logOrigin(serviceId, logId))
    .filter(({ type }) => type === 'ed25519');
  log.info({ log_id: logId, keys: keys.map(vkeyText) }, 'log keys');
  const [first] = parts.config.witnesses;
  const guard = parts.config.mark === 'witness' && first ? witnessGuard(parts, first) : undefined;
  const signer = logSigner(keyring, parts.config.store);
  const sealing = { serviceId, store, keyring, mark, guard, log, platform, instanceId, signer };
  const sealer = await startSealer({
    ...sealing,
    ...anchoring,
    onCompared: parts.onCompared,
    onSealed: witnesses.show,
  });
  const stop = () => sealer.stop().then(witnesses.stop);
  return { ...sealer, stop };
}
