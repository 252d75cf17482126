/**
 * Passkeys: the keys by which the person signs decisions.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { useId, useState } from 'preact/hooks';
import { exact } from '../../domain/values/time-words.ts';
import type { Passkey } from '../../protocol/decision.ts';
import { ask, loadMe } from '../api.ts';
import { announce } from '../parts/announce.ts';
import { Confirm, Why } from '../parts/dialog.tsx';
import { Ago, Pill, Shown } from '../parts/elements.tsx';
import { Empty, Ready, useLoaded, whyOf } from '../parts/loaded.tsx';
import { isWaiting } from '../parts/waiting-key.ts';
import { hasPasskeys, makePasskey, signWithPasskey } from './passkeys/browser.ts';

export function PasskeysView() {
  const list = useLoaded(() => ask('passkeys.list', {}), []);
  const changed = async () => {
    list.again();
    await loadMe();
  };
  return (
    <>
      <h1>Passkeys</h1>
      <p>
        A passkey is in your device or security key. Where a policy requires it, an approval counts
        only with your signature, which anyone can check in the log.
      </p>
      <Ready of={list} what="The list of your passkeys" loading="your passkeys">
        {({ passkeys }) => (
          <>
            <Keys keys={passkeys} changed={changed} />
            <Add keys={passkeys} changed={changed} />
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
  if (keys.length === 0) return <Empty>You have no passkey. Add the first one below.</Empty>;
  return (
    <>
      <ul class="rows">
        {keys.map((key) => (
          <li key={key.credential_id} class="head">
            <div>
              <h2>
                <Shown text={key.label} /> <State of={key} />
              </h2>
              <p class="small muted">
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
            <button
              type="button"
              class="danger"
              aria-label={`Remove ${key.label}…`}
              onClick={() => setRemoved(key)}
            >
              Remove…
            </button>
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

/** In characters, as the service takes it. */
const LABEL_MAX = 64;

function Add({ keys, changed }: KeysProps) {
  const field = useId();
  const why = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy.value) return;
    const form = event.currentTarget as HTMLFormElement;
    const fields = new FormData(form);
    const label = String(fields.get('label')).trim();
    const confirming = fields.has('confirmed') ? usableOf(keys) : [];
    isBusy.value = true;
    why.value = undefined;
    try {
      await addPasskey({ label, confirming });
      form.reset();
      await changed();
    } catch (error) {
      why.value = whyOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <section aria-labelledby={`${field}-title`}>
      <h2 id={`${field}-title`}>Add a passkey</h2>
      {hasPasskeys() ? (
        <form class="stack" onSubmit={add}>
          <p class="field">
            <label for={field}>Name</label>
            <small id={`${field}-hint`}>So that you recognise it: the device that it is in.</small>
            <input
              id={field}
              name="label"
              required
              pattern=".*\S.*"
              maxLength={LABEL_MAX}
              autocomplete="off"
              aria-describedby={`${field}-hint`}
            />
          </p>
          <Confirmation keys={keys} />
          <Why of={why.value} />
          <div class="row">
            <button type="submit" class="act" aria-disabled={isBusy.value}>
              Add this passkey
            </button>
          </div>
        </form>
      ) : (
        <Empty>
          This browser cannot make passkeys at this address. It takes https, or the name localhost.
        </Empty>
      )}
    </section>
  );
}

function usableOf(keys: readonly Passkey[]): Passkey[] {
  return keys.filter((key) => !isWaiting(key));
}

/** When the new key counts. */
function Confirmation({ keys }: { readonly keys: readonly Passkey[] }) {
  if (keys.length === 0) {
    return (
      <p class="small">Your first passkey counts at once, if you signed in a short while ago.</p>
    );
  }
  if (usableOf(keys).length === 0) {
    return <p class="small">The new passkey counts 24 hours after you add it.</p>;
  }
  return (
    <label class="opt">
      <input type="checkbox" name="confirmed" defaultChecked />
      <span>
        Confirm it with a passkey that you have
        <br />
        <small>Then it counts at once. Without confirmation it counts 24 hours later.</small>
      </span>
    </label>
  );
}

interface Wish {
  readonly label: string;
  /** Usable keys, one of which confirms the new one. Empty where the person has none or has lost them. */
  readonly confirming: readonly Passkey[];
}

/** Both questions of the browser have the same challenge. The known key is asked first: without it nothing is made. */
async function addPasskey({ label, confirming }: Wish): Promise<void> {
  const options = await ask('passkeys.begin', {});
  const { challenge, rp_id, counts } = options;
  const credentialIds = confirming.map(({ credential_id }) => credential_id);
  const isConfirmed = counts === 'when_confirmed' && credentialIds.length > 0;
  const confirmed_by = isConfirmed
    ? await signWithPasskey({ challenge, rpId: rp_id, credentialIds })
    : undefined;
  const made = await makePasskey(options);
  const { passkey } = await ask('passkeys.add', { label, challenge, ...made, confirmed_by });
  announce(isWaiting(passkey) ? 'The passkey is added and waits' : 'The passkey is added');
}
