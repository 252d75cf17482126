/**
 * Cancels an invitation, and says why where that failed.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { ask } from '../api.ts';
import { announce } from './announce.ts';
import { Why } from './dialog.tsx';
import { whyOf } from './loaded.tsx';

interface CancelProps {
  readonly of: string;
  /** Of the button. */
  readonly class: string;
  readonly label?: string;
  readonly children: ComponentChildren;
  cancelled?(): void;
}

export function CancelInvitation(props: CancelProps) {
  const why = useSignal<string | undefined>(undefined);
  const cancel = async () => {
    try {
      const { cancelled } = await ask('people.cancel', { invitation_id: props.of });
      why.value = cancelled ? undefined : 'It has ended already';
      if (cancelled) announce('The invitation is cancelled');
      props.cancelled?.();
    } catch (error) {
      why.value = whyOf(error);
    }
  };
  return (
    <>
      <Why of={why.value} />
      <button type="button" class={props.class} aria-label={props.label} onClick={cancel}>
        {props.children}
      </button>
    </>
  );
}
