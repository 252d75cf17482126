/**
 * Keys: which sign, which only verify, and how they are rotated.
 *
 * @module
 */

import type { KeyView } from '../../../protocol/console/views.ts';
import { Empty } from '../../parts/loaded.tsx';
import { Pill } from '../../parts/pill.tsx';
import { exact } from '../../parts/time.tsx';

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

export function Keys({ of }: { readonly of: readonly KeyView[] }) {
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
        <Rotation uses={uses} />
      </details>
    </>
  );
}

function Span({ of: { since, until } }: { readonly of: KeyView }) {
  return (
    <dl class="facts small">
      <dt>Signs</dt>
      <dd>{since === null ? 'From the first start' : `From ${exact(since)}`}</dd>
      <dt>Published</dt>
      <dd>{until === null ? 'Until a rotation' : `Until ${exact(until)}`}</dd>
    </dl>
  );
}

/** A page cannot rotate: keys are files or variables that the service only reads. */
function Rotation({ uses }: { readonly uses: readonly string[] }) {
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
        . The key then appears here as Next.
      </li>
      <li>
        The service publishes the new key at once and signs with it a few minutes later. The old key
        still verifies what it signed until its time here is over.
      </li>
      <li>
        If a key was stolen, write <code>"compromised": true</code> into its file and rotate with{' '}
        <code>--at-once</code>. What the stolen key signed is then refused.
      </li>
    </ol>
  );
}
