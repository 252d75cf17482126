/**
 * Keys: which sign, which only verify, and how they are rotated.
 *
 * @module
 */

import { exact } from '../../../domain/values/time-words.ts';
import type { KeyView } from '../../../protocol/console/views.ts';
import { Fact, Pill } from '../../parts/elements.tsx';
import { Empty } from '../../parts/loaded.tsx';

const STATES = {
  signs: { pill: 'good', words: 'Signs' },
  verifies: { pill: 'off', words: 'Verifies' },
  next: { pill: 'act', words: 'Next' },
} as const;

const USES: Readonly<Record<string, string>> = {
  token: 'Signs tokens, manifests and grants',
  log: 'Signs checkpoints of the log',
  row: 'Authenticates stored rows',
};

interface KeysProps {
  readonly of: readonly KeyView[];
  /** Whether the keys are in variables of the environment, not in a folder. */
  readonly areInEnvironment: boolean;
}

export function Keys({ of, areInEnvironment }: KeysProps) {
  if (of.length === 0) return <Empty>The service publishes no keys.</Empty>;
  const uses = [...new Set(of.map(({ use }) => use))];
  return (
    <>
      <ul>
        {of.map((key) => (
          <li key={key.kid} class="node">
            <div>
              <h3>
                {key.use} <Pill state={STATES[key.state].pill}>{STATES[key.state].words}</Pill>
              </h3>
              <p class="small">
                <code>{key.kid}</code>
              </p>
            </div>
            <p class="small">{USES[key.use] ?? null}</p>
            <Span of={key} />
          </li>
        ))}
      </ul>
      <details>
        <summary>How to rotate a key</summary>
        {areInEnvironment ? <ListRotation /> : <FolderRotation uses={uses} />}
      </details>
    </>
  );
}

function Span({ of: { use, since, until } }: { readonly of: KeyView }) {
  return (
    <dl class="facts small">
      <Fact term="Signs">
        {since === null ? 'By its place in the list' : `From ${exact(since)}`}
      </Fact>
      <Fact term="Published" is={publishedWords(use, until)} />
    </dl>
  );
}

function publishedWords(use: string, until: string | null): string {
  if (use === 'row') return 'Never';
  return until === null ? 'No end is set' : `Until ${exact(until)}`;
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
