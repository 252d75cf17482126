/**
 * Freezing and lifting: the dialogs say exactly what stops, what goes on and what stays, before it happens.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { personOf } from '../../../domain/decision/values.ts';
import type { InputOf } from '../../../protocol/operations.ts';
import type { Freeze } from '../../../protocol/operator.ts';
import { ask, now } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Fact, Shown } from '../../parts/elements.tsx';

/** Characters of a reason, as the service takes them. */
const REASON_MAX = 1_000;

type Target = Pick<Freeze, 'what' | 'target' | 'root_principal'>;

interface DialogProps {
  readonly open: boolean;
  onClose(): void;
  onDone(words: string): void;
}

/** The operator chooses what. */
export function FreezeDialog({ open, onClose, onDone }: DialogProps) {
  const [what, setWhat] = useState<Freeze['what']>('root_principal');
  return (
    <Confirm
      open={open}
      onClose={onClose}
      title="Freeze what?"
      back="Keep it running"
      confirm={FREEZE_LABELS[what]}
      look="final"
      onConfirm={async (form) => onDone(await freeze(chosenBy(form), form))}
    >
      <TargetFields what={what} onWhat={setWhat} />
      <Consequence what={what} />
      <FreezeTerms />
    </Confirm>
  );
}

/** Freezes by the fields of `FreezeTerms`, and says so. */
export async function freeze(target: Target, form: FormData): Promise<string> {
  const frozen = await ask('operator.freeze', requestOf(target, form));
  return `Frozen: ${targetWords(frozen)}.`;
}

export function FreezeTerms() {
  return (
    <>
      <ReasonField hint="Callers that are refused may read it. The log keeps it." />
      <p class="field">
        <label for="freeze-until">Until, in UTC</label>
        <input id="freeze-until" name="until" type="datetime-local" min={minuteOf(now.peek())} />
        <small>Without a time the freeze holds until an operator lifts it.</small>
      </p>
    </>
  );
}

const FREEZE_LABELS = {
  root_principal: 'Freeze the person',
  capability: 'Freeze the capability',
  service: 'Freeze the whole service',
} as const;

function TargetFields({
  what,
  onWhat,
}: {
  readonly what: Freeze['what'];
  onWhat(what: Freeze['what']): void;
}) {
  return (
    <>
      <p class="field">
        <label for="freeze-what">What</label>
        <select
          id="freeze-what"
          name="what"
          value={what}
          onChange={(event) => onWhat(event.currentTarget.value as Freeze['what'])}
        >
          <option value="root_principal">A person and all their agents</option>
          <option value="capability">A capability</option>
          <option value="service">The whole service</option>
        </select>
      </p>
      {what === 'service' ? null : (
        <p class="field">
          <label for="freeze-target">
            {what === 'capability' ? 'Name of the capability' : 'Person'}
          </label>
          <input
            id="freeze-target"
            name="target"
            required
            spellcheck={false}
            autocomplete="off"
            placeholder={what === 'capability' ? 'issue_refund' : 'human:ann@example.com'}
          />
        </p>
      )}
      {what === 'capability' ? (
        <p class="field">
          <label for="freeze-root">Only for this person</label>
          <input id="freeze-root" name="root_principal" spellcheck={false} autocomplete="off" />
          <small>Without one the capability is frozen for every caller.</small>
        </p>
      ) : null}
    </>
  );
}

export function Consequence({ what }: { readonly what: Freeze['what'] }) {
  const { stops, goesOn } = CONSEQUENCES[what];
  return (
    <dl class="facts">
      <Fact term="Stops" is={stops} />
      <Fact term="Goes on" is={goesOn} />
      <Fact term="Stays">
        Tokens, budgets and approval requests stay as they are, and their time runs on. After the
        freeze is lifted they work again.
      </Fact>
    </dl>
  );
}

const FINISHES = 'Calls that run now finish.';

const CONSEQUENCES = {
  root_principal: {
    stops:
      'New calls under its authority, new tokens and sign-ins of its agents, and approvals by it.',
    goesOn: `${FINISHES} It can still read, and end its agents.`,
  },
  capability: {
    stops: 'New calls of it, and of every capability that has it as a step.',
    goesOn: `${FINISHES} A composed call that runs fails at its next step of this capability. Other capabilities are not touched.`,
  },
  service: {
    stops: 'New calls, new tokens and approvals of everybody.',
    goesOn: `${FINISHES} Reading, ending agents and the work of operators are not touched.`,
  },
} as const satisfies Record<Freeze['what'], { stops: string; goesOn: string }>;

/** `of` is undefined while the dialog is closed. */
export function LiftDialog({
  of,
  onClose,
  onDone,
}: Omit<DialogProps, 'open'> & { readonly of: Target | undefined }) {
  const lift = async (form: FormData) => {
    if (!of) return;
    const { lifted } = await ask('operator.unfreeze', { ...targetOf(of), reason: reasonIn(form) });
    const words = lifted ? 'No longer frozen' : 'It was not frozen any more';
    onDone(`${words}: ${targetWords(of)}.`);
  };
  return (
    <Confirm
      open={of !== undefined}
      onClose={onClose}
      title={
        of ? (
          <>
            Lift the freeze of <FrozenTarget of={of} />?
          </>
        ) : (
          ''
        )
      }
      back="Keep it frozen"
      confirm="Lift the freeze"
      onConfirm={lift}
    >
      <p>
        New calls work at once, unless another freeze covers them. Tokens that expired or ended
        meanwhile do not come back.
      </p>
      <ReasonField hint="The log keeps it." />
    </Confirm>
  );
}

export function ReasonField({ hint }: { readonly hint: string }) {
  return (
    <p class="field">
      <label for="reason">Reason</label>
      <textarea id="reason" name="reason" required rows={2} maxLength={REASON_MAX} />
      <small>{hint}</small>
    </p>
  );
}

export function reasonIn(form: FormData): string {
  return String(form.get('reason'));
}

/** "ann@example.com", "the capability issue_refund", "the whole service". */
function targetWords({ what, target, root_principal }: Target): string {
  if (what === 'service') return 'the whole service';
  if (what === 'root_principal') return personOf(target ?? '');
  const whom = root_principal === null ? '' : ` for ${personOf(root_principal)}`;
  return `the capability ${target}${whom}`;
}

export function FrozenTarget({ of }: { readonly of: Target }) {
  return <Shown text={targetWords(of)} />;
}

function chosenBy(form: FormData): Target {
  const text = (name: string) => String(form.get(name) ?? '').trim() || null;
  const what = String(form.get('what')) as Freeze['what'];
  return { what, target: text('target'), root_principal: text('root_principal') };
}

function targetOf({ what, target, root_principal }: Target): InputOf<'operator.unfreeze'> {
  return {
    what,
    target: target ?? undefined,
    root_principal: root_principal ?? undefined,
    reason: '',
  };
}

function requestOf(target: Target, form: FormData): InputOf<'operator.freeze'> {
  const until = String(form.get('until') ?? '');
  return {
    ...targetOf(target),
    reason: reasonIn(form),
    until: until === '' ? undefined : new Date(`${until}Z`).toISOString(),
  };
}

/** "2026-11-17T14:40", as a field for a time takes it. */
function minuteOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 16);
}
