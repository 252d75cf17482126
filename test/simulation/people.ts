/**
 * People of a simulation whose credential is in the store, as `writ identities add` puts it there.
 *
 * Whether they may approve is a question to the store. So a call with their grant waits between its check and its
 * admission.
 *
 * @module
 */

import { hash } from 'node:crypto';
import type { Keyring } from '../../src/keyring/keyring.ts';
import type { Logger } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import { newIdentity, storeIdentity } from '../../src/service/authority/stored-identities.ts';
import { createAlarms } from '../../src/service/operations/alarms.ts';
import { openRowLogs } from '../../src/service/rows/row-check.ts';
import { serviceStore } from '../../src/service/rows/service-store.ts';
import type { Store } from '../../src/storage/port/store.ts';
import type { SimEvent } from './events.ts';
import { keyOf } from './requests.ts';

interface Enrolment {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly log: Logger;
  emit(event: SimEvent): void;
}

const AT_STORE = 'service:desk';

/** Stores the identity of the approver who is not configured. */
export async function enrol({ store, keyring, log, emit }: Enrolment): Promise<void> {
  const watched: Store = {
    ...store,
    async insertIdentity(...args) {
      const result = await store.insertIdentity(...args);
      emit({ kind: 'store', replica: 0, method: 'insertIdentity', args, result });
      return result;
    },
  };
  const authority = {
    rows: keyring.rows,
    alarms: createAlarms(log),
    logs: await openRowLogs(store),
  };
  const parts = {
    store: serviceStore(watched, authority),
    platform: { ...system, random: (size: number) => new Uint8Array(size).fill(5) },
  };
  const maker = { principal: AT_STORE, caller_class: 'internal' };
  const refused = await storeIdentity(parts, newIdentity(parts, CAROL, maker), {
    principal: AT_STORE,
    root_principal: AT_STORE,
  });
  if (refused) throw new Error(refused.detail);
}

const CAROL = {
  key_sha256: hash('sha256', keyOf('carol')),
  principal: 'human:carol',
  scopes: ['approver:*'],
  subjects: undefined,
  caller_class: undefined,
  caller_classes: undefined,
};
