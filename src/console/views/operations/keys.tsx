/**
 * Keys: which sign, which only verify, and how they are rotated.
 *
 * @module
 */

import { exact } from '../../../domain/values/time-words.ts';
import type { KeyView } from '../../../protocol/console/views.ts';
import { Pill } from '../../parts/elements.tsx';
import { Ready } from '../../parts/loaded.tsx';
import { Fold, Row } from '../../parts/panels.tsx';
import { type Answers, lastOf } from './answers.ts';

const STATES = {
  signs: { pill: 'good', words: 'Signs' },
  verifies: { pill: 'off', words: 'Verifies' },
  next: { pill: 'act', words: 'Next' },
} as const;

const USES: Readonly<Record<string, string>> = {
  token: 'Tokens, manifests, grants',
  log: 'Checkpoints of the log',
  row: 'Stored rows',
};

export function Keys({ of }: { readonly of: Answers['state'] }) {
  const keys = lastOf(of)?.keys ?? [];
  const count = (wanted: KeyView['state']) => keys.filter(({ state }) => state === wanted).length;
  const next = count('next') > 0 ? `, ${count('next')} next` : '';
  const words = `${count('signs')} sign${next}`;
  return (
    <Fold title="Keys" icon="key" state={keys.length > 0 ? words : undefined}>
      <Ready of={of} what="The list of keys">
        {(state) => (
          <>
            <ul class="list">
              {keys.map((key) => (
                <KeyRow key={key.kid} of={key} />
              ))}
            </ul>
            <h3>How to rotate a key</h3>
            {state?.settings.keys === 'environment' ? (
              <ListRotation />
            ) : (
              <FolderRotation uses={[...new Set(keys.map(({ use }) => use))]} />
            )}
          </>
        )}
      </Ready>
    </Fold>
  );
}

function KeyRow({ of: { kid, use, state, since, until } }: { readonly of: KeyView }) {
  const { pill, words } = STATES[state];
  return (
    <Row icon="key" title={USES[use] ?? use} side={<Pill state={pill}>{words}</Pill>}>
      <p>
        {since === null ? 'Signs by its place in the list' : `Signs from ${exact(since)}`} ·
        published: {publishedWords(use, until)}
      </p>
      <p>
        <code>{kid}</code>
      </p>
    </Row>
  );
}

function publishedWords(use: string, until: string | null): string {
  if (use === 'row') return 'never';
  return until === null ? 'no end is set' : `until ${exact(until)}`;
}

/** A page cannot rotate: the service only reads its keys. */
function FolderRotation({ uses }: { readonly uses: readonly string[] }) {
  return (
    <ol class="stack small">
      <li>
        On a machine that has the key folder, run{' '}
        {uses.map((use, index) => (
          <span key={use}>
            {index > 0 ? ' or ' : ''}
            <code>writ keys rotate {use} --folder &lt;keys&gt;</code>
          </span>
        ))}
        . The new key appears here as Next.
      </li>
      <li>
        The service signs with it some minutes later. The old key then verifies what it signed.
      </li>
      <li>
        If a key was stolen, write <code>"compromised": true</code> into its file and rotate with{' '}
        <code>--at-once</code>. What the stolen key signed is then refused.
      </li>
    </ol>
  );
}

function ListRotation() {
  return (
    <ol class="stack small">
      <li>
        The keys are in <code>WRIT_TOKEN_KEYS</code>, <code>WRIT_LOG_KEYS</code> and{' '}
        <code>WRIT_ROW_KEYS</code>. Add the new key to its list on every replica, after the key that
        signs, and restart each.
      </li>
      <li>
        For a token or log key, add the line that <code>writ keys successor</code> prints to{' '}
        <code>WRIT_SUCCESSORS</code>, so that clients follow the change.
      </li>
      <li>When every replica has the new key, move it to the first place and restart each.</li>
    </ol>
  );
}
