/**
 * A dialog before an act: it says what happens, and the safe button comes first.
 *
 * The browser keeps the focus inside and returns it afterwards. What is inside exists only while it is open, so
 * nothing typed stays.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Shown } from './elements.tsx';
import { whyOf } from './loaded.tsx';
import { Notice } from './panels.tsx';

interface ConfirmProps {
  readonly open: boolean;
  onClose(): void;
  readonly title: ComponentChildren;
  /** The label of the button that acts: what happens. */
  readonly confirm: string;
  /** What the button does: it lets something happen, it cannot be taken back, or it refuses. */
  readonly look?: 'go' | 'final' | 'no';
  /** Whether it opens above the bar of a decision. */
  readonly isNear?: boolean;
  /** The label of the way back. */
  readonly back?: string;
  /** Why the person cannot confirm yet: then there is no button that acts. */
  readonly blocked?: string | undefined;
  /** Called when the person confirms. The dialog closes when it resolves, and shows why it rejected. */
  onConfirm(form: FormData): Promise<void> | void;
  readonly children: ComponentChildren;
}

const BUTTONS = { go: 'act', final: 'danger', no: 'ink' } as const;

export function Confirm(props: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => {
    const element = dialog.current;
    if (!props.open || !element) return undefined;
    const opener = document.activeElement;
    element.showModal();
    return () => {
      element.close();
      // A dialog that has left the page returns no focus.
      if (document.activeElement === document.body) (opener as HTMLElement | null)?.focus();
    };
  }, [props.open]);
  const look = `${props.look ?? 'go'}${props.isNear ? ' near' : ''}`;
  return (
    <dialog
      ref={dialog}
      class={look}
      aria-labelledby={title}
      onClose={() => props.open && props.onClose()}
    >
      {props.open ? <Inside {...props} titleId={title} /> : null}
    </dialog>
  );
}

function Inside(props: ConfirmProps & { readonly titleId: string }) {
  const isBusy = useSignal(false);
  const why = useSignal<string | undefined>(undefined);
  const act = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    why.value = undefined;
    try {
      await props.onConfirm(new FormData(event.currentTarget as HTMLFormElement));
      props.onClose();
    } catch (error) {
      why.value = whyOf(error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <form onSubmit={act}>
      <h2 id={props.titleId}>{props.title}</h2>
      {props.children}
      <Why of={why.value} />
      <div class="row">
        <button type="button" onClick={props.onClose}>
          {props.back ?? 'Go back'}
        </button>
        {props.blocked === undefined ? (
          <button type="submit" class={BUTTONS[props.look ?? 'go']} aria-disabled={isBusy.value}>
            {props.confirm}
          </button>
        ) : (
          <p class="small">{props.blocked}</p>
        )}
      </div>
    </form>
  );
}

/** Always in the page: a screen reader announces what changes in a place that it knows. */
export function Why({ of }: { readonly of: string | undefined }) {
  return (
    <div role="alert">
      {of === undefined ? null : (
        <Notice state="bad">
          <Shown text={of} />
        </Notice>
      )}
    </div>
  );
}
