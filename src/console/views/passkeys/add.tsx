/**
 * Adds a passkey, from the page of passkeys and from a decision that needs one.
 *
 * @module
 */

import { useId, useState } from 'preact/hooks';
import type { Passkey } from '../../../protocol/decision.ts';
import { ask } from '../../api.ts';
import { announce } from '../../parts/announce.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Notice } from '../../parts/panels.tsx';
import { isWaiting } from '../../parts/waiting-key.ts';
import { hasPasskeys, makePasskey, signWithPasskey } from './browser.ts';

/** In characters, as the service takes it. */
const LABEL_MAX = 64;

interface AddProps {
  /** Those that the person has. */
  readonly keys: readonly Passkey[];
  changed(): Promise<void> | void;
}

/** The button, and the dialog that it opens. */
export function AddPasskey({ keys, changed }: AddProps) {
  const [isOpen, setOpen] = useState(false);
  if (!hasPasskeys()) {
    return (
      <Notice state="plain">
        This browser cannot make passkeys at this address. It takes https, or the name localhost.
      </Notice>
    );
  }
  return (
    <>
      <button type="button" class="act" onClick={() => setOpen(true)}>
        Add a passkey…
      </button>
      {isOpen ? <AddDialog keys={keys} changed={changed} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

export function AddDialog({
  keys,
  changed,
  isNear = false,
  onClose,
}: AddProps & { readonly isNear?: boolean; onClose(): void }) {
  const field = useId();
  return (
    <Confirm
      open
      isNear={isNear}
      onClose={onClose}
      title="Add a passkey"
      confirm="Add this passkey"
      onConfirm={async (form) => {
        const label = String(form.get('label')).trim();
        await addPasskey({ label, confirming: form.has('confirmed') ? usableOf(keys) : [] });
        await changed();
      }}
    >
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
    </Confirm>
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
