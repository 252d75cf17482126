/**
 * Passkeys: the keys by which the person signs decisions, and one button that adds one.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { exact } from '../../domain/values/time-words.ts';
import type { Passkey } from '../../protocol/decision.ts';
import { ask, loadMe } from '../api.ts';
import { announce } from '../parts/announce.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Ago, Pill, Shown } from '../parts/elements.tsx';
import { Icon } from '../parts/icon.tsx';
import { Empty, Ready, useLoaded } from '../parts/loaded.tsx';
import { isWaiting } from '../parts/waiting-key.ts';
import { AddPasskey } from './passkeys/add.tsx';

export function PasskeysView() {
  const list = useLoaded(() => ask('passkeys.list', {}), []);
  const changed = async () => {
    list.again();
    await loadMe();
  };
  return (
    <>
      <h1>Passkeys</h1>
      <p class="lead">
        A passkey is in your device or security key. Where a policy requires it, an approval counts
        only with your signature, which anyone can check in the log.
      </p>
      <Ready of={list} what="The list of your passkeys" loading="your passkeys">
        {({ passkeys }) => (
          <>
            <Keys keys={passkeys} changed={changed} />
            <AddPasskey keys={passkeys} changed={changed} />
          </>
        )}
      </Ready>
    </>
  );
}

interface KeysProps {
  readonly keys: readonly Passkey[];
  changed(): Promise<void>;
}

function Keys({ keys, changed }: KeysProps) {
  const [removed, setRemoved] = useState<Passkey>();
  if (keys.length === 0) return <Empty>You have no passkey. Add the first one.</Empty>;
  return (
    <>
      <ul class="list">
        {keys.map((key) => (
          <li key={key.credential_id}>
            <Icon name="passkey" />
            <div class="body">
              <h2>
                <Shown text={key.label} /> <State of={key} />
              </h2>
              <p>
                Added <Ago at={key.created_at} />.{' '}
                {key.last_used_at === null ? (
                  'Not used yet.'
                ) : (
                  <>
                    Last used <Ago at={key.last_used_at} />
                  </>
                )}
              </p>
            </div>
            <div class="side">
              <button
                type="button"
                class="danger little"
                aria-label={`Remove ${key.label}…`}
                onClick={() => setRemoved(key)}
              >
                Remove…
              </button>
            </div>
          </li>
        ))}
      </ul>
      {removed ? (
        <Remove
          of={removed}
          isLast={keys.length === 1}
          changed={changed}
          onClose={() => setRemoved(undefined)}
        />
      ) : null}
    </>
  );
}

function State({ of }: { readonly of: Passkey }) {
  if (!isWaiting(of)) return <Pill state="good">Counts</Pill>;
  return (
    <>
      <Pill state="warn">Waits</Pill> <small>counts from {exact(of.usable_from)} on</small>
    </>
  );
}

interface RemoveProps {
  readonly of: Passkey;
  readonly isLast: boolean;
  changed(): Promise<void>;
  onClose(): void;
}

function Remove({ of, isLast, changed, onClose }: RemoveProps) {
  return (
    <Confirm
      open
      look="final"
      onClose={onClose}
      title={
        <>
          Remove <Shown text={of.label} />?
        </>
      }
      confirm="Remove passkey"
      back="Keep it"
      onConfirm={async () => {
        await ask('passkeys.remove', { credential_id: of.credential_id });
        announce('The passkey is removed');
        await changed();
      }}
    >
      <p>
        It signs nothing from now on. What it signed stays valid. The removal enters the log.{' '}
        {isLast
          ? 'You have no other: approvals that require a passkey need a new one first.'
          : null}
      </p>
    </Confirm>
  );
}
