/**
 * The witnesses: what each signed last, verified here.
 *
 * @module
 */

import { readVkey } from '../../domain/log/note-key.ts';
import type { Checkpoint } from '../../protocol/audit.ts';
import { verifyCheckpoint } from '../../verify/checkpoint.ts';
import type { Check } from '../../verify/report.ts';
import { ask } from '../api.ts';
import { Ago, Pill, Shown } from '../parts/elements.tsx';
import { type Loaded, Ready } from '../parts/loaded.tsx';
import { Row } from '../parts/panels.tsx';
import type { PageAnchors, Trusting } from './steps.ts';

/** A witness that signed none of the newest checkpoints has fallen behind, however far. */
const LOOKED_AT = 8;

export interface Signing {
  readonly name: string;
  readonly checkpoint: Checkpoint | undefined;
  readonly isNewest: boolean;
  /** Of the newest signature: what the check found. */
  readonly check: Check | undefined;
}

export function WitnessSection({ of }: { readonly of: Loaded<readonly Signing[]> }) {
  return (
    <section aria-labelledby="h-witnesses">
      <h2 id="h-witnesses">Witnesses</h2>
      <Ready of={of} what="The signatures of witnesses">
        {(found) => <Witnesses of={found} />}
      </Ready>
    </section>
  );
}

function Witnesses({ of }: { readonly of: readonly Signing[] }) {
  if (of.length === 0) {
    return (
      <p class="panel">
        No witness signs this log, so the service alone can say whether it shows everyone the same
        one. An operator names witnesses in the setting witnesses.
      </p>
    );
  }
  return (
    <>
      <ul class="list">
        {of.map((signing) => (
          <Row
            key={signing.name}
            icon="person"
            title={<Shown text={signing.name} />}
            side={<State of={signing} />}
          >
            <p>
              {signing.checkpoint ? (
                <>
                  Last signed checkpoint {signing.checkpoint.sequence}{' '}
                  <Ago at={signing.checkpoint.created_at} />
                  {signing.check?.detail ? <small> {signing.check.detail}</small> : null}
                </>
              ) : (
                `Signed none of the newest ${LOOKED_AT} checkpoints`
              )}
            </p>
          </Row>
        ))}
      </ul>
      <p class="small muted">
        The service named these witnesses and their keys. Compare each key with the one that the
        witness publishes.
      </p>
    </>
  );
}

function State({ of: { checkpoint, check, isNewest } }: { readonly of: Signing }) {
  if (check?.outcome === 'failed') return <Pill state="danger">Wrong signature</Pill>;
  if (check?.outcome === 'not_checked') return <Pill state="warn">Not checked</Pill>;
  if (!checkpoint) return <Pill state="warn">No signature</Pill>;
  return isNewest ? <Pill state="good">Agrees</Pill> : <Pill state="warn">Behind</Pill>;
}

/** For each witness the newest of the looked-at checkpoints that has a line of it. */
export async function signings({ source, anchors }: Trusting): Promise<Signing[]> {
  const names = source.witness_keys.flatMap((text) => readVkey(text)?.name ?? []);
  if (names.length === 0) return [];
  const { checkpoints } = await ask('checkpoints.list', { limit: LOOKED_AT });
  const found = new Map<string, Signing>();
  for (const [at, checkpoint] of checkpoints.entries()) {
    for (const [name, check] of await signedBy(checkpoint, anchors)) {
      if (!found.has(name)) found.set(name, { name, checkpoint, check, isNewest: at === 0 });
    }
    if (found.size === names.length) break;
  }
  const none = { checkpoint: undefined, check: undefined, isNewest: false };
  return names.map((name) => found.get(name) ?? { name, ...none });
}

/** The checks of the witnesses whose line the note has. */
async function signedBy(
  { checkpoint_id }: Checkpoint,
  anchors: PageAnchors,
): Promise<[name: string, check: Check][]> {
  const detail = await ask('checkpoints.get', { checkpoint_id });
  const { checks, head } = await verifyCheckpoint(detail, anchors);
  return anchors.keys.noteKeys.flatMap(({ name }): [string, Check][] => {
    const check = checks.find(({ what }) => what === `note signature of "${name}"`);
    if (!check || !detail.tree_head.includes(`— ${name} `)) return [];
    // A line over a checkpoint that the log did not sign shows nothing.
    return [[name, head || check.outcome !== 'ok' ? check : { ...check, outcome: 'not_checked' }]];
  });
}
