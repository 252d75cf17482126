/**
 * Every field of an entry, and the way to its proof.
 *
 * @module
 */

import { plain } from '../../../domain/decision/values.ts';
import { exact } from '../../../domain/values/time-words.ts';
import type { AuditEntry } from '../../../protocol/audit.ts';
import { me } from '../../api.ts';
import { Fact, Hash } from '../../parts/elements.tsx';
import { Value } from '../../parts/words.tsx';
import { hrefOf } from '../../router.ts';

export function EntryFields({ entry }: { readonly entry: AuditEntry }) {
  const fields = Object.entries(entry);
  const present = fields.filter(([, value]) => value !== null);
  const absent = fields.filter(([, value]) => value === null).map(([name]) => name);
  return (
    <div class="stack">
      <dl class="facts all">
        {present.map(([name, value]) => (
          <Fact key={name} term={<code>{name}</code>}>
            <Field name={name} value={value} sequence={entry.sequence} />
          </Fact>
        ))}
      </dl>
      {absent.length > 0 ? (
        <p class="small muted">
          Without a value: <code>{absent.join(', ')}</code>
        </p>
      ) : null}
      <VerifyLink entry={entry} />
    </div>
  );
}

/** Only a sealed log has something to compare an entry with. */
export function VerifyLink({ entry }: { readonly entry: AuditEntry }) {
  if (!me.value?.is_anchored) return null;
  return (
    <p>
      <a href={hrefOf('trust', undefined, { entry: entry.entry_id })}>
        Verify entry {entry.sequence.toLocaleString('en')} in this browser
      </a>
    </p>
  );
}

interface FieldProps {
  readonly name: string;
  readonly value: unknown;
  readonly sequence: number;
}

function Field({ name, value, sequence }: FieldProps) {
  if (name === 'leaf_hash') {
    return <Hash hex={String(value)} what={`the leaf hash of entry ${sequence}`} />;
  }
  if (name === 'parameters_digest') {
    return <Hash hex={String(value)} what={`the parameters digest of entry ${sequence}`} />;
  }
  return (
    <>
      {formOf(name, value)} <Value of={value} />
    </>
  );
}

/** The same value for people, where it has such a form. */
function formOf(name: string, value: unknown): string {
  if (name === 'timestamp') return exact(String(value));
  return name === 'cost_actual' ? plain(value as NonNullable<AuditEntry['cost_actual']>) : '';
}
