/**
 * One entry in a table: when, what, how it ended, what it cost. All its fields open below it.
 *
 * @module
 */

import { useId, useState } from 'preact/hooks';
import type { AuditEntry } from '../../../protocol/audit.ts';
import { Amount, Chain, Code, Heads, Person, Pill, Shown } from '../../parts/elements.tsx';
import { hrefOf } from '../../router.ts';
import { EntryFields } from './entry-fields.tsx';
import { outcomeOf, type Quoted, whatOf } from './words.ts';

/** Oldest first. */
export function EntryTable({ of }: { readonly of: readonly AuditEntry[] }) {
  return (
    <table class="log">
      <Heads of={['Time, UTC', 'Entry', 'What the log says']} />
      <tbody>
        {[...of].reverse().map((entry) => (
          <EntryRow key={entry.entry_id} entry={entry} />
        ))}
      </tbody>
    </table>
  );
}

/** The fields are made only when they are open: a page has fifty entries. */
function EntryRow({ entry }: { readonly entry: AuditEntry }) {
  const [isOpen, setOpen] = useState(false);
  const fields = useId();
  return (
    <>
      <tr>
        <td class="nb">{entry.timestamp.slice(11, 19)}</td>
        <td>
          <button
            type="button"
            class="text"
            aria-expanded={isOpen}
            aria-controls={isOpen ? fields : undefined}
            onClick={() => setOpen(!isOpen)}
          >
            <span class="vh">Entry </span>
            {entry.sequence.toLocaleString('en')}
          </button>
        </td>
        <td>
          <Linked entry={entry}>
            <What entry={entry} />
          </Linked>{' '}
          <EntryOutcome entry={entry} />{' '}
          {entry.cost_actual ? <Amount of={entry.cost_actual} /> : null}
        </td>
      </tr>
      {isOpen ? (
        <tr id={fields}>
          <td colSpan={3}>
            <EntryFields entry={entry} />
          </td>
        </tr>
      ) : null}
    </>
  );
}

/** The one who acts, and the root principal. The names are gone where retention erased them. */
export function Who({ entry: { actor_key, root_principal, erased } }: EntryProps) {
  const chain = [actor_key, root_principal].filter((each) => each !== null);
  if (chain.length > 0) return <Chain of={[...new Set(chain)]} />;
  return <span class="muted">{erased ? 'Erased by retention' : 'Not recorded'}</span>;
}

interface EntryProps {
  readonly entry: AuditEntry;
}

export function What({ entry }: EntryProps) {
  return (
    <>
      {whatOf(entry).map((word, at) =>
        typeof word === 'string' ? word : <QuotedWord key={at} of={word} />,
      )}
    </>
  );
}

function QuotedWord({ of: { text, kind } }: { readonly of: Quoted }) {
  if (kind === 'principal') return <Person of={text} />;
  if (kind === 'text') return <Shown text={text} />;
  return <Code text={text} />;
}

export function EntryOutcome({ entry }: EntryProps) {
  const { state, words } = outcomeOf(entry);
  return (
    <>
      <Pill state={state}>{words}</Pill>{' '}
      {entry.failure_type === null ? null : <code>{entry.failure_type}</code>}
    </>
  );
}

/** To the page of the invocation, or of the approval request. */
function Linked({ entry, children }: EntryProps & { readonly children: preact.ComponentChildren }) {
  const { invocation_id, approval_request_id } = entry;
  if (invocation_id !== null) return <a href={hrefOf('activity', invocation_id)}>{children}</a>;
  if (approval_request_id === null) return <>{children}</>;
  return <a href={hrefOf('approvals', approval_request_id)}>{children}</a>;
}
